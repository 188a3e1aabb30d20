// Makes a note, or deletes one that is as it was made. Its text is HTML to Notes.
function html(s) { return s.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;'); }

function main(request) {
  var a = app('com.apple.Notes');
  if (request.remove) {
    var old = a.notes.byId(request.remove);
    if (old.modificationDate().getTime() !== request.changed) fail('changed', 'the note changed in the meantime');
    begin();
    a.delete(old);
    return {};
  }
  var folder = null;
  if (request.folder) {
    folder = named(request.folder);
    if (!folder) fail('not_found', 'no folder of that name');
  }
  var lines = [request.title].concat(request.text.split('\n'));
  var note = a.Note({ body: lines.map(function (l) { return '<div>' + (html(l) || '<br>') + '</div>'; }).join('') });
  begin();
  (folder || a.defaultAccount.defaultFolder).notes.push(note);
  return { id: note.id(), changed: get(function () { return note.modificationDate().getTime(); }, 0) };
}
