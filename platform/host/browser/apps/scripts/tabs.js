// Shared by the scripts for browsers. request.family is "safari", whose words are
// those of Safari's dictionary, or "chrome", whose are chromium's scripting.sdef,
// which Edge, Brave and Arc follow. A tab is known by the id of its window and, in
// chrome, its own; Safari's have none, but a place.

// What a page shows, and what stands in its fields for passwords.
var SHOWN = '(function () { var b = document.body; return b ? b.innerText.slice(0, 400000) : ""; })()';
var SECRETS = '(function () { var out = [], all = document.querySelectorAll("input[type=password]"); for (var i = 0; i < all.length && i < 50; i++) if (all[i].value) out.push(all[i].value.slice(0, 1000)); return JSON.stringify(out); })()';

function idsOf(r, w, count) {
  var out = [];
  if (r.family === 'safari') for (var i = 1; i <= count; i++) out.push(String(i));
  else out = w.tabs.id().map(String);
  return out;
}

// openWindows are the open ones, the front one first. Private ones are none of ours;
// one of which nobody can tell is taken for private, but for Safari's: it tells of none
// whether it is, and its private ones are listed, read and opened into.
function openWindows(a, r) {
  var ids = a.windows.id(), out = { list: [], hidden: 0 };
  for (var i = 0; i < ids.length && i < 300; i++) {
    var w = a.windows.byId(ids[i]);
    if (r.family !== 'safari' && get(function () { return w.mode(); }, '') !== 'normal') { out.hidden++; continue; }
    out.list.push({ id: String(ids[i]), w: w });
  }
  return out;
}

// current is the number of a window's tab in front, from 1; 0 when it has none.
function current(r, w) {
  if (r.family === 'safari') return Number(get(function () { return w.currentTab.index(); }, 0));
  var n = Number(get(function () { return w.activeTabIndex(); }, 0));
  if (n) return n;
  var id = String(get(function () { return w.activeTab.id(); }, ''));
  return w.tabs.id().map(String).indexOf(id) + 1;
}

function tell(r, id, tab, title, url, active) {
  return { id: id + '.' + tab, title: String(title || '').slice(0, 300), url: String(url || '').slice(0, 8192), active: Boolean(active) };
}

// find is the tab that is meant, as it was when its owner was asked.
function find(a, r) {
  var parts = r.tab.split('.'), list = openWindows(a, r).list;
  for (var i = 0; i < list.length; i++) {
    if (list[i].id !== parts[0]) continue;
    var w = list[i].w, at = idsOf(r, w, w.tabs.length).indexOf(parts[1]);
    if (at < 0) break;
    var t = w.tabs[at];
    if (String(get(function () { return t.url(); }, '')).slice(0, 8192) !== r.url) fail('changed', 'another page is in that tab by now');
    return { w: w, t: t, at: at };
  }
  fail('not_found', 'that tab is not open any more');
}

// run runs a script in a page. The numbers are those of chromium's
// error_applescript.h (kJavaScriptUnsupported) and of Safari.
function runIn(a, r, t, code) {
  try {
    return r.family === 'safari' ? a.doJavaScript(code, { in: t }) : t.execute({ javascript: code });
  } catch (e) {
    var n = Number(e.errorNumber);
    if (n === 8 && r.family === 'safari') fail('setup_required', 'it lets no program run scripts; in Safari, Settings, Advanced, switch on the features for web developers, and then in Settings, Developer, "Allow JavaScript from Apple Events"');
    if (n === 12 && r.family !== 'safari') fail('setup_required', 'it lets no program run scripts; switch on its menu View, Developer, "Allow JavaScript from Apple Events"');
    throw e;
  }
}
