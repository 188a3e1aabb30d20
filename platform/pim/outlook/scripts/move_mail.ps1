# Moves a mail to another folder, and says what it is called there.
function Main($in) {
  $space = Attach $false
  $item = $space.GetItemFromID($in.id, $in.store)
  $from = $item.Parent
  if ($in.target -match '^id:([0-9A-Fa-f]+)/([0-9A-Fa-f]+)$') { # where a mail was before
    $target = $space.GetFolderFromID($Matches[1], $Matches[2])
  } else {
    $target = Folder $space $in.target
  }
  Commence
  $moved = $item.Move($target)
  Answer @{ id = [string]$moved.EntryID; store = [string]$target.StoreID; from = ('id:' + [string]$from.EntryID + '/' + [string]$from.StoreID) }
}
