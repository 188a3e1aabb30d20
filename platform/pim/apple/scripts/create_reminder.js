// Makes a reminder. One that is due and has no alarm never tells anybody.
function main(request) {
  var store = kit(1, request.patience), to = place(store, 1, request.list);
  var r = $.EKReminder.reminderWithEventStore(store);
  r.title = $(request.title);
  r.calendar = to;
  if (request.priority) r.priority = request.priority;
  if (request.notes) r.notes = $(request.notes);
  if (request.day || request.at) {
    var d = new Date(request.day ? midnight(request.day) : request.at), c = $.NSDateComponents.alloc.init;
    c.year = d.getFullYear();
    c.month = d.getMonth() + 1;
    c.day = d.getDate();
    if (!request.day) {
      c.hour = d.getHours();
      c.minute = d.getMinutes();
      r.addAlarm($.EKAlarm.alarmWithAbsoluteDate(day(request.at)));
    }
    r.dueDateComponents = c;
  }
  var err = Ref();
  begin();
  saved(store.saveReminderCommitError(r, true, err), err);
  return { id: str(r.calendarItemIdentifier), list: str(to.title) };
}
