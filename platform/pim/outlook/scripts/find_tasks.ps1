# The tasks, from their table: no item is opened.
function Main($in) {
  $space = Attach $false
  $folder = $space.GetDefaultFolder(13)
  $table = $folder.GetTable()
  $table.Columns.RemoveAll()
  foreach ($name in 'EntryID', 'Subject', 'DueDate', 'Complete', 'Importance', 'ReminderSet', 'ReminderTime', 'IsRecurring') {
    $null = $table.Columns.Add($name)
  }
  $rows = New-Object System.Collections.ArrayList
  $more = $false
  while (-not $table.EndOfTable) {
    $v = $table.GetNextRow().GetValues()
    if ($v[3] -and -not $in.done) {
      continue
    }
    if ($rows.Count -ge $in.limit) {
      $more = $true
      break
    }
    $rings = 0
    if ($v[5]) {
      $rings = Millis $v[6]
    }
    $null = $rows.Add(@{ id = [string]$v[0]; title = (Piece $v[1] 500); day = (Day $v[2]); done = [bool]$v[3]; importance = [int]$v[4]; rings = $rings; repeats = [bool]$v[7] })
  }
  Answer @{ rows = $rows.ToArray(); store = [string]$folder.StoreID; more = $more }
}
