package offline

import (
	"slices"
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
)

// record is a stored record as a tool listed it, with its time.
type record struct {
	kind    string // "task", "reminder", "event" or "fact"
	title   string
	when    string // the time as listed
	at, end time.Time
	clock   bool // whether at has a time of day
	repeats bool
	named   bool   // whether the title names the time
	details string // what else the list shows: a priority, a project, a place
}

// maxAhead is the number of days, from today, in which a lookup searches the calendar.
const maxAhead = 92

// lookupCalls returns the calls that find the records that a name may mean.
func (g *grammar) lookupCalls(name string) []call {
	words := strings.Join(g.recordWords(name), " ")
	return []call{
		{"list_reminders", argsOf("query", words)},
		{"list_tasks", argsOf("query", words)},
		{"read_calendar", map[string]any{"query": words, "days_ahead": maxAhead}},
	}
}

// foundRecords is the result of a lookup.
type foundRecords struct {
	list []record
	// unread describes sources that could not be read. A source that is not set up does not count.
	unread []string
}

// readRecords parses the results of list_reminders, list_tasks, read_calendar and recall.
func readRecords(results []done, now time.Time) (f foundRecords) {
	for _, d := range results {
		if d.result == nil {
			f.unread = append(f.unread, d.name+" returned no result")
			continue
		}
		text := d.result.Text
		if d.result.Error {
			if _, why := withoutCode(strings.TrimSpace(text)); !isUnconnected(d) {
				f.unread = append(f.unread, oneLine(why, 200))
			}
			continue
		}
		text, missing, partial := strings.Cut(text, "Some sources could not be read: ")
		if partial {
			f.unread = append(f.unread, oneLine(missing, 200))
		}
		switch d.name {
		case "list_reminders":
			f.list = append(f.list, listedReminders(text, now)...)
		case "list_tasks":
			f.list = append(f.list, listedTasks(text, now)...)
		case "read_calendar":
			f.list = append(f.list, listedEvents(text, now)...)
		case "recall":
			f.list = append(f.list, datedFacts(text, now)...)
		}
	}
	sorting.StableByFunc(f.list, func(a, b record) int {
		if a.at.IsZero() != b.at.IsZero() {
			if a.at.IsZero() {
				return 1
			}
			return -1
		}
		return a.at.Compare(b.at)
	})
	return f
}

// unreadText reports the sources that could not be read, "" if there are none.
func (f foundRecords) unreadText() string {
	if len(f.unread) == 0 {
		return ""
	}
	return "Some sources could not be read: " + strings.Join(f.unread, "; ") + "."
}

// listLines returns the lines of a list, without their marks.
func listLines(text string) (out []string) {
	for line := range strings.Lines(text) {
		if body, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			out = append(out, body)
		}
	}
	return out
}

// cutDetails splits "title (details)".
func cutDetails(line string) (title, details string) {
	if i := strings.LastIndex(line, " ("); i > 0 && strings.HasSuffix(line, ")") {
		return line[:i], line[i+2 : len(line)-1]
	}
	return line, ""
}

func listedReminders(text string, now time.Time) (out []record) {
	for _, line := range listLines(text) {
		r := record{kind: "reminder"}
		r.title, r.when = cutDetails(line)
		when := r.when
		if head, tail, ok := strings.Cut(when, "; "); ok { // a list item from an account
			when, r.details = head, tail
		}
		if _, next, ok := strings.Cut(when, ", next "); ok {
			when, r.repeats = next, true
			when, _, _ = strings.Cut(when, ", ")
			when, _, _ = strings.Cut(when, " and ")
		}
		r.at, r.clock, _ = dateparse.ParseFormatted(strings.TrimSuffix(when, ", overdue"), now)
		out = append(out, r)
	}
	return out
}

func listedTasks(text string, now time.Time) (out []record) {
	for _, line := range listLines(text) {
		r := record{kind: "task"}
		r.title, r.details = cutDetails(line)
		for _, head := range []string{"due ", "overdue since "} {
			if due, ok := strings.CutPrefix(r.details, head); ok {
				due, _, _ = strings.Cut(due, ", ")
				if at, clock, ok := dateparse.ParseFormatted(due, now); ok {
					r.at, r.clock, r.when = at, clock, head+due
				}
			}
		}
		if !isTaskDetails(r.details) {
			r.title, r.details = line, ""
		}
		out = append(out, r)
	}
	return out
}

// isTaskDetails reports whether the words in parentheses after a title are the details of a task
// instead of a part of the title.
func isTaskDetails(s string) bool {
	first, _, _ := strings.Cut(s, ", ")
	for _, head := range []string{"due ", "overdue since ", "done ", "project "} {
		if strings.HasPrefix(first, head) {
			return true
		}
	}
	return strings.HasSuffix(first, " priority")
}

// listedEvents parses the events of read_calendar: the name of a day, followed by its events.
func listedEvents(text string, now time.Time) (out []record) {
	var day time.Time
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		body, ok := strings.CutPrefix(line, "- ")
		if !ok {
			day, _, _ = dateparse.ParseFormatted(strings.ToLower(line[:min(1, len(line))])+strings.TrimSuffix(line[min(1, len(line)):], ":"), now)
			if day.IsZero() {
				day, _, _ = dateparse.ParseFormatted(strings.TrimSuffix(line, ":"), now)
			}
			continue
		}
		if day.IsZero() {
			continue
		}
		r := record{kind: "event", at: day}
		hours, title, _ := strings.Cut(body, " ")
		if rest, ok := strings.CutPrefix(body, "all day "); ok {
			title, hours = rest, ""
		}
		title, _, _ = strings.Cut(title, "; overlaps ")
		r.title, r.details = cutDetails(title)
		begin, end, _ := strings.Cut(hours, "-")
		if h, err := time.Parse("15:04", begin); err == nil {
			r.at, r.clock = atClock(day, h), true
			if e, err := time.Parse("15:04", end); err == nil {
				r.end = atClock(day, e)
			}
		}
		r.when = dateparse.FormatDay(r.at, now)
		if r.clock {
			r.when = dateparse.Format(r.at, now)
		}
		out = append(out, r)
	}
	return out
}

func atClock(day, hour time.Time) time.Time {
	return time.Date(day.Year(), day.Month(), day.Day(), hour.Hour(), hour.Minute(), 0, 0, day.Location())
}

// datedFacts returns the remembered facts that contain exactly one date. For a birthday or an
// anniversary, the date is the next one.
func datedFacts(text string, now time.Time) (out []record) {
	text, _, _ = strings.Cut(text, bygone)
	body, ok := strings.CutPrefix(strings.TrimSpace(text), preface)
	if !ok {
		return nil
	}
	for _, fact := range factsOf(body) {
		title, _ := cutDetails(strings.TrimRight(fact, "."))
		m := dateparse.Find(title, now)
		if len(m) != 1 || m[0].Moment == nil || m[0].Moment.Grain > dateparse.Day {
			continue
		}
		r := record{kind: "fact", title: title, at: m[0].Moment.Time, clock: m[0].Moment.HasClock}
		if words := textnorm.FoldedWords(title); slices.Contains(words, "birthday") || slices.Contains(words, "anniversary") {
			r.at, r.clock = time.Date(now.Year(), r.at.Month(), r.at.Day(), 0, 0, 0, 0, now.Location()), false
			if r.at.Before(startOfDay(now)) {
				r.at = r.at.AddDate(1, 0, 0)
			}
		}
		if r.at.Before(startOfDay(now)) {
			continue
		}
		r.when = dateparse.FormatDay(r.at, now)
		out = append(out, r)
	}
	return out
}

// showLine returns the record as one line of a list.
func (r record) showLine() string {
	if r.when == "" {
		return r.title
	}
	return r.title + " (" + r.when + ")"
}

// selectAmong returns the words with which the tools select the record. others are the records of the
// same list.
func (r record) selectAmong(others []record) string {
	same := slices.ContainsFunc(others, func(o record) bool {
		return o.kind == r.kind && o.when != r.when && textnorm.EqualFolded(o.title, r.title)
	})
	if same && r.kind == "reminder" {
		return textnorm.Ellipsize(r.title, 60) + ", " + r.when
	}
	return r.title
}

// matchRecords keeps the records that contain every word of name. If none does, words that only say
// what kind of record it is, such as "appointment", do not have to match. loose accepts every event, because
// the calendar also searches notes and guests.
func (g *grammar) matchRecords(list []record, name string, loose bool) (out []record) {
	want := g.recordWords(name)
	for _, r := range list {
		have := textnorm.FoldedWords(r.title + " " + r.details)
		if loose && r.kind == "event" || !slices.ContainsFunc(want, func(w string) bool { return !containsPrefix(have, w) }) {
			out = append(out, r)
		}
	}
	exact := textnorm.FoldedWords(name)
	if full := slices.DeleteFunc(slices.Clone(out), func(r record) bool {
		have := textnorm.FoldedWords(r.title)
		return slices.ContainsFunc(exact, func(w string) bool { return !containsPrefix(have, w) })
	}); len(full) > 0 {
		return full
	}
	return out
}

func containsPrefix(have []string, w string) bool {
	return slices.ContainsFunc(have, func(h string) bool { return h == w || len(w) >= 3 && strings.HasPrefix(h, w) })
}

// recordWords returns the words of a name that identify a record.
func (g *grammar) recordWords(name string) []string {
	words := textnorm.FoldedWords(bareName(name))
	words = slices.DeleteFunc(words, func(w string) bool {
		return g.lex.containsWord("belonging", w) || g.lex.containsWord("joiners", w) || g.lex.containsWord("prepositions", w)
	})
	specific := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return g.lex.containsWord("record-nouns", w) })
	if len(specific) == 0 {
		return words
	}
	return specific
}

// fullLine returns the line of a record as its tool lists it.
func (r record) fullLine() string {
	if r.kind == "task" && r.details != "" {
		return r.title + " (" + r.details + ")"
	}
	return r.showLine()
}
