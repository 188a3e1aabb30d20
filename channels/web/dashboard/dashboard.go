// Package dashboard renders Hob's local web pages: HTML from the interfaces of autonomy/api, the
// same ones that the HTTP API serves. Package web authenticates the requests and passes them on.
//
// To add a page, write one file with a method that returns its page, and add that method to
// (*Dashboard).listPages. The sidebar, the palette and the routes follow from that list. The method
// show returns the content of the page. An action (POST below the page's path) changes something
// and returns a notice; the browser is then redirected back to the page. Use the components in
// parts.go, and write text with g.Text or plainText, never with g.Raw.
//
// Every page and every form works without JavaScript. With it, htmx replaces the content of the
// page after an action, and after each live event if the page is live. Lists have at most pageRows
// rows and a link to the older ones.
package dashboard

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	g "maragu.dev/gomponents"

	"hob/assets"
	"hob/autonomy/api"
	"hob/channels"
)

// Backend contains the operations that the pages use. Package web provides it.
type Backend interface {
	channels.Receiver

	api.Approvals
	api.Canvas
	api.Channels
	api.Deliveries
	api.Doctor
	api.Explanations
	api.Feed
	api.Forgetting
	api.Goals
	api.Learned
	api.MCP
	api.Management
	api.Memory
	api.Notes
	api.Notices
	api.Sessions
	api.Settings
	api.PageSetup
	api.Skills
	api.Spending
	api.Tasks
	api.Timeline
	api.Tools
	api.Turns
	api.Undo
	api.Usage
	api.WatcherPlanning
	api.Watchers
}

// Options holds the parts that the pages need. All except Zone are required.
type Options struct {
	Backend Backend
	Log     *slog.Logger
	// Zone returns the user's time zone (default UTC).
	Zone func() *time.Location
	// Message returns a message of the authenticated user from a request, without its text parts.
	Message func(r *http.Request, session, text string) (channels.Inbound, error)
	// SessionName checks the name of a session.
	SessionName func(name string) (string, error)
	// Lifetime returns a context that also ends when the server stops.
	Lifetime func(ctx context.Context) (context.Context, context.CancelFunc)
	// Ping is the interval between two pings in the live stream (default 15 s).
	Ping time.Duration
}

// Dashboard serves the pages. Its methods may be called concurrently.
type Dashboard struct {
	o       Options
	files   map[string]*file
	pages   []page
	flashes flashStore
}

// New checks the options and reads the list of files.
func New(o Options) (*Dashboard, error) {
	if o.Backend == nil || o.Log == nil || o.Message == nil || o.SessionName == nil || o.Lifetime == nil {
		return nil, errors.New("dashboard: Options needs Backend, Log, Message, SessionName and Lifetime")
	}
	if o.Zone == nil {
		o.Zone = func() *time.Location { return time.UTC }
	}
	if o.Ping == 0 {
		o.Ping = 15 * time.Second
	}
	d := &Dashboard{o: o}
	var err error
	if d.files, err = listFiles(assets.Web()); err != nil {
		return nil, err
	}
	d.pages = d.listPages()
	return d, nil
}

// listPages returns the pages in the order of the sidebar.
func (d *Dashboard) listPages() []page {
	return []page{
		d.chatPage(), d.todayPage(), d.timelinePage(), d.approvalsPage(),
		d.memoryPage(), d.goalsPage(), d.watchersPage(), d.costsPage(),
		d.channelsPage(), d.settingsPage(), d.healthPage(),
	}
}

// page is one page of the dashboard.
type page struct {
	path   string // for example "/today"; the page's actions are below it
	title  string // at most two words
	icon   string // path data of an SVG image of 24 x 24
	about  string // one sentence below the title, or ""
	class  string // CSS class of the page, or ""
	live   bool   // whether the content is rendered again after each live event
	plots  bool   // whether the page needs uPlot
	frames bool   // whether the page shows frames with widgets
	file   string // the page's own script, or ""
	// count returns a number for the sidebar, such as of pending approvals. It may be nil.
	count func(ctx context.Context) (int, error)
	show  func(r *request) (g.Node, error)
	// views are further pages below the path, such as the reasons for one entry.
	views map[string]func(r *request) (g.Node, error)
	// fragments are like views, but without the frame of the page.
	fragments map[string]func(r *request) (g.Node, error)
	// actions maps the names of the POST requests below the path to their functions. An error is
	// shown as a message on the page.
	actions map[string]action
	// saves are actions that change the configuration. They need a browser login: the API token is
	// not sufficient.
	saves map[string]action
	// commands are the page's entries in the palette, besides its link.
	commands []command
}

// action changes something and returns a notice for the user: what happened, in one sentence.
type action func(r *request) (notice string, err error)

// command is an entry of the palette: a link.
type command struct{ label, href string }

// Route is a route that package web serves for the dashboard.
type Route struct {
	Method, Path, Summary string
	// Open means that the route needs no login.
	Open bool
	// Login means that only this server's own pages in a browser that is logged in may use the
	// route. The API token is not sufficient.
	Login bool
	// Media is the type of a successful response. Post actions redirect instead.
	Media string
	// Serve handles the request of the authenticated user. by names the auth method.
	Serve func(w http.ResponseWriter, r *http.Request, by string) error
}

// Routes lists the routes of the pages and their files.
func (d *Dashboard) Routes() []Route {
	out := []Route{
		{Method: "GET", Path: "/{$}", Summary: "Redirect to the chat", Open: true, Serve: d.serveRoot},
		{Method: "GET", Path: "/live", Summary: "Stream when the pages have changed", Media: "text/event-stream", Serve: d.serveLive},
	}
	for _, name := range sortedNames(d.files) {
		out = append(out, Route{Method: "GET", Path: filePath(name), Summary: "Get a file of the dashboard", Open: true, Media: d.files[name].mediaName(), Serve: d.files[name].serveFile})
	}
	for _, p := range d.pages {
		out = append(out, Route{Method: "GET", Path: p.path, Summary: "Show the page " + p.title, Media: "text/html", Serve: d.pageHandler(p, p.show)})
		for _, name := range sortedNames(p.views) {
			out = append(out, Route{Method: "GET", Path: p.path + "/" + name, Summary: "Show a part of the page " + p.title, Media: "text/html", Serve: d.pageHandler(p, p.views[name])})
		}
		for _, name := range sortedNames(p.fragments) {
			out = append(out, Route{Method: "GET", Path: p.path + "/" + name, Summary: "Get a part of the page " + p.title, Media: "text/html", Serve: d.fragmentHandler(p, p.fragments[name])})
		}
		for _, name := range sortedNames(p.actions) {
			out = append(out, Route{Method: "POST", Path: p.path + "/" + name, Summary: "Use a form of the page " + p.title, Serve: d.actionHandler(p, p.actions[name])})
		}
		for _, name := range sortedNames(p.saves) {
			out = append(out, Route{Method: "POST", Path: p.path + "/" + name, Summary: "Save a setting on the page " + p.title, Login: true, Serve: d.actionHandler(p, p.saves[name])})
		}
	}
	return out
}

func (d *Dashboard) serveRoot(w http.ResponseWriter, r *http.Request, _ string) error {
	http.Redirect(w, r, d.pages[0].path, http.StatusSeeOther)
	return nil
}
