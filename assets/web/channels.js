// Where Hob can be talked with: the card of the channels, how each does, who is
// paired there, and the code that pairs. It uses what app.js and things.js define;
// text is shown through textContent only.
'use strict';

const channels = $('channels');

const channelStates = {
  running: 'works', starting: 'is starting', waiting: 'does not work now and is tried again', stopped: 'has stopped',
  failed: 'cannot be used', idle: 'is not running', off: 'is switched off',
};

// fact is one line below a name; nothing where there is nothing to say.
const fact = (name, text) => text ? element('div', name, text) : '';

const count = (n, one, many) => n ? n + ' ' + (n === 1 ? one : many) : '';

// traffic tells what was heard and said there.
function traffic(row) {
  const parts = [
    count(row.heard, 'message heard', 'messages heard') + (row.heard && row.heard_at ? ', the last ' + moment(row.heard_at) : ''),
    count(row.sent, 'text sent', 'texts sent') + (row.sent && row.sent_at ? ', the last ' + moment(row.sent_at) : ''),
    count(row.queued, 'waits to be sent', 'wait to be sent'),
    count(row.refused, 'message of a stranger not taken', 'messages of strangers not taken'),
  ];
  return parts.filter(Boolean).join(' · ');
}

// does makes a button that asks the API and shows what came of it below.
function does(li, name, title, act) {
  const b = element('button', name, title);
  b.type = 'button';
  b.onclick = async () => {
    b.disabled = true;
    const said = li.querySelector('.said');
    said.replaceChildren(element('div', 'why', 'One moment…'));
    try {
      said.replaceChildren(...await act());
    } catch (e) {
      said.replaceChildren(element('div', 'failed', e.message));
    }
    b.disabled = false;
    said.scrollIntoView({ block: 'nearest' });
    toEnd();
  };
  return b;
}

async function pairing(row) {
  const c = await api('POST', '/api/v1/channels/' + encodeURIComponent(row.name) + '/pair', {});
  return [
    element('div', 'why', 'Write this on ' + row.name + ', alone in a message and not in a group, until ' + clock(c.expires_at) + ':'),
    element('div', 'code', c.code),
  ];
}

async function tried(row) {
  const t = await api('POST', '/api/v1/channels/' + encodeURIComponent(row.name) + '/test', {});
  if (t.ok) return [element('div', 'why', t.said)];
  return [element('div', 'failed', t.cause), fact('why', t.remedy && 'what to do: ' + t.remedy)].filter(Boolean);
}

// account is somebody who counts as the owner there.
function account(p) {
  const e = element('div', 'account why');
  e.append(element('span', '', 'you: ' + (p.name || p.sender)));
  const b = element('button', 'unpair', 'Unpair');
  b.type = 'button';
  b.onclick = async () => {
    if (b.textContent === 'Unpair') {
      b.textContent = 'Really unpair?';
      return;
    }
    b.disabled = true;
    try {
      await api('POST', '/api/v1/pairings/' + encodeURIComponent(p.id) + '/remove', {});
    } catch (e) {
      add('status', e.message);
    }
    refreshChannels(true);
  };
  e.append(b);
  return e;
}

function shownChannel(row) {
  const li = element('li', 'thing');
  li.dataset.name = row.name;
  li.dataset.state = row.state;
  li.append(element('div', 'what', row.name + ' ' + (channelStates[row.state] || row.state)));
  li.append(
    fact('why', row.about), fact('why', row.describe), fact('why', traffic(row)),
    fact('failed', row.cause || row.error), fact('why', row.remedy && 'what to do: ' + row.remedy),
    ...row.pairings.map(account), element('div', 'said'),
  );
  const always = row.name === 'web' || row.name === 'terminal';
  const buttons = element('div', 'buttons');
  if (!always && !row.pull && !row.deaf && !['failed', 'idle', 'off'].includes(row.state)) buttons.append(does(li, 'pair', 'Pair', () => pairing(row)));
  if (!always) buttons.append(does(li, 'test', 'Test', () => tried(row)));
  li.append(buttons);
  return li;
}

// showChannels asks for all channels; what is not set up is named in one line.
async function showChannels() {
  const rows = await api('GET', '/api/v1/channels');
  const list = element('ul', '');
  list.append(...rows.filter(r => r.configured || r.enabled).map(shownChannel));
  const parts = [list];
  const more = rows.filter(r => !r.configured && !r.enabled && r.available).map(r => r.name);
  if (more.length) parts.push(element('p', '', 'Not set up: ' + more.join(', ') + '. In a terminal: hob channel add NAME'));
  $('places').replaceChildren(...parts);
  channels.dataset.state = 'loaded';
  toEnd();
}

// refreshChannels shows them anew, unless a code or an outcome is being read.
function refreshChannels(always) {
  const reading = always !== true && document.querySelector('#places .said:not(:empty)');
  if (channels.open && !document.hidden && !reading) showChannels().catch(e => $('places').replaceChildren(element('p', 'failed', e.message)));
}
channels.ontoggle = () => refreshChannels(true);
document.addEventListener('visibilitychange', refreshChannels);
setInterval(refreshChannels, 10 * 1000);
