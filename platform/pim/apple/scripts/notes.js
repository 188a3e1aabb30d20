// What the scripts over notes share: the folder of a name, null when there is none.
function named(name) {
  var a = app('com.apple.Notes'), names = a.folders.name(), ids = a.folders.id(), found = null;
  for (var i = 0; i < names.length; i++) if (String(names[i]).trim().toLowerCase() === name.trim().toLowerCase()) found = a.folders.byId(ids[i]);
  return found;
}
