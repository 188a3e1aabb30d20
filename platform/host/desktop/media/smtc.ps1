# Tells what players show to Windows, or presses one of their buttons
# (learn.microsoft.com, GlobalSystemMediaTransportControlsSessionManager).
function Await($op, $type) {
  $as = [System.WindowsRuntimeSystemExtensions].GetMethods() | Where-Object { $_.Name -eq 'AsTask' -and $_.GetParameters().Count -eq 1 -and $_.GetParameters()[0].ParameterType.Name -eq 'IAsyncOperation`1' }
  $task = @($as)[0].MakeGenericMethod($type).Invoke($null, @($op))
  if (-not $task.Wait(5000)) { throw (New-Object System.TimeoutException 'the player did not answer') }
  $task.Result
}
function Main($in) {
  $null = [System.Reflection.Assembly]::Load('System.Runtime.WindowsRuntime, Version=4.0.0.0, Culture=neutral, PublicKeyToken=b77a5c561934e089')
  $null = [Windows.Media.Control.GlobalSystemMediaTransportControlsSessionManager,Windows.Media.Control,ContentType=WindowsRuntime]
  $null = [Windows.Media.Control.GlobalSystemMediaTransportControlsSessionMediaProperties,Windows.Media.Control,ContentType=WindowsRuntime]
  $manager = Await ([Windows.Media.Control.GlobalSystemMediaTransportControlsSessionManager]::RequestAsync()) ([Windows.Media.Control.GlobalSystemMediaTransportControlsSessionManager])
  $sessions = @($manager.GetSessions())
  if ($in.action) {
    $one = $null
    foreach ($s in $sessions) {
      if ($s.SourceAppUserModelId -eq $in.id) { $one = $s }
    }
    if (-not $one) { Refuse 'not_found' 'this player has gone' }
    $now = $one.GetTimelineProperties().Position
    $to = [long]([Math]::Max(0, $now.Ticks + [double]$in.by * 10000000))
    Commence
    switch ($in.action) {
      'play' { $op = $one.TryPlayAsync() }
      'pause' { $op = $one.TryPauseAsync() }
      'toggle' { $op = $one.TryTogglePlayPauseAsync() }
      'next' { $op = $one.TrySkipNextAsync() }
      'previous' { $op = $one.TrySkipPreviousAsync() }
      'stop' { $op = $one.TryStopAsync() }
      'seek' { $op = $one.TryChangePlaybackPositionAsync($to) }
    }
    $taken = Await $op ([bool])
    if (-not $taken) { Refuse 'unsupported' 'the player does not do that now' }
    Answer @{ taken = $true }
    return
  }
  $list = @()
  foreach ($s in $sessions) {
    $state = 'unknown'
    switch ([int]$s.GetPlaybackInfo().PlaybackStatus) {
      3 { $state = 'stopped' }
      4 { $state = 'playing' }
      5 { $state = 'paused' }
    }
    $one = @{ id = [string]$s.SourceAppUserModelId; name = [string]$s.SourceAppUserModelId; state = $state; title = ''; artist = ''; album = ''; length = 0; position = 0; volume = $null }
    try {
      $p = Await ($s.TryGetMediaPropertiesAsync()) ([Windows.Media.Control.GlobalSystemMediaTransportControlsSessionMediaProperties])
      $one.title = [string]$p.Title
      $one.artist = [string]$p.Artist
      $one.album = [string]$p.AlbumTitle
      $line = $s.GetTimelineProperties()
      $one.length = $line.EndTime.TotalSeconds
      $one.position = $line.Position.TotalSeconds
    } catch {
      $one.title = ''
    }
    $list += $one
  }
  Answer @{ players = @($list) }
}
