// The tabs that are open; request.only is "" for all, "active" or a tab.
function main(request) {
  var a = app(request.app), open = openWindows(a, request), out = [], total = 0, first = true;
  for (var i = 0; i < open.list.length; i++) {
    var x = open.list[i], urls = get(function () { return x.w.tabs.url(); }, null);
    if (urls === null || !urls.length) continue; // a window of its settings
    var titles = request.family === 'safari' ? x.w.tabs.name() : x.w.tabs.title();
    var ids = idsOf(request, x.w, urls.length), front = current(request, x.w);
    if (titles.length !== urls.length || ids.length !== urls.length) fail('busy', 'its tabs are changing at the moment');
    total += urls.length;
    for (var j = 0; j < urls.length; j++) {
      var one = tell(request, x.id, ids[j], titles[j], urls[j], first && j + 1 === front);
      if (out.length < request.most && (!request.only || request.only === one.id || request.only === 'active' && one.active)) out.push(one);
    }
    first = false;
    if (request.only && out.length) break;
  }
  return { tabs: out, total: total, hidden: open.hidden };
}
