// Marks a reminder as done or open, or removes it.
function main(request) {
  var store = kit(1, request.patience), r = store.calendarItemWithIdentifier($(request.id));
  if (r.isNil()) fail('not_found', 'the reminder no longer exists');
  var was = todo(r), err = Ref();
  begin();
  if (request.remove) {
    saved(store.removeReminderCommitError(r, true, err), err);
  } else {
    r.completed = Boolean(request.done);
    saved(store.saveReminderCommitError(r, true, err), err);
  }
  return { was: was };
}
