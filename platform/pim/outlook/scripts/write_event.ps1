# Makes, changes or deletes an event. Guests are told by Outlook itself.
function Main($in) {
  $space = Attach $true
  $was = $null
  if ($in.how -eq 'create') {
    $item = $script:outlook.CreateItem(1)
    $item.Subject = $in.title
    $item.Location = [string]$in.place
    $item.Body = [string]$in.notes
    if ($in.allDay) {
      $item.AllDayEvent = $true
      $item.Start = OnDay $in.first
      $item.End = OnDay $in.until
    } else {
      $item.Start = Local $in.start
      $item.End = Local $in.end
    }
    $item.ReminderSet = ($null -ne $in.alarm)
    if ($null -ne $in.alarm) {
      $item.ReminderMinutesBeforeStart = $in.alarm
    }
    if ($in.rule) {
      $pattern = $item.GetRecurrencePattern()
      $pattern.RecurrenceType = $in.rule.type
      if ($in.rule.mask) {
        $pattern.DayOfWeekMask = $in.rule.mask
      }
      $pattern.Interval = $in.rule.interval
      if ($in.rule.count) {
        $pattern.Occurrences = $in.rule.count
      }
      if ($in.rule.until) {
        $pattern.PatternEndDate = OnDay $in.rule.until
      }
    }
    if ($in.guests) {
      $item.MeetingStatus = 1
      foreach ($who in $in.guests) {
        $item.Recipients.Add($who).Type = 1
      }
      if (-not $item.Recipients.ResolveAll()) {
        Refuse 'invalid_input' 'Outlook rejected one of the addresses'
      }
    }
    Commence
    $item.Save()
    if ($in.guests) {
      $item.Send()
    }
    Answer @{ event = (Told $item 0) }
    return
  }
  $item = One $space $in
  $was = Told $item 100000
  if ($in.how -eq 'delete') {
    Commence
    if ($item.MeetingStatus -eq 1) {
      $item.MeetingStatus = 5
      $item.Save()
      $item.Send()
    }
    $item.Delete()
    Answer @{ was = $was }
    return
  }
  if ($null -ne $in.set.title) {
    $item.Subject = $in.set.title
  }
  if ($null -ne $in.set.place) {
    $item.Location = $in.set.place
  }
  if ($null -ne $in.set.notes) {
    $item.Body = $in.set.notes
  }
  $long = $was.end - $was.start
  if ($null -ne $in.set.start) {
    $item.Start = Local $in.set.start
    $item.End = Local ($in.set.start + $long)
  }
  if ($null -ne $in.set.end) {
    $item.End = Local $in.set.end
  }
  Commence
  $item.Save()
  if ($item.MeetingStatus -eq 1) {
    $item.Send()
  }
  Answer @{ was = $was; event = (Told $item 0) }
}
