// The reminders, the open ones or all.
function main(request) {
  var store = kit(1, request.patience), found = null, here = false;
  var p = request.done ? store.predicateForRemindersInCalendars($()) : store.predicateForIncompleteRemindersWithDueDateStartingEndingCalendars($(), $(), $());
  store.fetchRemindersMatchingPredicateCompletion(p, function (a) { found = a; here = true; });
  if (!spin(function () { return here; }, 30)) fail('timeout', 'the reminders did not come');
  var all = list(found);
  return { more: all.length > request.limit, reminders: all.slice(0, request.limit).map(todo) };
}
