// The card of the channels: their status, paired accounts and pairing codes. It uses
// definitions of app.js and things.js; text is shown through textContent only.
'use strict';

const channels = $('channels');

const channelStates = {
  running: 'works', starting: 'is starting', waiting: 'failed; Hob retries', stopped: 'has stopped',
  failed: 'cannot be used', idle: 'is not running', off: 'is switched off',
};

// fact returns one line below a name, or '' without a text.
const fact = (name, text) => text ? element('div', name, text) : '';

const count = (n, one, many) => n ? n + ' ' + (n === 1 ? one : many) : '';

// traffic describes the received and sent messages.
function traffic(row) {
  const parts = [
    count(row.heard, 'message received', 'messages received') + (row.heard && row.heard_at ? ', the last ' + moment(row.heard_at) : ''),
    count(row.sent, 'text sent', 'texts sent') + (row.sent && row.sent_at ? ', the last ' + moment(row.sent_at) : ''),
    count(row.queued, 'waiting to be sent', 'waiting to be sent'),
    count(row.refused, 'message from an unknown sender rejected', 'messages from unknown senders rejected'),
  ];
  return parts.filter(Boolean).join(' · ');
}

// does returns a button that calls the API and shows the result below it.
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
    element('div', 'why', 'Send this code on ' + row.name + ' as a separate direct message, until ' + clock(c.expires_at) + ':'),
    element('div', 'code', c.code),
  ];
}

async function tried(row) {
  const t = await api('POST', '/api/v1/channels/' + encodeURIComponent(row.name) + '/test', {});
  if (t.ok) return [element('div', 'why', t.said)];
  return [element('div', 'failed', t.cause), fact('why', t.remedy && 'what to do: ' + t.remedy)].filter(Boolean);
}

// account shows a paired account, which has the user's rights.
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

// showChannels loads all channels; the ones that are not set up share one line.
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

// refreshChannels reloads the card, unless it shows a code or a result.
function refreshChannels(always) {
  const reading = always !== true && document.querySelector('#places .said:not(:empty)');
  if (channels.open && !document.hidden && !reading) showChannels().catch(e => $('places').replaceChildren(element('p', 'failed', e.message)));
}
channels.ontoggle = () => refreshChannels(true);
document.addEventListener('visibilitychange', refreshChannels);
setInterval(refreshChannels, 10 * 1000);
