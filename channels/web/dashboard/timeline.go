package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"hob/autonomy/api"
	"hob/platform/text/markup"
	"hob/platform/text/visible"
)

// timelinePage shows what Hob did, sent and held back.
func (d *Dashboard) timelinePage() page {
	return page{
		path: "/timeline", title: "Timeline", about: "What Hob did, sent and held back, and why.",
		icon: "M12 7v5l3 2M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z", live: true, show: d.showTimeline,
		views:   map[string]func(*request) (g.Node, error){"why": d.showReasons},
		actions: map[string]action{"undo": d.undoCall},
	}
}

// timelineKinds returns the choices of the filter.
func timelineKinds() []option {
	return []option{
		{"", "Everything but lookups"},
		{api.TimelineAction, "Actions"},
		{api.TimelineMessage, "Messages"},
		{api.TimelineNotice, "Held back"},
		{api.TimelineDenied, "Denied"},
		{api.TimelineLookup, "Lookups"},
	}
}

func (d *Dashboard) showTimeline(r *request) (g.Node, error) {
	day, kind := r.queryValue("day"), r.queryValue("kind")
	q := api.TimelineQuery{Kind: kind, Before: r.queryValue("before"), Limit: pageRows + 1}
	if day != "" {
		from, err := time.ParseInLocation(time.DateOnly, day, r.zone)
		if err != nil {
			return nil, fmt.Errorf("%w: %q is not a day; write it as 2026-03-01", api.ErrInvalid, day)
		}
		q.Since, q.Until = from, from.AddDate(0, 0, 1)
	}
	list, err := d.o.Backend.Timeline(r.Context(), q)
	if err != nil {
		return nil, err
	}
	more := len(list) > pageRows
	list = list[:min(len(list), pageRows)]
	last := ""
	if len(list) > 0 {
		last = list[len(list)-1].ID
	}
	return g.Group{
		h.Form(
			h.Class("filters"), h.Method("get"), h.Action("/timeline"),
			labeledField("Day", h.Input(h.Type("date"), h.Name("day"), h.Value(day), h.Max(r.now.Format(time.DateOnly)))),
			labeledField("Kind", selectBox("kind", kind, timelineKinds()...)),
			h.Button(h.Type("submit"), g.Text("Show")),
			g.If(day != "" || kind != "", h.A(h.Class("button"), h.Href("/timeline"), g.Text("Show all"))),
		),
		g.If(len(list) == 0, cardSection("", emptyState("No entries", "Nothing happened that matches these filters."))),
		renderDays(r, list),
		r.pagerLinks(more, last),
	}, nil
}

// renderDays groups the entries by day.
func renderDays(r *request, list []api.TimelineEntry) g.Node {
	var days g.Group
	for len(list) > 0 {
		day := list[0].At.In(r.zone).Format(time.DateOnly)
		n := 1
		for n < len(list) && list[n].At.In(r.zone).Format(time.DateOnly) == day {
			n++
		}
		title := list[0].At.In(r.zone).Format("Monday, 2 January 2006")
		if day == r.now.Format(time.DateOnly) {
			title = "Today"
		}
		days = append(days, cardSection(title, h.Ul(h.Class("list"), g.Map(list[:n], func(e api.TimelineEntry) g.Node { return renderEntry(r, e) }))))
		list = list[n:]
	}
	return h.Div(h.Class("stack"), days)
}

func renderEntry(r *request, e api.TimelineEntry) g.Node {
	meta := describePlace(e)
	if e.Reason != "" {
		meta = strings.TrimPrefix(meta+" · "+e.Reason, " · ")
	}
	return h.Li(
		h.ID("entry-"+e.ID),
		h.Time(h.Class("num soft"), h.DateTime(e.At.UTC().Format(time.RFC3339)), g.Text(e.At.In(r.zone).Format("15:04"))),
		h.Span(h.Class("what"), plainText(entryText(e))),
		entryBadge(e),
		h.Span(
			h.Class("acts small"),
			h.A(h.Class("button small"), h.Href(whyLink(e.Event)), h.Data("drawer", ""), h.Aria("label", "Why: "+shortText(e.Text)), g.Text("Why")),
			g.If(e.Undo != "", r.actionButton("timeline/undo", "Undo", h.Aria("label", "Undo: "+shortText(e.Text)), fact{"call", e.Undo})),
		),
		g.If(meta != "", h.Span(h.Class("meta"), plainText(meta))),
	)
}

// describePlace says where an entry belongs, or returns "" for the usual places: the first conversation,
// the page and the commands.
func describePlace(e api.TimelineEntry) string {
	kind, _, background := strings.Cut(e.Session, ":")
	out, known := map[string]string{
		"": "", toolSession: "", "system": "", "tool": "",
		"watcher": "for a watcher", "schedule": "for a schedule", "goal": "for a goal", "trigger": "for a trigger", "task": "for a task",
	}[kind]
	switch {
	case known:
	case background: // a conversation of a channel, or of a program
		return "through " + kind
	default:
		out = "in " + e.Session
	}
	if e.Channel != "" && e.Channel != "web" && e.Channel != "terminal" {
		out = strings.TrimSpace("through " + e.Channel + " " + out)
	}
	return out
}

// entryText returns the text of an entry on one line. Hob writes its messages in Markdown.
func entryText(e api.TimelineEntry) string {
	if e.Kind == "message" || e.Kind == "notice" {
		return strings.Join(strings.Fields(markup.Plain(e.Text)), " ")
	}
	return e.Text
}

// shortText returns the beginning of a text for a label, without hidden characters and direction
// controls, which a screen reader would read or obey.
func shortText(s string) string {
	s = visible.Text(s)
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}

// entryBadge names the kind of an entry, or its state if that needs attention.
func entryBadge(e api.TimelineEntry) g.Node {
	switch e.State {
	case "failed", "dead", "unknown":
		return stateBadge(badgeBad, e.State)
	case "undone", "queued", "sending", "started", "cancelled":
		return stateBadge(badgeWarn, e.State)
	}
	switch e.Kind {
	case api.TimelineDenied:
		return stateBadge(badgeBad, "denied")
	case api.TimelineNotice:
		return stateBadge(badgeWarn, e.State)
	case api.TimelineMessage:
		return stateBadge(badgeAccent, "message")
	case api.TimelineLookup:
		return stateBadge(badgeSoft, "lookup")
	}
	return stateBadge(badgeGood, "done")
}

// whyLink returns the address of the reasons for an event.
func whyLink(event string) string { return "/timeline/why?id=" + url.QueryEscape(event) }

// showReasons explains an event.
func (d *Dashboard) showReasons(r *request) (g.Node, error) {
	x, err := d.o.Backend.Why(r.Context(), "event", r.queryValue("id"))
	if err != nil {
		return nil, err
	}
	answer, details, _ := strings.Cut(x.Text, api.WhyDetails)
	return h.Div(
		h.Class("stack"),
		h.P(h.A(h.Href("/timeline"), g.Text("Back to the timeline"))),
		cardSection(
			"Why", h.Data("drawer-content", ""),
			g.Map(strings.Split(answer, "\n"), func(line string) g.Node { return h.P(plainText(line)) }),
			g.If(details != "", h.Details(h.Summary(g.Text("Details")), h.Pre(h.Class("wrap"), h.TabIndex("0"), plainText(details)))),
		),
	), nil
}

func (d *Dashboard) undoCall(r *request) (string, error) {
	return d.callTool(r, "undo", struct {
		ID string `json:"id"`
	}{r.PostForm.Get("call")})
}

// toolSession is the conversation that receives reports about calls that the user makes on a page.
const toolSession = "main"

// callTool runs a tool with the user's authority and returns its result as a notice.
func (d *Dashboard) callTool(r *request, tool string, arguments any) (string, error) {
	out, err := d.runTool(r, tool, arguments)
	switch {
	case err != nil:
		return "", err
	case len(out.Approvals) > 0:
		return "This needs your approval. See the page Approvals.", nil
	}
	line, _, _ := strings.Cut(strings.TrimSpace(out.Text), "\n")
	return shortNotice(line), nil
}

// runTool runs a tool with the user's authority. A failed call is an error.
func (d *Dashboard) runTool(r *request, tool string, arguments any) (api.ToolOutcome, error) {
	args, err := json.Marshal(arguments)
	if err != nil {
		return api.ToolOutcome{}, err
	}
	ctx, cancel := d.o.Lifetime(r.Context())
	defer cancel()
	out, err := d.o.Backend.Call(ctx, toolSession, tool, args)
	if err == nil && out.Code != "" {
		err = errors.New(out.Error)
	}
	return out, err
}

// shortNotice limits the length of a notice.
func shortNotice(s string) string {
	if r := []rune(s); len(r) > 300 {
		return string(r[:300]) + "…"
	}
	return s
}
