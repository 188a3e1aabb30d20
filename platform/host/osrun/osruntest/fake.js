// A double of what JavaScript for Automation gives to scripts. It has the shape of
// the real thing, since that is what breaks: specifiers are functions and look up
// nothing before they are called, an array of elements is no Array, a word that
// the dictionary does not know fails, dates are Date, what is missing is null.
//   developer.apple.com, "JavaScript for Automation Release Notes"
//   developer.apple.com, "Mac Automation Scripting Guide"
// makeWorld(world, event): world is {apps, eventkit, stdin}; event(app, text) is
// told each Apple event before it is answered, and may throw.
function makeWorld(world, event) {
  'use strict';
  var raw = new WeakMap(); // of a specifier, the function that finds its object
  var made = 0;

  function failure(text, number) {
    var e = new Error(text);
    e.errorNumber = number;
    return e;
  }
  function some(o) { if (!o) throw none(); return o; }
  function none() { return failure("Can't get object.", -1728); }
  function revive(v) {
    if (Array.isArray(v)) return v.map(revive);
    if (v && typeof v === 'object') {
      if (typeof v.$date === 'number') return new Date(v.$date);
      Object.keys(v).forEach(function (k) { v[k] = revive(v[k]); });
    }
    return v;
  }
  if (!world.revived) {
    revive(world.apps);
    world.revived = true;
  }

  function dict(app, cls) { return (world.apps[app].dict || {})[cls] || { properties: [], elements: {} }; }
  function has(app, cls, k) { return dict(app, cls).properties.indexOf(k) >= 0; }
  function fold(v) { return typeof v === 'string' ? v.toLowerCase() : v instanceof Date ? +v : v; }
  var tests = {
    '=': function (a, b) { return a === b; }, _equals: function (a, b) { return a === b; },
    _contains: function (a, b) { return String(a).indexOf(b) >= 0; }, _beginsWith: function (a, b) { return String(a).indexOf(b) === 0; },
    _greaterThan: function (a, b) { return a > b; }, _lessThan: function (a, b) { return a < b; },
    _greaterThanEquals: function (a, b) { return a >= b; }, _lessThanEquals: function (a, b) { return a <= b; },
  };
  function matches(app, o, q) {
    return Object.keys(q).every(function (k) {
      var want = q[k];
      if (k === '_and') return want.every(function (x) { return matches(app, o, x); });
      if (k === '_or') return want.some(function (x) { return matches(app, o, x); });
      if (k === '_not') return !want.some(function (x) { return matches(app, o, x); });
      if (!has(app, o.__class, k)) throw none();
      if (want !== null && typeof want === 'object' && !(want instanceof Date)) {
        return Object.keys(want).every(function (t) {
          if (!tests[t]) throw failure("Can't convert types.", -1700);
          return tests[t](fold(o[k]), fold(want[t]));
        });
      }
      return fold(o[k]) === fold(want);
    });
  }
  function value(app, v, path) {
    if (v === undefined) return null;
    if (v && v.__class) return object(app, function () { return v; }, v.__class, path);
    return v;
  }
  function read(app, o, k, path) {
    if (!has(app, o.__class, k) || (o.__throws && o.__throws[k])) throw failure("Can't get object.", o.__throws && o.__throws[k] || -1728);
    return value(app, o[k], path);
  }

  var commands = {
    exists: function (app, find) { try { find(); return true; } catch (e) { return false; } },
    activate: function () { return null; },
    perform: function (app, find) { find().__performed = true; return null; }, // System Events
    keystroke: function (app, find, args) { find().__typed = [args[0], (args[1] || {}).using || []]; return null; },
    save: function (app, find) { find().__saved = true; return null; },
    delete: function (app, find, args) {
      var o = args.length ? raw.get(args[0])() : find();
      if (!drop(o, world.apps[app].root)) throw none();
      return null;
    },
  };
  // Words of some classes alone: their dictionary lists them as "commands".
  var others = {
    close: commands.delete,
    select: function (app, find) { find().__selected = true; return null; },
    execute: function (app, find, args) { return page(app, find(), args[0].javascript); },
    doJavaScript: function (app, find, args) { return page(app, raw.get(args[1].in)(), args[0]); },
  };
  function known(app, cls, k) {
    return commands[k] || ((dict(app, cls).commands || []).indexOf(k) >= 0 ? others[k] : undefined);
  }
  // page is a page in which scripts run, unless the app's "scripts" is the number of a
  // refusal: {"__values": {script: value}}; what ran is kept.
  function page(app, o, code) {
    if (world.apps[app].scripts) throw failure('\u2019Nein\u2019', world.apps[app].scripts);
    (o.__ran = o.__ran || []).push(code);
    return (o.__values || {})[code];
  }
  function drop(o, from) {
    return Object.keys(from).some(function (k) {
      var v = from[k];
      if (!Array.isArray(v)) return false;
      var i = v.indexOf(o);
      if (i >= 0) { v.splice(i, 1); return true; }
      return v.some(function (x) { return x && x.__class && drop(o, x); });
    });
  }

  function object(app, find, cls, path) {
    function self() { tell(app, 'get ' + path); var o = find(); return object(app, function () { return o; }, cls, path); }
    var p = new Proxy(self, {
      get: function (_, k) {
        if (typeof k === 'symbol') return undefined;
        var els = dict(app, cls).elements;
        if (els[k]) return array(app, els[k], function () { var o = find(); return o[k] || (o[k] = []); }, path + '.' + k);
        var does = dict(app, cls).sets || {}; // command: what it sets
        if (does[k]) return function () { tell(app, k + ' ' + path); var o = find(); Object.keys(does[k]).forEach(function (p) { o[p] = does[k][p]; }); return null; };
        var command = known(app, cls, k);
        if (command) return function () { tell(app, k + ' ' + path); return command(app, find, Array.prototype.slice.call(arguments)); };
        var get = function () { tell(app, 'get ' + path + '.' + k); return read(app, find(), k, path + '.' + k); };
        return new Proxy(get, { get: function (_, inner) {
          var of = (dict(app, cls).objects || {})[k];
          if (!of) throw failure("Can't get object.", -1728);
          return object(app, function () { return some(find()[k]); }, of, path + '.' + k)[inner];
        }, set: function (_, inner, v) {
          object(app, function () { return some(find()[k]); }, dict(app, cls).objects[k], path + '.' + k)[inner] = v;
          return true;
        } });
      },
      set: function (_, k, v) {
        tell(app, 'set ' + path + '.' + k);
        var o = find();
        if (!has(app, cls, k) || (dict(app, cls).fixed || []).indexOf(k) >= 0) throw failure("Can't set that.", -10006);
        if (!o.__loose) o[k] = raw.get(v) ? raw.get(v)() : v; // before it is pushed it is nothing that could be set
        return true;
      },
    });
    raw.set(p, find);
    return p;
  }

  function array(app, cls, list, path) {
    function all() {
      tell(app, 'get ' + path);
      return list().map(function (o, i) { return object(app, function () { return o; }, cls, path + '[' + i + ']'); });
    }
    function one(test, how) {
      return object(app, function () {
        var found = list().filter(test);
        if (!found.length) throw none();
        return found[0];
      }, cls, path + how);
    }
    return new Proxy(all, { get: function (_, k) {
      if (typeof k === 'symbol') return undefined; // it is no iterable
      if (/^\d+$/.test(k)) return one(function (o, i) { return i === Number(k); }, '[' + k + ']');
      switch (k) {
        case 'length': tell(app, 'count ' + path); return list().length;
        case 'at': return function (n) { return one(function (o, i) { return i === n; }, '[' + n + ']'); };
        case 'byId': return function (id) { return one(function (o) { return o.id === id || o.uid === id; }, '.byId'); };
        case 'byName': return function (n) { return one(function (o) { return fold(o.name) === fold(n); }, '.byName'); };
        case 'whose': return function (q) { return array(app, cls, function () { return list().filter(function (o) { return matches(app, o, q); }); }, path + '.whose'); };
        case 'push': return function (x) {
          tell(app, 'make ' + path);
          var o = raw.get(x) && raw.get(x)();
          if (!o || !o.__loose) throw failure("Can't convert types.", -1700);
          delete o.__loose;
          made++;
          o.id = o.id || 'made-' + made;
          o.uid = o.uid || o.id;
          list().push(o);
          return list().length;
        };
      }
      var els = dict(app, cls).elements;
      if (els[k]) return nested(app, els[k], function () { return list().map(function (o) { return o[k] || []; }); }, path + '.' + k);
      return function () {
        tell(app, 'get ' + path + '.' + k);
        return list().map(function (o) { return read(app, o, k, path); });
      };
    } });
  }

  // nested is people.phones: its properties are read as arrays of arrays.
  function nested(app, cls, lists, path) {
    return new Proxy(function () { throw none(); }, { get: function (_, k) {
      return function () {
        tell(app, 'get ' + path + '.' + String(k));
        return lists().map(function (l) { return l.map(function (o) { return read(app, o, k, path); }); });
      };
    } });
  }

  function tell(app, text) {
    var a = world.apps[app];
    if (!a.running) { a.running = true; event(app, 'launch'); } // any event starts an app
    event(app, text);
    if (a.denied) throw failure('Not authorized to send Apple events to ' + app + '.', -1743);
  }

  function Application(id) {
    var a = world.apps[id];
    if (!a) throw failure("Application can't be found.", -2700);
    a.root.__class = 'Application';
    var root = object(id, function () { return a.root; }, 'Application', 'app');
    return new Proxy(function () {}, {
      get: function (_, k) {
        if (k === 'running') return function () { return Boolean(a.running); }; // asks the system, not the app
        if (typeof k === 'string' && /^[A-Z]/.test(k)) return function (props) {
          var o = { __class: k, __loose: true };
          Object.keys(props || {}).forEach(function (p) {
            if (!has(id, k, p)) throw failure("Can't make class " + k + '.', -2710);
            o[p] = props[p];
          });
          return object(id, function () { return o; }, k, k);
        };
        return root[k];
      },
      set: function (_, k, v) { root[k] = v; return true; },
    });
  }
  Application.currentApplication = function () {
    var on = false;
    return new Proxy({}, {
      set: function (_, k, v) { if (k !== 'includeStandardAdditions') throw failure("Can't set that.", -10006); on = v; return true; },
      get: function (_, k) {
        if (!on) throw failure('Message not understood.', -1708);
        return function () {
          var args = Array.prototype.slice.call(arguments), sound = world.sound;
          event('additions', k + ' ' + JSON.stringify(args));
          if (k === 'getVolumeSettings') return { outputVolume: sound.outputVolume, inputVolume: 50, alertVolume: 100, outputMuted: sound.outputMuted };
          if (k === 'setVolume') {
            if (args[0] !== null) throw failure("Can't convert types.", -1700); // the first one must be there, and null
            Object.keys(args[1]).forEach(function (p) { if (sound.outputVolume !== null) sound[p] = args[1][p]; });
          }
          return null;
        };
      },
    });
  };

  var bridge = makeBridge(world, event);
  return {
    Application: Application, ObjC: bridge.ObjC, $: bridge.$, Ref: bridge.Ref, delay: function () {},
    console: { log: function () {} }, // there is no console.error
    Path: function (p) { return { toString: function () { return p; } }; },
  };
}
