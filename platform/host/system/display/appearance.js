// Makes macOS look dark or light (System Events, Appearance Preferences).
function main(r) {
  var se = app('com.apple.systemevents');
  begin();
  se.appearancePreferences.darkMode = r.dark;
  return {};
}
