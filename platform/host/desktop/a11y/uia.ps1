# What the scripts about windows share. One call fetches all elements of one box with
# what is known of them: an element that is asked by itself costs milliseconds each
# time, and a search from the desktop takes minutes.
function Open-Automation {
  [void][System.Reflection.Assembly]::LoadWithPartialName('UIAutomationClient')
  [void][System.Reflection.Assembly]::LoadWithPartialName('UIAutomationTypes')
  $c = New-Object System.Windows.Automation.CacheRequest
  $c.Add([System.Windows.Automation.AutomationElement]::NameProperty)
  $c.Add([System.Windows.Automation.AutomationElement]::ControlTypeProperty)
  $c.Add([System.Windows.Automation.AutomationElement]::IsPasswordProperty)
  $c.Add([System.Windows.Automation.AutomationElement]::IsOffscreenProperty)
  $c.Add([System.Windows.Automation.AutomationElement]::IsEnabledProperty)
  $c.Add([System.Windows.Automation.InvokePattern]::Pattern)
  $c.Add([System.Windows.Automation.TogglePattern]::Pattern)
  $c.Add([System.Windows.Automation.SelectionItemPattern]::Pattern)
  $c.Add([System.Windows.Automation.ExpandCollapsePattern]::Pattern)
  $c.Add([System.Windows.Automation.ValuePattern]::Pattern)
  $c.Add([System.Windows.Automation.ValuePattern]::ValueProperty)
  $c.Add([System.Windows.Automation.ValuePattern]::IsReadOnlyProperty)
  $script:cache = $c
}
function Short($text) {
  $s = [string]$text
  if ($s.Length -gt 500) { $s = $s.Substring(0, 500) }
  return $s
}
function Role($e) { return $e.Cached.ControlType.ProgrammaticName.Replace('ControlType.', '').ToLowerInvariant() }
function Number($e) { return ($e.GetRuntimeId() -join '-') }
# Kids answers with a collection, which must not be taken apart.
function Kids($e) {
  $scope = $script:cache.Activate()
  try {
    return , $e.FindAll([System.Windows.Automation.TreeScope]::Children, [System.Windows.Automation.Automation]::ControlViewCondition)
  } finally { $scope.Dispose() }
}
function Window-Of($handle) {
  return [System.Windows.Automation.AutomationElement]::FromHandle([IntPtr][int64]$handle).GetUpdatedCache($script:cache)
}
function Does($e) {
  $p = $null
  if (-not $e.Cached.IsEnabled) { return '' }
  if ($e.TryGetCachedPattern([System.Windows.Automation.InvokePattern]::Pattern, [ref]$p)) { return 'invoke' }
  if ($e.TryGetCachedPattern([System.Windows.Automation.TogglePattern]::Pattern, [ref]$p)) { return 'toggle' }
  if ($e.TryGetCachedPattern([System.Windows.Automation.SelectionItemPattern]::Pattern, [ref]$p)) { return 'select' }
  if ($e.TryGetCachedPattern([System.Windows.Automation.ExpandCollapsePattern]::Pattern, [ref]$p)) { return 'expand' }
  return ''
}
