# Reads the windows with the handles that are given.
function Visit($e, $index, $path, $depth, $in) {
  if ($script:list.Count -ge $in.nodes -or $script:clock.ElapsedMilliseconds -gt $in.millis) {
    $script:more = $true
    return
  }
  $hidden = [bool]$e.Cached.IsPassword
  $value = ''
  $takes = $false
  $p = $null
  if ((-not $hidden) -and $e.TryGetCachedPattern([System.Windows.Automation.ValuePattern]::Pattern, [ref]$p)) {
    $value = Short $p.Cached.Value
    $takes = (-not $p.Cached.IsReadOnly) -and [bool]$e.Cached.IsEnabled
  }
  [void]$script:list.Add(@{ window = $index; path = $path + ':' + (Number $e); depth = $depth; role = (Role $e); name = (Short $e.Cached.Name); text = $value; does = (Does $e); takes = [bool]$takes; secret = $hidden })
  if ($depth -ge $in.depth) {
    $script:more = $true
    return
  }
  $i = 0
  foreach ($k in (Kids $e)) {
    if ($i -ge $in.kids) {
      $script:more = $true
      return
    }
    if (-not $k.Cached.IsOffscreen) { Visit $k $index ($path + '.' + $i) ($depth + 1) $in }
    $i++
  }
}
function Main($in) {
  Open-Automation
  $script:list = New-Object System.Collections.ArrayList
  $script:more = $false
  $script:gone = 0
  $script:clock = [System.Diagnostics.Stopwatch]::StartNew()
  $index = 0
  foreach ($handle in @($in.windows)) {
    try { Visit (Window-Of $handle) $index ([string]$handle) 0 $in } catch {
      if ($_.Exception.GetBaseException().GetType().Name -cne 'ElementNotAvailableException') { throw }
      $script:gone++
    }
    $index++
  }
  Answer @{ list = @($script:list); more = $script:more; gone = $script:gone }
}
