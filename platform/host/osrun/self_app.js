// Asks an app that runs for a number, for which macOS wants its owner's leave. It
// starts nothing and changes nothing.
function main(request) {
  return { count: Number(app(request.app)[request.of].length) };
}
