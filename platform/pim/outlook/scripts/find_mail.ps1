# The heads of the newest mails of a folder, from its table: no item is opened, and
# Outlook's guard does not ask.
function Main($in) {
  $space = Attach $false
  $folder = Folder $space $in.folder
  $key = 'http://schemas.microsoft.com/mapi/proptag/0x1035001F'
  $flag = 'http://schemas.microsoft.com/mapi/proptag/0x10900003'
  $table = $folder.GetTable()
  $table.Columns.RemoveAll()
  foreach ($name in 'EntryID', 'Subject', 'SenderName', 'SenderEmailAddress', 'ReceivedTime', 'UnRead', 'MessageClass', $key, $flag) {
    $null = $table.Columns.Add($name)
  }
  $table.Sort('[ReceivedTime]', $true)
  $rows = New-Object System.Collections.ArrayList
  $seen = 0
  while (-not $table.EndOfTable -and $seen -lt $in.scan) {
    $v = $table.GetNextRow().GetValues()
    $seen = $seen + 1
    if (-not ([string]$v[6]).StartsWith('IPM.Note')) {
      continue
    }
    $null = $rows.Add(@{ id = [string]$v[0]; subject = [string]$v[1]; name = [string]$v[2]; address = [string]$v[3]; received = (Millis $v[4]); unread = [bool]$v[5]; key = [string]$v[7]; flagged = ($v[8] -eq 2) })
  }
  Answer @{ rows = $rows.ToArray(); store = [string]$folder.StoreID; seen = $seen; total = $table.GetRowCount() }
}
