// The chat page. It uses only the HTTP API. All text from outside is shown
// through textContent.
'use strict';

const $ = id => document.getElementById(id);
const badLink = location.hash === '#login-failed';
const log = $('log'), input = $('input'), picker = $('sessions');
const state = {
  session: '', // the open conversation
  shown: new Set(), // ids of deliveries and turns in the log
  own: new Set(), // events whose stream this page reads
  running: 0,
  unnamed: 0, // messages sent from this page without a known event yet
  held: [], // replies that arrived meanwhile and may answer one of them
  end: true, // keep the log scrolled to the end until the user scrolls up
  feed: null,
  pastes: [], // long pastes of the next message: { text, mine }
  client: '', // identifies this page: a bare yes answers only questions this page has displayed
};

// ---------------------------------------------------------------- the API

class Refused extends Error {
  constructor(status, e) {
    super([e.message, e.remedy].filter(Boolean).join('; ') || 'status ' + status);
    this.status = status;
    this.code = e.code;
  }
}

async function api(method, path, body, accept) {
  const headers = { Accept: accept || 'application/json', 'X-Hob-Client': state.client };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const r = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  if (!r.ok) {
    const e = await r.json().catch(() => ({}));
    const refused = new Refused(r.status, e.error || {});
    if (r.status === 401) askWho(refused);
    throw refused;
  }
  return accept ? r : r.json();
}

const sessionPath = (id, rest) => '/api/v1/sessions/' + encodeURIComponent(id) + '/' + rest;
const newID = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), b => b.toString(16).padStart(2, '0')).join('');

function askWho(refused) {
  $('login').hidden = false;
  $('state').hidden = true;
  $('composer').hidden = true;
  document.querySelector('main').hidden = picker.hidden = $('new').hidden = true;
  $('login-form').hidden = refused.code !== 'password_required';
  if (refused.code === 'password_required') $('login-text').textContent = 'Enter the password of this Hob.';
  else if (badLink) {
    $('login-text').textContent = 'This login link was already used or is older than 2 minutes. Run hob open to get a new one.';
  }
}

// ---------------------------------------------------------------- the log

function element(tag, name, text) {
  const e = document.createElement(tag);
  if (name) e.className = name;
  if (text !== undefined) e.textContent = text;
  return e;
}

// fill renders text: fenced code in boxes and, in answers, `code` and **strong**.
function fill(e, text) {
  e.replaceChildren();
  text.split(/^[ ]{0,3}```[^\n]*\n?/m).forEach((piece, i) => {
    if (i % 2) e.append(element('pre', '', piece.replace(/\n$/, '')));
    else if (piece.trim() || i === 0) inline(e, i === 0 ? piece : piece.replace(/^\n/, ''));
  });
}

function inline(e, text) {
  if (!e.parentElement.classList.contains('assistant')) {
    e.append(text);
    return;
  }
  text.split(/(`[^`\n]+`|\*\*[^*\s](?:[^*\n]*[^*\s])?\*\*)/).forEach((piece, i) => {
    if (i % 2 === 0) e.append(piece);
    else e.append(piece[0] === '`' ? element('code', '', piece.slice(1, -1)) : element('strong', '', piece.slice(2, -2)));
  });
}

state.client = newID();

function toEnd() { if (state.end) log.scrollTop = log.scrollHeight; }
log.onscroll = () => { state.end = log.scrollHeight - log.scrollTop - log.clientHeight < 80; };
new ResizeObserver(toEnd).observe(log);

// clock returns the time of day, with the date unless it is today.
function clock(when) {
  const t = new Date(when), time = { hour: '2-digit', minute: '2-digit' };
  if (t.toDateString() === new Date().toDateString()) return t.toLocaleTimeString([], time);
  return t.toLocaleString([], { ...time, day: 'numeric', month: 'short', year: 'numeric' });
}

function add(kind, text, event, when) {
  const m = element('article', 'message ' + kind);
  if (event) m.dataset.event = event;
  m.tools = element('ul', 'tools');
  m.text = element('div', 'text');
  m.append(m.tools, m.text);
  fill(m.text, text || '');
  if (when) m.title = new Date(when).toLocaleString();
  if (when && kind === 'notice') {
    const t = element('time', '', clock(when));
    t.dateTime = when;
    m.append(t);
  }
  log.append(m);
  toEnd();
  return m;
}

function tool(m, id, name, result) {
  let t = Array.from(m.tools.children).find(x => x.dataset.call === id);
  if (!t) {
    t = element('li', 'tool');
    t.dataset.call = id;
    m.tools.append(t);
  }
  t.textContent = name === 'use_tool' ? 'working' : name.replaceAll('_', ' '); // the result names the tool that it runs
  t.dataset.state = result === undefined ? 'running' : result ? 'done' : 'failed';
  return t;
}

// ---------------------------------------------------------------- a turn

// say sends a message: the typed text and its long pastes.
async function say(text, pastes = [], key = newID()) {
  const session = state.session;
  state.end = true;
  const mine = add('user', [text, ...pastes.map(p => '[' + pasteName(p) + ']')].filter(Boolean).join('\n'));
  const m = add('assistant', '');
  m.classList.add('busy');
  busy(1);
  let named = false;
  const name = event => {
    if (named) return;
    named = true;
    state.unnamed--;
    if (event) state.own.add(m.dataset.event = mine.dataset.event = event);
    if (state.unnamed === 0) state.held.splice(0).forEach(delivery);
  };
  state.unnamed++;
  try {
    const r = await api('POST', sessionPath(session, 'messages'), { ...messageBody(text, pastes), dedupe_key: key }, 'text/event-stream');
    await follow(r, m, name);
  } catch (e) {
    m.className = 'message error';
    fill(m.text, e instanceof Refused ? e.message : 'The connection to Hob was lost (' + e.message + ').');
    const again = element('button', 'retry', 'Try again');
    again.type = 'button';
    again.onclick = () => { mine.remove(); m.remove(); say(text, pastes, key); }; // the same key: the server accepts it once
    m.append(again);
  } finally {
    name();
    m.classList.remove('busy');
    busy(-1);
  }
}

function busy(n) {
  state.running += n;
  $('stop').hidden = state.running === 0;
  log.setAttribute('aria-busy', String(state.running > 0));
}

async function follow(response, m, name) {
  let text = '', ended = false;
  for await (const [kind, d] of events(response.body)) {
    switch (kind) {
      case 'message_start':
        name(d.event);
        if (d.position > 0) fill(m.text, 'Your message is #' + (d.position + 1) + ' in the queue.');
        break;
      case 'content_delta':
        text += d.text;
        m.text.textContent = text;
        break;
      case 'tool_call_start':
        if (text && !text.endsWith('\n')) text += '\n';
        tool(m, d.id, d.name);
        break;
      case 'tool_progress':
        tool(m, d.id, d.name).title = [d.seconds + ' s', d.percent === undefined ? '' : d.percent + ' %', d.note || ''].filter(Boolean).join(', ');
        break;
      case 'tool_result':
        tool(m, d.id, d.name, d.ok !== false && !d.code).title = d.text || '';
        break;
      case 'approval_required':
        approval(d);
        break;
      case 'message_end':
        ended = true;
        fill(m.text, d.answer || text);
        break;
      case 'error':
        throw new Refused(0, d);
    }
    toEnd();
  }
  if (!ended) throw new Error('the answer is incomplete');
  sessions();
}

// events parses a stream of server-sent events.
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop();
    for (const b of blocks) {
      let kind = 'message', data = '';
      for (const line of b.split('\n')) {
        if (line.startsWith('event: ')) kind = line.slice(7);
        else if (line.startsWith('data: ')) data += line.slice(6);
      }
      if (data) yield [kind, JSON.parse(data)];
    }
  }
}

// ---------------------------------------------------------------- approvals

function approval(a) {
  if (document.querySelector('.approval[data-approval="' + CSS.escape(a.id) + '"]')) return;
  const card = element('section', 'approval');
  card.dataset.approval = a.id;
  card.setAttribute('aria-label', 'Hob asks');
  card.append(element('div', 'what', a.summary && spelled(a.summary) || a.tool + ' ' + JSON.stringify(a.arguments)));
  const where = a.session && a.session !== state.session ? ' (' + a.session + ')' : '';
  card.append(element('div', 'why', (a.reason || '') + where));
  for (const [name, text] of [['in view', (a.origins || []).map(o => o.kind + ' ' + (o.label || '')).join(', ')], ['it would', a.why],
    ['exactly', a.summary && a.tool + ' ' + JSON.stringify(a.arguments)], ['which runs', a.exact]]) {
    if (text) card.append(element('div', 'why details', name + ': ' + spelled(text))); // the full text, in a box that scrolls
  }
  const buttons = element('div', 'buttons');
  for (const [name, text, approved] of [['yes', 'Yes', true], ['no', 'No', false]]) {
    const b = element('button', name, text);
    b.type = 'button';
    b.onclick = async () => {
      for (const x of buttons.children) x.disabled = true;
      try {
        await api('POST', sessionPath(a.session, 'approvals/' + encodeURIComponent(a.id)), { approved });
      } catch (e) {
        add('status', e.message);
      }
      card.remove();
      input.focus();
    };
    buttons.append(b);
  }
  card.append(buttons);
  $('approvals').append(card);
  toEnd();
}

// spelled escapes invisible characters and characters that change the text direction.
function spelled(text) {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/gu, c => '\\u{' + c.codePointAt(0).toString(16) + '}');
}

// displayed reports a question whose card is on this page, while the page is visible.
async function displayed(d) {
  await openQuestions();
  const asked = Array.from(document.querySelectorAll('.approval')).some(card => (d.text || '').includes(card.dataset.approval));
  if (asked && !document.hidden) await api('POST', '/api/v1/deliveries/' + encodeURIComponent(d.id) + '/shown', {});
}

// openQuestions shows the pending approvals and removes those answered elsewhere.
async function openQuestions() {
  const open = await api('GET', '/api/v1/approvals?state=pending');
  for (const card of document.querySelectorAll('.approval')) {
    if (!open.some(a => a.id === card.dataset.approval)) card.remove();
  }
  open.reverse().forEach(approval);
}

// ---------------------------------------------------------------- the live feed

function listen() {
  if (state.feed) state.feed.close();
  const feed = state.feed = new EventSource('/api/v1/events');
  const mark = live => {
    $('state').dataset.state = live ? 'live' : 'away';
    $('state').textContent = live ? 'online' : 'offline';
  };
  feed.onopen = () => { mark(true); refreshProblems(); };
  feed.onerror = () => {
    mark(false);
    if (feed.readyState === EventSource.CLOSED) setTimeout(listen, 3000); // the response was an error, for example during a restart
  };
  feed.addEventListener('delivery', e => { delivery(JSON.parse(e.data).data); refreshNotices(); });
  feed.addEventListener('approval_required', e => approval(JSON.parse(e.data).data));
  feed.addEventListener('message_end', refreshProblems);
  for (const kind of ['tool_result', 'message_end']) {
    feed.addEventListener(kind, () => { if (document.querySelector('.approval')) openQuestions().catch(() => {}); });
  }
  feed.addEventListener('dropped', () => { if (state.running === 0) open(state.session); });
}

// delivery shows a message that this page did not request.
function delivery(d) {
  if (d && d.kind === 'question') displayed(d).catch(() => {}); // on failure a bare yes does not answer it
  if (!d || d.kind === 'question' || state.shown.has(d.id)) return;
  if (d.session !== state.session) {
    const option = Array.from(picker.options).find(o => o.value === d.session);
    if (!option) sessions();
    else if (!option.textContent.startsWith('• ')) option.textContent = '• ' + option.textContent;
    return;
  }
  if (d.kind === 'reply' && state.own.has(d.event)) return;
  if (d.kind === 'reply' && state.unnamed > 0) {
    state.held.push(d);
    return;
  }
  state.shown.add(d.id);
  add(d.kind === 'reply' ? 'assistant' : d.kind, d.text, d.event, d.created_at);
}

// ---------------------------------------------------------------- conversations

async function open(session) {
  state.session = session;
  history.replaceState(null, '', '#' + encodeURIComponent(session));
  const rows = await api('GET', sessionPath(session, 'messages?limit=200'));
  if (state.session !== session) return;
  log.replaceChildren();
  for (const r of rows.reverse()) {
    state.shown.add(r.id);
    const text = [r.text, ...(r.attached || []).map(a => '[' + a + ']')].filter(Boolean).join('\n');
    if (r.kind === 'question' || !text) continue; // open questions are shown as cards
    if (r.kind === 'message') add(r.from === 'owner' ? 'user' : 'notice', text, r.event, r.at);
    else add(r.kind === 'reply' ? 'assistant' : r.kind, r.text, r.event, r.at);
  }
  state.end = true;
  toEnd();
  await Promise.all([sessions(), openQuestions()]);
}

async function sessions() {
  const rows = await api('GET', '/api/v1/sessions?limit=50');
  const ids = rows.map(r => r.id);
  if (!ids.includes(state.session)) ids.unshift(state.session);
  picker.replaceChildren(...ids.map(id => {
    const o = element('option', '', id);
    o.value = id;
    return o;
  }));
  picker.value = state.session;
}

// ---------------------------------------------------------------- today

const today = $('today');

// showDay shows today's plan. It is not requested while the card is closed.
async function showDay() {
  const day = await api('GET', '/api/v1/plan');
  const parts = day.sections.map(s => {
    const e = element('section', '');
    e.append(element('h3', '', s.title));
    const list = element('ul', '');
    if (s.error) list.append(element('li', 'failed', 'reading failed: ' + s.error));
    for (const it of s.items) {
      const li = element('li', '');
      if (!it.at.startsWith('0001-')) li.append(element('time', '', it.at.slice(11, 16)), ' '); // in the user's time zone
      li.append(it.text);
      list.append(li);
    }
    e.append(list);
    return e;
  });
  $('day').replaceChildren(...(parts.length ? parts : [element('p', '', 'Nothing planned today.')]));
  today.dataset.state = 'loaded';
  toEnd();
}

function refreshDay() {
  if (today.open && !document.hidden) showDay().catch(e => $('day').replaceChildren(element('p', '', e.message)));
}
today.ontoggle = refreshDay;
document.addEventListener('visibilitychange', refreshDay);
setInterval(refreshDay, 10 * 60 * 1000);

// ---------------------------------------------------------------- notices

const notices = $('notices');

// became describes the state of a notification and the rule behind it.
function became(n) {
  switch (n.state) {
    case 'held': return 'deferred until ' + clock(n.until) + ': ' + n.why;
    case 'due': return 'sending now; deferred: ' + n.why;
    case 'released': return 'sent ' + clock(n.told_at) + '; deferred: ' + n.why;
    case 'repeated': return 'not sent: ' + n.why;
    case 'dropped': return 'not sent: no longer needed';
    default: return 'sent to ' + n.channel + (n.place ? ' (' + n.place + ')' : '') + ': ' + n.why;
  }
}

function noticeItem(n) {
  const li = element('li', '');
  li.dataset.notice = n.id;
  li.dataset.state = n.state;
  const t = element('time', '', clock(n.created_at));
  t.dateTime = n.created_at;
  li.append(t, element('div', 'text', n.text || '(text no longer stored)'), element('div', 'why', n.urgency + ', ' + n.rule + '; ' + became(n)));
  const buttons = element('div', 'buttons');
  const button = (name, text, what, body) => {
    const b = element('button', name, text);
    b.type = 'button';
    b.onclick = async () => {
      for (const x of buttons.children) x.disabled = true;
      try {
        await api('POST', '/api/v1/notices/' + what, body);
        await showNotices();
      } catch (e) {
        for (const x of buttons.children) x.disabled = false;
        $('quiet').hidden = false;
        $('quiet').textContent = e.message;
      }
    };
    buttons.append(b);
  };
  if (n.kind === 'notice' && n.text && ['held', 'told', 'released'].includes(n.state)) button('later', 'In an hour', 'snooze', { id: n.id, for: '1h' });
  if (n.state === 'held') button('now', 'Now', 'release', { id: n.id });
  if (buttons.children.length) li.append(buttons);
  return li;
}

// showNotices lists sent and deferred notifications, deferred ones first. They are
// not requested while the card is closed.
async function showNotices() {
  const [rows, quiet] = await Promise.all([api('GET', '/api/v1/notices?limit=50'), api('POST', '/api/v1/notices/quiet', {})]);
  const waits = n => n.state === 'held' || n.state === 'due';
  rows.sort((a, b) => waits(b) - waits(a));
  $('quiet').hidden = !quiet.quiet;
  $('quiet').textContent = quiet.quiet ? 'Quiet until ' + clock(quiet.until) + ' (' + quiet.why + ')' : '';
  $('told').replaceChildren(...(rows.length ? rows.map(noticeItem) : [element('li', '', 'No notifications yet.')]));
  notices.dataset.state = 'loaded';
  toEnd();
}

function refreshNotices() {
  if (notices.open && !document.hidden) showNotices().catch(e => $('told').replaceChildren(element('li', '', e.message)));
}
notices.ontoggle = refreshNotices;
document.addEventListener('visibilitychange', refreshNotices);
setInterval(refreshNotices, 60 * 1000);

// ---------------------------------------------------------------- controls

$('composer').onsubmit = e => {
  e.preventDefault();
  const text = input.value.trim(), pastes = state.pastes;
  if (!text && !pastes.length) return;
  input.value = '';
  state.pastes = [];
  showPastes();
  say(text, pastes);
};
input.onkeydown = e => {
  if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) {
    e.preventDefault();
    $('composer').requestSubmit();
  }
};
document.onkeydown = e => { if (e.key === 'Escape' && !$('stop').hidden) $('stop').click(); };
$('stop').onclick = () => api('POST', '/api/v1/manage/stop', { session: state.session }).catch(e => add('status', e.message));
$('new').onclick = () => { open('chat-' + new Date().toISOString().slice(0, 10) + '-' + newID().slice(0, 4)); input.focus(); };
picker.onchange = () => { open(picker.value).catch(e => add('error', e.message)); input.focus(); };
$('login-form').onsubmit = async e => {
  e.preventDefault();
  try {
    await api('POST', '/login', { password: $('password').value });
    location.replace('/');
  } catch (err) {
    $('login-text').textContent = err.message;
  }
};

const wanted = badLink ? '' : decodeURIComponent(location.hash.slice(1));
open(wanted || 'main').then(listen).catch(e => { if (e.status !== 401) { add('error', e.message); setTimeout(() => location.reload(), 5000); } });
