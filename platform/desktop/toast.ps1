$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
$WarningPreference = 'SilentlyContinue'
function Reply($answer) {
  $json = ConvertTo-Json -Compress -Depth 4 -InputObject $answer
  $json = [regex]::Replace($json, '[^\x20-\x7e]', '?')
  [Console]::Out.Write("`n--hob--`n" + $json)
}
try {
  if ($ExecutionContext.SessionState.LanguageMode -ne 'FullLanguage') {
    Reply @{ ok = $false; reason = 'language' }
    exit 0
  }
  $in = [Console]::In.ReadToEnd() | ConvertFrom-Json
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
    Reply @{ ok = $false; reason = 'setting'; number = $setting }
    exit 0
  }
  if ($in.ask) {
    Reply @{ ok = $true }
    exit 0
  }
  if ($in.withdraw) {
    [Windows.UI.Notifications.ToastNotificationManager]::History.Remove($in.tag, $in.group, $in.aumid)
    Reply @{ ok = $true }
    exit 0
  }
  $xml = New-Object Windows.Data.Xml.Dom.XmlDocument
  $xml.LoadXml($in.xml)
  $toast = New-Object Windows.UI.Notifications.ToastNotification $xml
  $toast.Tag = $in.tag
  $toast.Group = $in.group
  $notifier.Show($toast)
  Reply @{ ok = $true }
} catch {
  $number = 0
  if ($_.Exception.HResult) {
    $number = $_.Exception.HResult
  }
  Reply @{ ok = $false; reason = 'error'; number = $number; message = $_.Exception.Message }
}
