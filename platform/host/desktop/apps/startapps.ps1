# Lists the start menu.
function Main($in) {
  $list = @()
  foreach ($app in Get-StartApps) {
    $list += @{ name = $app.Name; id = $app.AppID }
  }
  Answer @{ apps = @($list) }
}
