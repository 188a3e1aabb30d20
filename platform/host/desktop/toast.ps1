# Shows a note as a toast, takes one back, or tells whether toasts are shown.
function Main($in) {
  $key = 'HKCU:\Software\Classes\AppUserModelId\' + $in.aumid
  if (-not (Test-Path -LiteralPath $key)) {
    $null = New-Item -Path $key -Force
  }
  $null = New-ItemProperty -LiteralPath $key -Name 'DisplayName' -Value $in.app -PropertyType String -Force
  $null = [Windows.UI.Notifications.ToastNotificationManager,Windows.UI.Notifications,ContentType=WindowsRuntime]
  $null = [Windows.UI.Notifications.ToastNotification,Windows.UI.Notifications,ContentType=WindowsRuntime]
  $null = [Windows.Data.Xml.Dom.XmlDocument,Windows.Data.Xml.Dom.XmlDocument,ContentType=WindowsRuntime]
  $notifier = [Windows.UI.Notifications.ToastNotificationManager]::CreateToastNotifier($in.aumid)
  $setting = 0
  try {
    $setting = [int]$notifier.Setting
  } catch {
    $setting = 0
  }
  if ($setting -ne 0) {
    Answer @{ setting = $setting }
    return
  }
  if ($in.ask) {
    Answer @{ setting = 0 }
    return
  }
  if ($in.withdraw) {
    [Windows.UI.Notifications.ToastNotificationManager]::History.Remove($in.tag, $in.group, $in.aumid)
    Answer @{ setting = 0 }
    return
  }
  $xml = New-Object Windows.Data.Xml.Dom.XmlDocument
  $xml.LoadXml($in.xml)
  $toast = New-Object Windows.UI.Notifications.ToastNotification $xml
  $toast.Tag = $in.tag
  $toast.Group = $in.group
  Commence
  $notifier.Show($toast)
  Answer @{ setting = 0 }
}
