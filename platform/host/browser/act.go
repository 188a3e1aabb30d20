package browser

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/retry"
	"hob/platform/text/sorting"
)

// Described is an element with its location and the data that its form would send.
type Described struct {
	Tab     string  `json:"tab"`
	URL     string  `json:"url"`
	Element Element `json:"element"`
	Form    *Form   `json:"form,omitempty"`
	Missing bool    `json:"missing,omitempty"`
}

// Form is the data that a click in a form would submit, except secrets.
type Form struct {
	Action string   `json:"action"`
	Method string   `json:"method"`
	Fields []string `json:"fields,omitempty"` // "name=value"
}

// Check inspects the elements again right before a click, a fill or a script. If it returns an
// error, the call does nothing.
type Check func([]Described) error

// Describe returns the current state of an element. An empty id selects the tab in which the
// element was read.
func (b *Browser) Describe(ctx context.Context, id, handle string) (Described, error) {
	_, done, t, err := b.enterTab(ctx, b.tabOf(id, handle))
	if err != nil {
		return Described{}, err
	}
	defer done()
	return t.describeElement(ctx, handle)
}

// tabOf returns the tab of an element. It is used if the caller named no tab.
func (b *Browser) tabOf(id, handle string) string {
	if id == "" {
		_, id, _, _ = b.ElementOf(handle)
	}
	return id
}

func (t *tab) describeElement(ctx context.Context, handle string) (Described, error) {
	d := Described{}
	if err := t.runOperation(ctx, "describe", jsonObject{"handle": handle}, &d); err != nil {
		return d, err
	}
	d.Tab = t.id
	if d.Missing {
		return d, &Error{Kind: NotFound, Message: fmt.Sprintf("element %.20q is no longer on the page", handle), Remedy: "read the page again: its elements have new handles"}
	}
	return d, nil
}

// Done is the result of an action on a page.
type Done struct {
	Tab    Tab      `json:"tab"`
	Opened []Tab    `json:"opened,omitempty"` // tabs that the action opened
	Went   bool     `json:"went,omitempty"`   // the tab now shows another page
	Remark []string `json:"-"`                // remarks about fields
}

// Click clicks an element with mouse events.
func (b *Browser) Click(ctx context.Context, id, handle string, check Check) (Done, error) {
	return b.runAction(ctx, b.tabOf(id, handle), []string{handle}, check, func(p *process, t *tab, _ *Done) error {
		at, err := t.clickablePoint(ctx, handle)
		if err != nil {
			return err
		}
		tabs := len(b.openTabs())
		_ = p.conn.callCommand(ctx, "", "Target.activateTarget", jsonObject{"targetId": t.target}, nil) // background tabs receive no clicks; a failure is detected below
		for _, kind := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
			q := jsonObject{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1}
			if kind == "mouseMoved" {
				q["button"] = "none"
			}
			if kind == "mousePressed" { // the page has already received pointer events
				if at, err = t.clickablePoint(ctx, handle); err != nil {
					return err
				}
				q["x"], q["y"] = at.X, at.Y
			}
			step, cancel := context.WithTimeout(ctx, b.limits.click)
			err := t.callCommand(step, "Input.dispatchMouseEvent", q, nil)
			cancel()
			if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
				if kind == "mouseReleased" && len(b.openTabs()) != tabs { // a tab that opens in front of this tab delays the answer
					return nil
				}
				return &Error{Kind: Busy, Message: "the page did not confirm the click, so its outcome is unknown", Remedy: "read the page before you try again"}
			}
			if err != nil {
				return b.protocolError(err)
			}
		}
		return nil
	})
}

// clickPoint is the point of a click, in the tab's viewport.
type clickPoint struct{ X, Y float64 }

// clickablePoint returns a point at which a click reaches the element and no other element.
func (t *tab) clickablePoint(ctx context.Context, handle string) (clickPoint, error) {
	var at struct {
		clickPoint
		Gone    string
		Missing bool
	}
	if err := t.runOperation(ctx, "point", jsonObject{"handle": handle}, &at); err != nil {
		return clickPoint{}, err
	}
	if at.Gone != "" || at.Missing {
		return clickPoint{}, &Error{Kind: NotFound, Message: "the element cannot be clicked: " + sanitizeLine(cmp.Or(at.Gone, "it is no longer on the page"), 200), Remedy: "read the page again", Quoted: true}
	}
	return at.clickPoint, nil
}

// Field is a value for an element.
type Field struct {
	Handle string `json:"handle"`
	Value  string `json:"value"`
}

// Fill fills in fields. If submit is set, it also submits their form. It never fills in fields for
// passwords, codes and cards.
func (b *Browser) Fill(ctx context.Context, id string, fields []Field, submit bool, check Check) (Done, error) {
	if len(fields) == 0 {
		return Done{}, &Error{Kind: NotFound, Message: "no fields to fill in"}
	}
	var handles []string
	for _, f := range fields {
		handles = append(handles, f.Handle)
	}
	return b.runAction(ctx, b.tabOf(id, fields[0].Handle), handles, check, func(_ *process, t *tab, d *Done) error {
		for _, f := range fields {
			var r struct {
				Why     string
				Missing bool
				Box     string
			}
			if err := t.runOperation(ctx, "fill", jsonObject{"handle": f.Handle, "value": f.Value}, &r); err != nil {
				return err
			}
			if r.Missing {
				return &Error{Kind: NotFound, Message: f.Handle + " disappeared from the page while it was being filled in", Remedy: "nothing was sent; read the page again"}
			}
			if r.Why != "" {
				return &Error{Kind: Refused, Message: fmt.Sprintf("%s was not filled in: %s", f.Handle, sanitizeLine(r.Why, 300)), Remedy: "the fields before it were filled in; nothing was sent", Quoted: true}
			}
			if err := t.checkToggled(ctx, f.Handle, r.Box); err != nil {
				return err
			}
		}
		if !submit {
			return nil
		}
		var r struct {
			Why     string
			Missing bool
		}
		if err := t.runOperation(ctx, "submit", jsonObject{"handle": fields[0].Handle}, &r); err != nil {
			return err
		}
		if r.Missing {
			return &Error{Kind: NotFound, Message: "the fields were filled in but not sent: the form is no longer on the page", Remedy: "read the page again"}
		}
		if r.Why != "" {
			return &Error{Kind: NotFound, Message: "the fields were filled in but not sent: " + r.Why, Remedy: "click the button that sends the form"}
		}
		return nil
	})
}

// outcomeUnknown returns the error of an action that was performed but whose outcome cannot be
// read.
func outcomeUnknown(err error) error {
	const said = "the action was performed, but its outcome cannot be read: "
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return fmt.Errorf(said+"%w", err)
	}
	c := *e
	c.Message, c.Remedy = said+e.Message, "read the page before you repeat the action"
	return &c
}

// checkToggled checks whether a custom checkbox has the wanted state. The page's script may change
// the state later or not at all.
func (t *tab) checkToggled(ctx context.Context, handle, want string) error {
	if want == "" {
		return nil
	}
	if err := retry.Sleep(ctx, t.b.limits.calm/4); err != nil {
		return err
	}
	var d Described
	if err := t.runOperation(ctx, "describe", jsonObject{"handle": handle}, &d); err != nil {
		return err
	}
	if d.Missing || d.Element.Value != want {
		return &Error{Kind: Refused, Message: handle + " was clicked, but its state is not " + want, Remedy: "read the page before you try again; nothing was sent"}
	}
	return nil
}

// runAction performs an action on a page and returns its outcome.
func (b *Browser) runAction(ctx context.Context, id string, handles []string, check Check, do func(*process, *tab, *Done) error) (Done, error) {
	p, done, t, err := b.enterTab(ctx, id)
	if err != nil {
		return Done{}, err
	}
	defer done()
	var list []Described
	for _, h := range handles {
		d, err := t.describeElement(ctx, h)
		if err != nil {
			return Done{}, err
		}
		if d.Element.Secret {
			return Done{}, &Error{Kind: Refused, Message: "only the user may fill in fields for passwords, codes and cards", Remedy: "ask the user to fill them in, in the browser's window"}
		}
		list = append(list, d)
	}
	if err := check(list); err != nil {
		return Done{}, err
	}
	before := b.openTabs()
	begin := time.Now()
	t.mu.Lock()
	t.own = false
	was := t.loader
	t.mu.Unlock()
	out := Done{}
	if err := do(p, t, &out); err != nil {
		return Done{}, err
	}
	if err := t.awaitOutcome(ctx, begin, was, &out); err != nil {
		return Done{}, outcomeUnknown(err)
	}
	for _, n := range b.openTabs() {
		if !slices.Contains(before, n) {
			out.Opened = append(out.Opened, n.tabInfo(nil))
		}
	}
	out.Tab = t.tabInfo(t)
	return out, nil
}

// awaitOutcome waits for the outcome of an action.
func (t *tab) awaitOutcome(ctx context.Context, begin time.Time, was string, out *Done) error {
	if err := retry.Sleep(ctx, t.b.limits.calm); err != nil {
		return err
	}
	t.mu.Lock()
	out.Went = t.loader != was
	t.mu.Unlock()
	if out.Went {
		t.waitLoaded(ctx, "")
	}
	err := t.checkLanding(ctx, begin)
	if e, ok := errors.AsType[*Error](err); ok && e.Kind == NoTab { // the action closed its own tab
		return nil
	}
	return err
}

// maxValue limits the length of a script's value, in bytes.
const maxValue = 20_000

// telling is a function that converts a script's value to text. It runs in Hob's isolated world.
const telling = `function (most) {
	const seen = new Set();
	let s;
	if (typeof Node === "function" && this instanceof Node) s = this.nodeType === 1 ? this.outerHTML : String(this.nodeValue);
	else if (typeof this === "function") s = String(this);
	else try { s = JSON.stringify(this, (k, v) => { if (typeof v === "object" && v) { if (seen.has(v)) return "..."; seen.add(v); } return typeof v === "bigint" ? String(v) : v; }); } catch (e) { s = String(this); }
	return String(s).slice(0, most);
}`

// Execute runs a script in a page with the page's own permissions. It returns the script's value as
// text, without the values of password fields.
func (b *Browser) Execute(ctx context.Context, id, code string, check Check) (string, error) {
	_, done, t, err := b.enterTab(ctx, id)
	if err != nil {
		return "", err
	}
	defer done()
	var at struct{ URL string }
	if err := t.runOperation(ctx, "where", nil, &at); err != nil {
		return "", err
	}
	if err := check([]Described{{Tab: t.id, URL: truncateURL(at.URL)}}); err != nil {
		return "", err
	}
	var secrets, more []string
	if err := t.runOperation(ctx, "guarded", nil, &secrets); err != nil {
		return "", err
	}
	t.mu.Lock()
	t.own = false
	was := t.loader
	t.mu.Unlock()
	begin := time.Now()
	text, err := t.evaluateScript(ctx, code)
	if gerr := t.runOperation(ctx, "guarded", nil, &more); gerr == nil {
		secrets = append(secrets, more...)
	}
	if err != nil {
		if e, ok := errors.AsType[*Error](err); ok {
			e.Message = redactSecrets(e.Message, secrets)
		}
		return "", err
	}
	out := Done{}
	if err := t.awaitOutcome(ctx, begin, was, &out); err != nil {
		return "", outcomeUnknown(err)
	}
	return redactSecrets(text, secrets), nil
}

func (t *tab) evaluateScript(ctx context.Context, code string) (string, error) {
	var r evaluateResult
	step, cancel := context.WithTimeout(ctx, t.b.limits.script*3/2)
	defer cancel()
	err := t.callCommand(step, "Runtime.evaluate", jsonObject{
		"expression": code, "awaitPromise": true, "replMode": true, "userGesture": false, "silent": true, "objectGroup": "hob",
		"allowUnsafeEvalBlockedByCSP": true, "timeout": t.b.limits.script.Milliseconds(),
	}, &r)
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = t.callCommand(end, "Runtime.releaseObjectGroup", jsonObject{"objectGroup": "hob"}, nil) // if this fails, the page frees the object when it closes
	}()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return "", &Error{Kind: Busy, Message: "the script did not end in time; its effects are not undone"}
	case errors.Is(err, errTooLarge):
		return "", &Error{Kind: Script, Message: "the script's value is larger than 24 MB"}
	case isScriptStopped(err):
		return "", &Error{Kind: Script, Message: "the script was stopped: it exceeded its time limit"}
	case err != nil:
		return "", t.b.protocolError(err)
	case r.Exception != nil:
		said := r.Exception.Exception.Description
		if said == "" {
			said = r.Exception.Text
		}
		return "", &Error{Kind: Script, Message: "the script failed: " + sanitizeLine(said, 500), Quoted: true}
	case r.Result.ObjectID != "":
		var told evaluateResult
		if err := t.callCommand(step, "Runtime.callFunctionOn", jsonObject{
			"functionDeclaration": telling, "objectId": r.Result.ObjectID, "returnByValue": true, "silent": true, "arguments": []jsonObject{{"value": maxValue}},
		}, &told); err != nil {
			return "", t.b.protocolError(err)
		}
		r = told
	}
	return r.Result.stringValue(), nil
}

// isScriptStopped reports whether the browser's error means that it stopped a script.
func isScriptStopped(err error) bool {
	e, ok := errors.AsType[*cdpError](err)
	return ok && e.Code == -32603
}

// stringValue returns a plain value as text.
func (r remoteObject) stringValue() string {
	var s string
	switch {
	case r.Subtype == "null" && r.ObjectID == "":
		s = "null"
	case r.Unusual != "":
		s = r.Unusual
	case len(r.Value) == 0:
		s = r.Type
		if r.Subtype != "" {
			s = r.Subtype
		}
	case json.Unmarshal(r.Value, &s) != nil:
		s = string(r.Value)
	}
	if len(s) > maxValue {
		s = s[:maxValue]
	}
	return strings.ToValidUTF8(s, "")
}

// redactSecrets replaces typed passwords in text in a single pass, so that a replacement is not
// searched for the next secret.
func redactSecrets(text string, secrets []string) string {
	sorting.ByFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range slices.Compact(secrets) {
		if s == "" {
			continue
		}
		var quoted strings.Builder
		e := json.NewEncoder(&quoted)
		e.SetEscapeHTML(false) // as JSON written by the page itself contains it
		if e.Encode(s) == nil {
			pairs = append(pairs, strings.TrimSuffix(quoted.String()[1:], "\"\n"), "[secret]")
		}
		pairs = append(pairs, s, "[secret]")
	}
	text = strings.NewReplacer(pairs...).Replace(text)
	return strings.ToValidUTF8(text[:min(len(text), maxValue)], "")
}

// maxPicture is the maximum size of a screenshot, in bytes.
const maxPicture = 12 << 20

// Screenshot returns a picture of a tab as PNG, or as JPEG if the PNG would be too large.
// Fields for passwords, codes and cards are masked with dots, except in frames of other
// sites.
func (b *Browser) Screenshot(ctx context.Context, id string) (png []byte, at Tab, err error) {
	p, done, t, err := b.enterTab(ctx, id)
	if err != nil {
		return nil, Tab{}, err
	}
	defer done()
	if err := p.conn.callCommand(ctx, "", "Target.activateTarget", jsonObject{"targetId": t.target}, nil); err != nil {
		return nil, Tab{}, b.protocolError(err)
	}
	if err := t.runOperation(ctx, "veil", jsonObject{"on": true}, nil); err != nil {
		return nil, Tab{}, err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.limits.answer)
		defer cancel()
		_ = t.runOperation(end, "veil", jsonObject{"on": false}, nil) // if this fails, the document is a new one without masked fields
	}()
	for _, q := range []jsonObject{{"format": "png"}, {"format": "jpeg", "quality": 70}} {
		var shot struct{ Data []byte }
		step, cancel := context.WithTimeout(ctx, 2*b.limits.answer)
		err := t.callCommand(step, "Page.captureScreenshot", q, &shot)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil, Tab{}, ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			return nil, Tab{}, &Error{Kind: Busy, Message: "the page could not be rendered"}
		case err != nil && !errors.Is(err, errTooLarge):
			return nil, Tab{}, b.protocolError(err)
		case err == nil && len(shot.Data) <= maxPicture:
			return shot.Data, t.tabInfo(t), nil
		}
	}
	return nil, Tab{}, &Error{Kind: TooMany, Message: "the screenshot is too large"}
}
