// One note. A locked one says so, and is not empty.
function main(request) {
  var n = app('com.apple.Notes').notes.byId(request.id);
  var title = n.name();
  if (get(function () { return n.passwordProtected(); }, false)) fail('setup_required', 'the note is locked; unlock it in Notes first');
  var box = get(function () { return n.container; }, null), text = String(n.plaintext() || '');
  return { id: request.id, title: title, text: text.slice(0, request.most), cut: text.length > request.most, changed: n.modificationDate().getTime(),
    folder: get(function () { return box.name(); }, ''), folderID: get(function () { return box.id(); }, ''),
    shared: Boolean(get(function () { return n.shared(); }, false) || get(function () { return box.shared(); }, false)) };
}
