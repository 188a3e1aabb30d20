// Package browser are the tools for a browser of Hob's own: tabs, pages and what is
// on them. Opening an address is an egress like browse_url's, and follows the same
// rules; reading a page is reading outside text. A click, a text in a form and a
// script may buy, send and agree to things wherever the owner is signed in, and are
// judged as sending and running: the owner is asked, with the page and the element
// before him, and what is done is what he was asked (Judgement.Exact). A click on
// what is a link and nothing else opens its address, and is judged as that.
package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"hob/platform/browser"
	"hob/platform/provenance"
	"hob/platform/safehttp"
	"hob/tools"
)

// Driver drives the browser; *browser.Browser does.
type Driver interface {
	Tabs(ctx context.Context) []browser.Tab
	Get(id string) (browser.Tab, error)
	Open(ctx context.Context, address string) (browser.Tab, error)
	Navigate(ctx context.Context, id, address string) (browser.Tab, error)
	CloseTab(ctx context.Context, id string) (browser.Tab, error)
	Switch(ctx context.Context, id string) (browser.Tab, error)
	Content(ctx context.Context, id string) (*browser.Content, error)
	// History and Go move in the history of a tab: -1 is back, 1 forward.
	History(ctx context.Context, id string, delta int) (string, error)
	Go(ctx context.Context, id string, delta int, address string) (browser.Tab, error)
	Describe(ctx context.Context, id, handle string) (browser.Described, error)
	Seen(handle string) (e browser.Element, tab, page string, ok bool)
	Click(ctx context.Context, id, handle string, check browser.Check) (browser.Done, error)
	Fill(ctx context.Context, id string, fields []browser.Field, submit bool, check browser.Check) (browser.Done, error)
	Execute(ctx context.Context, id, code string, check browser.Check) (string, error)
	Screenshot(ctx context.Context, id string) ([]byte, browser.Tab, error)
	// Dialogs and Notes take what happened since they were asked last.
	Dialogs(id string) []string
	Notes() []string
}

// Deps are what the tools need; all but See and Own are required.
type Deps struct {
	Browser Driver
	// Network reads addresses, and says which are none.
	Network *safehttp.Client
	// Keep puts a picture into Hob's folder for them, and says where it is; See says
	// what is on it, "" when nobody can.
	Keep func(name string, data []byte) (string, error)
	See  func(ctx context.Context, data []byte) (string, error)
	// Own reaches the browsers that the owner uses himself; nil: none can be.
	Own Owners
	// Hosts are further names of Hob's own page, beside this machine.
	Hosts []string
}

// How long a call may take: one that opens something starts a browser first.
const (
	openFor = 90 * time.Second
	lookFor = 30 * time.Second
)

// Tools returns the category's tools.
func Tools(d Deps) []tools.Tool {
	return []tools.Tool{listTabs(d), openTab(d), closeTab(d), switchTab(d), content(d), getURL(d), navigate(d), click(d), fill(d), script(d), screenshot(d)}
}

// spec fills in what all of them share.
func spec(name string, effects tools.Effects, timeout time.Duration, description, keywords string) tools.Spec {
	return tools.Spec{Name: name, Category: "browser", Effects: effects, Timeout: timeout, Description: description, Keywords: keywords}
}

// place is the host of an address, for the owner.
func place(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return fmt.Sprintf("%.100q", address)
	}
	return u.Host
}

// address lets "example.org/a" stand for its https address.
func address(raw string) string {
	raw = strings.TrimSpace(raw)
	host, _, _ := strings.Cut(raw, "/")
	if strings.Contains(host, ".") && !strings.ContainsAny(host, ":@?#[") && raw != "" && raw[0] != '.' {
		return "https://" + raw
	}
	return raw
}

// opening judges what opens an address; what it would show of it is its canonical
// form, so that a name that looks like another one does not.
func (d Deps) opening(raw, exact string) tools.Judgement {
	u, err := d.Network.Check(address(raw))
	if err != nil {
		return tools.Judgement{Refused: outward(err, raw)}
	}
	return tools.Judgement{
		Effects: tools.Egress, URLs: []string{u.String()}, Get: true, Exact: exact,
		Why: "opens " + u.Host + " in the browser, with your sign-ins on that site", Pattern: "host:" + u.Host,
	}
}

func (d Deps) shown(raw string) string {
	u, err := d.Network.Check(address(raw))
	if err != nil {
		return fmt.Sprintf("%.200q", raw)
	}
	return strings.TrimPrefix(u.String(), "https://")
}

// which is the tab that is meant: without a name only when there is no other one,
// since conversations share the browser, and each would read the other's page.
func (d Deps) which(ctx context.Context, id string) (string, error) {
	if list := d.Browser.Tabs(ctx); id == "" && len(list) > 1 {
		return "", tools.Errorf(tools.InvalidArguments, "%d tabs are open; name one of them (browser_list_tabs)", len(list))
	}
	return id, nil
}

// named is a tab for the words of a question.
func (d Deps) named(id string) string {
	t, err := d.Browser.Get(id)
	switch {
	case err != nil && id != "":
		return "the tab " + fmt.Sprintf("%.20q", id)
	case err != nil:
		return "the active tab"
	}
	return fmt.Sprintf("the tab %s (%s)", t.ID, place(t.URL))
}

// canonical are addresses as the guard compares them; those that are none are left
// out.
func (d Deps) canonical(list ...string) []string {
	var out []string
	for _, raw := range list {
		if u, err := d.Network.Check(raw); err == nil {
			out = append(out, u.String())
		}
	}
	return out
}

func origin(tool, address string) []provenance.Origin {
	return []provenance.Origin{{Kind: "web", Label: address, Via: tool}}
}

// beside is what happened beside a call, for the end of its result.
func (d Deps) beside(tab string) string {
	var b strings.Builder
	for _, s := range d.Browser.Dialogs(tab) {
		b.WriteString("\n(Dialog: " + s + ")")
	}
	for _, s := range d.Browser.Notes() {
		b.WriteString("\n(" + s + ")")
	}
	return b.String()
}

// opened is the result of a call that opened an address.
func (d Deps) opened(tool string, t browser.Tab) tools.Result {
	title := t.Title
	if title == "" {
		title = "a page without a title"
	}
	return tools.Result{
		Text: fmt.Sprintf("Opened in tab %s: %s\nAddress: %s%s", t.ID, title, t.URL, d.beside(t.ID)), Data: t,
		Source: provenance.Outside, Origins: origin(tool, t.URL), Links: d.canonical(t.URL),
	}
}

// outward turns an error of the browser or the network into one for a model.
func outward(err error, asked string) error {
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
		return err // the context's, or the protocol's
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

// bound is what an approval of something on a page is bound to. It is shown to the
// owner, and looked at again before anything is done.
func bound(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // a programming error: v is one of this package's types
		panic(fmt.Sprintf("browser: %v", err))
	}
	return string(b)
}
