// Removes an event, one occurrence of it or all.
function main(request) {
  var store = kit(0, request.patience), found = occurrence(store, request), ev = head(store, request, found);
  var err = Ref();
  begin();
  saved(store.removeEventSpanCommitError(ev, request.whole ? 1 : 0, true, err), err);
  return {};
}
