package tasks

import (
	"context"
	"fmt"
	"time"

	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// maxReviewed limits the items of one section of a weekly review.
const maxReviewed = 30

// DoneTasks contributes the tasks that were done in a period.
type DoneTasks struct{ Store *store.Store }

// BriefTitle implements tools.BriefSource.
func (DoneTasks) BriefTitle() string { return "Done" }

// Brief implements tools.BriefSource.
func (b DoneTasks) Brief(ctx context.Context, from, to time.Time) ([]tools.BriefItem, error) {
	list, err := queryTasks(b.Store.Reader(ctx), "WHERE status = ? AND done_at >= ? AND done_at < ? ORDER BY done_at", statusDone, store.Millis(from), store.Millis(to))
	return limitItems(list, func(t Task) tools.BriefItem {
		text := textnorm.Ellipsize(t.Title, 200) + " (" + t.DoneAt.In(from.Location()).Format("Mon 2 Jan")
		if t.Project != "" {
			text += ", project " + t.Project
		}
		return tools.BriefItem{Text: text + ")", Source: t.Provenance}
	}), err
}

// OverdueTasks contributes the tasks and list items that are overdue at the end of a period, or now
// if that is earlier.
type OverdueTasks struct {
	Store *store.Store
	Lists func() []pim.Reminders // may be nil
	Now   func() time.Time       // has the same meaning as in TaskBrief
}

// BriefTitle implements tools.BriefSource.
func (OverdueTasks) BriefTitle() string { return "Overdue" }

// Brief implements tools.BriefSource.
func (b OverdueTasks) Brief(ctx context.Context, from, to time.Time) ([]tools.BriefItem, error) {
	now := time.Now().In(from.Location())
	if b.Now != nil {
		now = b.Now()
	}
	if to.Before(now) {
		now = to
	}
	list, err := queryTasks(b.Store.Reader(ctx), "WHERE status = ? AND due <> '' ORDER BY due", statusOpen)
	if err != nil {
		return nil, err
	}
	var late []Task
	for _, t := range list {
		if t.isOverdue(now) {
			late = append(late, t)
		}
	}
	out := limitItems(late, func(t Task) tools.BriefItem { return tools.BriefItem{Text: t.taskLine(now), Source: t.Provenance} })
	if b.Lists == nil {
		return out, nil
	}
	found, err := readListItems(ctx, b.Lists(), briefWait)
	var old []ListItem
	for _, e := range found {
		if e.Overdue(now) {
			old = append(old, e)
		}
	}
	return append(out, limitItems(old, func(e ListItem) tools.BriefItem {
		return tools.BriefItem{Text: e.itemLine(now), Source: provenance.Outside}
	})...), err
}

// DueTasks contributes the open tasks that are due in a period.
type DueTasks struct{ Store *store.Store }

// BriefTitle implements tools.BriefSource.
func (DueTasks) BriefTitle() string { return "Tasks due" }

// Brief implements tools.BriefSource. A task that is due on a day without a time is due at its end.
func (b DueTasks) Brief(ctx context.Context, from, to time.Time) ([]tools.BriefItem, error) {
	all, err := queryTasks(b.Store.Reader(ctx), "WHERE status = ? AND due <> ''", statusOpen)
	var list []Task
	for _, t := range all {
		if at, ok := t.dueAt(from.Location()); ok && at.After(from) && !at.After(to) {
			list = append(list, t)
		}
	}
	sorting.StableByFunc(list, compareUrgency(from.Location()))
	return limitItems(list, func(t Task) tools.BriefItem { return tools.BriefItem{Text: t.taskLine(from), Source: t.Provenance} }), err
}

// limitItems converts at most maxReviewed rows to items, and counts the others.
func limitItems[T any](list []T, item func(T) tools.BriefItem) (out []tools.BriefItem) {
	for _, x := range list[:min(len(list), maxReviewed)] {
		out = append(out, item(x))
	}
	if n := len(list) - maxReviewed; n > 0 {
		out = append(out, tools.BriefItem{Text: fmt.Sprintf("and %d more", n), Source: provenance.Tool})
	}
	return out
}
