package dashboard

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"hob/autonomy/api"
)

// maxGoals is the number of goals that the page reads, and maxReviews the number of decisions in the
// history of one goal.
const (
	maxGoals   = 1000
	maxReviews = 20
)

// goalsPage shows the goals that Hob reviews by itself, and its last decisions about them.
func (d *Dashboard) goalsPage() page {
	return page{
		path: "/goals", title: "Goals", about: "What you want to achieve. Hob reviews each goal by itself.",
		icon: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zm0 4a5 5 0 1 0 0 10 5 5 0 0 0 0-10zm0 4a1 1 0 1 0 0 2 1 1 0 0 0 0-2z",
		live: true, show: d.showGoals,
		views: map[string]func(*request) (g.Node, error){"history": d.showGoal},
		actions: map[string]action{
			"add": d.addGoal, "change": d.changeGoal, "pause": d.pauseGoal, "resume": d.resumeGoal, "done": d.completeGoal, "remove": d.removeGoal,
		},
		commands: []command{{"Add a goal", "/goals#new-goal"}},
	}
}

func (d *Dashboard) showGoals(r *request) (g.Node, error) {
	all := r.queryValue("all") != ""
	list, err := d.o.Backend.Goals(r.Context(), api.Query{All: all, Limit: maxGoals})
	if err != nil {
		return nil, err
	}
	current := "/goals"
	if all {
		current = "/goals?all=1"
	}
	rows, more, last := pageOf(r, list, func(x api.GoalDetails) string { return x.ID })
	return h.Div(
		h.Class("stack"),
		cardSection("New goal", h.ID("new-goal"), renderGoalForm(r)),
		h.Section(
			h.Class("card"), h.Aria("labelledby", "goal-list"),
			h.H2(h.ID("goal-list"), g.Text("Your goals"), h.Span(h.Class("soft small"), g.Text(strconv.Itoa(len(list))))),
			tabLinks("Which goals", current, tab{"Open", "/goals"}, tab{"All", "/goals?all=1"}),
			g.If(len(list) == 0, emptyState("No goals", "Add one above, for example: when a task is overdue then tell me.")),
			h.Ul(h.Class("list"), g.Map(rows, func(x api.GoalDetails) g.Node { return renderGoal(r, x) })),
			r.pagerLinks(more, last),
		),
	), nil
}

// pageOf returns one page of rows that are complete in memory: those after the row whose id is the
// parameter before.
func pageOf[T any](r *request, list []T, id func(T) string) (rows []T, more bool, last string) {
	if before := r.queryValue("before"); before != "" {
		for i, x := range list {
			if id(x) == before {
				list = list[i+1:]
				break
			}
		}
	}
	more = len(list) > pageRows
	list = list[:min(len(list), pageRows)]
	if len(list) > 0 {
		last = id(list[len(list)-1])
	}
	return list, more, last
}

func renderGoalForm(r *request) g.Node {
	return r.postForm(
		"goals/add", h.Class("row"),
		h.Label(h.Class("field grow"), g.Text("Goal"), h.Input(h.Name("description"), h.Placeholder("Read a book a month"), h.Required(), h.MaxLength("1000"), h.AutoComplete("off"))),
		h.Label(h.Class("field grow"), g.Text("Reached when"), h.Input(h.Name("success"), h.Placeholder("Optional"), h.MaxLength("1000"), h.AutoComplete("off"))),
		labeledField("Review every", h.Input(h.Name("every"), h.Placeholder("1h"), g.Attr("size", "8"), h.MaxLength("100"), h.AutoComplete("off"))),
		labeledField("Priority", selectBox("priority", "3", priorityOptions()...)),
		h.Button(h.Type("submit"), h.Class("primary"), g.Text("Add goal")),
	)
}

func priorityOptions() []option {
	return []option{{"1", "1, lowest"}, {"2", "2"}, {"3", "3"}, {"4", "4"}, {"5", "5, highest"}}
}

// goalBadge shows the state of a goal.
func goalBadge(x api.GoalDetails) g.Node {
	switch x.Status {
	case "active", "done":
		return stateBadge(badgeGood, x.Status)
	case "waiting":
		return stateBadge(badgeAccent, "waiting for you")
	case "paused":
		return stateBadge(badgeWarn, x.Status)
	}
	return stateBadge(badgeSoft, x.Status)
}

func renderGoal(r *request, x api.GoalDetails) g.Node {
	button := func(action, label string) g.Node {
		return r.actionButton("goals/"+action, label, h.Aria("label", label+": "+shortText(x.Description)), fact{"goal", x.ID})
	}
	return h.Li(
		h.ID("goal-"+x.ID),
		h.Span(h.Class("what"), plainText(x.Description)),
		goalBadge(x),
		h.Span(
			h.Class("acts small"),
			h.A(h.Class("button small"), h.Href("/goals/history?id="+url.QueryEscape(x.ID)), h.Aria("label", "History: "+shortText(x.Description)), g.Text("History")),
			g.If(x.Status == "active" || x.Status == "waiting", g.Group{button("pause", "Pause"), button("done", "Reached")}),
			g.If(x.Status != "active" && x.Status != "waiting", button("resume", "Resume")),
			r.confirmButton("remove-"+x.ID, "goals/remove", "Remove", "Remove the goal “"+shortText(x.Description)+"”? You can undo this on the page Timeline.", fact{"goal", x.ID}),
		),
		h.Span(h.Class("meta"), g.If(x.Success != "", plainText("Reached when: "+x.Success+" · ")), plainText(fmt.Sprintf("priority %d · reviewed every %s", x.Priority, x.CheckEvery)),
			g.If(x.Status == "active" && !x.NextAt.IsZero(), g.Group{g.Text(" · next review "), r.relativeTime(x.NextAt)})),
		g.If(x.Last != "", h.Span(h.Class("meta"), g.Text("Last decision: "), h.Strong(plainText(api.DecisionText(x.Last))), g.If(x.Reason != "", plainText(" ("+x.Reason+")")), g.Text(" · "), r.relativeTime(x.LastAt))),
	)
}

// showGoal shows the decisions about one goal, and a form that changes it.
func (d *Dashboard) showGoal(r *request) (g.Node, error) {
	list, err := d.o.Backend.Goals(r.Context(), api.Query{Of: r.queryValue("id"), Limit: maxReviews})
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, fmt.Errorf("%w: goal %q; go back to the list of goals", api.ErrNotFound, r.queryValue("id"))
	}
	x := list[0]
	next := ""
	if !x.NextAt.IsZero() && x.Status == "active" {
		next = r.formatTime(x.NextAt)
	}
	return h.Div(
		h.Class("stack"),
		h.P(h.A(h.Href("/goals"), g.Text("Back to the goals"))),
		h.Section(
			h.Class("card"), h.H2(h.Span(h.Class("what"), plainText(x.Description)), goalBadge(x)),
			factList(
				fact{"Reached when", x.Success}, fact{"Priority", strconv.Itoa(x.Priority)}, fact{"Reviewed every", x.CheckEvery}, fact{"Next review", next},
				fact{"Reviews", strconv.Itoa(x.Reviewed)}, fact{"Reports to", x.Report}, fact{"Agent", x.Agent}, fact{"Created via", x.Source}, fact{"Created", r.formatTime(x.CreatedAt)},
			),
		),
		cardSection("Change", r.postForm(
			"goals/change", h.Class("row"), hiddenField("goal", x.ID),
			h.Label(h.Class("field grow"), g.Text("Goal"), h.Input(h.Name("description"), h.Value(x.Description), h.Required(), h.MaxLength("1000"))),
			h.Label(h.Class("field grow"), g.Text("Reached when"), h.Input(h.Name("success"), h.Value(x.Success), h.MaxLength("1000"))),
			labeledField("Review every", h.Input(h.Name("every"), h.Value(x.CheckEvery), g.Attr("size", "8"), h.Required(), h.MaxLength("100"))),
			labeledField("Priority", selectBox("priority", strconv.Itoa(x.Priority), priorityOptions()...)),
			h.Button(h.Type("submit"), g.Text("Save")),
		)),
		cardSection("Last decisions", g.If(len(x.Reviews) == 0, emptyState("No decisions yet", "Hob has not reviewed this goal.")),
			h.Ul(h.Class("list"), g.Map(x.Reviews, func(v api.Review) g.Node { return renderReview(r, v) }))),
	), nil
}

func renderReview(r *request, v api.Review) g.Node {
	by := ""
	if v.By != "" {
		by = fmt.Sprintf("by %s, %.0f %% sure", v.By, 100*v.Confidence)
	}
	return h.Li(
		h.Span(h.Class("soft small num"), r.relativeTime(v.At)),
		h.Span(h.Class("what"), h.Strong(plainText(api.DecisionText(cmp.Or(v.Decision, v.Phase)))), plainText(prefixText(": ", cmp.Or(v.Reason, v.Action)))),
		h.Span(h.Class("acts small"), h.A(h.Class("button small"), h.Href(whyLink(v.Event)), h.Data("drawer", ""), g.Text("Why"))),
		g.If(v.Action != "" && v.Reason != "", h.Span(h.Class("meta"), plainText("Action: "+v.Action))),
		g.If(v.Error != "", h.Span(h.Class("meta failed"), plainText(v.Error))),
		g.If(by != "", h.Span(h.Class("meta"), plainText(by))),
	)
}

// prefixText returns the text after a prefix, or "" if there is no text.
func prefixText(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// goalFields are the arguments of the tools for goals.
type goalFields struct {
	Goal        string `json:"goal,omitempty"`
	Description string `json:"description,omitempty"`
	Success     string `json:"success,omitempty"`
	Priority    int    `json:"priority,omitempty"`
	Every       string `json:"check_every,omitempty"`
}

func readGoalFields(r *request) (goalFields, error) {
	f := goalFields{Goal: r.PostForm.Get("goal"), Description: r.PostForm.Get("description"), Success: r.PostForm.Get("success"), Every: r.PostForm.Get("every")}
	var err error
	if f.Priority, err = strconv.Atoi(r.PostForm.Get("priority")); err != nil {
		return f, fmt.Errorf("%w: the priority %q is not a number; choose 1 to 5", api.ErrInvalid, r.PostForm.Get("priority"))
	}
	return f, nil
}

func (d *Dashboard) addGoal(r *request) (string, error) {
	f, err := readGoalFields(r)
	if err != nil {
		return "", err
	}
	return d.callTool(r, "create_goal", f)
}

func (d *Dashboard) changeGoal(r *request) (string, error) {
	f, err := readGoalFields(r)
	if err != nil {
		return "", err
	}
	f.Success = cmp.Or(f.Success, "none") // which clears it
	return d.callTool(r, "update_goal", f)
}

// goalChoice is the argument of the tools that need only the goal.
type goalChoice struct {
	Goal   string `json:"goal"`
	Resume bool   `json:"resume,omitempty"`
}

func (d *Dashboard) pauseGoal(r *request) (string, error) {
	return d.callTool(r, "pause_goal", goalChoice{Goal: r.PostForm.Get("goal")})
}

func (d *Dashboard) resumeGoal(r *request) (string, error) {
	return d.callTool(r, "pause_goal", goalChoice{Goal: r.PostForm.Get("goal"), Resume: true})
}

func (d *Dashboard) completeGoal(r *request) (string, error) {
	return d.callTool(r, "complete_goal", goalChoice{Goal: r.PostForm.Get("goal")})
}

func (d *Dashboard) removeGoal(r *request) (string, error) {
	return d.callTool(r, "delete_goal", goalChoice{Goal: r.PostForm.Get("goal")})
}
