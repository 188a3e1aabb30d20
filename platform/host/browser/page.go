package browser

import (
	"context"
	_ "embed"
	"errors"
	"strings"
	"time"
)

//go:embed page.js
var pageScript string

// remoteObject is a value in the page, or a reference to one.
type remoteObject struct {
	Type        string   `json:"type"`
	Subtype     string   `json:"subtype"`
	ObjectID    string   `json:"objectId"`
	Description string   `json:"description"`
	Value       rawValue `json:"value"`
	Unusual     string   `json:"unserializableValue"`
}

// evaluateResult is the result of a script in the protocol.
type evaluateResult struct {
	Result    remoteObject `json:"result"`
	Exception *struct {
		Text      string       `json:"text"`
		Exception remoteObject `json:"exception"`
	} `json:"exceptionDetails"`
}

// runOperation runs an operation of page.js in Hob's isolated world in the page. If the page's
// scripts do not end, it terminates them once.
func (t *tab) runOperation(ctx context.Context, op string, args jsonObject, out any) error {
	if args == nil {
		args = jsonObject{}
	}
	stopped := false
	for try := 0; ; try++ {
		step, cancel := context.WithTimeout(ctx, t.b.limits.answer)
		err := t.runOnce(step, op, args, out)
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.DeadlineExceeded) && !stopped:
			stopped = true
			end, cancel := context.WithTimeout(ctx, time.Second)
			_ = t.callCommand(end, "Runtime.terminateExecution", nil, nil) // the operation is retried in either case
			cancel()
			t.noteDialog("a script of the page did not end and was stopped")
		case errors.Is(err, context.DeadlineExceeded):
			return &Error{Kind: Busy, Message: "the page does not respond: its scripts keep running", Remedy: "close the tab"}
		case isStaleDocument(err) && try < 3: // another document was loaded
			t.mu.Lock()
			t.world = 0
			t.mu.Unlock()
		default:
			return t.b.protocolError(err)
		}
	}
}

func (t *tab) noteDialog(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dialogs = append(t.dialogs, s)
	t.dialogs = t.dialogs[max(0, len(t.dialogs)-5):]
}

// isStaleDocument reports whether the error means that the command's document no longer exists.
func isStaleDocument(err error) bool {
	e, ok := errors.AsType[*cdpError](err)
	return ok && (strings.Contains(e.Message, "context") || strings.Contains(e.Message, "No frame") || strings.Contains(e.Message, "navigated"))
}

func (t *tab) runOnce(ctx context.Context, op string, args jsonObject, out any) error {
	world, err := t.ownWorld(ctx)
	if err != nil {
		return err
	}
	var r evaluateResult
	if err := t.callCommand(ctx, "Runtime.callFunctionOn", jsonObject{
		"functionDeclaration": pageScript, "executionContextId": world, "returnByValue": true,
		"arguments": []jsonObject{{"value": op}, {"value": args}},
	}, &r); err != nil {
		return err
	}
	if r.Exception != nil {
		return &Error{Kind: Script, Message: "the page cannot be read: " + sanitizeLine(r.Exception.Exception.Description, 200), Quoted: true}
	}
	return r.Result.Value.decodeInto(out)
}

// ownWorld returns the isolated world of Hob's scripts in the page's document.
func (t *tab) ownWorld(ctx context.Context) (int64, error) {
	t.mu.Lock()
	world, loader := t.world, t.loader
	t.mu.Unlock()
	if world != 0 {
		return world, nil
	}
	var made struct {
		ID int64 `json:"executionContextId"`
	}
	if err := t.callCommand(ctx, "Page.createIsolatedWorld", jsonObject{"frameId": t.target, "worldName": "hob"}, &made); err != nil {
		return 0, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.loader == loader {
		t.world = made.ID
	}
	return made.ID, nil
}

// acquireTab locks a tab for one call and answers an open dialog.
func (t *tab) acquireTab(ctx context.Context) (func(), error) {
	select {
	case t.one <- struct{}{}:
	case <-t.gone:
		return nil, t.goneError()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.working++
	if t.dialog != nil {
		t.answerDialog(t.dialog, 0)
	}
	return func() {
		t.mu.Lock()
		t.working--
		t.mu.Unlock()
		<-t.one
	}, nil
}

// Element is an element of a page that can be clicked or filled in. Its text is untrusted.
type Element struct {
	Handle   string   `json:"handle"` // such as "e7"; never reused
	Kind     string   `json:"kind"`
	Name     string   `json:"name,omitempty"`
	Value    string   `json:"value,omitempty"`
	Options  []string `json:"options,omitempty"`
	Href     string   `json:"href,omitempty"`
	Plain    bool     `json:"plain,omitempty"`  // a link without a click handler
	Secret   bool     `json:"secret,omitempty"` // a field for a password or a similar secret
	Disabled bool     `json:"disabled,omitempty"`
}

// Content is the content of a page.
type Content struct {
	Tab      string    `json:"tab"`
	Title    string    `json:"title"`
	URL      string    `json:"url"`
	Status   int       `json:"status"` // HTTP status of the page; 0 if it is unknown
	Type     string    `json:"type"`
	Loading  bool      `json:"loading"`
	Text     string    `json:"text"`
	Elements []Element `json:"elements"`
	Frames   []string  `json:"frames"` // frames of other sites, which are not read
	Cut      bool      `json:"cut"`
	Hidden   int       `json:"hidden"`
	Secrets  int       `json:"secrets"`
	Last     int       `json:"last"`
}

// Limits of the content of a page.
const (
	maxText     = 200_000
	maxNodes    = 60_000
	maxElements = 400
)

// Content returns the content of a page.
func (b *Browser) Content(ctx context.Context, id string) (*Content, error) {
	_, done, t, err := b.enterTab(ctx, id)
	if err != nil {
		return nil, err
	}
	defer done()
	return b.readContent(ctx, t)
}

func (b *Browser) readContent(ctx context.Context, t *tab) (*Content, error) {
	select {
	case b.reading <- struct{}{}:
		defer func() { <-b.reading }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	b.mu.Lock()
	start := b.handles
	b.mu.Unlock()
	c := Content{Tab: t.id}
	if err := t.runOperation(ctx, "content", jsonObject{"start": start, "most": maxText, "nodes": maxNodes, "elements": maxElements, "ms": b.limits.read.Milliseconds()}, &c); err != nil {
		return nil, err
	}
	if !webPage(c.URL) {
		return nil, notWeb()
	}
	if c.Type == "application/pdf" { // the browser shows it in a separate program
		return nil, &Error{Kind: Refused, Message: "the tab shows a PDF, whose text cannot be read in the browser", Remedy: "use browser_screenshot, or ask the user to save the PDF and read the file"}
	}
	b.rememberHandles(t, &c)
	return &c, nil
}

// maxKnown limits the elements that are remembered. Approval requests describe them.
const maxKnown = 4000

// rememberHandles records the tab of each element.
func (b *Browser) rememberHandles(t *tab, c *Content) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.handles = max(b.handles, c.Last)
	if len(b.known)+len(c.Elements) > maxKnown || b.known == nil {
		b.known = map[string]seenElement{}
	}
	for _, e := range c.Elements {
		b.known[e.Handle] = seenElement{tab: t.id, element: e, page: c.URL}
	}
}

// seenElement is the state of an element when its page was read.
type seenElement struct {
	tab     string
	page    string
	element Element
}

// ElementOf returns an element as it was when its page was last read, with the tab and address of
// the page. It does not query the browser.
func (b *Browser) ElementOf(handle string) (e Element, tab, page string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, ok := b.known[handle]
	return s.element, s.tab, s.page, ok
}

// enterTab prepares a call in a tab. An empty id selects the active tab.
func (b *Browser) enterTab(ctx context.Context, id string) (*process, func(), *tab, error) {
	p, done, err := b.acquireProcess(ctx, false)
	if err != nil {
		return nil, nil, nil, err
	}
	t, err := b.findTab(id)
	if err == nil {
		err = t.waitReady(ctx)
	}
	var release func()
	if err == nil {
		release, err = t.acquireTab(ctx)
	}
	if err != nil {
		done()
		return nil, nil, nil, err
	}
	end := func() { release(); done() }
	t.mu.Lock()
	at := t.url
	t.mu.Unlock()
	if !webPage(at) {
		end()
		return nil, nil, nil, notWeb()
	}
	return p, end, t, nil
}

func notWeb() error {
	return &Error{Kind: Refused, Message: "the tab does not show an http or https page, so Hob does not read or use it", Remedy: "open an http or https address"}
}
