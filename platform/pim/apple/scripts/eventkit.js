// What the scripts over EventKit share (developer.apple.com/documentation/eventkit).
// Without full access its store is an empty stand-in that reads nothing and writes
// into nowhere: everything stops at any status but 3 (memcal connector, measured).
function kit(entity, patience) {
  ObjC.import('EventKit');
  function status() { return Number($.EKEventStore.authorizationStatusForEntityType(entity)); }
  var store = $.EKEventStore.alloc.init;
  if (status() === 0 && patience > 0) {
    var done = false;
    var answer = function () { done = true; };
    if (entity === 0) store.requestFullAccessToEventsWithCompletion(answer);
    else store.requestFullAccessToRemindersWithCompletion(answer);
    spin(function () { return done; }, patience);
    store = $.EKEventStore.alloc.init;
  }
  if (status() !== 3) fail('permission_denied', entity === 0 ? 'calendars' : 'reminders');
  return store;
}

// spin lets completions come in until ok, at most for some seconds.
function spin(ok, seconds) {
  var end = Date.now() + seconds * 1000;
  while (!ok() && Date.now() < end) {
    $.NSRunLoop.currentRunLoop.runModeBeforeDate($.NSDefaultRunLoopMode, day(Date.now() + 100));
  }
  return ok();
}

function day(ms) { return $.NSDate.dateWithTimeIntervalSince1970(ms / 1000); }

function ms(date) { return date.isNil() ? null : Math.round(date.timeIntervalSince1970 * 1000); }

function str(x, most) {
  var v = ObjC.unwrap(x);
  return typeof v === 'string' ? v.slice(0, most || 500) : '';
}

function list(array) {
  var out = [], n = array.isNil() ? 0 : Number(array.count);
  for (var i = 0; i < n; i++) out.push(array.objectAtIndex(i));
  return out;
}

function two(n) { return ('0' + n).slice(-2); }

// date is a day as this machine's calendar has it.
function date(ms) {
  var d = new Date(ms);
  return d.getFullYear() + '-' + two(d.getMonth() + 1) + '-' + two(d.getDate());
}

// midnight is where that day begins here.
function midnight(text, later) {
  var p = text.split('-');
  return new Date(Number(p[0]), Number(p[1]) - 1, Number(p[2]) + (later || 0)).getTime();
}

// place is the calendar or list of a name or id, the usual one of none.
function place(store, entity, wanted) {
  if (!wanted) {
    var usual = entity === 0 ? store.defaultCalendarForNewEvents : store.defaultCalendarForNewReminders;
    if (usual.isNil()) fail('setup_required', 'no calendar exists; create one first');
    return usual;
  }
  var all = list(store.calendarsForEntityType(entity));
  for (var i = 0; i < all.length; i++) {
    if (str(all[i].calendarIdentifier) === wanted || str(all[i].title).toLowerCase() === wanted.toLowerCase()) return all[i];
  }
  fail('not_found', 'no calendar or list of that name');
}

// saved turns the refusal of a store into an error: nothing was done then.
function saved(ok, err) {
  if (ok) return;
  fail('internal', str(err[0].localizedDescription) + ' (' + Number(err[0].code) + ')');
}
