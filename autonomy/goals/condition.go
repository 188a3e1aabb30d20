package goals

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"hob/platform/phrase"
	"hob/platform/provenance"
	"hob/platform/when"
)

// errNotThis means that a text does not have the tried form.
var errNotThis = errors.New("not of this form")

// these selects tasks and returns their titles.
func these(list []Task, keep func(Task) bool) (titles []string, seen string, from provenance.Source) {
	var ids []string
	from = provenance.Hob
	for _, t := range list {
		if keep(t) {
			titles, ids = append(titles, strconv.Quote(phrase.Cut(t.Title, 80))), append(ids, t.ID)
			from = provenance.Worst(from, t.Source)
		}
	}
	sort.Strings(ids)
	return titles, strings.Join(ids, " "), from
}

func overdue(t Task) bool { return !t.Done && t.Overdue }
func open(t Task) bool    { return !t.Done }

func anyOverdue(ctx context.Context, _ []string, l *looking) (held, error) {
	list, err := l.facts.Tasks(ctx)
	if err != nil {
		return held{}, err
	}
	titles, seen, from := these(list, overdue)
	if len(titles) == 0 {
		return held{}, nil
	}
	return held{yes: true, seen: seen, what: "overdue: " + strings.Join(titles, ", "), from: from}, nil
}

// counted evaluates "more than 3 tasks are open", "no tasks are left", "all tasks are done".
func counted(ctx context.Context, m []string, l *looking) (held, error) {
	list, err := l.facts.Tasks(ctx)
	if err != nil {
		return held{}, err
	}
	kind := strings.ToLower(strings.TrimSpace(m[4] + m[5]))
	keep, word := open, "open"
	switch {
	case strings.Contains(kind, "overdue"):
		keep, word = overdue, "overdue"
	case strings.Contains(kind, "done"), strings.Contains(kind, "finished") && !strings.Contains(kind, "un"):
		keep, word = func(t Task) bool { return t.Done }, "done"
	}
	titles, seen, from := these(list, keep)
	n := len(titles)
	what := fmt.Sprintf("%d %s task(s)", n, word)
	if n > 0 {
		what += ": " + strings.Join(titles[:min(n, 10)], ", ")
	}
	number, bound := strings.ToLower(m[2]), strings.ToLower(m[1])
	want := 1
	switch number {
	case "no":
		return held{yes: n == 0, seen: "none", what: "there is no " + word + " task"}, nil
	case "all":
		if word != "done" {
			return held{}, errNotThis
		}
		left, _, _ := these(list, open)
		return held{yes: len(left) == 0, seen: "all", what: "all tasks are done"}, nil
	case "any", "one", "a", "an":
	default:
		if want, err = strconv.Atoi(number); err != nil {
			return held{}, errNotThis
		}
	}
	yes := n == want
	switch {
	case bound == "more than" || bound == "over":
		yes = n > want
	case bound == "fewer than" || bound == "less than":
		yes = n < want
	case bound == "at least" || m[3] != "" || number == "any" || number == "a" || number == "an" || number == "one":
		yes = n >= want
	}
	return held{yes: yes, seen: "n " + seen, what: what, from: from}, nil
}

// named evaluates "the task pay the rent is done".
func named(ctx context.Context, m []string, l *looking) (held, error) {
	list, err := l.facts.Tasks(ctx)
	if err != nil {
		return held{}, err
	}
	state := strings.ToLower(m[2])
	for _, t := range list {
		if !has(t.Title, m[1]) && t.ID != m[1] {
			continue
		}
		yes := t.Done
		switch state {
		case "open":
			yes = !t.Done
		case "overdue", "late":
			yes = overdue(t)
		}
		if yes {
			return held{yes: true, seen: t.ID + " " + state, what: fmt.Sprintf("the task %q is %s", phrase.Cut(t.Title, 80), state), from: t.Source}, nil
		}
	}
	return held{}, nil
}

// has reports whether a text contains all of the words.
func has(text, words string) bool {
	in := map[string]bool{}
	for _, w := range phrase.Split(text) {
		in[w] = true
	}
	want := phrase.Split(words)
	for _, w := range want {
		if !in[w] {
			return false
		}
	}
	return len(want) > 0
}

// fired evaluates "the watcher on ~/Downloads fires". Firings count from the creation of the
// goal.
func fired(ctx context.Context, m []string, l *looking) (held, error) {
	f, ok, err := l.facts.Fired(ctx, m[1])
	if err != nil {
		return held{}, err
	}
	if !ok {
		return held{}, errNotThis // no such watcher
	}
	if !f.At.After(l.goal.CreatedAt) {
		return held{}, nil
	}
	return held{yes: true, seen: f.ID + " " + f.At.UTC().Format("20060102T150405.000"), what: fmt.Sprintf("%s: fired at %s", f.Title, f.At.In(l.now.Location()).Format("15:04")), from: f.Source}, nil
}

// known evaluates "you know that the invoice is paid".
func known(ctx context.Context, m []string, l *looking) (held, error) {
	f, ok, err := l.facts.Known(ctx, m[1])
	if err != nil || !ok {
		return held{}, err
	}
	return held{yes: true, seen: f.ID, what: "I know: " + phrase.Cut(f.Text, 200), from: f.Source}, nil
}

// passed evaluates a moment, relative to the creation of the goal.
func passed(_ context.Context, m []string, l *looking) (held, error) {
	at, err := when.Parse(m[1], l.goal.CreatedAt.In(l.now.Location()))
	if err != nil {
		return held{}, errNotThis
	}
	if l.now.Before(at.Time) {
		return held{next: at.Time}, nil
	}
	return held{yes: true, seen: at.Time.UTC().Format("20060102T150405"), what: "it is past " + m[1]}, nil
}
