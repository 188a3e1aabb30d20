// A double of JXA's bridge to Objective-C, with as much of Foundation and EventKit
// as scripts use (developer.apple.com/documentation/eventkit). As behind the real
// one enumerations are read as strings, what is nil is an object whose js is
// undefined, and a name that was not imported is not there.
function makeBridge(world, event) {
  'use strict';
  var imported = {};
  var waiting = []; // blocks that run when the run loop does
  var kit = world.eventkit || { status: [0, 0], calendars: [], events: [], reminders: [] };
  var year = 366 * 86400 * 1000;

  function unknown(k) { throw new Error("TypeError: undefined is not a function (near '" + String(k) + "')"); }
  // strict makes reading or writing what the class does not have an error.
  function strict(o, fixed) {
    return new Proxy(o, {
      get: function (t, k) { if (!(k in t) && typeof k !== 'symbol' && k !== 'js' && k !== 'toJSON') unknown(k); return t[k]; },
      set: function (t, k, v) { if (!(k in t) || (fixed || []).indexOf(k) >= 0) unknown(k); t[k] = box(v); return true; },
    });
  }
  var nil = strict({ js: undefined, isNil: function () { return true; } });
  function box(v) {
    if (v === undefined || v === null) return nil;
    if (typeof v === 'string') return strict({ js: v, isNil: function () { return false; } });
    if (Array.isArray(v)) return array(v);
    return v;
  }
  function array(list) {
    return strict({ js: list, count: list.length, objectAtIndex: function (i) { if (i >= list.length) unknown('objectAtIndex'); return list[i]; }, isNil: function () { return false; } });
  }
  function date(seconds) { return strict({ timeIntervalSince1970: seconds, isNil: function () { return false; }, js: new Date(seconds * 1000) }); }
  function maybe(ms) { return ms === undefined || ms === null ? nil : date(ms / 1000); }
  function ms(d) { return d === nil || d === undefined ? null : Math.round(d.timeIntervalSince1970 * 1000); }

  function full(entity) { return kit.status[entity] === 3; }
  function calendars(entity) {
    if (!full(entity)) return [];
    return kit.calendars.filter(function (c) { return (c.entity || 0) === entity; }).map(calendar);
  }
  function calendar(c) {
    return strict({ __data: c, calendarIdentifier: box(c.id), title: box(c.title), allowsContentModifications: !c.fixed,
      source: strict({ sourceIdentifier: box(c.source || 'local'), title: box(c.account || 'iCloud') }), isNil: function () { return false; } });
  }
  function byId(entity, id) {
    var c = calendars(entity).filter(function (x) { return x.__data.id === id.js; })[0];
    return c || nil;
  }

  function ekEvent(e, start, end) {
    var rules = e.rule ? [e.rule] : [];
    return strict({
      __data: e, __start: start, title: box(e.title), location: box(e.location), notes: box(e.notes), URL: nil, startDate: maybe(start), endDate: maybe(end),
      allDay: e.allDay ? 1 : 0, isAllDay: e.allDay ? 1 : 0, calendar: e.calendar ? calendar(find(e.calendar)) : nil, get calendarItemIdentifier() { return box(e.id); },
      calendarItemExternalIdentifier: box(e.uid || e.id), eventIdentifier: box((e.calendar || '') + ':' + e.id), status: String(e.status || 0),
      availability: String(e.availability || 0), hasRecurrenceRules: rules.length > 0, recurrenceRules: array(rules), isDetached: false,
      occurrenceDate: maybe(start), timeZone: e.floating ? nil : strict({ name: box('Europe/Vilnius') }),
      lastModifiedDate: maybe(e.modified || 0), hasAttendees: (e.attendees || []).length > 0,
      organizer: e.organizer ? person(e.organizer) : nil, attendees: e.attendees ? array(e.attendees.map(person)) : nil,
      alarms: nil, addAlarm: function (a) { e.alarm = a; }, refresh: true, isNil: function () { return false; },
    }, ['calendarItemIdentifier', 'calendarItemExternalIdentifier', 'eventIdentifier', 'status', 'attendees', 'organizer', 'occurrenceDate']);
  }
  function person(p) { return strict({ name: box(p.name), URL: strict({ resourceSpecifier: box(p.address), absoluteString: box('mailto:' + p.address) }), isNil: function () { return false; } }); }
  function find(id) { return kit.calendars.filter(function (c) { return c.id === id; })[0]; }

  function events(p) {
    if (!full(0) || p.to - p.from > 4 * year) return array([]); // a longer predicate matches nothing, in silence
    var out = [];
    kit.events.forEach(function (e) {
      if (p.calendars && p.calendars.indexOf(e.calendar) < 0) return;
      (e.starts || [e.start]).forEach(function (s) {
        var end = s + (e.end - e.start);
        if (s < p.to && end > p.from) out.push(ekEvent(e, s, end));
      });
    });
    return array(out);
  }
  function refuse(err, text, code) {
    err[0] = strict({ localizedDescription: box(text), code: code, domain: box('EKErrorDomain') });
    return false;
  }
  function writable(item, err) {
    if (item.calendar === nil || item.calendar === undefined) return refuse(err, 'No calendar has been set.', 1);
    if (item.calendar.__data.fixed) return refuse(err, 'Der Kalender erlaubt keine \u00c4nderungen', 6);
    return true;
  }
  function dated(item) { return item.startDate !== nil && item.endDate !== nil && ms(item.startDate) <= ms(item.endDate); }

  function Store() {
    event('eventkit', 'open');
    return strict({
      requestFullAccessToEventsWithCompletion: function (f) { ask(0, f); },
      requestFullAccessToRemindersWithCompletion: function (f) { ask(1, f); },
      calendarsForEntityType: function (t) { event('eventkit', 'calendars'); return array(calendars(t)); },
      calendarWithIdentifier: function (id) { return byId(0, box(id)) === nil ? byId(1, box(id)) : byId(0, box(id)); },
      get defaultCalendarForNewEvents() { return calendars(0)[0] || nil; },
      get defaultCalendarForNewReminders() { return calendars(1)[0] || nil; },
      predicateForEventsWithStartDateEndDateCalendars: function (a, b, c) { return { from: ms(a), to: ms(b), calendars: c === nil ? null : c.js.map(function (x) { return x.__data.id; }) }; },
      eventsMatchingPredicate: function (p) { event('eventkit', 'events'); return events(p); },
      calendarItemWithIdentifier: function (id) {
        event('eventkit', 'item');
        id = box(id).js;
        var e = kit.events.filter(function (x) { return x.id === id; })[0];
        if (e && full(0)) return ekEvent(e, e.start, e.end);
        var r = kit.reminders.filter(function (x) { return x.id === id; })[0];
        return r && full(1) ? ekReminder(r) : nil;
      },
      saveEventSpanCommitError: function (ev, span, commit, err) {
        event('eventkit', 'save ' + span);
        if (!writable(ev, err)) return false;
        if (!dated(ev)) return refuse(err, 'The start date must be before the end date.', 4);
        var e = ev.__data;
        if (!e.id) { e.id = 'made-' + (kit.events.length + 1); kit.events.push(e); }
        var put = { title: ev.title.js, location: ev.location.js, notes: ev.notes.js, allDay: Boolean(ev.allDay), calendar: ev.calendar.__data.id, start: ms(ev.startDate), end: ms(ev.endDate) };
        if (ev.recurrenceRules.js && ev.recurrenceRules.js.length) put.rule = ev.recurrenceRules.js[0];
        if (e.starts && span === 0) { // one occurrence goes its own way
          e.starts = e.starts.filter(function (s) { return s !== ev.__start; });
          kit.events.push(Object.assign({ id: e.id + '-' + ev.__start, uid: e.uid }, put, { rule: undefined }));
        } else if (e.starts) {
          var by = put.start - ev.__start;
          e.starts = e.starts.map(function (s) { return s >= ev.__start ? s + by : s; });
          Object.assign(e, put, { start: e.start + by, end: e.start + by + (put.end - put.start) });
        } else {
          Object.assign(e, put);
        }
        return true;
      },
      removeEventSpanCommitError: function (ev, span, commit, err) {
        event('eventkit', 'remove ' + span);
        if (!writable(ev, err)) return false;
        var e = ev.__data;
        if (e.starts && span === 0) e.starts = e.starts.filter(function (s) { return s !== ev.__start; });
        else kit.events.splice(kit.events.indexOf(e), 1);
        return true;
      },
      predicateForIncompleteRemindersWithDueDateStartingEndingCalendars: function () { return { open: true }; },
      predicateForRemindersInCalendars: function () { return {}; },
      fetchRemindersMatchingPredicateCompletion: function (p, f) {
        event('eventkit', 'reminders');
        waiting.push(function () { f(full(1) ? array(kit.reminders.filter(function (r) { return !p.open || !r.done; }).map(ekReminder)) : nil); });
        return nil;
      },
      saveReminderCommitError: function (r, commit, err) {
        event('eventkit', 'save reminder');
        if (!writable(r, err)) return false;
        var d = r.__data;
        if (!d.id) { d.id = 'todo-' + (kit.reminders.length + 1); kit.reminders.push(d); }
        Object.assign(d, { title: r.title.js, notes: r.notes.js, done: Boolean(r.completed), priority: Number(r.priority), calendar: r.calendar.__data.id,
          due: r.dueDateComponents === nil ? undefined : plain(r.dueDateComponents) });
        return true;
      },
      removeReminderCommitError: function (r) { event('eventkit', 'remove reminder'); kit.reminders.splice(kit.reminders.indexOf(r.__data), 1); return true; },
    });
  }
  function ask(entity, f) {
    event('eventkit', 'ask');
    waiting.push(function () { if (kit.grants) kit.status[entity] = 3; f(Boolean(kit.grants), nil); });
  }
  function ekReminder(r) {
    var d = r.due && r.due.year !== undefined ? components(r.due) : nil;
    return strict({
      __data: r, title: box(r.title), notes: box(r.notes), completed: r.done ? 1 : 0, isCompleted: r.done ? 1 : 0, priority: String(r.priority || 0), dueDateComponents: d,
      calendar: r.calendar ? calendar(find(r.calendar)) : nil, get calendarItemIdentifier() { return box(r.id); }, hasRecurrenceRules: Boolean(r.repeat), lastModifiedDate: maybe(r.modified || 0),
      addAlarm: function (a) { r.alarm = a; }, isNil: function () { return false; },
    });
  }
  function plain(c) {
    var out = {};
    ['year', 'month', 'day', 'hour', 'minute'].forEach(function (k) { if (c[k] !== undefinedComponent) out[k] = c[k]; });
    return out;
  }
  var undefinedComponent = 9223372036854775807; // NSDateComponentUndefined
  function components(c) {
    var v = { year: undefinedComponent, month: undefinedComponent, day: undefinedComponent, hour: undefinedComponent, minute: undefinedComponent, second: undefinedComponent,
      timeZone: nil, calendar: nil, isNil: function () { return false; } };
    Object.keys(c).forEach(function (k) { v[k] = c[k]; });
    return strict(v);
  }

  var foundation = {
    NSFileHandle: { fileHandleWithStandardInput: { get readDataToEndOfFile() { return world.stdin; } } },
    NSString: { alloc: { initWithDataEncoding: function (d, e) { if (e !== 4) unknown('encoding'); return box(d); } } },
    NSDate: { dateWithTimeIntervalSince1970: function (s) { return date(s); }, get date() { return date(world.now / 1000); } },
    NSRunLoop: { currentRunLoop: { runModeBeforeDate: function () { var w = waiting; waiting = []; w.forEach(function (f) { f(); }); return true; } } },
    NSDefaultRunLoopMode: 'kCFRunLoopDefaultMode',
    NSDateComponents: { alloc: { get init() { return components({}); } } },
    NSCalendar: { currentCalendar: { dateFromComponents: function (c) { return date(Date.UTC(c.year, c.month - 1, c.day, c.hour < 24 ? c.hour : 0, c.minute < 60 ? c.minute : 0) / 1000); } } },
    NSURL: { URLWithString: function (s) { return strict({ absoluteString: box(s) }); } },
    NSTimeZone: { timeZoneWithName: function (n) { return strict({ name: box(n) }); }, localTimeZone: strict({ name: box('Europe/Vilnius') }) },
    NSThread: { sleepForTimeInterval: function () {} },
  };
  var eventkit = {
    EKEventStore: { authorizationStatusForEntityType: function (t) { return String(kit.status[t]); }, alloc: { get init() { return Store(); } } },
    EKEvent: { eventWithEventStore: function () { var e = {}; return ekEvent(e, null, null); } },
    EKReminder: { reminderWithEventStore: function () { return ekReminder({}); } },
    EKAlarm: { alarmWithRelativeOffset: function (n) { return { offset: n }; }, alarmWithAbsoluteDate: function (d) { return { at: ms(d) }; } },
    EKRecurrenceRule: { alloc: {
      initRecurrenceWithFrequencyIntervalEnd: function (f, n, end) { return { frequency: f, interval: n, end: end === nil ? null : end }; },
      initRecurrenceWithFrequencyIntervalDaysOfTheWeekDaysOfTheMonthMonthsOfTheYearWeeksOfTheYearDaysOfTheYearSetPositionsEnd: function (f, n, wd, md, mo, wk, yd, sp, end) {
        return { frequency: f, interval: n, days: wd === nil ? null : wd.js, monthDays: md === nil ? null : md.js, months: mo === nil ? null : mo.js, positions: sp === nil ? null : sp.js, end: end === nil ? null : end };
      } } },
    EKRecurrenceEnd: { recurrenceEndWithEndDate: function (d) { return { until: ms(d) }; }, recurrenceEndWithOccurrenceCount: function (n) { return { count: n }; } },
    EKRecurrenceDayOfWeek: { dayOfWeekWeekNumber: function (d, w) { return { day: d, week: w }; } },
  };
  function $(v) { return box(v); }
  var all = { Foundation: foundation, EventKit: eventkit };
  var dollar = new Proxy($, { get: function (_, k) {
    for (var lib in all) if (k in all[lib]) { if (!imported[lib]) unknown(k); return all[lib][k]; }
    return unknown(k);
  } });
  var ObjC = {
    import: function (lib) { if (!all[lib]) throw new Error("framework '" + lib + "' can't be found"); imported[lib] = true; },
    unwrap: function (v) { return v && v.js !== undefined ? v.js : v === nil ? undefined : v; },
    deepUnwrap: function (v) { return v && v.js; },
    bindFunction: function () {},
  };
  return { $: dollar, ObjC: ObjC, Ref: function () { return {}; } };
}
