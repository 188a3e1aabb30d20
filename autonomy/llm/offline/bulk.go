package offline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/dateparse"
)

func bulkBuilders() map[string]builder {
	return map[string]builder{
		"bulk.delete": func(w *intentDraft) (plan, bool) {
			return w.planBulk("delete %s", func(r record, ref string) (call, bool) {
				if r.kind == "reminder" {
					return call{"cancel_reminder", argsOf("reminder", ref)}, true
				}
				return call{"delete_task", argsOf("task", ref)}, true
			})
		},
		"bulk.done": func(w *intentDraft) (plan, bool) {
			return w.planBulk("mark %s as done", func(r record, ref string) (call, bool) {
				return call{"complete_task", argsOf("task", ref)}, r.kind == "task"
			})
		},
		"bulk.move":     moveAll,
		"bulk.priority": rankAll,
		"bulk.everything": func(w *intentDraft) (plan, bool) {
			return planRefusal(w.g.replyText("everything"))
		},
	}
}

// bulkEdit returns the call that changes one record. The bool result is false if the record cannot
// be changed.
type bulkEdit func(r record, ref string) (call, bool)

// planBulk plans a change to every record that the sentence selects. It asks before it changes
// them.
func (w *intentDraft) planBulk(verb string, edit bulkEdit) (plan, bool) {
	if !w.noLead() || w.isAsking() {
		return noPlan()
	}
	kind := "task"
	if w.slotNorm("kind") != "" && w.g.lex.containsWord("reminder-words", w.slotNorm("kind")) {
		kind = "reminder"
	}
	args := map[string]any{}
	var days dateparse.Period
	if c, ok := w.captureOf("filter"); ok {
		for c.from < c.to && w.g.lex.containsWord("filter-noise", w.s.tokens[c.from].norm) {
			c.from++
		}
		for c.to > c.from && w.g.lex.containsWord("filter-noise", w.s.tokens[c.to-1].norm) {
			c.to--
		}
		from, to, times := w.s.liftTimes(c.from, c.to)
		switch {
		case c.from >= c.to:
		case kind == "task" && !w.taskFilter(c, args):
			return w.askBulk()
		case kind == "reminder":
			if from, to = w.dropFilterWords(from, to); from < to {
				return w.askBulk()
			}
			if days, ok = w.rangeOf(times); !ok || len(times) == 0 {
				return w.askBulk()
			}
		}
	}
	if c, ok := w.captureOf("dayof"); ok {
		day := strings.TrimSuffix(strings.ReplaceAll(strings.ToLower(w.s.originalText(c.from, c.to)), "’", "'"), "'s")
		m, err := dateparse.Parse(day, w.s.now)
		if err != nil || len(args) > 0 || !days.From.IsZero() {
			return w.askBulk()
		}
		at := startOfDay(m.Time)
		if days = (dateparse.Period{From: at, To: at.AddDate(0, 0, 1)}); kind == "task" {
			args["due"], days = at.Format(time.DateOnly), dateparse.Period{}
		}
	}
	if verb == "mark %s as done" && args["status"] != nil {
		return noPlan()
	}
	list := call{"list_tasks", args}
	if kind == "reminder" {
		list = call{"list_reminders", map[string]any{"in": "hob"}}
	}
	read := func(results []done) foundRecords {
		f := readRecords(results, w.s.now)
		f.list = slices.DeleteFunc(f.list, func(r record) bool {
			_, ok := edit(r, r.title)
			return !ok
		})
		if plain, ok := w.g.lex.meaningOf("plain-nouns", w.slotNorm("kind")); ok {
			f.list = w.g.plainRecords(f.list, plain)
		}
		if kind == "reminder" && !days.From.IsZero() {
			f.list = f.recordsWithin(days)
		}
		return f
	}
	return confirmEach(kind, verb, "There is no such "+kind+", so I changed nothing.", list, read, edit)
}

// confirmEach returns the plan that asks whether edit should change each of the records that read finds in
// the result of list. none is the answer if there are no records.
func confirmEach(kind, verb, none string, list call, read func([]done) foundRecords, edit bulkEdit) (plan, bool) {
	return planLookup(func(results []done) plan {
		f := read(results)
		if len(f.list) == 0 {
			return plan{outcome: chat, say: f.withNotes(none)}
		}
		agreed, _ := planLookup(func(results []done) plan {
			now := read(results)
			if !slices.EqualFunc(now.list, f.list, func(a, b record) bool { return a.showLine() == b.showLine() }) {
				return plan{outcome: chat, say: "The list has changed since I asked, so I changed nothing. Please ask again."}
			}
			out := plan{outcome: act, accounted: true}
			for _, r := range now.list {
				if c, ok := edit(r, r.selectAmong(now.list)); ok {
					out.calls = append(out.calls, c)
				}
			}
			return out
		}, list)
		return planConfirmation("That is "+countRecords(f.list, kind)+". Should I "+fmt.Sprintf(verb, map[bool]string{true: "it", false: "them"}[len(f.list) == 1])+"?", agreed)
	}, list)
}

func (w *intentDraft) askBulk() (plan, bool) {
	return planQuestion("Which of them exactly? I changed nothing.", nil)
}

// maxNamed is the maximum number of records that a question names.
const maxNamed = 5

// countRecords counts records and names the first ones.
func countRecords(list []record, kind string) string {
	var names []string
	for _, r := range list[:min(len(list), maxNamed)] {
		names = append(names, quoteText(r.title))
	}
	noun := kind
	if len(list) > 1 {
		noun += "s"
	}
	out := strconv.Itoa(len(list)) + " " + noun + ": " + strings.Join(names, ", ")
	if n := len(list) - maxNamed; n > 0 {
		out += " and " + strconv.Itoa(n) + " more"
	}
	return out
}

// moveAll handles "move all of tomorrow's reminders to Monday".
func moveAll(w *intentDraft) (plan, bool) {
	c, _ := w.captureOf("time_to")
	if c.span == nil {
		return noPlan()
	}
	t, err := readMatch(c.span.match, w.s.now)
	again := func(when string) string {
		return strings.TrimSpace(w.s.originalText(0, c.from)) + " " + when
	}
	if err != nil || t.none || t.vague || t.every != "" || t.part {
		return w.askTime(err, "To which day exactly?", again)
	}
	return w.planBulk("move %s to "+t.phrase, func(r record, ref string) (call, bool) {
		if r.kind == "task" {
			due := t.dueDate()
			if r.clock && !t.clock { // the time of day stays
				due = atClock(t.at, r.at).Format(time.RFC3339)
			}
			return call{"update_task", argsOf("task", ref, "due", due)}, true
		}
		at := t.dueDate()
		if w.isClockOnly(t) {
			at = t.at.Format("15:04")
		}
		return call{"update_reminder", argsOf("reminder", ref, "at", at)}, !r.repeats
	})
}

func rankAll(w *intentDraft) (plan, bool) {
	level, ok := w.g.lex.meaningOf("levels", w.slotNorm("priority"))
	if !ok {
		return noPlan()
	}
	return w.planBulk("give %s "+level+" priority", func(r record, ref string) (call, bool) {
		return call{"update_task", argsOf("task", ref, "priority", level)}, r.kind == "task"
	})
}
