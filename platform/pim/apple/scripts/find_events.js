// The events of a span, the recurring ones once for each occurrence.
function main(request) {
  var store = kit(0, request.patience), events = [], lost = 0, more = false;
  between(store, request.from, request.to, function (ev) {
    if (events.length >= request.limit) { more = true; return; }
    try {
      events.push(told(ev));
    } catch (e) {
      lost++;
    }
  });
  return { events: events, lost: lost, more: more };
}
