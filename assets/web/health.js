// The card with the results of `hob doctor`, loaded when it is opened. It uses
// definitions of app.js; text is shown through textContent only.
'use strict';

const health = $('health');

const states = { fail: 'does not work', warn: 'needs attention', skipped: 'not checked', ok: 'OK' };

function finding(c) {
  const li = element('li', 'thing');
  li.dataset.name = c.name;
  li.dataset.state = c.state;
  li.append(element('div', 'what', c.name + ': ' + (states[c.state] || c.state)));
  li.append(element('div', c.state === 'fail' ? 'failed' : 'why', c.cause));
  if (c.remedy) li.append(element('div', 'why', 'what to do: ' + c.remedy));
  return li;
}

// showHealth runs all checks and shows those with problems first.
async function showHealth() {
  $('checks').replaceChildren(element('p', '', 'Checking…'));
  health.dataset.state = 'looking';
  const list = await api('GET', '/api/v1/doctor');
  const order = Object.keys(states);
  list.sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  const ul = element('ul', '');
  ul.append(...list.filter(c => c.state !== 'ok').map(finding));
  const good = list.filter(c => c.state === 'ok').map(c => c.name);
  $('checks').replaceChildren(ul, element('p', '', 'OK: ' + good.join(', ')));
  health.dataset.state = 'loaded';
  toEnd();
}

health.ontoggle = () => { if (health.open) showHealth().catch(e => $('checks').replaceChildren(element('p', 'failed', e.message))); };

// ---------------------------------------------------------------- problems

// problem describes a fault that Hob works around, such as an unreachable model.
function problem(p) {
  const sentence = s => s[0].toUpperCase() + s.slice(1);
  let text = sentence(p.text);
  if (p.since) text += ', since ' + clock(p.since);
  if (p.next) text += new Date(p.next) > new Date() ? '. Hob tries again with the first message after ' + clock(p.next) : '. Hob tries again with the next message';
  const li = element('li', '', p.remedy ? text + '. ' + sentence(p.remedy) : text);
  li.dataset.name = p.name;
  return li;
}

async function showProblems() {
  const list = await api('GET', '/api/v1/problems');
  $('problems').replaceChildren(...list.map(problem));
  $('problems').hidden = list.length === 0;
  toEnd();
}

function refreshProblems() {
  if (!document.hidden && $('login').hidden) showProblems().catch(() => {}); // the state shows that Hob is away
}
document.addEventListener('visibilitychange', refreshProblems);
setInterval(refreshProblems, 60 * 1000);
