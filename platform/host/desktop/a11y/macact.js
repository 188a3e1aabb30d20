// Does what an element offers, or fills a text in. It is the element that was seen,
// or nothing is done.
function main(request) {
  var se = app('com.apple.systemevents'), found = processes(se, request.pid);
  var gone = function () { fail('changed', 'the window is not as it was when it was read'); };
  if (found.length !== 1) gone();
  var windows = found[0].windows, titles = windows.name(), path = request.path.split('.').map(Number);
  if (path.length < 2 || short(titles[path[0]]) !== request.window) gone();
  var at = windows[path[0]], role, name, subrole, actions;
  path.slice(1).forEach(function (i) { at = at.uiElements[i]; });
  try {
    role = short(at.role());
    subrole = get(function () { return at.subrole(); }, '');
    name = named(get(function () { return at.name(); }, ''), get(function () { return at.description(); }, ''));
    actions = get(function () { return at.actions.name(); }, []);
  } catch (e) {
    if (e.errorNumber === -1728 || e.errorNumber === -1719) gone();
    throw e;
  }
  if (role !== request.role || name !== request.name) gone();
  if (!request.fill) {
    if (!request.does || does(actions) !== request.does) gone();
    begin();
    at.actions.byName(ACTIONS.filter(function (a) { return a.slice(2).toLowerCase() === request.does; })[0]).perform();
    return {};
  }
  if (secret(role, subrole) || FIELDS.indexOf(role) < 0) gone();
  begin();
  at.value = request.text;
  if (at.value() !== request.text) throw new Error('the field shows another text than was filled in');
  return {};
}
