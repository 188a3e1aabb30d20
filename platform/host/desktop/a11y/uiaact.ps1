# Does what an element offers, or fills a text in. It is the element that was seen, or
# nothing is done.
function Main($in) {
  Open-Automation
  $gone = 'the window is not as it was when it was read'
  $where, $number = $in.path.Split(':')
  $steps = $where.Split('.')
  if ($steps.Count -lt 2) { Refuse 'changed' $gone }
  $e = $null
  try { $e = Window-Of $steps[0] } catch { Refuse 'changed' $gone }
  foreach ($i in $steps[1..($steps.Count - 1)]) {
    $all = Kids $e
    if ([int]$i -ge $all.Count) { Refuse 'changed' $gone }
    $e = $all[[int]$i]
  }
  if (((Number $e) -cne $number) -or ((Role $e) -cne $in.role) -or ((Short $e.Cached.Name) -cne $in.name)) { Refuse 'changed' $gone }
  $p = $null
  if ($in.fill) {
    if ($e.Cached.IsPassword -or -not $e.TryGetCurrentPattern([System.Windows.Automation.ValuePattern]::Pattern, [ref]$p)) { Refuse 'changed' $gone }
    if ($p.Current.IsReadOnly) { Refuse 'changed' $gone }
    Commence
    $p.SetValue([string]$in.text)
    if ($p.Current.Value.Replace("`r`n", "`n") -cne ([string]$in.text).Replace("`r`n", "`n")) { throw 'the field shows another text than was filled in' }
    Answer @{ }
    return
  }
  if ((-not $in.does) -or ((Does $e) -cne $in.does)) { Refuse 'changed' $gone }
  switch -CaseSensitive ($in.does) {
    'invoke' {
      $p = $e.GetCurrentPattern([System.Windows.Automation.InvokePattern]::Pattern)
      Commence
      $p.Invoke()
    }
    'toggle' {
      $p = $e.GetCurrentPattern([System.Windows.Automation.TogglePattern]::Pattern)
      Commence
      $p.Toggle()
    }
    'select' {
      $p = $e.GetCurrentPattern([System.Windows.Automation.SelectionItemPattern]::Pattern)
      Commence
      $p.Select()
    }
    'expand' {
      $p = $e.GetCurrentPattern([System.Windows.Automation.ExpandCollapsePattern]::Pattern)
      Commence
      if ($p.Current.ExpandCollapseState -eq [System.Windows.Automation.ExpandCollapseState]::Collapsed) { $p.Expand() } else { $p.Collapse() }
    }
  }
  Answer @{ }
}
