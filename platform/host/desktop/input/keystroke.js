// Presses one letter, with what is held, where the keyboard that is chosen has it.
function main(request) {
  var events = app('com.apple.systemevents');
  begin();
  events.keystroke(request.key, { using: request.held || [] });
  return {};
}
