package browser

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"hob/platform/host/browser/apps"
	"hob/platform/host/osrun"
	"hob/platform/provenance"
	"hob/platform/text/lazyregexp"
	"hob/tools"
)

// UserBrowsers accesses the tabs of the owner's browsers; *apps.Apps implements it on macOS.
type UserBrowsers interface {
	List(ctx context.Context, a apps.App) (apps.List, error)
	Get(ctx context.Context, a apps.App, id string) (apps.Tab, error)
	Open(ctx context.Context, a apps.App, address string) (apps.Tab, error)
	Close(ctx context.Context, a apps.App, t apps.Tab) error
	Switch(ctx context.Context, a apps.App, t apps.Tab) error
	Read(ctx context.Context, a apps.App, t apps.Tab) (apps.Text, error)
	Execute(ctx context.Context, a apps.App, t apps.Tab, code string) (apps.Text, error)
}

// findUserBrowser finds the owner's browser by name. mine is true if name means Hob's own browser.
func (d Deps) findUserBrowser(name string) (a apps.App, mine bool, err error) {
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "" || name == "hob" {
		return apps.App{}, true, nil
	}
	a, ok := apps.AppByName(name)
	switch {
	case !ok:
		return a, false, tools.Errorf(tools.InvalidArguments, `%.30q is not a known browser; use "hob", "safari", "chrome", "edge", "brave" or "arc"`, tools.Clean(name))
	case d.Own == nil:
		return a, false, &tools.Error{Source: provenance.Tool, Code: tools.Unsupported, Message: "the tabs of your own browser can be used on macOS only", Remedy: "omit browser to open the page in Hob's browser"}
	}
	return a, false, nil
}

// describeUserTab describes a tab of the owner's browser for an approval request. It does not
// access the browser.
func (d Deps) describeUserTab(name, tab string) string {
	if a, mine, err := d.findUserBrowser(name); err == nil && !mine {
		name = a.Title
	}
	if tab == "" {
		return fmt.Sprintf("the active tab in your %.30s", name)
	}
	return fmt.Sprintf("the tab %.30q in your %.30s", tab, name)
}

// tabBinding is the approval binding of an action in the owner's browser.
type tabBinding struct {
	Browser string `json:"browser"`
	Tab     string `json:"tab"`
	URL     string `json:"url"`
}

// inOwn assesses an action in a tab of the owner's browser. The approval request names the current
// page, and the action does not run on any other page.
func (d Deps) inOwn(ctx context.Context, name, tab string, effects tools.Effects, does string) tools.CallAssessment {
	ctx, cancel := context.WithTimeout(ctx, judgeFor)
	defer cancel()
	a, _, err := d.findUserBrowser(name)
	if err != nil {
		return tools.CallAssessment{Refused: err, Private: true}
	}
	t, err := d.Own.Get(ctx, a, cmp.Or(askedOf(tools.ApprovedForm(ctx), a), tab))
	if err != nil {
		return tools.CallAssessment{Refused: outOfOwn(err), Private: true}
	}
	if effects&(tools.Read|tools.Exec) != 0 && d.mayBeHobAddress(t.URL) {
		return tools.CallAssessment{Private: true, Refused: tools.Errorf(tools.PolicyDenied, "the tab shows a page served by this computer; Hob neither reads nor scripts such pages, because it could be the page where the user answers approval requests; name another tab")}
	}
	return tools.CallAssessment{
		Effects: effects, Private: true, Exact: encodeBinding(tabBinding{a.Name, t.ID, t.URL}),
		Why: fmt.Sprintf("%s %s in your own %s, with your sign-ins", does, addressHost(t.URL), a.Title),
	}
}

// askedForm matches the beginning of an approval binding, which names the browser and the tab.
var askedForm = lazyregexp.New(`^\{"browser":"(\w+)","tab":"([^"\\]+)"`)

// askedOf returns the tab that the approval request named. Otherwise "the active tab" would mean a
// different tab as soon as the owner approves on a page in the same browser.
func askedOf(exact string, a apps.App) string {
	if m := askedForm.FindStringSubmatch(exact); m != nil && m[1] == a.Name {
		return m[2]
	}
	return ""
}

// mayBeHobAddress reports whether an address may belong to the dashboard or share its cookies.
// Browsers share cookies between ports.
func (d Deps) mayBeHobAddress(raw string) bool {
	for _, within := range []string{"view-source:", "blob:"} {
		raw = strings.TrimPrefix(raw, within)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return true
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	ip, err := netip.ParseAddr(host)
	if err == nil {
		ip = ip.Unmap().WithZone("")
	}
	switch {
	case host == "localhost", strings.HasSuffix(host, ".localhost"), err == nil && (ip.IsLoopback() || ip.IsUnspecified()):
		return true
	}
	return slices.ContainsFunc(d.Hosts, func(h string) bool {
		h = strings.Trim(h, "[]")
		if h == "" {
			return false
		}
		other, oerr := netip.ParseAddr(h)
		return strings.EqualFold(h, host) || err == nil && oerr == nil && other.Unmap().WithZone("") == ip
	})
}

// findApprovedTab finds the approved tab. It fails if the page in the tab has changed.
func (d Deps) findApprovedTab(ctx context.Context, name, tab, exact string) (apps.App, apps.Tab, error) {
	a, _, err := d.findUserBrowser(name)
	if err != nil {
		return a, apps.Tab{}, err
	}
	t, err := d.Own.Get(ctx, a, cmp.Or(askedOf(exact, a), tab))
	if err != nil {
		return a, t, outOfOwn(err)
	}
	if encodeBinding(tabBinding{a.Name, t.ID, t.URL}) != exact {
		return a, t, tools.Errorf(tools.Conflict, "the tab now shows a different page, so nothing was done; read the page again")
	}
	return a, t, nil
}

// acting is the set of effects of a script in the owner's browser. Such a script can do everything
// that the owner can.
const acting = tools.Exec | tools.Send | tools.Destroy

// openingOwn assesses the opening of an address in the owner's browser. The request bypasses Hob's
// proxy and uses the owner's sessions, so the request alone may have effects.
func (d Deps) openingOwn(name, raw string) tools.CallAssessment {
	a, _, err := d.findUserBrowser(name)
	if err != nil {
		return tools.CallAssessment{Refused: err}
	}
	u, err := d.Network.Check(normalizeAddress(raw))
	if err != nil {
		return tools.CallAssessment{Refused: classifyError(err, raw)}
	}
	return tools.CallAssessment{
		Effects: tools.Egress | tools.Send, URLs: []string{u.String()}, Get: true,
		Why: fmt.Sprintf("opens %s in your own %s, with your sign-ins", u.Host, a.Title),
	}
}

func (d Deps) openOwn(ctx context.Context, name, raw string) (tools.Result, error) {
	a, _, err := d.findUserBrowser(name)
	if err != nil {
		return tools.Result{}, err
	}
	u, err := d.Network.Check(normalizeAddress(raw))
	if err != nil {
		return tools.Result{}, classifyError(err, raw)
	}
	t, err := d.Own.Open(ctx, a, u.String())
	if err != nil {
		return tools.Result{}, outOfOwn(err)
	}
	return tools.Result{Source: provenance.Tool, Text: fmt.Sprintf("Opened in %s, tab %s: %s", a.Title, t.ID, u), Data: t}, nil
}

// listOwn lists the tabs. It omits the parts of addresses that may be secret.
func (d Deps) listOwn(ctx context.Context, name string) (tools.Result, error) {
	a, _, err := d.findUserBrowser(name)
	if err != nil {
		return tools.Result{}, err
	}
	l, err := d.Own.List(ctx, a)
	if err != nil {
		return tools.Result{}, outOfOwn(err)
	}
	var b strings.Builder
	for i, t := range l.Tabs {
		l.Tabs[i].URL = withoutQuery(t.URL)
		fmt.Fprintf(&b, "- %s: %s (%s)", t.ID, cmp.Or(t.Title, "no title"), l.Tabs[i].URL)
		if t.Active {
			b.WriteString(", in front")
		}
		b.WriteByte('\n')
	}
	if len(l.Tabs) == 0 {
		b.WriteString("No tab is open in " + a.Title + ".\n")
	}
	if more := l.Total - len(l.Tabs); more > 0 {
		fmt.Fprintf(&b, "(and %d more tabs)\n", more)
	}
	if l.Hidden > 0 {
		fmt.Fprintf(&b, "(Private windows not listed: %d)\n", l.Hidden)
	}
	return tools.Result{Text: strings.TrimSuffix(b.String(), "\n"), Data: l, Source: provenance.Outside, Origins: webOrigins("browser_list_tabs", a.Title)}, nil
}

// withoutQuery returns an address without query and fragment.
func withoutQuery(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "an invalid address"
	}
	if u.Host == "" {
		return u.Scheme + ":"
	}
	more := ""
	if u.RawQuery != "" || u.Fragment != "" {
		more = "…"
	}
	u.User, u.RawQuery, u.Fragment, u.ForceQuery = nil, "", "", false
	return cutTo(u.String(), 300) + more
}

func cutTo(s string, most int) string {
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// ofOwn returns a result with page text from the owner's browser.
func ofOwn(tool string, a apps.App, t apps.Tab, text string, data any) tools.Result {
	return tools.Result{Text: text, Data: data, Source: provenance.Outside, Origins: webOrigins(tool, a.Title+": "+withoutQuery(t.URL))}
}

// outOfOwn classifies an error of a script in the owner's browser for the model.
func outOfOwn(err error) error {
	e, ok := errors.AsType[*osrun.Error](err)
	if !ok {
		return err
	}
	out := &tools.Error{Source: provenance.Tool, Code: tools.Failed, Message: e.Error(), Err: err}
	if e.Kind == osrun.Internal {
		out.Source = provenance.Outside // the error may contain page text
	}
	switch {
	case e.Unknown:
		out.Code = tools.OutcomeUnknown
	case e.Kind == osrun.NotFound:
		out.Code = tools.NotFound
	case e.Kind == osrun.Changed, e.Kind == osrun.Busy:
		out.Code = tools.Conflict
	case e.Kind == osrun.Timeout:
		out.Code = tools.TimedOut
	case e.Kind == osrun.Unsupported, e.Kind == osrun.NotInstalled:
		out.Code = tools.Unsupported
	}
	return out
}

func (d Deps) readOwn(ctx context.Context, c tools.Call, in ofTabIn) (tools.Result, error) {
	a, t, err := d.findApprovedTab(ctx, in.Browser, in.Tab, c.Exact)
	if err != nil {
		return tools.Result{}, err
	}
	x, err := d.Own.Read(ctx, a, t)
	if err != nil {
		return tools.Result{}, outOfOwn(err)
	}
	text := fmt.Sprintf("Title: %s\nAddress: %s\nTab: %s of %s\n\n%s", t.Title, withoutQuery(t.URL), t.ID, a.Title, cmp.Or(strings.TrimSpace(x.Text), "The page has no text."))
	if x.Cut {
		text += "\n\n(Only the beginning of the page was read.)"
	}
	return ofOwn("browser_get_page_content", a, t, text, nil), nil
}

func (d Deps) runOwn(ctx context.Context, c tools.Call, in scriptIn) (tools.Result, error) {
	a, t, err := d.findApprovedTab(ctx, in.Browser, in.Tab, c.Exact)
	if err != nil {
		return tools.Result{}, err
	}
	x, err := d.Own.Execute(ctx, a, t, in.Script)
	if err != nil {
		return tools.Result{}, outOfOwn(err)
	}
	return ofOwn("browser_execute_js", a, t, x.Text, scriptValue{x.Text}), nil
}
