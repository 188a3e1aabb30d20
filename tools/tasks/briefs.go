package tasks

import (
	"context"
	"fmt"
	"time"

	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/sorting"
	"hob/tools"
	"hob/watchers"
)

// TaskBrief contributes due and overdue tasks.
type TaskBrief struct {
	Store *store.Store
	// Now returns the current time in the owner's zone. By default it is the process's clock in the
	// zone of the requested day.
	Now func() time.Time
}

// BriefTitle implements tools.BriefSource.
func (TaskBrief) BriefTitle() string { return "Tasks" }

// Brief implements tools.BriefSource. It returns the tasks due on that day and, if the day has
// started, the overdue tasks.
func (b TaskBrief) Brief(ctx context.Context, from, to time.Time) ([]tools.BriefItem, error) {
	now := time.Now().In(from.Location())
	if b.Now != nil {
		now = b.Now()
	}
	list, err := queryTasks(b.Store.Reader(ctx), "WHERE status = ? AND due <> '' ORDER BY n", statusOpen)
	if err != nil {
		return nil, err
	}
	var out []tools.BriefItem
	for _, t := range list {
		at, ok := t.dueAt(from.Location())
		wholeDay := len(t.Due) == len(time.DateOnly)
		begin := at
		if wholeDay {
			begin = at.AddDate(0, 0, -1)
		}
		today := !begin.Before(from) && begin.Before(to)
		if !ok || (!today && (!begin.Before(from) || from.After(now))) {
			continue
		}
		item := tools.BriefItem{Text: t.taskLine(now), Source: t.Provenance}
		if today && !wholeDay {
			item.At = at
		}
		out = append(out, item)
	}
	return out, nil
}

// ListBrief contributes due and overdue items of the to-do lists in the owner's accounts and apps.
type ListBrief struct {
	Lists func() []pim.Reminders
	Now   func() time.Time // has the same meaning as in TaskBrief
}

// BriefTitle implements tools.BriefSource.
func (ListBrief) BriefTitle() string { return "To do" }

// maxBriefed limits the list items in a briefing.
const maxBriefed = 20

// Brief implements tools.BriefSource. It returns the items due on that day and, if the day has
// started, the overdue items.
func (b ListBrief) Brief(ctx context.Context, from, to time.Time) ([]tools.BriefItem, error) {
	now := time.Now().In(from.Location())
	if b.Now != nil {
		now = b.Now()
	}
	list, err := readListItems(ctx, b.Lists(), briefWait)
	late := func(e ListItem) int {
		if e.Due.Before(from) {
			return 1
		}
		return 0
	}
	sorting.StableByFunc(list, func(x, y ListItem) int { return late(x) - late(y) }) // overdue items last, because there may be many old ones
	var out []tools.BriefItem
	more := 0
	for _, e := range list {
		today := !e.Due.Before(from) && e.Due.Before(to)
		if e.Due.IsZero() || !today && (!e.Due.Before(from) || from.After(now)) {
			continue
		}
		if len(out) >= maxBriefed {
			more++
			continue
		}
		item := tools.BriefItem{Text: e.itemLine(now), Source: provenance.Outside}
		if today && !e.AllDay {
			item.At = e.Due.In(from.Location())
		}
		out = append(out, item)
	}
	if more > 0 {
		out = append(out, tools.BriefItem{Text: fmt.Sprintf("and %d more", more), Source: provenance.Tool})
	}
	return out, err
}

// ClockBrief contributes the reminders (mode Remind) or the schedules (modes Do and Notify) of a
// day.
type ClockBrief struct {
	Clock     Clock
	Reminders bool
}

// BriefTitle implements tools.BriefSource.
func (b ClockBrief) BriefTitle() string {
	if b.Reminders {
		return "Reminders"
	}
	return "Scheduled"
}

// maxOccurrences limits the occurrences of one reminder in a briefing.
const maxOccurrences = 3

// Brief implements tools.BriefSource.
func (b ClockBrief) Brief(ctx context.Context, from, to time.Time) ([]tools.BriefItem, error) {
	list, err := b.Clock.Upcoming(ctx, from, to)
	if err != nil {
		return nil, err
	}
	var out []tools.BriefItem
	seen := map[string]int{}
	for _, o := range list {
		if (o.Spec.Mode == watchers.Remind) != b.Reminders {
			continue
		}
		if seen[o.Spec.ID]++; seen[o.Spec.ID] > maxOccurrences {
			continue
		}
		text := o.Spec.Action
		if text == "" {
			text = o.Spec.Title
		}
		if seen[o.Spec.ID] == maxOccurrences {
			text += " (and again later)"
		}
		out = append(out, tools.BriefItem{At: o.At, Text: text, Source: o.Spec.Provenance})
	}
	return out, nil
}
