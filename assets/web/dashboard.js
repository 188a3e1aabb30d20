// What every page of the dashboard does beyond HTML: live updates, the palette, keys, and the
// state of the connection. Each page also works without this file.
'use strict';

const find = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));

// ---------------------------------------------------------------- live updates

// An update must not close what you opened. The server does not know these states.
htmx.registerExtension('hob', {
  htmx_before_morph_attr: (e, d) => !(d.attrName === 'open' && (e.tagName === 'DETAILS' || e.tagName === 'DIALOG')),
});

// isEditing reports whether an update of an element would disturb you: you have typed something in
// it, or it shows a dialog.
function isEditing(e) {
  const at = document.activeElement;
  const typing = e.contains(at) && (at.matches('select') || at.matches('input:not([type=checkbox], [type=radio]), textarea') && at.value !== at.defaultValue);
  return typing || !!find('dialog[open], :popover-open', e);
}

document.addEventListener('htmx:before:request', event => {
  const source = event.detail.ctx.sourceElement;
  if (!source.matches('[data-live]')) return;
  if (document.hidden || isEditing(source)) {
    event.preventDefault();
    source.dataset.stale = 'true';
  }
});

// refreshStale requests the updates that were skipped.
function refreshStale() {
  if (document.hidden) return;
  for (const e of all('[data-stale]')) {
    if (isEditing(e)) continue;
    delete e.dataset.stale;
    htmx.trigger(e, 'changed');
  }
}
document.addEventListener('visibilitychange', refreshStale);
document.addEventListener('focusout', () => setTimeout(refreshStale, 50));
document.addEventListener('toggle', () => setTimeout(refreshStale, 50), true);

// After an action, an empty form and a place for the keyboard remain.
document.addEventListener('htmx:after:swap', e => {
  const ctx = e.detail.ctx;
  if (ctx.request.method.toUpperCase() !== 'POST') return;
  if (ctx.sourceElement.matches('form') && !find('.flash.error')) ctx.sourceElement.reset();
  if (document.activeElement === document.body) find('#main').focus({ preventScroll: true });
});

// ---------------------------------------------------------------- the connection

const lost = find('#lost'), lostText = lost.textContent;

// showConnection shows whether the page receives live updates. ended means that it does not because
// your login has ended.
function showConnection(live, ended) {
  const state = find('#state');
  state.dataset.state = live ? 'live' : 'away';
  state.textContent = live ? 'Connected' : 'Not connected';
  lost.textContent = ended ? 'Your login has ended. Run hob open in a terminal, and reload this page. Your input is kept.' : lostText;
  lost.hidden = live;
}

document.addEventListener('htmx:sse:after:connection', e => {
  const live = e.detail.connection.status === 200;
  if (live && find('#state').dataset.state === 'away') htmx.trigger('#feed', 'changed'); // events may be missing
  showConnection(live);
});
document.addEventListener('htmx:sse:error', e => showConnection(false, e.detail.status === 401));
document.addEventListener('htmx:sse:close', () => showConnection(false));
window.addEventListener('offline', () => showConnection(false));

// A failed request leaves the page and what you typed unchanged.
document.addEventListener('htmx:error', e => {
  if (e.detail.ctx && e.detail.ctx.sourceElement.matches('form')) showConnection(false);
});
document.addEventListener('htmx:response:error', e => {
  if (e.detail.ctx.response.status === 401) showConnection(false, true);
});

// An answered question does not stay open above the page.
document.addEventListener('submit', e => {
  const asked = e.target.closest('[popover]');
  if (asked) asked.hidePopover();
});

// ---------------------------------------------------------------- the palette

const palette = find('#palette');

function openPalette() {
  const input = find('input', palette);
  input.value = '';
  filterPalette();
  if (!palette.open) palette.showModal();
  input.focus();
}

// filterPalette shows the entries that contain all words of the input and selects the first one.
function filterPalette() {
  const words = find('input', palette).value.toLowerCase().split(/\s+/).filter(Boolean);
  let first = true, n = 0;
  for (const li of all('[role=option]', palette)) {
    const text = li.textContent.toLowerCase();
    li.hidden = !words.every(w => text.includes(w));
    selectOption(li, !li.hidden && first);
    if (!li.hidden) { first = false; n++; }
  }
  find('.none', palette).hidden = n > 0;
}

function selectOption(li, on) {
  li.setAttribute('aria-selected', String(on));
  if (!on) return;
  find('input', palette).setAttribute('aria-activedescendant', li.id);
  li.scrollIntoView({ block: 'nearest' });
}

function movePalette(step) {
  const shown = all('[role=option]:not([hidden])', palette);
  const at = shown.findIndex(li => li.getAttribute('aria-selected') === 'true');
  if (!shown.length) return;
  shown.forEach(li => selectOption(li, false));
  selectOption(shown[(at + step + shown.length) % shown.length], true);
}

function runOption(li) {
  if (!li) return;
  palette.close();
  if (li.dataset.form) find('#' + li.dataset.form).requestSubmit();
  else location.assign(li.dataset.href);
}

if (palette) {
  const input = find('input', palette);
  input.addEventListener('input', filterPalette);
  input.addEventListener('keydown', e => {
    if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
      e.preventDefault();
      movePalette(e.key === 'ArrowDown' ? 1 : -1);
    } else if (e.key === 'Enter') {
      e.preventDefault();
      runOption(find('[aria-selected=true]', palette));
    }
  });
  palette.addEventListener('click', e => {
    if (e.target === palette) palette.close();
    else runOption(e.target.closest('[role=option]'));
  });
  find('#open-palette').addEventListener('click', openPalette);
}

// ---------------------------------------------------------------- the drawer

// A link with data-drawer shows the part data-drawer-content of its page beside this page.
document.addEventListener('click', async e => {
  const link = e.target.closest('a[data-drawer]');
  if (!link || e.ctrlKey || e.metaKey || e.shiftKey) return;
  e.preventDefault();
  const r = await fetch(link.href).catch(() => null);
  const part = r && r.ok && find('[data-drawer-content]', new DOMParser().parseFromString(await r.text(), 'text/html'));
  if (!part) return location.assign(link.href);
  find('#drawer .body').replaceChildren(document.importNode(part, true));
  if (!find('#drawer').open) find('#drawer').showModal();
});

// ---------------------------------------------------------------- keys

const help = find('#help');
const singleKeys = find('#single-keys');
const keysOff = 'hob_single_keys=off'; // a cookie with your choice

if (singleKeys) {
  singleKeys.checked = !document.cookie.includes(keysOff);
  singleKeys.onchange = () => { document.cookie = keysOff + '; path=/; samesite=strict; max-age=' + (singleKeys.checked ? 0 : 365 * 24 * 3600); };
  find('#open-help').addEventListener('click', () => help.showModal());
}

document.addEventListener('keydown', e => {
  if ((e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey && e.key.toLowerCase() === 'k' && palette) {
    e.preventDefault();
    palette.open ? palette.close() : openPalette();
    return;
  }
  if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || !singleKeys || !singleKeys.checked) return;
  if (e.target.closest('input, textarea, select, dialog, [contenteditable]')) return;
  if (e.key === '?') {
    e.preventDefault();
    help.showModal();
  } else if (e.key === '/') {
    const input = find('#input, main input[type=search]');
    if (!input) return;
    e.preventDefault();
    input.focus();
  }
});

// On a narrow screen, the bar of pages scrolls.
for (const link of all('#nav [aria-current]')) link.scrollIntoView({ block: 'nearest', inline: 'center' });

// The name of a message about the last action does not stay in the address.
history.replaceState(history.state, '', document.body.dataset.address + location.hash);
