// What the scripts over reminders share.
function due(r) {
  var c = r.dueDateComponents;
  if (c.isNil()) return {};
  var at = ms($.NSCalendar.currentCalendar.dateFromComponents(c));
  // What a component does not say is NSIntegerMax.
  return Number(c.hour) > 24 ? { day: Number(c.year) + '-' + two(Number(c.month)) + '-' + two(Number(c.day)) } : { at: at };
}

function todo(r) {
  return { id: str(r.calendarItemIdentifier), title: str(r.title), notes: str(r.notes, 4000), due: due(r), priority: Number(get(function () { return r.priority; }, 0)) || 0, done: Boolean(Number(r.completed)),
    list: get(function () { return str(r.calendar.title); }, ''), listID: get(function () { return str(r.calendar.calendarIdentifier); }, ''), repeats: Boolean(Number(get(function () { return r.hasRecurrenceRules; }, 0))) };
}
