// Long pastes into the message box of the chat page. They are kept separate from typed
// text, because another person may have written them.
'use strict';

const maxTyped = 400; // characters; a longer paste does not count as typed text

const pasteName = p => 'pasted text, ' + Array.from(p.text).length.toLocaleString('en-US') + ' characters';

// messageBody marks pastes that the user did not claim as own text: Hob asks before acting on them.
function messageBody(text, pastes) {
  if (!pastes.length) return { text };
  const parts = text ? [{ text, origin: 'typed' }] : [];
  return { parts: parts.concat(pastes.map(p => ({ text: p.text, origin: p.mine ? 'typed' : 'pasted' }))) };
}

// fold moves a long paste out of the input and reports whether it did.
function fold(text) {
  text = (text || '').replace(/\r\n?/g, '\n');
  if (Array.from(text).length <= maxTyped || !text.trim()) return false;
  state.pastes.push({ text, mine: false });
  showPastes();
  return true;
}

function showPastes() {
  $('pastes').replaceChildren(...state.pastes.map((p, i) => {
    const li = element('li', 'paste');
    li.dataset.origin = p.mine ? 'typed' : 'pasted';
    const what = element('details', '');
    what.append(element('summary', '', '[' + pasteName(p) + ']'), element('pre', '', p.text));
    const label = element('label', 'mine', ' I wrote this'), box = element('input');
    box.type = 'checkbox';
    box.checked = p.mine;
    box.onchange = () => { p.mine = box.checked; showPastes(); };
    label.title = 'Check this if you wrote the text. Otherwise Hob asks before acting on it.';
    label.prepend(box);
    const remove = element('button', 'remove', 'Remove');
    remove.type = 'button';
    remove.onclick = () => { state.pastes.splice(i, 1); showPastes(); input.focus(); };
    li.append(what, label, remove);
    return li;
  }));
}

input.addEventListener('paste', e => { if (fold(e.clipboardData.getData('text/plain'))) e.preventDefault(); });
input.addEventListener('drop', e => { if (fold(e.dataTransfer.getData('text/plain'))) e.preventDefault(); });
