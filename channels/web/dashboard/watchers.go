package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"hob/autonomy/api"
)

// maxWatchers is the number of watchers and of schedules that the page reads, and maxEvents the
// number of events in the history of one.
const (
	maxWatchers = 1000
	maxEvents   = 20
)

// watchersPage shows what Hob watches, and when its schedules run.
func (d *Dashboard) watchersPage() page {
	return page{
		path: "/watchers", title: "Watchers", about: "What Hob watches for you, and what it does at fixed times.",
		icon: "M2 12s4-7 10-7 10 7 10 7-4 7-10 7S2 12 2 12zm10-3a3 3 0 1 0 0 6 3 3 0 0 0 0-6z",
		live: true, show: d.showWatchers,
		views: map[string]func(*request) (g.Node, error){"history": d.showWatcher, "try": d.tryWatcher},
		actions: map[string]action{
			"pause": d.pauseWatcher, "resume": d.resumeWatcher, "remove": d.removeWatcher, "add": d.addWatcher, "schedule": d.addSchedule,
		},
		commands: []command{{"Add a watcher", "/watchers#add"}, {"See the next 7 days", "/watchers#week"}},
	}
}

func (d *Dashboard) showWatchers(r *request) (g.Node, error) {
	ctx := r.Context()
	watchers, err := d.o.Backend.Watchers(ctx, api.Query{Limit: maxWatchers})
	if err != nil {
		return nil, err
	}
	schedules, err := d.o.Backend.Schedules(ctx, api.Query{Limit: maxWatchers})
	if err != nil {
		return nil, err
	}
	kinds, err := d.o.Backend.WatcherKinds(ctx)
	if err != nil {
		return nil, err
	}
	week := weekFrom(r.now)
	forecast, err := d.o.Backend.Forecast(ctx, r.now, week[len(week)-1])
	if err != nil {
		return nil, err
	}
	rows, more, last := pageOf(r, watchers, watcherID)
	timed, moreTimed, lastTimed := pageOf(r, schedules, watcherID)
	section := func(id, title string, total int, empty g.Node, list []api.Watcher, pager g.Node) g.Node {
		return h.Section(
			h.Class("card"), h.Aria("labelledby", id),
			h.H2(h.ID(id), g.Text(title), h.Span(h.Class("soft small"), g.Text(strconv.Itoa(total)))),
			g.If(total == 0, empty),
			h.Ul(h.Class("list"), g.Map(list, func(w api.Watcher) g.Node { return renderWatcher(r, w) })),
			pager,
		)
	}
	return h.Div(
		h.Class("stack"),
		section("sources", "Sources", len(watchers), emptyState("Nothing is watched", "Add a watcher below, or tell Hob in the chat: watch ~/Downloads and tell me."), rows, r.pagerLinks(more, last)),
		section("schedules", "Schedules", len(schedules), emptyState("No schedules", "Add one below, or tell Hob in the chat: every weekday at 8:00 tell me the weather."), timed, r.pagerLinks(moreTimed, lastTimed)),
		d.renderWatcherForms(r, kinds),
		renderWeek(r, forecast, week),
		h.P(h.Class("soft small"), g.Text("Reminders are on the page "), h.A(h.Href("/today"), g.Text("Today")), g.Text(".")),
	), nil
}

func watcherID(w api.Watcher) string { return w.ID }

// isTimed reports whether a watcher is a schedule, for which other tools exist.
func isTimed(w api.Watcher) bool { return w.When != "" }

func watcherBadge(w api.Watcher) g.Node {
	switch w.State {
	case "active":
		return stateBadge(badgeGood, w.State)
	case "paused":
		return stateBadge(badgeWarn, w.State)
	case "broken":
		return stateBadge(badgeBad, w.State)
	}
	return stateBadge(badgeSoft, w.State)
}

func renderWatcher(r *request, w api.Watcher) g.Node {
	label := cmp.Or(w.Describe, w.Title)
	timed := "no"
	if isTimed(w) {
		timed = "yes"
	}
	button := func(action, text string) g.Node {
		return r.actionButton("watchers/"+action, text, h.Aria("label", text+": "+shortText(label)), fact{"watcher", w.ID}, fact{"timed", timed})
	}
	link := func(view, text string, drawer bool) g.Node {
		return h.A(h.Class("button small"), h.Href("/watchers/"+view+"?id="+url.QueryEscape(w.ID)), g.If(drawer, h.Data("drawer", "")), h.Aria("label", text+": "+shortText(label)), g.Text(text))
	}
	return h.Li(
		h.ID("watcher-"+w.ID),
		h.Span(h.Class("what"), plainText(label)),
		g.If(!isTimed(w), stateBadge(badgeSoft, w.Kind)), watcherBadge(w),
		h.Span(
			h.Class("acts small"),
			link("history", "History", false),
			g.If(!isTimed(w), link("try", "Try", true)),
			g.If(w.State == "active", button("pause", "Pause")),
			g.If(w.State == "paused" || w.State == "broken", button("resume", "Resume")),
			r.confirmButton("remove-"+w.ID, "watchers/remove", "Remove", "Remove “"+shortText(label)+"”? You can undo this on the page Timeline.", fact{"watcher", w.ID}, fact{"timed", timed}),
		),
		h.Span(h.Class("meta"), renderPace(r, w)),
		g.If(w.LastError != "", h.Span(h.Class("meta failed"), plainText(w.LastError))),
	)
}

// renderPace says how often a watcher reported something, and when it is next due.
func renderPace(r *request, w api.Watcher) g.Node {
	var out g.Group
	add := func(nodes ...g.Node) {
		if len(out) > 0 {
			out = append(out, g.Text(" · "))
		}
		out = append(out, nodes...)
	}
	if len(w.Coming) > 0 {
		times := g.Group{g.Text("Next: ")}
		for i, at := range w.Coming {
			times = append(times, g.If(i > 0, g.Text(", ")), r.relativeTime(at))
		}
		add(times)
	}
	did, never := "Reported", "Nothing reported yet"
	if isTimed(w) {
		did, never = "Ran", "Did not run yet"
	}
	switch w.Fired {
	case 0:
		add(g.Text(never))
	case 1:
		add(g.Text(did+" once, "), r.relativeTime(w.FiredAt))
	default:
		add(g.Text(fmt.Sprintf("%s %d times, last ", did, w.Fired)), r.relativeTime(w.FiredAt))
	}
	if w.WatcherSpec.Every != "" {
		add(plainText("checks every " + w.WatcherSpec.Every))
	}
	if w.Hours != "" {
		add(plainText("active " + w.Hours))
	}
	if w.PerDay > 0 {
		add(plainText(fmt.Sprintf("at most %d a day", w.PerDay)))
	}
	return out
}

// findWatcher returns a watcher or schedule by its id.
func (d *Dashboard) findWatcher(ctx context.Context, id string) (api.Watcher, error) {
	for _, list := range []func(context.Context, api.Query) ([]api.Watcher, error){d.o.Backend.Watchers, d.o.Backend.Schedules} {
		rows, err := list(ctx, api.Query{Limit: maxWatchers, All: true})
		if err != nil {
			return api.Watcher{}, err
		}
		for _, w := range rows {
			if w.ID == id {
				return w, nil
			}
		}
	}
	return api.Watcher{}, fmt.Errorf("%w: watcher %q; go back to the list of watchers", api.ErrNotFound, id)
}

// showWatcher shows what a watcher reported, and why it did not report more.
func (d *Dashboard) showWatcher(r *request) (g.Node, error) {
	ctx := r.Context()
	w, err := d.findWatcher(ctx, r.queryValue("id"))
	if err != nil {
		return nil, err
	}
	session := "watcher:" + w.ID
	if isTimed(w) {
		session = "schedule:" + w.ID
	}
	events, err := d.o.Backend.Inbox(ctx, api.Query{Of: session, Limit: maxEvents})
	if err != nil {
		return nil, err
	}
	silence, settings, missed := "", indentJSON(w.Config), w.Missed
	if w.Path != "" || isTimed(w) { // the list of facts says the same in words
		settings = ""
	}
	if !isTimed(w) {
		missed = "" // the policy is for schedules only
		x, err := d.o.Backend.Why(ctx, "silence", w.ID)
		if err != nil {
			return nil, err
		}
		silence = strings.TrimSpace(x.Text)
	}
	return h.Div(
		h.Class("stack"),
		h.P(h.A(h.Href("/watchers"), g.Text("Back to the watchers"))),
		h.Section(
			h.Class("card"), h.H2(h.Span(h.Class("what"), plainText(cmp.Or(w.Describe, w.Title))), watcherBadge(w)),
			factList(
				fact{"Kind", w.Kind}, fact{"When", w.When}, fact{"Does", w.Action}, fact{"Path", w.Path}, fact{"Settings", settings},
				fact{"Reports to", w.Report}, fact{"Agent", w.Agent}, fact{"Source", w.Source}, fact{"Missed runs", missed}, fact{"Created", r.formatTime(w.CreatedAt)}, fact{"Last error", w.LastError},
			),
			h.P(h.Class("soft small"), renderPace(r, w)),
		),
		cardSection("Last events", g.If(len(events) == 0, emptyState("No events yet", "Hob lists here what this watcher reported.")),
			h.Ul(h.Class("list"), g.Map(events, func(e api.Event) g.Node { return renderEvent(r, e) }))),
		g.If(silence != "", cardSection("Notifications", h.Pre(h.Class("wrap"), h.TabIndex("0"), h.Aria("label", "Why Hob did not notify you"), plainText(silence)))),
	), nil
}

func renderEvent(r *request, e api.Event) g.Node {
	return h.Li(
		h.Span(h.Class("soft small num"), r.relativeTime(e.ReceivedAt)),
		h.Span(h.Class("what"), plainText(shortNotice(e.Text))),
		g.If(e.State != "done", stateBadge(badgeWarn, e.State)),
		h.Span(h.Class("acts small"), h.A(h.Class("button small"), h.Href(whyLink(e.ID)), h.Data("drawer", ""), h.Aria("label", "Why: "+shortText(e.Text)), g.Text("Why"))),
		g.If(e.Answer != "" && e.Answer != e.Text, h.Span(h.Class("meta"), plainText(shortNotice(e.Answer)))),
		g.If(e.Error != "", h.Span(h.Class("meta failed"), plainText(e.Error))),
	)
}

// tryWatcher shows what a watcher would have reported in the last days. It reports nothing.
func (d *Dashboard) tryWatcher(r *request) (g.Node, error) {
	w, err := d.findWatcher(r.Context(), r.queryValue("id"))
	if err != nil {
		return nil, err
	}
	text := ""
	switch out, err := d.runTool(r, "try_watcher", watcherChoice{Watcher: w.ID}); {
	case r.Context().Err() != nil:
		return nil, r.Context().Err()
	case err != nil:
		text = describeError(err)
	case len(out.Approvals) > 0:
		text = "This needs your approval. See the page Approvals."
	default:
		text = out.Text
	}
	return h.Div(
		h.Class("stack"),
		h.P(h.A(h.Href("/watchers"), g.Text("Back to the watchers"))),
		cardSection("Try", h.Data("drawer-content", ""),
			h.P(h.Strong(plainText(cmp.Or(w.Describe, w.Title)))), h.P(h.Class("soft small"), g.Text("What this watcher would have reported in the last 7 days. Nothing was sent.")),
			h.Pre(h.Class("wrap"), h.TabIndex("0"), plainText(text))),
	), nil
}

// watcherChoice and scheduleChoice are the arguments of the tools that need only the watcher or
// the schedule.
type (
	watcherChoice struct {
		Watcher string `json:"watcher"`
		Resume  bool   `json:"resume,omitempty"`
	}
	scheduleChoice struct {
		Schedule string `json:"schedule"`
		Resume   bool   `json:"resume,omitempty"`
	}
)

// callWatcherTool runs the tool for a watcher, or the one for a schedule.
func (d *Dashboard) callWatcherTool(r *request, verb string, resume bool) (string, error) {
	id := r.PostForm.Get("watcher")
	if r.PostForm.Get("timed") == "yes" {
		return d.callTool(r, verb+"_schedule", scheduleChoice{id, resume})
	}
	return d.callTool(r, verb+"_watcher", watcherChoice{id, resume})
}

func (d *Dashboard) pauseWatcher(r *request) (string, error) {
	return d.callWatcherTool(r, "pause", false)
}

func (d *Dashboard) resumeWatcher(r *request) (string, error) {
	return d.callWatcherTool(r, "pause", true)
}

func (d *Dashboard) removeWatcher(r *request) (string, error) {
	return d.callWatcherTool(r, "cancel", false)
}
