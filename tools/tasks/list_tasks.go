package tasks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/dateparse"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// maxListed limits the tasks in one answer.
const maxListed = 100

type listIn struct {
	Status  string `json:"status,omitempty" jsonschema:"open (default), done, all"`
	Project string `json:"project,omitempty"`
	Due     string `json:"due,omitempty" jsonschema:"today, tomorrow, overdue, this week or a date"`
	Query   string `json:"query,omitempty"`
}

// listOut is the Data of list_tasks.
type listOut struct {
	Tasks []Task `json:"tasks"`
}

func (d Deps) listTasks() tools.Tool {
	return tools.New(tools.Def[listIn]{
		Spec: tools.Spec{
			Name: "list_tasks", Category: "tasks", Effects: tools.Read, Core: true,
			Description: "List tasks, of all or one project.",
			Keywords:    "todo to do what show open overdue due agenda",
		},
		Summary: func(listIn) string { return "List tasks" },
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in listIn) (tools.Result, error) {
			list, err := d.findTasks(tx, in, c.Now)
			if err != nil {
				return tools.Result{}, err
			}
			for i := range list {
				t, viewer := &list[i], c.CredentialViewer()
				t.Notes, _ = viewer.Show(t.Title, t.Notes)
				t.Title, _ = viewer.Show("", t.Title)
			}
			r := tools.Result{Text: listText(in, list, c.Now), Data: listOut{Tasks: list}, Source: provenance.Tool}
			if slices.ContainsFunc(list, func(t Task) bool { return t.Provenance.Tainted() }) {
				r.Source = provenance.Outside
			}
			return r, nil
		},
	})
}

func (d Deps) findTasks(tx *store.Tx, in listIn, now time.Time) ([]Task, error) {
	status := strings.ToLower(strings.TrimSpace(in.Status))
	switch status {
	case "":
		status = statusOpen
	case statusOpen, statusDone, "all":
	default:
		return nil, tools.Errorf(tools.InvalidArguments, "status must be open, done or all, not %q", tools.Clean(textnorm.Ellipsize(in.Status, 40)))
	}
	due, err := dueFilter(in.Due, now)
	if err != nil {
		return nil, err
	}
	list, err := queryTasks(tx, "WHERE status = ? OR ? ORDER BY n DESC", status, status == "all")
	if err != nil {
		return nil, err
	}
	if in.Query = strings.TrimSpace(in.Query); in.Query != "" {
		hits, err := d.Knowledge.Search(tx, in.Query, knowledge.SearchOptions{Limit: 1000, Kinds: []string{kindTask}})
		if err != nil {
			return nil, err
		}
		found := map[string]bool{}
		for _, h := range hits {
			found[h.Ref] = true
		}
		list = slices.DeleteFunc(list, func(t Task) bool { return !found[t.ID] })
	}
	list = slices.DeleteFunc(list, func(t Task) bool {
		return (in.Project != "" && !textnorm.EqualFolded(t.Project, in.Project)) || (due != nil && !due(t))
	})
	if status == statusDone {
		sorting.StableByFunc(list, func(a, b Task) int { return b.DoneAt.Compare(a.DoneAt) })
		return list, nil
	}
	sorting.StableByFunc(list, compareUrgency(now.Location()))
	return list, nil
}

// dueFilter parses words for a time range and returns a predicate for tasks, or nil if words is
// empty.
func dueFilter(words string, now time.Time) (func(Task) bool, error) {
	words = strings.ToLower(strings.TrimSpace(strings.ReplaceAll(words, "_", " ")))
	switch words {
	case "":
		return nil, nil
	case "overdue", "late":
		return func(t Task) bool { return t.isOverdue(now) }, nil
	}
	m, err := parseMoment(words, now)
	if err != nil {
		return nil, err
	}
	from := time.Date(m.Time.Year(), m.Time.Month(), m.Time.Day(), 0, 0, 0, 0, now.Location())
	to := from.AddDate(0, 0, 1)
	switch m.Grain {
	case dateparse.Week:
		to = from.AddDate(0, 0, 7)
	case dateparse.Month:
		to = from.AddDate(0, 1, 0)
	case dateparse.Quarter:
		to = from.AddDate(0, 3, 0)
	case dateparse.Year:
		to = from.AddDate(1, 0, 0)
	}
	return func(t Task) bool {
		at, ok := t.dueAt(now.Location())
		if len(t.Due) == len(time.DateOnly) {
			at = at.AddDate(0, 0, -1) // dueAt returns the end of the day
		}
		return ok && !at.Before(from) && at.Before(to)
	}, nil
}

func listText(in listIn, list []Task, now time.Time) string {
	what := "open tasks"
	switch s := strings.ToLower(strings.TrimSpace(in.Status)); s {
	case statusDone:
		what = "finished tasks"
	case "all":
		what = "tasks"
	}
	var which string
	if in.Due != "" {
		which += " " + dueLabel(in.Due)
	}
	if in.Project != "" {
		which += fmt.Sprintf(" in the project %q", textnorm.Ellipsize(in.Project, 60))
	}
	if in.Query != "" {
		which += fmt.Sprintf(" about %q", textnorm.Ellipsize(in.Query, 60))
	}
	if len(list) == 0 {
		return "There are no " + what + which + "."
	}
	if len(list) == 1 {
		what = strings.TrimSuffix(what, "s")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s%s:", len(list), what, which)
	for i, t := range list {
		if i == maxListed {
			fmt.Fprintf(&b, "\n(%d more; narrow the list by due, project or query.)", len(list)-maxListed)
			break
		}
		b.WriteString("\n- ")
		if in.Status == "all" && t.Status == statusDone {
			b.WriteString("[x] ")
		}
		b.WriteString(t.taskLine(now))
	}
	return b.String()
}

func dueLabel(words string) string {
	words = strings.ToLower(strings.TrimSpace(strings.ReplaceAll(words, "_", " ")))
	if words == "overdue" || words == "late" {
		return "that are overdue"
	}
	return "due " + textnorm.Ellipsize(words, 40)
}
