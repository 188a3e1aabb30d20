// The reminders, the open ones or all, of one list or of all.
function named(list) { return function (s) { return s.trim().toLowerCase() === list.trim().toLowerCase(); }; }

function main(request) {
  var store = kit(1, request.patience), found = null, here = false, is = named(request.list || '');
  if (request.list && !list(store.calendarsForEntityType(1)).some(function (c) { return is(str(c.title)); })) fail('not_found', 'no list of that name');
  var p = request.done ? store.predicateForRemindersInCalendars($()) : store.predicateForIncompleteRemindersWithDueDateStartingEndingCalendars($(), $(), $());
  store.fetchRemindersMatchingPredicateCompletion(p, function (a) { found = a; here = true; });
  if (!spin(function () { return here; }, 30)) fail('timeout', 'timed out while reading the reminders');
  var all = list(found);
  if (request.list) all = all.filter(function (r) { return is(get(function () { return str(r.calendar.title); }, '')); });
  return { more: all.length > request.limit, reminders: all.slice(0, request.limit).map(todo) };
}
