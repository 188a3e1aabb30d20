# Makes a note, or takes one away that is as it was made. Its first line is its title.
function Main($in) {
  $space = Attach $true
  if ($in.how -eq 'remove') {
    $note = Same $space $in
    Commence
    $note.Delete()
    Answer @{ id = '' }
    return
  }
  $note = $script:outlook.CreateItem(5)
  $note.Body = $in.title + [Environment]::NewLine + $in.text
  Commence
  $note.Save()
  Answer @{ id = [string]$note.EntryID; store = [string]$note.Parent.StoreID; version = (Stamp $note) }
}
