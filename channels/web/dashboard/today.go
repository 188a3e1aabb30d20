package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"hob/autonomy/api"
	"hob/platform/text/sorting"
)

// todayPage shows widgets, the plan, what happens next, tasks, reminders, notes and notifications.
func (d *Dashboard) todayPage() page {
	return page{
		path: "/today", title: "Today", icon: "M5 5h14v15H5zM5 10h14M9 3v4M15 3v4M9 14l2 2 4-4", live: true, frames: true, show: d.showToday,
		fragments: map[string]func(*request) (g.Node, error){"widget": d.showWidget},
		actions: map[string]action{
			"pin": d.pinWidget, "remove": d.removeWidget,
			"add": d.addTask, "done": d.completeTask, "remind": d.addReminder, "later": d.postponeReminder, "cancel": d.cancelReminder,
			"snooze": d.snoozeNotice, "release": d.releaseNotice,
		},
	}
}

// maxUpcoming is the number of rows in the list of what happens next, and maxNotes in the list of
// notes.
const (
	maxUpcoming = 20
	maxNotes    = 10
	maxPlanned  = 12 // rows of one section of the plan
)

func (d *Dashboard) showToday(r *request) (g.Node, error) {
	ctx := r.Context()
	open, err := d.o.Backend.Tasks(ctx, api.Query{Limit: maxTasks})
	if err != nil {
		return nil, err
	}
	day, err := d.o.Backend.Plan(ctx)
	if err != nil {
		return nil, err
	}
	next, err := d.listUpcoming(ctx)
	if err != nil {
		return nil, err
	}
	notes, err := d.o.Backend.Notes(ctx, api.Query{Limit: maxNotes})
	if err != nil {
		return nil, err
	}
	notices, err := d.renderNotices(r)
	if err != nil {
		return nil, err
	}
	widgets, err := d.o.Backend.Widgets(ctx, api.Query{})
	if err != nil {
		return nil, err
	}
	var pinned, other []api.Widget
	for _, w := range widgets {
		if w.Pinned {
			pinned = append(pinned, w)
		} else {
			other = append(other, w)
		}
	}
	var first g.Node // a widget without a neighbor, which would leave half of a row empty
	if n := len(pinned); n%2 == 1 {
		first, pinned = renderWidget(r, pinned[n-1]), pinned[:n-1]
	}
	return h.Div(
		h.Class("stack"),
		h.P(h.Class("soft"), g.Text(r.now.Format("Monday, 2 January 2006"))),
		renderWidgets(r, pinned),
		h.Div(
			h.Class("columns"),
			h.Div(h.Class("stack"), first, renderTasks(r, open), renderNotes(r, notes)),
			h.Div(h.Class("stack"), renderUpcoming(r, next), renderPlan(r, day), notices),
		),
		renderWidgets(r, other),
	), nil
}

// maxTasks is the number of tasks that the page sorts. It shows them in pages.
const maxTasks = 5000

// maxLists is the number of lists that have their own link.
const maxLists = 12

// renderTasks shows the open tasks, the most urgent first. A project is a list, such as Shopping.
func renderTasks(r *request, open []api.Task) g.Node {
	lists := []tab{{"All", r.withQuery("list", "")}}
	for _, t := range open {
		link := tab{t.Project, r.withQuery("list", t.Project)}
		if t.Project != "" && len(lists) <= maxLists && !slices.Contains(lists, link) {
			lists = append(lists, link)
		}
	}
	list := r.queryValue("list")
	if list != "" {
		open = slices.DeleteFunc(open, func(t api.Task) bool { return t.Project != list })
	}
	total := len(open)
	sorting.StableByFunc(open, func(x, y api.Task) int {
		return cmp.Or(cmp.Compare(dueOrder(x.Due), dueOrder(y.Due)), cmp.Compare(priorityOrder(x.Priority), priorityOrder(y.Priority)))
	})
	if before := r.queryValue("before"); before != "" {
		at := slices.IndexFunc(open, func(t api.Task) bool { return t.ID == before })
		open = open[at+1:]
	}
	more := len(open) > pageRows
	open = open[:min(len(open), pageRows)]
	last := ""
	if len(open) > 0 {
		last = open[len(open)-1].ID
	}
	return h.Section(
		h.Class("card"), h.Aria("labelledby", "tasks"),
		h.H2(h.ID("tasks"), g.Text("Tasks"), h.Span(h.Class("soft small"), g.Text(fmt.Sprintf("%d open", total)))),
		g.If(len(lists) > 1, tabLinks("Lists", r.withQuery("list", list), lists...)),
		r.postForm(
			"today/add", h.Class("row"), hiddenField("list", list),
			h.Input(h.Name("title"), h.Aria("label", "New task"), h.Placeholder("New task"), h.Required(), h.MaxLength("400"), h.AutoComplete("off")),
			h.Input(h.Name("due"), h.Aria("label", "Due"), h.Placeholder("Due: Friday"), h.MaxLength("100"), h.AutoComplete("off")),
			h.Button(h.Type("submit"), g.Text("Add task")),
		),
		g.If(total == 0, emptyState("No open tasks", "Add one above, or tell Hob in the chat.")),
		h.Ul(h.Class("list"), g.Map(open, func(t api.Task) g.Node { return renderTask(r, t) })),
		r.pagerLinks(more, last),
	)
}

// dueOrder returns a sort key. Tasks without a due date come last.
func dueOrder(due string) string { return cmp.Or(due, "9999") }

func priorityOrder(p string) int {
	return slices.Index([]string{"critical", "high", "medium", "", "low"}, p)
}

func renderTask(r *request, t api.Task) g.Node {
	meta := t.Project
	if t.Notes != "" {
		meta = strings.TrimPrefix(meta+" · "+shortText(t.Notes), " · ")
	}
	return h.Li(
		h.ID("task-"+t.ID),
		r.postForm("today/done", h.Class("tick"), hiddenField("task", t.ID), h.Button(h.Type("submit"), h.Aria("label", "Complete: "+shortText(t.Title)))),
		h.Span(h.Class("what"), plainText(t.Title)),
		h.Span(
			h.Class("acts"),
			g.Iff(t.Due != "", func() g.Node { return renderDue(r, t.Due) }),
			g.If(t.Priority == "high" || t.Priority == "critical", stateBadge(badgeAccent, t.Priority)),
		),
		g.If(meta != "", h.Span(h.Class("meta"), plainText(meta))),
	)
}

// renderDue shows when a task is due. Overdue and today's tasks stand out.
func renderDue(r *request, due string) g.Node {
	day, err := time.ParseInLocation(time.DateOnly, due, r.zone)
	text := ""
	if err == nil {
		text = formatDay(r.now, day)
	} else if day, err = time.Parse(time.RFC3339, due); err == nil {
		text = r.formatTime(day)
	} else {
		return stateBadge(badgeSoft, due)
	}
	kind := badgeSoft
	switch today := startOfDay(r.now); {
	case day.Before(today):
		kind = badgeBad
	case day.Before(today.AddDate(0, 0, 1)):
		kind = badgeWarn
	}
	return stateBadge(kind, text)
}

// formatDay returns a day in words.
func formatDay(now, day time.Time) string {
	switch day.Format(time.DateOnly) {
	case now.Format(time.DateOnly):
		return "today"
	case now.AddDate(0, 0, 1).Format(time.DateOnly):
		return "tomorrow"
	case now.AddDate(0, 0, -1).Format(time.DateOnly):
		return "yesterday"
	}
	if day.Year() == now.Year() {
		return day.Format("Mon 2 Jan")
	}
	return day.Format("2 Jan 2006")
}

// upcoming is a reminder or a schedule at one of its times.
type upcoming struct {
	at       time.Time
	text     string
	id       string
	reminder bool // whether it is a reminder, which can be postponed
	repeats  bool
	priority string
}

// listUpcoming returns the next times of reminders and schedules, earliest first.
func (d *Dashboard) listUpcoming(ctx context.Context) ([]upcoming, error) {
	reminders, err := d.o.Backend.Reminders(ctx, api.Query{Limit: 1000})
	if err != nil {
		return nil, err
	}
	schedules, err := d.o.Backend.Schedules(ctx, api.Query{Limit: 1000, State: "active"})
	if err != nil {
		return nil, err
	}
	var out []upcoming
	for _, w := range reminders {
		if w.State == "active" && len(w.Coming) > 0 {
			out = append(out, upcoming{at: w.Coming[0], text: cmp.Or(w.Action, w.Title, w.Describe), id: w.ID, reminder: true, repeats: len(w.Coming) > 1, priority: w.Priority})
		}
	}
	for _, w := range schedules {
		if w.State == "active" && len(w.Coming) > 0 {
			out = append(out, upcoming{at: w.Coming[0], text: cmp.Or(w.Action, w.Title, w.Describe), id: w.ID, repeats: true})
		}
	}
	sorting.StableByFunc(out, func(x, y upcoming) int { return x.at.Compare(y.at) })
	return out, nil
}

func renderUpcoming(r *request, list []upcoming) g.Node {
	total := len(list)
	return h.Section(
		h.Class("card"), h.Aria("labelledby", "next"),
		h.H2(h.ID("next"), g.Text("Next"), g.If(total > maxUpcoming, h.Span(h.Class("soft small"), g.Text(fmt.Sprintf("%d of %d", maxUpcoming, total))))),
		g.If(total == 0, emptyState("Nothing scheduled", "Try: remind me at 17:00 to call Ada.")),
		h.Ul(h.Class("list"), g.Map(list[:min(total, maxUpcoming)], func(u upcoming) g.Node {
			return h.Li(
				h.ID("next-"+u.id),
				h.Span(h.Class("what"), plainText(u.text)),
				h.Span(h.Class("soft small num"), r.relativeTime(u.at)),
				g.If(!u.reminder, stateBadge(badgeSoft, "schedule")),
				g.If(u.reminder && u.repeats, stateBadge(badgeSoft, "repeats")),
				g.If(u.priority != "", stateBadge(badgeSoft, u.priority+" priority")),
				g.Iff(u.reminder, func() g.Node {
					return h.Span(
						h.Class("acts small"),
						r.actionButton("today/later", "Delay 1 h", h.Aria("label", "Delay 1 h: "+shortText(u.text)), fact{"reminder", u.id}),
						r.actionButton("today/cancel", "Cancel", h.Aria("label", "Cancel: "+shortText(u.text)), fact{"reminder", u.id}),
					)
				}),
			)
		})),
		r.postForm(
			"today/remind", h.Class("row"),
			h.Input(h.Name("text"), h.Aria("label", "New reminder"), h.Placeholder("New reminder"), h.Required(), h.MaxLength("400"), h.AutoComplete("off")),
			h.Input(h.Name("at"), h.Aria("label", "When"), h.Placeholder("At: in 2 h"), h.Required(), h.MaxLength("100"), h.AutoComplete("off")),
			h.Button(h.Type("submit"), g.Text("Remind me")),
		),
	)
}

// renderPlan shows the sections of the plan that the page does not list otherwise.
func renderPlan(r *request, day api.Plan) g.Node {
	var out g.Group
	for _, s := range day.Sections {
		if slices.Contains([]string{"Tasks", "Reminders", "Scheduled"}, s.Title) && s.Error == "" {
			continue
		}
		items := s.Items[:min(len(s.Items), maxPlanned)]
		out = append(out, cardSection(
			s.Title,
			g.If(s.Error != "", h.P(h.Class("failed"), plainText("Reading failed: "+s.Error))),
			h.Ul(h.Class("day"), g.Map(items, func(it api.PlanItem) g.Node {
				when := ""
				if !it.At.IsZero() {
					when = it.At.In(r.zone).Format("15:04")
				}
				return h.Li(h.Span(h.Class("when"), g.Text(when)), h.Span(h.Class("what"), plainText(it.Text)))
			})),
			g.If(len(s.Items) > maxPlanned, h.P(h.Class("soft small"), g.Text(fmt.Sprintf("%d more", len(s.Items)-maxPlanned)))),
		))
	}
	return out
}

func renderNotes(r *request, notes []api.Note) g.Node {
	if len(notes) == 0 {
		return nil
	}
	return cardSection("Notes", h.Ul(h.Class("list"), g.Map(notes, func(n api.Note) g.Node {
		text := cmp.Or(n.Title, n.Text)
		return h.Li(h.Span(h.Class("what"), plainText(shortNotice(text))), h.Span(h.Class("soft small"), r.relativeTime(n.UpdatedAt)))
	})))
}

// renderNotices shows the sent and the deferred notifications, deferred ones first.
func (d *Dashboard) renderNotices(r *request) (g.Node, error) {
	rows, err := d.o.Backend.Notices(r.Context(), api.Query{Limit: maxUpcoming})
	if err != nil {
		return nil, err
	}
	quiet, err := d.o.Backend.SetQuiet(r.Context(), "")
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(n api.Notice) bool { return n.Kind == "question" }) // the page Approvals shows them
	sorting.StableByFunc(rows, func(x, y api.Notice) int { return cmp.Compare(noticeOrder(x), noticeOrder(y)) })
	return h.Section(
		h.Class("card"), h.ID("notices"), h.Aria("labelledby", "notifications"),
		h.H2(h.ID("notifications"), g.Text("Notifications")),
		g.If(quiet.Quiet, h.P(h.ID("quiet"), h.Class("soft small"), plainText("Quiet until "+r.formatTime(quiet.Until)+" ("+quiet.Why+")"))),
		g.If(len(rows) == 0, emptyState("No notifications yet", "Hob notifies you about reminders, watchers and goals.")),
		h.Ul(h.Class("list"), h.ID("told"), g.Map(rows, func(n api.Notice) g.Node { return renderNotice(r, n) })),
	), nil
}

func noticeOrder(n api.Notice) int {
	if n.State == "held" || n.State == "due" {
		return 0
	}
	return 1
}

func renderNotice(r *request, n api.Notice) g.Node {
	id := fact{"notice", n.ID}
	later := n.Kind == "notice" && n.Text != "" && slices.Contains([]string{"held", "told", "released"}, n.State)
	return h.Li(
		h.ID("notice-"+n.ID), h.Data("notice", n.ID), h.Data("state", n.State),
		h.Span(h.Class("what text"), plainText(shortNotice(cmp.Or(n.Text, "(text no longer stored)")))),
		h.Span(h.Class("soft small"), r.relativeTime(n.CreatedAt)),
		h.Span(h.Class("meta why"), plainText(n.Urgency+", "+n.Rule+"; "+r.describeNotice(n))),
		g.Iff(later, func() g.Node {
			return h.Span(
				h.Class("acts small"),
				r.actionButton("today/snooze", "Snooze 1 h", g.Group{h.Class("later"), h.Aria("label", "Snooze 1 h: "+shortText(n.Text))}, id),
				g.If(n.State == "held", r.actionButton("today/release", "Now", g.Group{h.Class("now"), h.Aria("label", "Now: "+shortText(n.Text))}, id)),
			)
		}),
	)
}

// describeNotice returns the state of a notification and the rule behind it.
func (r *request) describeNotice(n api.Notice) string {
	switch n.State {
	case "held":
		return "deferred until " + r.formatTime(n.Until) + ": " + n.Why
	case "due":
		return "sending now; deferred: " + n.Why
	case "released":
		return "sent " + r.formatTime(n.ToldAt) + "; deferred: " + n.Why
	case "repeated":
		return "not sent: " + n.Why
	case "dropped":
		return "not sent: no longer needed"
	}
	place := n.Channel
	if n.Place != "" {
		place += " (" + n.Place + ")"
	}
	return "sent to " + place + ": " + n.Why
}

func (d *Dashboard) addTask(r *request) (string, error) {
	return d.callTool(r, "create_task", struct {
		Title   string `json:"title"`
		Due     string `json:"due,omitempty"`
		Project string `json:"project,omitempty"`
	}{r.PostForm.Get("title"), r.PostForm.Get("due"), r.PostForm.Get("list")})
}

func (d *Dashboard) completeTask(r *request) (string, error) {
	return d.callTool(r, "complete_task", struct {
		Task string `json:"task"`
	}{r.PostForm.Get("task")})
}

func (d *Dashboard) addReminder(r *request) (string, error) {
	return d.callTool(r, "create_reminder", struct {
		Text string `json:"text"`
		At   string `json:"at"`
	}{r.PostForm.Get("text"), r.PostForm.Get("at")})
}

func (d *Dashboard) postponeReminder(r *request) (string, error) {
	return d.callTool(r, "update_reminder", struct {
		Reminder string `json:"reminder"`
		Shift    string `json:"shift"`
	}{r.PostForm.Get("reminder"), "1h"})
}

func (d *Dashboard) cancelReminder(r *request) (string, error) {
	return d.callTool(r, "cancel_reminder", struct {
		Reminder string `json:"reminder"`
	}{r.PostForm.Get("reminder")})
}

func (d *Dashboard) snoozeNotice(r *request) (string, error) {
	n, err := d.o.Backend.SnoozeNotice(r.Context(), r.PostForm.Get("notice"), "1h")
	if err != nil {
		return "", err
	}
	return "Snoozed until " + r.formatTime(n.Until) + ".", nil
}

func (d *Dashboard) releaseNotice(r *request) (string, error) {
	id := r.PostForm.Get("notice")
	if id == "" {
		return "", fmt.Errorf("%w: the notification is missing; use its button", api.ErrInvalid)
	}
	if _, err := d.o.Backend.ReleaseNotices(r.Context(), id); err != nil {
		return "", err
	}
	return "Sent.", nil
}
