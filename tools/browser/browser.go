// Package browser provides tools for Hob's own browser: tabs, pages and their elements. Opening an
// address sends data to a server and follows the rules of browse_url. The text of pages is
// untrusted. On every site where the owner is signed in, a click, a submitted form or a script may
// buy something, send something or accept terms. These actions therefore count as Send and Exec:
// the guard requests approval with the page and the element, and the tool performs exactly the
// approved action (CallAssessment.Exact). A click on a plain link counts as opening its address.
package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"hob/platform/host/browser"
	"hob/platform/net/safehttp"
	"hob/platform/provenance"
	"hob/tools"
)

// Driver controls the browser; *browser.Browser implements it.
type Driver interface {
	Tabs(ctx context.Context) []browser.Tab
	Get(id string) (browser.Tab, error)
	Open(ctx context.Context, address string) (browser.Tab, error)
	Navigate(ctx context.Context, id, address string) (browser.Tab, error)
	CloseTab(ctx context.Context, id string) (browser.Tab, error)
	Switch(ctx context.Context, id string) (browser.Tab, error)
	Content(ctx context.Context, id string) (*browser.Content, error)
	// History and Go move within the history of a tab: a delta of -1 means back, and 1 means
	// forward.
	History(ctx context.Context, id string, delta int) (string, error)
	Go(ctx context.Context, id string, delta int, address string) (browser.Tab, error)
	Describe(ctx context.Context, id, handle string) (browser.Described, error)
	ElementOf(handle string) (e browser.Element, tab, page string, ok bool)
	Click(ctx context.Context, id, handle string, check browser.Check) (browser.Done, error)
	Fill(ctx context.Context, id string, fields []browser.Field, submit bool, check browser.Check) (browser.Done, error)
	Execute(ctx context.Context, id, code string, check browser.Check) (string, error)
	Screenshot(ctx context.Context, id string) ([]byte, browser.Tab, error)
	// Dialogs and Notes return the dialogs and notes since the last call.
	Dialogs(id string) []string
	Notes() []string
}

// Deps are the dependencies of the tools. All fields except See and Own are required.
type Deps struct {
	Browser Driver
	// Network parses and checks addresses.
	Network *safehttp.Client
	// Keep saves a screenshot in Hob's folder and returns its path. See describes a screenshot. It
	// returns "" if no model can do so.
	Keep func(name string, data []byte) (string, error)
	See  func(ctx context.Context, data []byte) (string, error)
	// Own accesses the browsers that the user uses. It may be nil.
	Own UserBrowsers
	// Hosts are additional host names of the dashboard, besides the names of this machine.
	Hosts []string
}

// The time limits of a call. A call that opens a page may first have to start the browser.
const (
	openFor = 90 * time.Second
	lookFor = 30 * time.Second
)

// Tools returns the category's tools.
func Tools(d Deps) []tools.Tool {
	return []tools.Tool{listTabs(d), openTab(d), closeTab(d), switchTab(d), pageContentTool(d), getURL(d), navigateTool(d), clickTool(d), fillFormTool(d), executeScriptTool(d), screenshotTool(d)}
}

// newSpec returns a spec with the fields that all tools of the category have in common.
func newSpec(name string, effects tools.Effects, timeout time.Duration, description, keywords string) tools.Spec {
	return tools.Spec{Name: name, Category: "browser", Effects: effects, Timeout: timeout, Description: description, Keywords: keywords}
}

// addressHost returns the host of an address for messages to the user.
func addressHost(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return fmt.Sprintf("%.100q", address)
	}
	return u.Host
}

// normalizeAddress adds the scheme https to an address such as "example.org/a".
func normalizeAddress(raw string) string {
	raw = strings.TrimSpace(raw)
	host, _, _ := strings.Cut(raw, "/")
	if strings.Contains(host, ".") && !strings.ContainsAny(host, ":@?#[") && raw != "" && raw[0] != '.' {
		return "https://" + raw
	}
	return raw
}

// assessNavigation assesses opening an address. It shows the canonical form, so that the user can
// recognize lookalike domain names.
func (d Deps) assessNavigation(raw, exact string) tools.CallAssessment {
	u, err := d.Network.Check(normalizeAddress(raw))
	if err != nil {
		return tools.CallAssessment{Refused: classifyError(err, raw)}
	}
	return tools.CallAssessment{
		Effects: tools.Egress, URLs: []string{u.String()}, Get: true, Exact: exact,
		Why: "opens " + u.Host + " in the browser, with your sign-ins on that site", Pattern: "host:" + u.Host,
	}
}

func (d Deps) displayAddress(raw string) string {
	u, err := d.Network.Check(normalizeAddress(raw))
	if err != nil {
		return fmt.Sprintf("%.200q", raw)
	}
	return strings.TrimPrefix(u.String(), "https://")
}

// resolveTabID resolves the id of a tab. An empty id is valid only if exactly one tab is open,
// because all conversations share the browser and could otherwise read each other's pages.
func (d Deps) resolveTabID(ctx context.Context, id string) (string, error) {
	if list := d.Browser.Tabs(ctx); id == "" && len(list) > 1 {
		return "", tools.Errorf(tools.InvalidArguments, "%d tabs are open; name one of them (browser_list_tabs)", len(list))
	}
	return id, nil
}

// describeTabByID describes a tab for an approval request.
func (d Deps) describeTabByID(id string) string {
	t, err := d.Browser.Get(id)
	switch {
	case err != nil && id != "":
		return "the tab " + fmt.Sprintf("%.20q", id)
	case err != nil:
		return "the active tab"
	}
	return fmt.Sprintf("the tab %s (%s)", t.ID, addressHost(t.URL))
}

// canonicalAddresses returns addresses in the form that the guard compares. It omits invalid ones.
func (d Deps) canonicalAddresses(list ...string) []string {
	var out []string
	for _, raw := range list {
		if u, err := d.Network.Check(raw); err == nil {
			out = append(out, u.String())
		}
	}
	return out
}

func webOrigins(tool, address string) []provenance.Origin {
	return []provenance.Origin{{Kind: "web", Label: address, Via: tool}}
}

// sideEventsText describes the dialogs and notes of a call, to be appended to its result.
func (d Deps) sideEventsText(tab string) string {
	var b strings.Builder
	for _, s := range d.Browser.Dialogs(tab) {
		b.WriteString("\n(Dialog: " + s + ")")
	}
	for _, s := range d.Browser.Notes() {
		b.WriteString("\n(" + s + ")")
	}
	return b.String()
}

// openedResult returns the result of a call that opened an address.
func (d Deps) openedResult(tool string, t browser.Tab) tools.Result {
	title := t.Title
	if title == "" {
		title = "a page without a title"
	}
	return tools.Result{
		Text: fmt.Sprintf("Opened in tab %s: %s\nAddress: %s%s", t.ID, title, t.URL, d.sideEventsText(t.ID)), Data: t,
		Source: provenance.Outside, Origins: webOrigins(tool, t.URL), Links: d.canonicalAddresses(t.URL),
	}
}

// classifyError classifies an error of the browser or the network for a model.
func classifyError(err error, asked string) error {
	if e, ok := errors.AsType[*safehttp.Error](err); ok {
		out := &tools.Error{Source: provenance.Tool, Code: tools.Failed, Message: e.Message, Remedy: e.Remedy, Err: err}
		switch {
		case e.Kind == safehttp.BadURL:
			out.Code = tools.InvalidArguments
		case e.Refusal():
			out.Code = tools.PolicyDenied
		}
		if e.Host != "" && !strings.Contains(strings.ToLower(asked), e.Host) {
			out.Source = provenance.Outside
		}
		return out
	}
	e, ok := errors.AsType[*browser.Error](err)
	if !ok {
		return err // a context error or a protocol error
	}
	out := &tools.Error{Source: provenance.Tool, Code: tools.Failed, Message: e.Message, Remedy: e.Remedy, Err: err}
	switch e.Kind {
	case browser.NoTab, browser.NotFound:
		out.Code = tools.NotFound
	case browser.Changed, browser.TooMany:
		out.Code = tools.Conflict
	case browser.Refused:
		out.Code = tools.PolicyDenied
	case browser.NotInstalled:
		out.Code = tools.Unsupported
	case browser.Busy:
		out.Code = tools.TimedOut
	case browser.NotStarted, browser.Crashed, browser.Unreachable, browser.Script:
	}
	if e.Quoted {
		out.Source = provenance.Outside
	}
	return out
}

// encodeBinding encodes the approval binding of an action on a page. The user sees the binding, and
// the tool checks it again right before the action.
func encodeBinding(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // encoding cannot fail, because v is one of this package's types
		panic(fmt.Sprintf("browser: %v", err))
	}
	return string(b)
}
