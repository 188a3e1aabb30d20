// Reads the windows whose title or program has the words in it, or the one in front.
function main(request) {
  var se = app('com.apple.systemevents'), end = Date.now() + request.millis;
  var words = request.words.toLowerCase().trim(), list = [], more = false;

  function full() {
    if (list.length < request.nodes && Date.now() < end) return false;
    more = true;
    return true;
  }
  function walk(at, of, depth, path) {
    if (full()) return;
    if (depth > request.depth) { more = true; return; }
    var kids = at.uiElements, roles = told([-25211, 1002], function () { return kids.role(); }, []);
    if (!roles.length) return;
    var subroles = get(function () { return kids.subrole(); }, []), names = get(function () { return kids.name(); }, []);
    var tells = get(function () { return kids.description(); }, []), values = get(function () { return kids.value(); }, []);
    var actions = get(function () { return kids.actions.name(); }, []);
    if (roles.length > request.kids) more = true;
    for (var i = 0; i < roles.length && i < request.kids; i++) {
      if (full()) return;
      var role = short(roles[i]), hidden = secret(role, subroles[i]), p = path + '.' + i;
      list.push({ app: of.app, pid: of.pid, window: of.window, path: p, depth: depth, role: role, name: named(names[i], tells[i]),
        text: hidden ? '' : short(values[i]), does: does(actions[i]), takes: !hidden && FIELDS.indexOf(role) >= 0, secret: hidden });
      if (LEAVES.indexOf(role) < 0) walk(kids[i], of, depth + 1, p);
    }
  }

  var found = se.processes.whose(words ? { backgroundOnly: false } : { frontmost: true });
  var apps = found.name(), pids = found.unixId();
  for (var i = 0; i < pids.length && !full(); i++) {
    var pid = Number(pids[i]), windows = processes(se, pid)[0].windows;
    var titles = told([-25211, 1002, -1719], function () { return windows.name(); }, []);
    for (var n = 0; n < titles.length && !full(); n++) {
      var of = { app: short(apps[i]), pid: pid, window: short(titles[n]) };
      if (words ? (of.window + ' ' + of.app).toLowerCase().indexOf(words) < 0 : n > 0) continue;
      list.push({ app: of.app, pid: pid, window: of.window, path: String(n), depth: 0, role: 'AXWindow', name: of.window, text: '', does: '', takes: false, secret: false });
      walk(windows[n], of, 1, String(n));
    }
  }
  return { list: list, more: more };
}
