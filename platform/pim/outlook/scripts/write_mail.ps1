# Sends a mail, or keeps it among the drafts. What was sent may wait in the outbox:
# an Outlook that was started for it is held open until that is empty.
function Main($in) {
  $space = Attach $true
  $mail = $script:outlook.CreateItem(0)
  foreach ($who in $in.to) {
    $mail.Recipients.Add($who).Type = 1
  }
  foreach ($who in $in.cc) {
    $mail.Recipients.Add($who).Type = 2
  }
  foreach ($who in $in.bcc) {
    $mail.Recipients.Add($who).Type = 3
  }
  if ($mail.Recipients.Count -gt 0 -and -not $mail.Recipients.ResolveAll()) {
    Refuse 'invalid_input' 'Outlook rejected one of the addresses'
  }
  $mail.Subject = $in.subject
  $mail.BodyFormat = 1
  $mail.Body = $in.text
  Commence
  if ($in.how -eq 'draft') {
    $mail.Save()
    Answer @{ id = [string]$mail.EntryID; waiting = $false }
    return
  }
  $mail.Send()
  $waiting = $false
  if ($script:started) {
    try {
      $space.SendAndReceive($false)
      $end = (Get-Date).AddSeconds(30)
      while ($space.GetDefaultFolder(4).Items.Count -gt 0 -and (Get-Date) -lt $end) {
        Start-Sleep -Milliseconds 500
      }
      $waiting = $space.GetDefaultFolder(4).Items.Count -gt 0
    } catch {
      $waiting = $true
    }
  }
  Answer @{ id = ''; waiting = $waiting }
}
