// What the scripts over events share.
var STATUS_CANCELLED = 3; // EKEventStatusCanceled
var FREE = 1; // EKEventAvailabilityFree

function person(p) {
  var at = get(function () { return str(p.URL.resourceSpecifier); }, '');
  return { name: get(function () { return str(p.name, 120); }, ''), address: at.indexOf('@') > 0 ? at : '' };
}

function told(ev) {
  var start = ms(ev.startDate), end = ms(ev.endDate), whole = Boolean(Number(ev.allDay));
  var out = {
    id: str(ev.calendarItemIdentifier), uid: str(ev.calendarItemExternalIdentifier), title: str(ev.title), place: str(ev.location), notes: str(ev.notes, 4000),
    start: start, end: end, allDay: whole, floating: get(function () { return ev.timeZone.isNil(); }, false),
    cancelled: Number(get(function () { return ev.status; }, 0)) === STATUS_CANCELLED, open: Number(get(function () { return ev.availability; }, 0)) === FREE,
    recurs: Boolean(Number(get(function () { return ev.hasRecurrenceRules; }, 0))),
    calendar: get(function () { return str(ev.calendar.title); }, ''), version: String(get(function () { return ms(ev.lastModifiedDate); }, '') || ''),
  };
  if (whole) { // its end is the last second of its last day
    out.first = date(start);
    out.last = date(end > start ? end - 1 : end);
  }
  if (Boolean(Number(get(function () { return ev.hasAttendees; }, 0)))) {
    out.guests = list(ev.attendees).slice(0, 50).map(person);
    if (!ev.organizer.isNil()) out.organizer = person(ev.organizer);
  }
  return out;
}

// between hands each occurrence in a span to f. A span of more than four years
// matches nothing, and says nothing of it.
function between(store, from, to, f) {
  var step = 364 * 86400 * 1000, seen = {};
  for (var a = from; a < to; a += step) {
    var p = store.predicateForEventsWithStartDateEndDateCalendars(day(a), day(Math.min(a + step, to)), $());
    list(store.eventsMatchingPredicate(p)).forEach(function (ev) {
      var key = str(ev.calendarItemIdentifier) + '@' + ms(ev.startDate);
      if (!seen[key]) f(ev);
      seen[key] = true;
    });
  }
}

// occurrence finds the one that begins then.
function occurrence(store, want) {
  var found = null;
  between(store, want.start - 86400000, want.start + 86400000, function (ev) {
    if (str(ev.calendarItemIdentifier) === want.id && Math.abs(ms(ev.startDate) - want.start) < 1000) found = ev;
  });
  if (!found) fail('not_found', 'the event no longer exists');
  if (want.version && String(ms(found.lastModifiedDate) || '') !== want.version) fail('changed', 'the event changed in the meantime');
  return found;
}

// head is the event whose change changes all of its occurrences.
function head(store, want, found) {
  if (!want.whole || !Boolean(Number(found.hasRecurrenceRules))) return found;
  var first = store.calendarItemWithIdentifier($(want.id));
  return first.isNil() ? found : first;
}
