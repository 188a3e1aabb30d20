// Package apps reaches the tabs of the browsers that the owner uses himself, on
// macOS: Safari, Chrome and those that share Chrome's dictionary. It runs the
// constant scripts of the folder scripts through a Runner (Apple events) and
// compiles everywhere: on another system there is no Runner that it could be given.
//
// The owner is signed in there to all that is his, and nothing of what these
// browsers fetch goes through Hob's proxy. The package knows nothing of policy: what
// may be opened, read and run is for the guard to say (tools/browser). No browser is
// started to be read, and windows that are private are left out where that can be told.
package apps

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/osrun"
)

//go:embed scripts
var scripts embed.FS

// App is a browser of the owner's.
type App struct {
	Name   string // what tools call it: "safari"
	Title  string // what owners call it: "Google Chrome"
	bundle string
	family string
	arc    bool
}

// All are the browsers that can be reached, by their bundle ids: names are localised.
func All() []App {
	return []App{
		{Name: "safari", Title: "Safari", bundle: "com.apple.Safari", family: "safari"},
		{Name: "chrome", Title: "Google Chrome", bundle: "com.google.Chrome", family: "chrome"},
		{Name: "edge", Title: "Microsoft Edge", bundle: "com.microsoft.edgemac", family: "chrome"},
		{Name: "brave", Title: "Brave Browser", bundle: "com.brave.Browser", family: "chrome"},
		{Name: "arc", Title: "Arc", bundle: "company.thebrowser.Browser", family: "chrome", arc: true},
	}
}

// Named finds a browser by what tools call it.
func Named(name string) (App, bool) {
	all := All()
	i := slices.IndexFunc(all, func(a App) bool { return a.Name == strings.ToLower(strings.TrimSpace(name)) })
	if i < 0 {
		return App{}, false
	}
	return all[i], true
}

// Tab is one tab as it is now. Title and URL are the page's own words.
type Tab struct {
	ID     string `json:"id"` // of its window and its own; Safari's is the place in the window
	Title  string `json:"title,omitempty"`
	URL    string `json:"url"`
	Active bool   `json:"active,omitempty"` // in front of the front window
}

// List is what is open.
type List struct {
	Tabs   []Tab `json:"tabs"`
	Total  int   `json:"total"`
	Hidden int   `json:"hidden"` // windows that are private
}

// Text is what a page shows, or what a script returned.
type Text struct {
	Text string `json:"text"`
	Cut  bool   `json:"cut"`
}

// Bounds of what is told.
const (
	MaxTabs  = 200
	maxText  = 200_000
	maxValue = 20_000
	wait     = 30 * time.Second
)

// Options of New.
type Options struct {
	// Taken reports that a browser of this name, as owners call it, runs which is not
	// the owner's: macOS does not tell two that are the same program apart.
	Taken func(title string) bool
}

// Apps reaches them. Its methods may be called concurrently; errors are those of a
// Runner.
type Apps struct {
	run osrun.Runner
	opt Options
}

// New makes one.
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

func (s *Apps) call(ctx context.Context, a App, file string, q request, write bool, out any) error {
	to := osrun.App{ID: a.bundle, Name: a.Title}
	if s.opt.Taken != nil && s.opt.Taken(a.Title) {
		return &osrun.Error{
			Kind: osrun.Busy, Script: "browser/" + file, App: a.Title, Cause: "Hob's own browser is one as well, and macOS does not tell them apart",
			Remedy: "close the tabs of Hob's browser and wait until it has ended, or name another program in [browser] path",
		}
	}
	q.App, q.Family, q.Arc = a.bundle, a.family, a.arc
	return s.run.Run(ctx, osrun.Call{Script: script(file), App: to, In: q, Write: write, Wait: wait}, out)
}

// List lists the tabs of a browser that runs, at most MaxTabs of them.
func (s *Apps) List(ctx context.Context, a App) (l List, err error) {
	err = s.call(ctx, a, "list.js", request{Most: MaxTabs}, false, &l)
	return l, err
}

// Get is one tab; "" is the one in front.
func (s *Apps) Get(ctx context.Context, a App, id string) (Tab, error) {
	only := id
	if id == "" {
		only = "active"
	}
	var l List
	if err := s.call(ctx, a, "list.js", request{Only: only, Most: 1}, false, &l); err != nil {
		return Tab{}, err
	}
	if len(l.Tabs) == 0 {
		cause := fmt.Sprintf("there is no tab %.40q", id)
		if id == "" {
			cause = "no tab is open, or only private ones are"
		}
		return Tab{}, &osrun.Error{Kind: osrun.NotFound, Script: "browser/list.js", App: a.Title, Cause: cause}
	}
	return l.Tabs[0], nil
}

// Open opens an address in a new tab, and starts the browser if need be.
func (s *Apps) Open(ctx context.Context, a App, address string) (t Tab, err error) {
	err = s.call(ctx, a, "open.js", request{URL: address}, true, &t)
	return t, err
}

// Close closes a tab, Switch brings it to the front; both do nothing to one that
// shows another page by now.
func (s *Apps) Close(ctx context.Context, a App, t Tab) error {
	return s.call(ctx, a, "tab.js", request{Tab: t.ID, URL: t.URL, Act: "close"}, true, nil)
}

// Switch brings a tab to the front.
func (s *Apps) Switch(ctx context.Context, a App, t Tab) error {
	return s.call(ctx, a, "tab.js", request{Tab: t.ID, URL: t.URL, Act: "switch"}, true, nil)
}

// Read is the text that a tab shows. All but Safari have it told by a script of ours,
// which they run only when the owner has switched that on (osrun.SetupRequired).
func (s *Apps) Read(ctx context.Context, a App, t Tab) (x Text, err error) {
	err = s.call(ctx, a, "tab.js", request{Tab: t.ID, URL: t.URL, Act: "text", Most: maxText}, false, &x)
	return x, err
}

// Execute runs a script in a tab and returns its value as text. Values of fields for
// passwords are taken out of it.
func (s *Apps) Execute(ctx context.Context, a App, t Tab, code string) (x Text, err error) {
	err = s.call(ctx, a, "tab.js", request{Tab: t.ID, URL: t.URL, Act: "execute", Code: code, Most: maxValue}, true, &x)
	return x, err
}

// script joins a script of the folder with what all share.
func script(file string) osrun.Script {
	var parts []string
	for _, f := range []string{"tabs.js", file} {
		b, err := scripts.ReadFile("scripts/" + f)
		if err != nil {
			b = []byte("missing " + f) // the tests read every script
		}
		parts = append(parts, string(b))
	}
	return osrun.NewScript("browser/"+file, parts...)
}

// Scripts are all scripts, for tests.
func Scripts() []osrun.Script {
	return []osrun.Script{script("list.js"), script("open.js"), script("tab.js")}
}
