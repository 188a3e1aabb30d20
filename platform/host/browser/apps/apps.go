// Package apps reads and controls the tabs of the user's own browsers on macOS: Safari, Chrome and
// browsers with Chrome's scripting dictionary. It runs the constant scripts in the folder scripts
// through a Runner (Apple events). It compiles on every system, but only macOS has a Runner for it.
//
// In these browsers the user is signed in to all accounts, and they do not use Hob's proxy. The
// package applies no policy: the guard decides what may be opened, read and run (tools/browser).
// The package never starts a browser to read from it, and it skips private windows where it can
// recognize them.
package apps

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/host/osrun"
)

//go:embed scripts
var scripts embed.FS

// App is one of the user's browsers.
type App struct {
	Name   string // name of the browser in tools, such as "safari"
	Title  string // display name, such as "Google Chrome"
	bundle string
	family string
	arc    bool
}

// All returns the supported browsers. They are identified by bundle id, because names are
// localized.
func All() []App {
	return []App{
		{Name: "safari", Title: "Safari", bundle: "com.apple.Safari", family: "safari"},
		{Name: "chrome", Title: "Google Chrome", bundle: "com.google.Chrome", family: "chrome"},
		{Name: "edge", Title: "Microsoft Edge", bundle: "com.microsoft.edgemac", family: "chrome"},
		{Name: "brave", Title: "Brave Browser", bundle: "com.brave.Browser", family: "chrome"},
		{Name: "arc", Title: "Arc", bundle: "company.thebrowser.Browser", family: "chrome", arc: true},
	}
}

// AppByName returns the browser with the name that tools use.
func AppByName(name string) (App, bool) {
	all := All()
	i := slices.IndexFunc(all, func(a App) bool { return a.Name == strings.ToLower(strings.TrimSpace(name)) })
	if i < 0 {
		return App{}, false
	}
	return all[i], true
}

// Tab is the current state of a tab. Title and URL are untrusted text from the page.
type Tab struct {
	ID     string `json:"id"` // index of the window and index of the tab; in Safari the tab index is the position in the window
	Title  string `json:"title,omitempty"`
	URL    string `json:"url"`
	Active bool   `json:"active,omitempty"` // the active tab of the front window
}

// List is the list of open tabs.
type List struct {
	Tabs   []Tab `json:"tabs"`
	Total  int   `json:"total"`
	Hidden int   `json:"hidden"` // number of private windows
}

// Text is the text of a page, or the result of a script.
type Text struct {
	Text string `json:"text"`
	Cut  bool   `json:"cut"`
}

// Limits of results.
const (
	MaxTabs  = 200
	maxText  = 200_000
	maxValue = 20_000
	wait     = 30 * time.Second
)

// Options of New.
type Options struct {
	// Taken reports whether Hob itself runs the browser with this display name. macOS cannot
	// distinguish two instances of one program, so scripts could reach Hob's browser instead of the
	// user's.
	Taken func(title string) bool
}

// Apps controls the user's browsers. Its methods may be called concurrently and return
// the errors of the Runner.
type Apps struct {
	run osrun.Runner
	opt Options
}

// New returns an Apps that runs its scripts with r.
func New(r osrun.Runner, o Options) *Apps { return &Apps{r, o} }

type request struct {
	App    string `json:"app"`
	Family string `json:"family"`
	Arc    bool   `json:"arc,omitempty"`
	Only   string `json:"only,omitempty"`
	Most   int    `json:"most,omitempty"`
	Tab    string `json:"tab,omitempty"`
	URL    string `json:"url"`
	Act    string `json:"act,omitempty"`
	Code   string `json:"code,omitempty"`
}

func (s *Apps) runScript(ctx context.Context, a App, file string, q request, write bool, out any) error {
	to := osrun.App{ID: a.bundle, Name: a.Title}
	if s.opt.Taken != nil && s.opt.Taken(a.Title) {
		return &osrun.Error{
			Kind: osrun.Busy, Script: "browser/" + file, App: a.Title, Cause: "Hob's own browser is the same program, and macOS cannot distinguish them",
			Remedy: "close the tabs of Hob's browser and wait until it has ended, or name another program in [browser] path",
		}
	}
	q.App, q.Family, q.Arc = a.bundle, a.family, a.arc
	return s.run.Run(ctx, osrun.Call{Script: joinScript(file), App: to, In: q, Write: write, Wait: wait}, out)
}

// List lists the tabs of a running browser, at most MaxTabs.
func (s *Apps) List(ctx context.Context, a App) (l List, err error) {
	err = s.runScript(ctx, a, "list.js", request{Most: MaxTabs}, false, &l)
	return l, err
}

// Get returns a tab. An empty id selects the front tab.
func (s *Apps) Get(ctx context.Context, a App, id string) (Tab, error) {
	only := id
	if id == "" {
		only = "active"
	}
	var l List
	if err := s.runScript(ctx, a, "list.js", request{Only: only, Most: 1}, false, &l); err != nil {
		return Tab{}, err
	}
	if len(l.Tabs) == 0 {
		cause := fmt.Sprintf("tab %.40q not found", id)
		if id == "" {
			cause = "no tab is open except private ones"
		}
		return Tab{}, &osrun.Error{Kind: osrun.NotFound, Script: "browser/list.js", App: a.Title, Cause: cause}
	}
	return l.Tabs[0], nil
}

// Open opens an address in a new tab and starts the browser if necessary.
func (s *Apps) Open(ctx context.Context, a App, address string) (t Tab, err error) {
	err = s.runScript(ctx, a, "open.js", request{URL: address}, true, &t)
	return t, err
}

// Close closes a tab. It does nothing if the tab now shows another page.
func (s *Apps) Close(ctx context.Context, a App, t Tab) error {
	return s.runScript(ctx, a, "tab.js", request{Tab: t.ID, URL: t.URL, Act: "close"}, true, nil)
}

// Switch brings a tab to the front. It does nothing if the tab now shows another page.
func (s *Apps) Switch(ctx context.Context, a App, t Tab) error {
	return s.runScript(ctx, a, "tab.js", request{Tab: t.ID, URL: t.URL, Act: "switch"}, true, nil)
}

// Read returns the text of a tab. All browsers except Safari need a script to read the text, which
// they run only if the user has enabled this (osrun.SetupRequired).
func (s *Apps) Read(ctx context.Context, a App, t Tab) (x Text, err error) {
	err = s.runScript(ctx, a, "tab.js", request{Tab: t.ID, URL: t.URL, Act: "text", Most: maxText}, false, &x)
	return x, err
}

// Execute runs a script in a tab and returns its value as text, without the values of password fields.
func (s *Apps) Execute(ctx context.Context, a App, t Tab, code string) (x Text, err error) {
	err = s.runScript(ctx, a, "tab.js", request{Tab: t.ID, URL: t.URL, Act: "execute", Code: code, Most: maxValue}, true, &x)
	return x, err
}

// joinScript joins a script in the folder with the shared parts.
func joinScript(file string) osrun.Script {
	var parts []string
	for _, f := range []string{"tabs.js", file} {
		b, err := scripts.ReadFile("scripts/" + f)
		if err != nil {
			b = []byte("missing " + f) // cannot happen: the tests read every script
		}
		parts = append(parts, string(b))
	}
	return osrun.NewScript("browser/"+file, parts...)
}
