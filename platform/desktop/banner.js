// Shows one banner. The request is JSON on the standard input; nothing of it ever
// becomes a part of this text.
function run() {
  try {
    ObjC.import('Foundation');
    var data = $.NSFileHandle.fileHandleWithStandardInput.readDataToEndOfFile;
    var text = $.NSString.alloc.initWithDataEncoding(data, 4).js;
    var note = JSON.parse(text);
    var app = Application.currentApplication();
    app.includeStandardAdditions = true;
    var how = { withTitle: note.app };
    if (note.title) how.subtitle = note.title;
    if (note.sound) how.soundName = note.sound;
    app.displayNotification(note.body, how);
    return JSON.stringify({ ok: true });
  } catch (e) {
    var msg = String(e.message || e).replace(/[\u007f-\uffff]/g, '?');
    return JSON.stringify({ ok: false, number: Number(e.errorNumber) || 0, message: msg });
  }
}
