// The notes that have all of the words, the newest first, of one folder or of all. Few
// Apple events: one for each property of all notes, never one for each note.
function main(request) {
  var notes = app('com.apple.Notes').notes, words = request.words, partial = [], folder = null;
  if (request.folder) {
    folder = named(request.folder);
    if (!folder) fail('not_found', 'no folder of that name');
    notes = folder.notes;
  }
  var id = folder ? folder.id() : '', open = folder ? get(function () { return folder.shared(); }, false) : false;
  var shared = folder ? get(function () { return notes.shared(); }, []) : [];
  var ids = notes.id(), names = notes.name(), changed = notes.modificationDate();
  var locked = get(function () { return notes.passwordProtected(); }, []);
  var texts = [];
  if (words.length) {
    texts = get(function () { return notes.plaintext(); }, null); // body would hold its pictures
    if (texts === null) partial.push('only the titles could be looked through');
  }
  texts = texts || [];
  var found = [];
  for (var i = 0; i < ids.length; i++) {
    var text = locked[i] ? '' : String(texts[i] || ''), all = (String(names[i] || '') + '\n' + text).toLowerCase();
    if (words.every(function (w) { return all.indexOf(w) >= 0; })) {
      found.push({ id: ids[i], title: String(names[i] || ''), text: text.slice(0, 300), changed: changed[i] ? changed[i].getTime() : 0, locked: Boolean(locked[i]), folderID: id, shared: Boolean(open || shared[i]) });
    }
  }
  found.sort(function (a, b) { return b.changed - a.changed; });
  return { notes: found.slice(0, request.limit), partial: partial };
}
