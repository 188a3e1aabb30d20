// Whether everything is well: the card of what `hob doctor` says, asked for when it is
// opened. It uses what app.js defines; text is shown through textContent only.
'use strict';

const health = $('health');

const states = { fail: 'does not work', warn: 'could be better', skipped: 'could not be looked at', ok: 'well' };

function finding(c) {
  const li = element('li', 'thing');
  li.dataset.name = c.name;
  li.dataset.state = c.state;
  li.append(element('div', 'what', c.name + ': ' + (states[c.state] || c.state)));
  li.append(element('div', c.state === 'fail' ? 'failed' : 'why', c.cause));
  if (c.remedy) li.append(element('div', 'why', 'what to do: ' + c.remedy));
  return li;
}

// showHealth asks for all checks; those that want something come first.
async function showHealth() {
  $('checks').replaceChildren(element('p', '', 'Looking…'));
  health.dataset.state = 'looking';
  const list = await api('GET', '/api/v1/doctor');
  const order = Object.keys(states);
  list.sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  const ul = element('ul', '');
  ul.append(...list.filter(c => c.state !== 'ok').map(finding));
  const good = list.filter(c => c.state === 'ok').map(c => c.name);
  $('checks').replaceChildren(ul, element('p', '', 'Well: ' + good.join(', ')));
  health.dataset.state = 'loaded';
  toEnd();
}

health.ontoggle = () => { if (health.open) showHealth().catch(e => $('checks').replaceChildren(element('p', 'failed', e.message))); };
