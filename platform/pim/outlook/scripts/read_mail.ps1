# One mail with its text. It stays unread.
function Address($who) {
  $found = Field $who '0x39FE001E'
  if ($found) {
    return $found
  }
  return [string]$who.Address
}
function Main($in) {
  $space = Attach $false
  $item = $space.GetItemFromID($in.id, $in.store)
  if ($item.Class -ne 43) {
    Refuse 'not_found' 'not a mail'
  }
  $to = New-Object System.Collections.ArrayList
  foreach ($who in $item.Recipients) {
    if ($who.Type -ne 3 -and $to.Count -lt 50) {
      $null = $to.Add(@{ name = [string]$who.Name; address = (Address $who) })
    }
  }
  $from = [string]$item.SenderEmailAddress
  if ($item.SenderEmailType -eq 'EX') {
    $from = Field $item '0x5D01001F'
  }
  $files = New-Object System.Collections.ArrayList
  foreach ($file in $item.Attachments) {
    $null = $files.Add([string]$file.FileName)
  }
  $text = [string]$item.Body
  $cut = $text.Length -gt $in.most
  if ($cut) {
    $text = $text.Substring(0, $in.most)
  }
  Answer @{ id = $in.id; subject = [string]$item.Subject; name = [string]$item.SenderName; address = $from; received = (Millis $item.ReceivedTime); unread = [bool]$item.UnRead; flagged = ($item.FlagStatus -eq 2); to = $to.ToArray(); files = $files.ToArray(); text = $text; cut = $cut; head = (Field $item '0x007D001F') }
}
