// Does something with one tab: close, switch, text or execute.

// without takes secrets out of a text, all at once: what is put in is not looked
// through for the next one.
function without(text, secrets) {
  var forms = [];
  for (var i = 0; i < secrets.length && i < 100; i++) {
    if (typeof secrets[i] === 'string' && secrets[i]) forms.push(JSON.stringify(secrets[i]).slice(1, -1), secrets[i]);
  }
  if (!forms.length) return text;
  forms.sort(function (a, b) { return b.length - a.length; });
  forms = forms.map(function (s) { return s.replace(/[.*+?^$(){}|[\]\\\/]/g, '\\$&'); });
  return text.slice(0, 400000).replace(new RegExp(forms.join('|'), 'g'), '[secret]');
}

function worded(v) {
  if (v === undefined || v === null) return '';
  return typeof v === 'string' ? v : JSON.stringify(v);
}

function main(request) {
  var a = app(request.app), x = find(a, request);
  if (request.act === 'text') {
    var shown = request.family === 'safari' ? x.t.text() : runIn(a, request, x.t, SHOWN);
    shown = worded(shown);
    return { text: shown.slice(0, request.most), cut: shown.length > request.most };
  }
  if (request.act === 'execute') {
    var secrets = JSON.parse(worded(runIn(a, request, x.t, SECRETS)) || '[]');
    begin();
    var said = worded(runIn(a, request, x.t, request.code));
    var more = JSON.parse(worded(get(function () { return runIn(a, request, x.t, SECRETS); }, '[]')) || '[]');
    said = without(said, secrets.concat(more));
    return { text: said.slice(0, request.most), cut: said.length > request.most };
  }
  begin();
  if (request.act === 'close') x.t.close();
  else if (request.arc) x.t.select();
  else if (request.family === 'safari') x.w.currentTab = x.t;
  else x.w.activeTabIndex = x.at + 1;
  if (request.act === 'switch') {
    get(function () { x.w.index = 1; }, null);
    a.activate();
  }
  return {};
}
