// Opens an address in a new tab of the front window, or in a new window.
function main(request) {
  var a = app(request.app), open = openWindows(a, request), t = null, w = null;
  for (var i = 0; i < open.list.length && !w; i++) {
    var x = open.list[i];
    if (get(function () { return x.w.tabs.length; }, 0) > 0) w = x;
  }
  begin();
  if (w) {
    t = a.Tab({ url: request.url });
    w.w.tabs.push(t);
    var n = w.w.tabs.length;
    if (request.family === 'safari') w.w.currentTab = w.w.tabs[n - 1];
    return tell(request, w.id, request.family === 'safari' ? n : String(t.id()), '', request.url, true);
  }
  if (request.family === 'safari') a.documents.push(a.Document({ url: request.url }));
  else {
    a.windows.push(a.Window());
    w = a.windows[0];
    if (w.tabs.length > 0) w.tabs[0].url = request.url;
    else w.tabs.push(a.Tab({ url: request.url }));
  }
  w = a.windows[0];
  return tell(request, String(w.id()), idsOf(request, w, 1)[0], '', request.url, true);
}
