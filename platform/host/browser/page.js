// Runs in a world of its own on a page: it shares the document with the page's
// scripts and nothing else, so that they can change what it sees and not how it
// looks. Takes the name of an operation and its arguments, returns plain data.
function (op, args) {
  "use strict";
  const world = globalThis;
  const kept = world.hobKept || (world.hobKept = { last: 0, byElement: new WeakMap(), elements: new Map() });
  const LABEL = 100;
  const ON = /^(on|true|yes|1|checked)$/i;

  const squash = (s, most) => {
    s = String(s == null ? "" : s).slice(0, most * 8).replace(/[\s\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]+/g, " ").trim();
    // A page that writes what looks like one of our marks does not make one.
    s = s.replace(/\[(?=\s*(e\d|$))/gi, "(");
    return s.length > most ? s.slice(0, most) + "\u2026" : s;
  };
  const styleOf = (el) => el.ownerDocument.defaultView.getComputedStyle(el);
  const tagOf = (el) => String(el.localName || "").toLowerCase();
  const attr = (el, name) => Element.prototype.getAttribute.call(el, name);
  const web = (u) => u && (u.protocol === "http:" || u.protocol === "https:");
  const urlOf = (el, raw) => { try { return new URL(raw, el.ownerDocument.baseURI); } catch (_) { return null; } };

  function handle(el) {
    let h = kept.byElement.get(el);
    if (!h) {
      kept.last = Math.max(kept.last, args.start || 0) + 1;
      h = "e" + kept.last;
      kept.byElement.set(el, h);
      kept.elements.set(h, new WeakRef(el));
    }
    return h;
  }

  function element(h) {
    const ref = kept.elements.get(h);
    const el = ref && ref.deref();
    return el && el.isConnected ? el : null;
  }

  // secret: what is typed there is not for anybody's eyes.
  function secret(el) {
    if (tagOf(el) !== "input" && tagOf(el) !== "textarea") return false;
    const hints = String(attr(el, "autocomplete") || "").toLowerCase();
    if (String(el.type).toLowerCase() === "password" || /(^|\s)(current-password|new-password|one-time-code|cc-[a-z-]+)(\s|$)/.test(hints)) return true;
    if (kept.wasPassword && kept.wasPassword.has(el)) return true;
    const sec = styleOf(el).webkitTextSecurity;
    return Boolean(sec && sec !== "none");
  }

  function kindOf(el) {
    const tag = tagOf(el);
    const role = String(attr(el, "role") || "").toLowerCase();
    if (tag === "a" && el.hasAttribute("href")) return "link";
    if (tag === "button" || tag === "summary") return "button";
    if (tag === "select") return "choice";
    if (tag === "textarea") return "text";
    if (tag === "input") {
      const t = String(el.type || "text").toLowerCase();
      if (t === "hidden") return "";
      if (t === "submit" || t === "button" || t === "reset" || t === "image") return "button";
      if (t === "checkbox" || t === "radio" || t === "password" || t === "file") return t;
      return t === "text" ? "text" : "text/" + t;
    }
    if (el.isContentEditable && !(el.parentElement && el.parentElement.isContentEditable)) return "text";
    if (["button", "link", "checkbox", "radio", "menuitem", "menuitemcheckbox", "menuitemradio", "tab", "switch", "option", "combobox", "textbox", "searchbox"].includes(role)) return role;
    if (el.hasAttribute("onclick")) return "button";
    return "";
  }

  function textOf(el, most) {
    let out = "";
    let left = 400;
    const go = (n) => {
      if (out.length > most * 2 || left-- <= 0) return;
      if (n.nodeType === 3) { out += n.data.slice(0, most * 2) + " "; return; }
      if (n.nodeType !== 1 || ["script", "style", "template", "noscript"].includes(tagOf(n))) return;
      if (tagOf(n) === "img") out += (attr(n, "alt") || "") + " ";
      for (let c = n.firstChild; c; c = c.nextSibling) go(c);
    };
    go(el);
    return out;
  }

  function nameOf(el) {
    const doc = el.getRootNode();
    const by = attr(el, "aria-labelledby");
    let s = "";
    if (by && doc.getElementById) s = by.split(/\s+/).slice(0, 3).map((id) => { const x = doc.getElementById(id); return x ? textOf(x, LABEL) : ""; }).join(" ");
    s = s.trim() || attr(el, "aria-label") || "";
    if (!s.trim() && el.labels && el.labels.length) s = textOf(el.labels[0], LABEL);
    const tag = tagOf(el);
    if (!s.trim() && tag === "input" && ["submit", "button", "reset"].includes(el.type)) s = el.value || (el.type === "submit" ? "Submit" : "");
    if (!s.trim() && tag !== "input" && tag !== "select" && tag !== "textarea") s = textOf(el, LABEL);
    if (!s.trim()) s = attr(el, "placeholder") || attr(el, "title") || attr(el, "alt") || attr(el, "name") || "";
    return squash(s, LABEL);
  }

  // checked: boxes of a page's own making say so by a word only.
  const checked = (el) => "checked" in el ? Boolean(el.checked) : attr(el, "aria-checked") === "true";

  function valueOf(el) {
    const kind = kindOf(el);
    if (secret(el)) return el.value ? "(filled)" : "";
    if (kind === "checkbox" || kind === "radio" || kind === "switch") return checked(el) ? "on" : "off";
    if (kind === "file") return "";
    if (kind === "choice") return squash(Array.from(el.selectedOptions).slice(0, 5).map((o) => o.label).join(", "), LABEL);
    if ("value" in el && kind.startsWith("text")) return squash(el.value, LABEL);
    if (el.isContentEditable) return squash(textOf(el, LABEL), LABEL);
    return "";
  }

  function describe(el) {
    const d = { handle: handle(el), kind: kindOf(el) || tagOf(el), name: nameOf(el) };
    const value = valueOf(el);
    if (value) d.value = value;
    if (secret(el)) d.secret = true;
    if (el.disabled) d.disabled = true;
    if (d.kind === "link") {
      const u = urlOf(el, attr(el, "href"));
      if (web(u)) d.href = u.href.slice(0, 8192);
      // Nothing but an address: following it is the same as opening that.
      const here = (u || {}).hash && u.href.split("#")[0] === location.href.split("#")[0] || u && attr(el, "href").trim().startsWith("#");
      d.plain = web(u) && !here && !el.hasAttribute("download") && u.href.length <= 8192 && !u.username && !u.password;
    }
    if (d.kind === "choice") d.options = Array.from(el.options).slice(0, 30).map((o) => squash(o.label, 60));
    return d;
  }

  // formOf says what a click would send.
  function formOf(el) {
    const form = el.form || el.closest && el.closest("form");
    if (!form) return null;
    const action = urlOf(el, el.hasAttribute("formaction") ? attr(el, "formaction") : attr(form, "action") || "");
    const fields = [];
    for (const f of Array.from(HTMLFormElement.prototype.__lookupGetter__("elements").call(form)).slice(0, 60)) {
      if (!f.name || ["submit", "button", "image", "fieldset", "hidden"].includes(f.type) || tagOf(f) === "button") continue;
      if ((f.type === "checkbox" || f.type === "radio") && !f.checked) continue;
      fields.push(squash(f.name, 40) + "=" + (secret(f) ? "(secret)" : squash(f.value, 80)));
    }
    return { action: action ? action.href.slice(0, 500) : "", method: String(attr(form, "method") || "get").toLowerCase() === "post" ? "post" : "get", fields: fields };
  }

  const SKIP = new Set(["script", "style", "noscript", "template", "head", "object", "embed", "audio", "video", "canvas", "datalist", "meta", "link", "title"]);
  const BLOCK = /^(block|flex|grid|list-item|table|table-row|table-caption|flow-root|table-row-group|table-header-group|table-footer-group)/;

  function content() {
    const out = [];
    const elements = [];
    const frames = [];
    const until = performance.now() + (args.ms || 2500);
    let length = 0, nodes = 0, hidden = 0, cut = false, secrets = 0;
    const put = (s) => { if (length < args.most) { out.push(s); length += s.length; } else cut = true; };
    let fresh = true; // at the beginning of a line
    const line = () => { if (!fresh) { put("\n"); fresh = true; } };
    const words = (s) => { if (s) { put((fresh ? "" : " ") + s); fresh = false; } };
    const spent = () => {
      if (cut) return true;
      if (++nodes > args.nodes || nodes % 64 === 0 && performance.now() > until) cut = true;
      return cut;
    };
    const clear = (c) => c === "transparent" || /,\s*0\)$/.test(c) && c.startsWith("rgba");
    function mark(el, kind) {
      const d = describe(el);
      if (elements.length < args.elements) elements.push(d);
      let s = "[" + d.handle + " " + (d.secret && kind === "text" ? "secret" : kind);
      if (kind !== "link" && d.name) s += " " + JSON.stringify(d.name);
      if (d.secret) { secrets++; s += d.value ? " (filled)" : " (empty)"; }
      else if (d.value) s += " = " + JSON.stringify(d.value);
      if (d.options) s += "; of " + d.options.join(" | ");
      if (d.disabled) s += "; disabled";
      return s + "]";
    }
    function children(n, bg, pre) { for (let c = n.firstChild; c && !cut; c = c.nextSibling) walk(c, bg, pre); }
    function walk(n, bg, pre) {
      if (spent()) return;
      if (n.nodeType === 3) {
        const parent = n.parentElement;
        const cs = parent && styleOf(parent);
        if (!n.data.trim()) return;
        if (cs && (cs.visibility !== "visible" || parseFloat(cs.fontSize) < 4 || clear(cs.color) || cs.color === bg)) { hidden++; return; }
        const text = n.data.slice(0, args.most);
        if (!pre) { words(squash(text, args.most)); return; }
        for (const l of text.split("\n")) { words(l.replace(/[\u0000-\u0008\u000b-\u001f\u200b-\u200f\u202a-\u202e\u2060-\u206f]/g, "").replace(/\[(?=\s*(e\d|$))/gi, "(")); line(); }
        return;
      }
      if (n.nodeType !== 1) return;
      const tag = tagOf(n);
      if (SKIP.has(tag)) return;
      const cs = styleOf(n);
      if (cs.display === "none" || parseFloat(cs.opacity) < 0.05 || cs.contentVisibility === "hidden") { hidden++; return; }
      if (cs.display !== "contents" && tag !== "body" && tag !== "html") {
        const r = n.getBoundingClientRect();
        const view = n.ownerDocument.defaultView;
        const nothing = cs.overflow !== "visible" && (r.width <= 1 || r.height <= 1);
        const away = r.width > 0 && (r.right + view.scrollX <= 0 || r.bottom + view.scrollY <= 0);
        if (nothing || away) { hidden++; return; }
      }
      if (!clear(cs.backgroundColor)) bg = cs.backgroundImage === "none" ? cs.backgroundColor : "";
      else if (cs.backgroundImage !== "none") bg = "";
      if (tag === "br") { line(); return; }
      if (tag === "hr") { line(); return; }
      if (tag === "img") {
        const alt = squash(attr(n, "alt") || "", LABEL);
        if (alt) words("[picture: " + alt + "]");
        return;
      }
      if (tag === "svg") return;
      if (tag === "iframe" || tag === "frame") {
        let body = null;
        try { body = n.contentDocument && n.contentDocument.body; } catch (_) { /* another site's */ }
        if (body) { line(); walk(body, bg, false); line(); return; }
        const u = urlOf(n, attr(n, "src") || "");
        if (web(u) && frames.length < 20) frames.push(u.origin);
        return;
      }
      const block = BLOCK.test(cs.display);
      if (block) line();
      const kind = kindOf(n);
      if (kind === "option" && tag === "option") return;
      if (kind) {
        words(mark(n, kind));
        if (kind === "link" || tag === "summary" || kind === "tab" && n.firstElementChild) children(n, bg, pre);
        if (block) line();
        return;
      }
      const head = /^h([1-6])$/.exec(tag);
      if (head) words("#".repeat(Number(head[1])));
      if (tag === "li") words("-");
      if ((tag === "td" || tag === "th") && n.previousElementSibling) words("|");
      const root = n.shadowRoot;
      if (root) children(root, bg, false);
      else if (tag === "slot" && n.assignedNodes) { for (const c of n.assignedNodes({ flatten: true })) walk(c, bg, pre); }
      else children(n, bg, pre || /^pre/.test(cs.whiteSpace) && cs.whiteSpace !== "pre-line");
      if (block) line();
    }
    if (document.body) walk(document.body, "rgb(255, 255, 255)", false);
    else cut = cut || Boolean(document.documentElement && document.readyState === "loading");
    const nav = performance.getEntriesByType("navigation")[0];
    return {
      title: squash(document.title, 200), url: location.href.slice(0, 8192), status: nav && nav.responseStatus || 0, type: document.contentType,
      loading: document.readyState !== "complete", text: out.join("").replace(/\n{3,}/g, "\n\n").slice(0, args.most), elements: elements, frames: frames, cut: cut, hidden: hidden, secrets: secrets, last: kept.last,
    };
  }

  function point(el) {
    if (kindOf(el) === "link") {
      const u = urlOf(el, attr(el, "href") || "");
      if (tagOf(el) === "a" && u && !["http:", "https:", "javascript:", "about:", "blob:", "data:"].includes(u.protocol)) return { gone: "it starts another program (" + squash(u.protocol, 40) + ")" };
    }
    el.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    const r = Array.from(el.getClientRects()).find((q) => q.width > 0 && q.height > 0);
    if (!r) return { gone: "it has no place on the page" };
    let x = r.left + r.width / 2, y = r.top + r.height / 2;
    const root = el.getRootNode();
    // A frame takes the click to a page that nobody was asked about. (One in a closed
    // shadow root is not seen.)
    const FRAMES = ["iframe", "frame", "object", "embed", "fencedframe"];
    let deepest = root.elementFromPoint ? root.elementFromPoint(x, y) : null;
    for (let n; deepest && deepest.shadowRoot && (n = deepest.shadowRoot.elementFromPoint(x, y)) && n !== deepest;) deepest = n;
    if (deepest && FRAMES.includes(tagOf(deepest))) return { gone: "a frame lies over it" };
    const hit = root.elementFromPoint ? root.elementFromPoint(x, y) : null;
    if (!hit) return { gone: "it lies outside of what is shown" };
    if (hit !== el && !el.contains(hit) && !(hit.shadowRoot && hit.contains(el)) && !(el.labels && Array.from(el.labels).some((l) => l.contains(hit))) && !(hit.contains(el) && kindOf(hit) === "")) {
      return { gone: "something else lies over it: " + (kindOf(hit) || tagOf(hit)) + " " + JSON.stringify(nameOf(hit)) };
    }
    for (let v = el.ownerDocument.defaultView; v && v !== v.parent; v = v.parent) {
      const f = v.frameElement;
      if (!f) break;
      const q = f.getBoundingClientRect();
      x += q.left + f.clientLeft;
      y += q.top + f.clientTop;
      const over = f.getRootNode().elementFromPoint(x, y);
      if (over !== f) return { gone: "something else lies over its frame" };
    }
    return { x: x, y: y };
  }

  function fill(el, value) {
    const tag = tagOf(el);
    const kind = kindOf(el);
    const tell = () => {
      el.dispatchEvent(new InputEvent("input", { bubbles: true, composed: true }));
      el.dispatchEvent(new Event("change", { bubbles: true }));
    };
    if (el.disabled || el.readOnly) return "it takes no input";
    if (kind === "file") return "a file is chosen by the owner, in the browser's window";
    if (secret(el)) return "secret";
    if (tag === "select") {
      const want = value.trim().toLowerCase();
      const o = Array.from(el.options).find((q) => q.label.trim().toLowerCase() === want || q.value === value);
      if (!o) return "it does not offer that; it has " + Array.from(el.options).slice(0, 30).map((q) => squash(q.label, 40)).join(" | ");
      el.value = o.value;
      tell();
      return "";
    }
    if (kind === "checkbox" || kind === "radio" || kind === "switch") {
      const on = ON.test(value.trim());
      if (checked(el) !== on) el.click();
      return "checked" in el && el.checked !== on ? "it did not change" : "";
    }
    el.focus();
    if (tag === "input" || tag === "textarea") {
      el.value = value;
      tell();
      return el.value === value || kind !== "text" && el.value !== "" ? "" : "it took " + JSON.stringify(squash(el.value, 60)) + " instead";
    }
    if (el.isContentEditable) {
      const doc = el.ownerDocument;
      const range = doc.createRange();
      range.selectNodeContents(el);
      const sel = doc.defaultView.getSelection();
      sel.removeAllRanges();
      sel.addRange(range);
      doc.execCommand("insertText", false, value);
      return "";
    }
    return "it is no field";
  }

  // secrets are the fields whose values are for nobody's eyes.
  function secrets() {
    const out = [];
    const seen = kept.wasPassword || (kept.wasPassword = new WeakSet());
    const look = (root, depth) => {
      for (const el of Array.from(root.querySelectorAll("input, textarea")).slice(0, 2000)) {
        if (!secret(el)) continue;
        seen.add(el);
        out.push(el);
      }
      if (depth > 3) return;
      for (const f of Array.from(root.querySelectorAll("iframe")).slice(0, 50)) {
        try { if (f.contentDocument) look(f.contentDocument, depth + 1); } catch (_) { /* another site's */ }
      }
    };
    look(document, 0);
    return out;
  }

  // guarded are the values that must not be told of: bounded, they are looked
  // for in what a script returns.
  function guarded() {
    return secrets().filter((el) => el.value).slice(0, 50).map((el) => el.value.slice(0, 1000));
  }

  // veil shows secrets as dots while a picture is taken.
  function veil(on) {
    const name = "-webkit-text-security";
    for (const [el, was, how] of kept.veiled || []) {
      el.style.removeProperty(name);
      if (was) el.style.setProperty(name, was, how);
    }
    kept.veiled = [];
    if (!on) return;
    for (const el of secrets()) {
      kept.veiled.push([el, el.style.getPropertyValue(name), el.style.getPropertyPriority(name)]);
      el.style.setProperty(name, "disc", "important");
    }
  }

  switch (op) {
    case "focused": return document.hasFocus();
    case "content": guarded(); return content();
    case "guarded": return guarded();
    case "veil": veil(args.on); return {};
    case "where": return { title: squash(document.title, 200), url: location.href.slice(0, 8192) };
  }
  const el = element(args.handle);
  if (!el) return { missing: true };
  switch (op) {
    case "describe": return { url: location.href.slice(0, 8192), element: describe(el), form: formOf(el) };
    case "point": return point(el);
    case "fill": {
      const kind = kindOf(el);
      const own = (kind === "checkbox" || kind === "radio" || kind === "switch") && !("checked" in el);
      return { why: fill(el, args.value), box: own ? (ON.test(args.value.trim()) ? "on" : "off") : "" };
    }
    case "submit": {
      const form = el.form || el.closest("form");
      if (!form) return { why: "it belongs to no form" };
      HTMLFormElement.prototype.requestSubmit.call(form);
      return {};
    }
  }
  return { missing: true };
}
