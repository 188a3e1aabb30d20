// Changes an event, one occurrence of it (span 0) or all (span 1).
function main(request) {
  var store = kit(0, request.patience), found = occurrence(store, request), ev = head(store, request, found), set = request.set;
  var was = told(ev), all = request.whole || !was.recurs;
  was.title = str(ev.title, 100000); // whole, for taking it back
  was.place = str(ev.location, 100000);
  was.notes = str(ev.notes, 100000);
  if (set.title !== undefined) ev.title = $(set.title);
  if (set.place !== undefined) ev.location = $(set.place);
  if (set.notes !== undefined) ev.notes = $(set.notes);
  var long = was.end - was.start, start = was.start, end = was.end;
  if (set.start !== undefined) {
    start = was.start + (set.start - request.start);
    end = start + long;
  }
  if (set.end !== undefined) end = start + (set.end - (set.start !== undefined ? set.start : request.start));
  if (set.start !== undefined || set.end !== undefined) {
    if (start > was.start) { // each is looked at by itself
      ev.endDate = day(end);
      ev.startDate = day(start);
    } else {
      ev.startDate = day(start);
      ev.endDate = day(end);
    }
  }
  var err = Ref();
  begin();
  saved(store.saveEventSpanCommitError(ev, all ? 1 : 0, true, err), err);
  return { id: str(ev.calendarItemIdentifier), start: ms(ev.startDate), was: was, version: String(get(function () { return ms(ev.lastModifiedDate); }, '') || '') };
}
