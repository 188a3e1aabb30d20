// Makes an event.
function main(request) {
  var store = kit(0, request.patience), to = place(store, 0, request.calendar);
  if (!Number(to.allowsContentModifications)) fail('unsupported', 'the calendar is read-only');
  var ev = $.EKEvent.eventWithEventStore(store);
  ev.title = $(request.title);
  ev.calendar = to;
  if (request.place) ev.location = $(request.place);
  if (request.notes) ev.notes = $(request.notes);
  if (request.allDay) {
    ev.allDay = true;
    ev.endDate = day(midnight(request.last, 1) - 1000);
    ev.startDate = day(midnight(request.first));
  } else {
    ev.endDate = day(request.end);
    ev.startDate = day(request.start);
  }
  if (request.alarm !== undefined && request.alarm !== null) ev.addAlarm($.EKAlarm.alarmWithRelativeOffset(-request.alarm));
  if (request.rule) ev.recurrenceRules = $([rule(request.rule)]);
  var err = Ref();
  begin();
  saved(store.saveEventSpanCommitError(ev, 1, true, err), err);
  return { id: str(ev.calendarItemIdentifier), start: ms(ev.startDate), version: String(get(function () { return ms(ev.lastModifiedDate); }, '') || ''), calendar: str(to.title) };
}

function numbers(a) { return a && a.length ? $(a) : $(); }

function rule(r) {
  var end = $();
  if (r.until) end = $.EKRecurrenceEnd.recurrenceEndWithEndDate(day(r.until));
  else if (r.count) end = $.EKRecurrenceEnd.recurrenceEndWithOccurrenceCount(r.count);
  var days = (r.days || []).map(function (d) { return $.EKRecurrenceDayOfWeek.dayOfWeekWeekNumber(d.day, d.week); });
  return $.EKRecurrenceRule.alloc.initRecurrenceWithFrequencyIntervalDaysOfTheWeekDaysOfTheMonthMonthsOfTheYearWeeksOfTheYearDaysOfTheYearSetPositionsEnd(
    r.frequency, r.interval, numbers(days), numbers(r.monthDays), numbers(r.months), $(), $(), numbers(r.positions), end);
}
