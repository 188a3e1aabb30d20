// The card of schedules and watchers. It uses definitions of app.js; text is shown
// through textContent only.
'use strict';

const things = $('things');

// kinds lists the API lists and the nouns in the names of their tools.
const kinds = [
  { title: 'Schedules', list: 'schedules', noun: 'schedule' },
  { title: 'Watchers', list: 'watchers', noun: 'watcher' },
];

const moment = when => new Date(when).toLocaleString([], { weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });

// last returns the result of the last run.
async function last(kind, row) {
  if (!row.fired_at) return '';
  const [event] = await api('GET', '/api/v1/inbox?limit=1&session=' + encodeURIComponent(kind.noun + ':' + row.id));
  const came = event ? event.error || event.answer || event.text : '';
  return moment(row.fired_at) + (came ? ': ' + came.split('\n')[0].slice(0, 200) : '');
}

function act(kind, row, name, tool, more) {
  const b = element('button', name.toLowerCase(), name);
  b.type = 'button';
  b.onclick = async () => {
    if (name === 'Delete' && b.textContent === name) {
      b.textContent = 'Really delete?';
      return;
    }
    b.disabled = true;
    try {
      await api('POST', '/api/v1/tools/' + tool, { arguments: { [kind.noun]: row.id, ...more }, session: state.session });
    } catch (e) {
      add('status', e.message);
    }
    refreshThings();
  };
  return b;
}

async function shownThing(kind, row) {
  const li = element('li', 'thing');
  li.dataset.id = row.id;
  li.dataset.state = row.state;
  li.append(element('div', 'what', row.description || row.title));
  const facts = [
    ['', row.state === 'active' ? '' : row.state],
    ['when: ', row.when],
    ['next: ', row.state === 'active' && (row.coming || []).map(moment).join(' · ')],
    ['last: ', await last(kind, row)],
    ['problem: ', row.last_error],
  ];
  for (const [name, text] of facts) if (text) li.append(element('div', name === 'problem: ' ? 'failed' : 'why', name + text));
  const buttons = element('div', 'buttons');
  if (row.state === 'active') buttons.append(act(kind, row, 'Pause', 'pause_' + kind.noun));
  else buttons.append(act(kind, row, 'Resume', 'pause_' + kind.noun, { resume: true }));
  buttons.append(act(kind, row, 'Delete', 'cancel_' + kind.noun));
  li.append(buttons);
  return li;
}

// showThings loads all active and paused items.
async function showThings() {
  const parts = [];
  for (const kind of kinds) {
    const rows = await api('GET', '/api/v1/' + kind.list + '?limit=50');
    if (!rows.length) continue;
    const e = element('section', '');
    e.append(element('h3', '', kind.title));
    const list = element('ul', '');
    list.append(...await Promise.all(rows.map(row => shownThing(kind, row))));
    e.append(list);
    parts.push(e);
  }
  $('running').replaceChildren(...(parts.length ? parts : [element('p', '', 'No schedules or watchers. Try: every weekday at 8 remind me to plan the day')]));
  things.dataset.state = 'loaded';
  toEnd();
}

function refreshThings() {
  if (things.open && !document.hidden) showThings().catch(e => $('running').replaceChildren(element('p', 'failed', e.message)));
}
things.ontoggle = refreshThings;
document.addEventListener('visibilitychange', refreshThings);
setInterval(refreshThings, 60 * 1000);
