# The notes that have all of the words, the newest first; with an id that one, whole.
function Main($in) {
  $space = Attach $false
  $folder = $space.GetDefaultFolder(12)
  $store = [string]$folder.StoreID
  $rows = New-Object System.Collections.ArrayList
  if ($in.id) {
    $note = Same $space $in
    if ($note.Class -ne 44) {
      Refuse 'not_found' 'not a note'
    }
    $text = [string]$note.Body
    $null = $rows.Add(@{ id = [string]$note.EntryID; title = [string]$note.Subject; text = (Piece $text $in.most); cut = ($text.Length -gt $in.most); changed = (Millis $note.LastModificationTime) })
    Answer @{ rows = $rows.ToArray(); store = $store; more = $false }
    return
  }
  $items = $folder.Items
  $items.Sort('[LastModificationTime]', $true)
  $seen = 0
  $note = $items.GetFirst()
  while ($note -and $seen -lt $in.scan -and $rows.Count -lt $in.limit) {
    $seen = $seen + 1
    $text = [string]$note.Body
    if (HasAll $text $in.words) {
      $null = $rows.Add(@{ id = [string]$note.EntryID; title = [string]$note.Subject; text = (Piece $text 300); cut = ($text.Length -gt 300); changed = (Millis $note.LastModificationTime) })
    }
    $note = $items.GetNext()
  }
  Answer @{ rows = $rows.ToArray(); store = $store; more = ($note -and $rows.Count -lt $in.limit) }
}
