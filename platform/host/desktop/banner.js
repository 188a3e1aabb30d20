// Shows one banner.
function main(note) {
  var me = Application.currentApplication();
  me.includeStandardAdditions = true;
  var how = { withTitle: note.app };
  if (note.title) how.subtitle = note.title;
  if (note.sound) how.soundName = note.sound;
  begin();
  me.displayNotification(note.body, how);
  return {};
}
