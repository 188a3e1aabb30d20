# Tells how bright the built-in screen is, or sets it (WmiMonitorBrightness). Outer
# screens are not among them, and without a built-in one there is nothing to ask.
function Main($in) {
  $screens = @()
  try {
    $screens = @(Get-CimInstance -Namespace 'root/wmi' -ClassName 'WmiMonitorBrightness')
  } catch {
    Refuse 'not_found' 'there is no such screen'
  }
  if ($screens.Count -eq 0) { Refuse 'not_found' 'there is no such screen' }
  if ($in.PSObject.Properties['percent']) {
    $set = Get-CimInstance -Namespace 'root/wmi' -ClassName 'WmiMonitorBrightnessMethods'
    Commence
    foreach ($one in @($set)) {
      $null = Invoke-CimMethod -InputObject $one -MethodName 'WmiSetBrightness' -Arguments @{ Timeout = [uint32]1; Brightness = [byte]$in.percent }
    }
    Answer @{ percent = [int]$in.percent }
    return
  }
  Answer @{ percent = [int]$screens[0].CurrentBrightness }
}
