// Asks macOS to open a FaceTime address. FaceTime shows the call and the user confirms it there.
function main(r) {
  var me = Application.currentApplication();
  me.includeStandardAdditions = true;
  begin();
  me.openLocation(r.url);
  return {};
}
