# The events of a span, the recurring ones once for each occurrence. The items are
# sorted, then IncludeRecurrences is set, then they are restricted: in another order
# occurrences are lost, and Count never means anything.
function Main($in) {
  $space = Attach $false
  $items = $space.GetDefaultFolder(9).Items
  $items.Sort('[Start]')
  $items.IncludeRecurrences = $true
  # Dates of a filter are read in the owner's own format, and have no seconds.
  $to = (Local $in.to).AddMinutes(1).ToString('g')
  $from = (Local $in.from).AddMinutes(-1).ToString('g')
  $found = $items.Restrict("[Start] < '" + $to + "' AND [End] > '" + $from + "'")
  $events = New-Object System.Collections.ArrayList
  $lost = 0
  $seen = 0
  $item = $found.GetFirst()
  while ($item -and $seen -lt $in.limit) {
    $seen = $seen + 1
    try {
      if ((Utc $item.StartUTC) -lt $in.to -and (Utc $item.EndUTC) -ge $in.from) {
        $null = $events.Add((Told $item 0))
      }
    } catch {
      $lost = $lost + 1
    }
    $item = $found.GetNext()
  }
  Answer @{ events = $events.ToArray(); lost = $lost; more = [bool]$item }
}
