// The calendars.
function main(request) {
  var store = kit(0, request.patience);
  return { calendars: list(store.calendarsForEntityType(0)).map(function (c) {
    return { id: str(c.calendarIdentifier), name: str(c.title), account: get(function () { return str(c.source.title); }, ''), fixed: !Number(c.allowsContentModifications) };
  }) };
}
