// The people in whose names, companies, addresses and numbers all words are found.
// A loop over people would send an event for each (modelcontextprotocol/mcpb#175).
function main(request) {
  var people = app('com.apple.AddressBook').people, words = request.words;
  var ids = people.id(), names = people.name(), companies = get(function () { return people.organization(); }, []);
  var mails = get(function () { return people.emails.value(); }, null), phones = get(function () { return people.phones.value(); }, null);
  var born = get(function () { return people.birthDate(); }, []), found = [], partial = [];
  if (mails === null) partial.push('the addresses could not be read');
  if (phones === null) partial.push('the numbers could not be read');
  for (var i = 0; i < ids.length && found.length <= request.limit; i++) {
    var m = (mails && mails[i] || []).map(String), p = (phones && phones[i] || []).map(String);
    var digits = p.map(function (n) { return n.replace(/[^0-9+]/g, ''); });
    var all = [names[i] || '', companies[i] || ''].concat(m, p, digits).join('\n').toLowerCase();
    if (words.every(function (w) { return all.indexOf(w) >= 0; })) {
      found.push({ id: ids[i], name: names[i] || '', company: companies[i] || '', addresses: m.slice(0, 20), phones: p.slice(0, 20), born: born[i] ? born[i].getTime() : null });
    }
  }
  return { people: found.slice(0, request.limit), partial: partial };
}
