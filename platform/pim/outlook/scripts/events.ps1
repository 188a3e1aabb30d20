# What the scripts over the calendar share.
function Utc($date) {
  return [long](([datetime]::SpecifyKind([datetime]$date, [DateTimeKind]::Utc)) - (New-Object datetime 1970, 1, 1, 0, 0, 0, ([DateTimeKind]::Utc))).TotalMilliseconds
}
function Reach($who) {
  $found = Field $who '0x39FE001E'
  if ($found) {
    return $found
  }
  return [string]$who.Address
}
# Told is an event as it is told. Only of a meeting the people are read: Outlook's guard
# may ask about them.
function Told($item, $most) {
  $guests = New-Object System.Collections.ArrayList
  $organizer = @{ name = ''; address = '' }
  if ($item.MeetingStatus -ne 0) {
    foreach ($who in $item.Recipients) {
      if ($guests.Count -lt 50) {
        $null = $guests.Add(@{ name = [string]$who.Name; address = (Reach $who) })
      }
    }
    $organizer.name = [string]$item.Organizer
  }
  $notes = ''
  if ($most -gt 0) {
    $notes = Piece $item.Body $most
  }
  return @{ id = [string]$item.EntryID; store = [string]$item.Parent.StoreID; uid = [string]$item.GlobalAppointmentID; title = (Piece $item.Subject 500); place = (Piece $item.Location 500); notes = $notes; start = (Utc $item.StartUTC); end = (Utc $item.EndUTC); allDay = [bool]$item.AllDayEvent; first = (Day $item.Start); until = (Day $item.End); recurs = [bool]$item.IsRecurring; open = ($item.BusyStatus -eq 0); cancelled = ($item.MeetingStatus -eq 5 -or $item.MeetingStatus -eq 7); meeting = ($item.MeetingStatus -ne 0); version = (Stamp $item); organizer = $organizer; guests = $guests.ToArray() }
}
# One is the event that is meant: all of a series, or the occurrence that begins then.
function One($space, $in) {
  $item = Same $space $in
  if ($item.Class -ne 26) {
    Refuse 'not_found' 'not an event'
  }
  if ($item.IsRecurring -and -not $in.whole) {
    try {
      return $item.GetRecurrencePattern().GetOccurrence((Local $in.start))
    } catch {
      Refuse 'not_found' 'no such occurrence'
    }
  }
  return $item
}
