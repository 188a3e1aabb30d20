// The chat: streamed answers, pastes, files and drafts. It uses the HTTP API and definitions of
// dashboard.js. Text of others is shown through textContent, or as HTML that Hob rendered.
'use strict';

const log = find('#log'), input = find('#input'), picker = find('#sessions');
const session = log.dataset.session;
const state = {
  shown: new Set(all('#log [data-id]').map(e => e.dataset.id)), // ids of deliveries in the log
  own: new Set(), // events whose stream this page reads
  running: 0,
  unnamed: 0, // messages sent from this page without a known event yet
  held: [], // replies that arrived in the meantime and may answer one of them
  end: true, // keep the log scrolled to the end until the user scrolls up
  lost: [], // messages whose stream broke off: { again, event }
  feed: null,
  parts: [], // attachments of the next message: { text, mine } for a paste, { text, name } or { data, mime, name } for a file
  client: newID(), // identifies this page: a bare yes answers only questions this page has displayed
};

function newID() { return Array.from(crypto.getRandomValues(new Uint8Array(12)), b => b.toString(16).padStart(2, '0')).join(''); }

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
    if (r.status === 401) showConnection(false, true);
    throw new Refused(r.status, e.error || {});
  }
  return accept ? r : r.json();
}

// rendered requests a part of the page and returns its first element, or null if it has none.
async function rendered(path, selector = 'body > *') {
  const r = await fetch(path);
  if (!r.ok) throw new Error('status ' + r.status);
  const e = find(selector, new DOMParser().parseFromString(await r.text(), 'text/html'));
  return e && document.importNode(e, true);
}

const sessionPath = rest => '/api/v1/sessions/' + encodeURIComponent(session) + '/' + rest;

// ---------------------------------------------------------------- the log

function element(tag, name, text) {
  const e = document.createElement(tag);
  if (name) e.className = name;
  if (text !== undefined) e.textContent = text;
  return e;
}

function toEnd() { if (state.end) log.scrollTop = log.scrollHeight; }
log.onscroll = () => { state.end = log.scrollHeight - log.scrollTop - log.clientHeight < 80; };
new ResizeObserver(toEnd).observe(log);

// append adds a message at the end of the log.
function append(m) {
  for (const hint of all('.hint', log)) hint.remove();
  log.append(m);
  toEnd();
  return m;
}

function add(kind, text) {
  const m = element('article', 'message ' + kind);
  m.dir = 'auto';
  m.append(element('ul', 'tools'), element('div', 'text', text || ''));
  return append(m);
}

// toolLine returns the line of a tool call. Its result opens with a click.
function toolLine(m, id, name, result) {
  const list = find('.tools', m);
  let t = Array.from(list.children).find(x => x.dataset.call === id);
  if (!t) {
    t = element('li', 'tool');
    t.dataset.call = id;
    const d = element('details');
    d.append(element('summary'), element('pre', 'wrap'));
    t.append(d);
    list.append(t);
  }
  find('summary', t).textContent = name === 'use_tool' ? 'working' : name.replaceAll('_', ' '); // the result names the tool that it runs
  t.dataset.state = result === undefined ? 'running' : result ? 'done' : 'failed';
  return t;
}

// ---------------------------------------------------------------- a turn

// say sends a message: the typed text and its attachments.
async function say(text, parts = [], key = newID()) {
  state.end = true;
  const mine = add('user', [text, ...parts.map(p => '[' + partName(p) + ']')].filter(Boolean).join('\n'));
  const m = add('assistant', '');
  m.classList.add('busy');
  busy(1);
  let named = false;
  const name = event => {
    if (named) return;
    named = true;
    state.unnamed--;
    if (event) {
      for (const same of all('[data-event="' + CSS.escape(event) + '"]', log)) same.remove(); // shown before a retry
      state.own.add(m.dataset.event = mine.dataset.event = event);
    }
    if (state.unnamed === 0) state.held.splice(0).forEach(delivery);
  };
  state.unnamed++;
  try {
    const r = await api('POST', sessionPath('messages'), { ...messageBody(text, parts), dedupe_key: key }, 'text/event-stream');
    await follow(r, m, name);
  } catch (e) {
    const stops = e.code === 'stopping';
    m.className = 'message error';
    find('.text', m).textContent = stops ? 'Hob restarts. Your message is stored, and the answer will appear here.'
      : e instanceof Refused ? e.message : 'The connection to Hob was lost (' + e.message + ').';
    const again = element('button', 'retry small', 'Try again');
    again.type = 'button';
    again.onclick = () => {
      state.lost = state.lost.filter(l => l.again !== again);
      mine.remove();
      m.remove();
      say(text, parts, key); // the same key: the server accepts it once
    };
    m.append(again);
    state.own.delete(m.dataset.event);
    if (stops || !(e instanceof Refused)) state.lost.push({ again, event: m.dataset.event });
  } finally {
    name();
    m.classList.remove('busy');
    busy(-1);
    toEnd();
  }
}

function busy(n) {
  state.running += n;
  find('#stop').hidden = state.running === 0;
  log.setAttribute('aria-busy', String(state.running > 0));
}

async function follow(response, m, name) {
  let text = '', end = null;
  const shown = find('.text', m);
  for await (const [kind, d] of events(response.body)) {
    switch (kind) {
      case 'message_start':
        name(d.event);
        if (d.position > 0) shown.textContent = 'Your message is #' + (d.position + 1) + ' in the queue.';
        break;
      case 'content_delta':
        text += d.text;
        shown.textContent = text;
        break;
      case 'tool_call_start':
        if (text && !text.endsWith('\n')) text += '\n';
        toolLine(m, d.id, d.name);
        break;
      case 'tool_progress':
        toolLine(m, d.id, d.name).title = [d.seconds + ' s', d.percent === undefined ? '' : d.percent + ' %', d.note || ''].filter(Boolean).join(', ');
        break;
      case 'tool_result':
        find('pre', toolLine(m, d.id, d.name, d.ok !== false && !d.code)).textContent = d.text || '';
        break;
      case 'approval_required':
        htmx.trigger('#feed', 'changed');
        break;
      case 'message_end':
        end = d;
        break;
      case 'error':
        throw new Refused(0, d);
    }
    toEnd();
  }
  if (!end) throw new Error('the answer is incomplete');
  shown.textContent = end.answer || text;
  const whole = await rendered('/chat/turn?event=' + encodeURIComponent(m.dataset.event)).catch(() => null); // the text stays without it
  if (whole && end.answer) m.replaceChildren(...whole.childNodes);
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

// ---------------------------------------------------------------- the live feed

function listen() {
  if (state.feed) state.feed.close();
  const feed = state.feed = new EventSource('/api/v1/events');
  feed.onopen = () => {
    const was = find('#state').dataset.state;
    showConnection(true);
    htmx.trigger('#feed', 'changed');
    if (was === 'away') resume().catch(() => {}); // messages may be missing; the next event tries again
  };
  feed.onerror = () => {
    showConnection(false);
    if (feed.readyState !== EventSource.CLOSED) return;
    const again = () => setTimeout(listen, 3000);
    fetch('/api/v1/problems').then(r => r.status === 401 ? showConnection(false, true) : again(), again); // the response was an error, for example during a restart
  };
  feed.addEventListener('delivery', e => delivery(JSON.parse(e.data).data));
  let due = 0;
  for (const kind of ['approval_required', 'tool_result', 'message_end', 'delivery', 'status']) {
    feed.addEventListener(kind, () => {
      clearTimeout(due);
      due = setTimeout(() => htmx.trigger('#feed', 'changed'), 100);
    });
  }
  feed.addEventListener('dropped', () => refreshLog().catch(() => {}));
}

// refreshLog requests the conversation again, unless an answer is streaming.
async function refreshLog() {
  if (state.running > 0) return;
  const fresh = await rendered(document.body.dataset.address, '#log');
  if (!fresh || state.running > 0) return;
  state.shown = new Set(all('[data-id]', fresh).map(e => e.dataset.id));
  log.replaceChildren(...fresh.childNodes);
  toEnd();
}

// encodeForm returns the fields of a form as the browser sends them.
function encodeForm(fields) {
  return [...fields].map(([name, value]) => encodeURIComponent(name) + '=' + encodeURIComponent(value)).join('&');
}

// A form in the log undoes what an answer did. The response is the page with the result.
log.addEventListener('submit', async e => {
  e.preventDefault();
  const r = await fetch(e.target.action, { method: 'POST', headers: { 'Content-Type': 'application/x-www-form-urlencoded' }, body: encodeForm(new FormData(e.target)) }).catch(() => null);
  if (!r || !r.ok) return e.target.submit(); // the browser shows what is wrong
  const page = new DOMParser().parseFromString(await r.text(), 'text/html');
  find('#flash').replaceChildren(...document.importNode(find('#flash', page), true).childNodes);
  refreshLog().catch(() => {});
});

// resume shows what happened while the page was offline, and sends the messages that did not arrive.
async function resume() {
  await refreshLog();
  for (const l of state.lost.slice()) if (!l.event) l.again.click();
  state.lost = [];
}

// delivery shows a message that this page did not request.
async function delivery(d) {
  if (d && d.kind === 'question') displayed(d).catch(() => {}); // on failure a bare yes does not answer it
  if (!d || d.kind === 'question' || state.shown.has(d.id)) return;
  if (d.session !== session) {
    const option = Array.from(picker.options).find(o => o.value === d.session);
    if (option && !option.textContent.startsWith('• ')) option.textContent = '• ' + option.textContent;
    return;
  }
  if (d.kind === 'reply' && state.own.has(d.event)) return;
  if (d.kind === 'reply' && state.unnamed > 0) {
    state.held.push(d);
    return;
  }
  state.shown.add(d.id);
  const m = await rendered('/chat/line?session=' + encodeURIComponent(session) + '&id=' + encodeURIComponent(d.id)).catch(() => undefined);
  if (m) append(m);
  else if (m === undefined) add(d.kind === 'reply' ? 'assistant' : d.kind, d.text);
}

// displayed reports a question whose card is on this page, while the page is visible.
async function displayed(d) {
  for (let i = 0; i < 30; i++) {
    const asked = all('.approval').some(card => (d.text || '').includes(card.dataset.approval));
    if (asked && !document.hidden) return api('POST', '/api/v1/deliveries/' + encodeURIComponent(d.id) + '/shown', {});
    await new Promise(done => setTimeout(done, 100));
  }
}

// ---------------------------------------------------------------- attachments

const maxTyped = 400; // characters; a longer paste does not count as typed text
const maxFile = 1 << 20; // bytes of a text file
const maxPicture = 8 << 20;
const pictures = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

const partName = p => p.name || 'pasted text, ' + Array.from(p.text).length.toLocaleString('en-US') + ' characters';

// messageBody marks pastes and files that the user did not claim as own text: Hob asks before acting on them.
function messageBody(text, parts) {
  const texts = parts.filter(p => p.text !== undefined), images = parts.filter(p => p.data);
  const body = {};
  if (images.length) body.attachments = images.map(p => ({ mime: p.mime, data: p.data }));
  if (!texts.length) return { ...body, text };
  const typed = text ? [{ text, origin: 'typed' }] : [];
  body.parts = typed.concat(texts.map(p => p.name ? { text: p.text, origin: 'file', name: p.name } : { text: p.text, origin: p.mine ? 'typed' : 'pasted' }));
  return body;
}

// fold moves a long paste out of the input and reports whether it did.
function fold(text) {
  text = (text || '').replace(/\r\n?/g, '\n');
  if (Array.from(text).length <= maxTyped || !text.trim()) return false;
  state.parts.push({ text, mine: false });
  showParts();
  return true;
}

function showParts() {
  find('#pastes').replaceChildren(...state.parts.map((p, i) => {
    const li = element('li', 'paste');
    const remove = element('button', 'remove small', 'Remove');
    remove.type = 'button';
    remove.onclick = () => { state.parts.splice(i, 1); showParts(); input.focus(); };
    if (p.text === undefined) {
      li.append(element('span', 'what', p.name), remove);
      return li;
    }
    li.dataset.origin = p.mine ? 'typed' : p.name ? 'file' : 'pasted';
    const what = element('details', '');
    what.append(element('summary', '', '[' + partName(p) + ']'), element('pre', 'wrap', p.text));
    li.append(what);
    if (!p.name) {
      const label = element('label', 'mine', ' I wrote this'), box = element('input');
      box.type = 'checkbox';
      box.checked = p.mine;
      box.onchange = () => { p.mine = box.checked; showParts(); };
      label.title = 'Check this if you wrote the text. Otherwise Hob asks before acting on it.';
      label.prepend(box);
      li.append(label);
    }
    li.append(remove);
    return li;
  }));
}

// attach adds pictures and text files to the next message.
async function attach(files) {
  for (const f of files) {
    if (state.parts.length >= 20) return add('status', 'A message can have at most 20 attachments.');
    if (pictures.includes(f.type)) {
      if (f.size > maxPicture) add('status', f.name + ' is larger than 8 MB. Send a smaller picture.');
      else state.parts.push({ name: f.name.slice(0, 100), mime: f.type, data: await base64(f) });
      continue;
    }
    if (f.size > maxFile) {
      add('status', f.name + ' is larger than 1 MB. Save it in a folder that Hob may read, and send its name.');
      continue;
    }
    try {
      const text = new TextDecoder('utf-8', { fatal: true }).decode(await f.arrayBuffer());
      if (!text.trim() || text.includes('\0')) throw new Error('no text');
      state.parts.push({ name: f.name.slice(0, 100), text });
    } catch {
      add('status', f.name + ' is not a text file or a picture. Save it in a folder that Hob may read, and send its name.');
    }
  }
  showParts();
  input.focus();
}

const base64 = f => new Promise((done, failed) => {
  const r = new FileReader();
  r.onload = () => done(r.result.slice(r.result.indexOf(',') + 1));
  r.onerror = () => failed(r.error);
  r.readAsDataURL(f);
});

input.addEventListener('paste', e => {
  if (e.clipboardData.files.length) {
    e.preventDefault();
    attach(Array.from(e.clipboardData.files));
  } else if (fold(e.clipboardData.getData('text/plain'))) e.preventDefault();
});
const composer = find('#composer');
const chat = find('.chat');
chat.addEventListener('dragover', e => {
  e.preventDefault();
  composer.classList.add('drop');
});
chat.addEventListener('dragleave', e => { if (!chat.contains(e.relatedTarget)) composer.classList.remove('drop'); });
chat.addEventListener('drop', e => {
  composer.classList.remove('drop');
  if (e.dataTransfer.files.length) {
    e.preventDefault();
    attach(Array.from(e.dataTransfer.files));
  } else if (fold(e.dataTransfer.getData('text/plain')) || e.target !== input) e.preventDefault();
});
find('#attach').hidden = false;
find('#attach').onclick = () => find('#files').click();
find('#files').onchange = e => { attach(Array.from(e.target.files)); e.target.value = ''; };

// ---------------------------------------------------------------- controls

// keepDraft stores the typed text in the browser's history entry, so that it survives a reload.
const keepDraft = () => history.replaceState({ ...history.state, draft: input.value }, '');
input.value ||= history.state && history.state.draft || '';
input.addEventListener('input', keepDraft);

composer.addEventListener('submit', e => {
  e.preventDefault();
  const text = input.value.trim(), parts = state.parts;
  if (!text && !parts.length) return;
  input.value = '';
  keepDraft();
  state.parts = [];
  showParts();
  say(text, parts);
});
input.onkeydown = e => {
  if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) {
    e.preventDefault();
    composer.requestSubmit();
  }
};
document.addEventListener('keydown', e => {
  if (e.key === 'Escape' && !find('#stop').hidden && !find('dialog[open], :popover-open')) find('#stop').click();
});
find('#stop').onclick = () => api('POST', '/api/v1/manage/stop', { session }).catch(e => add('status', e.message));
picker.onchange = () => location.assign('/chat?session=' + encodeURIComponent(picker.value));

toEnd();
listen();
