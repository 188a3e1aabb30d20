package goals

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
)

// errNotThis means that the condition does not have the form that was tried.
var errNotThis = errors.New("the condition has a different form")

// selectTasks returns the titles of the tasks for which keep returns true.
func selectTasks(list []Task, keep func(Task) bool) (titles []string, seen string, from provenance.Source) {
	var ids []string
	from = provenance.Hob
	for _, t := range list {
		if keep(t) {
			titles, ids = append(titles, strconv.Quote(textnorm.Ellipsize(t.Title, 80))), append(ids, t.ID)
			from = provenance.Worst(from, t.Source)
		}
	}
	sort.Strings(ids)
	return titles, strings.Join(ids, " "), from
}

func isOverdue(t Task) bool { return !t.Done && t.Overdue }
func isOpen(t Task) bool    { return !t.Done }

func anyOverdue(ctx context.Context, _ []string, l *ruleContext) (conditionResult, error) {
	list, err := l.facts.Tasks(ctx)
	if err != nil {
		return conditionResult{}, err
	}
	titles, seen, from := selectTasks(list, isOverdue)
	if len(titles) == 0 {
		return conditionResult{}, nil
	}
	return conditionResult{yes: true, seen: seen, what: "overdue: " + strings.Join(titles, ", "), from: from}, nil
}

// evalTaskCount evaluates conditions such as "more than 3 tasks are open", "no tasks are left" and
// "all tasks are done".
func evalTaskCount(ctx context.Context, m []string, l *ruleContext) (conditionResult, error) {
	list, err := l.facts.Tasks(ctx)
	if err != nil {
		return conditionResult{}, err
	}
	kind := strings.ToLower(strings.TrimSpace(m[4] + m[5]))
	keep, word := isOpen, "open"
	switch {
	case strings.Contains(kind, "overdue"):
		keep, word = isOverdue, "overdue"
	case strings.Contains(kind, "done"), strings.Contains(kind, "finished") && !strings.Contains(kind, "un"):
		keep, word = func(t Task) bool { return t.Done }, "done"
	}
	titles, seen, from := selectTasks(list, keep)
	n := len(titles)
	what := fmt.Sprintf("%d %s task(s)", n, word)
	if n > 0 {
		what += ": " + strings.Join(titles[:min(n, 10)], ", ")
	}
	number, bound := strings.ToLower(m[2]), strings.ToLower(m[1])
	want := 1
	switch number {
	case "no":
		return conditionResult{yes: n == 0, seen: "none", what: "there is no " + word + " task"}, nil
	case "all":
		if word != "done" {
			return conditionResult{}, errNotThis
		}
		left, _, _ := selectTasks(list, isOpen)
		return conditionResult{yes: len(left) == 0, seen: "all", what: "all tasks are done"}, nil
	case "any", "one", "a", "an":
	default:
		if want, err = strconv.Atoi(number); err != nil {
			return conditionResult{}, errNotThis
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
	return conditionResult{yes: yes, seen: "n " + seen, what: what, from: from}, nil
}

// evalTaskState evaluates conditions such as "the task pay the rent is done".
func evalTaskState(ctx context.Context, m []string, l *ruleContext) (conditionResult, error) {
	list, err := l.facts.Tasks(ctx)
	if err != nil {
		return conditionResult{}, err
	}
	state := strings.ToLower(m[2])
	for _, t := range list {
		if !containsAll(t.Title, m[1]) && t.ID != m[1] {
			continue
		}
		yes := t.Done
		switch state {
		case "open":
			yes = !t.Done
		case "overdue", "late":
			yes = isOverdue(t)
		}
		if yes {
			return conditionResult{yes: true, seen: t.ID + " " + state, what: fmt.Sprintf("the task %q is %s", textnorm.Ellipsize(t.Title, 80), state), from: t.Source}, nil
		}
	}
	return conditionResult{}, nil
}

// containsAll reports whether text contains all of the words.
func containsAll(text, words string) bool {
	in := map[string]bool{}
	for _, w := range textnorm.FoldedWords(text) {
		in[w] = true
	}
	want := textnorm.FoldedWords(words)
	for _, w := range want {
		if !in[w] {
			return false
		}
	}
	return len(want) > 0
}

// evalFired evaluates conditions such as "the watcher on ~/Downloads fires". It considers only
// firings after the creation of the goal.
func evalFired(ctx context.Context, m []string, l *ruleContext) (conditionResult, error) {
	f, ok, err := l.facts.Fired(ctx, m[1])
	if err != nil {
		return conditionResult{}, err
	}
	if !ok {
		return conditionResult{}, errNotThis // there is no such watcher
	}
	if !f.At.After(l.goal.CreatedAt) {
		return conditionResult{}, nil
	}
	return conditionResult{yes: true, seen: f.ID + " " + f.At.UTC().Format("20060102T150405.000"), what: fmt.Sprintf("%s: fired at %s", f.Title, f.At.In(l.now.Location()).Format("15:04")), from: f.Source}, nil
}

// evalKnown evaluates conditions such as "you know that the invoice is paid".
func evalKnown(ctx context.Context, m []string, l *ruleContext) (conditionResult, error) {
	f, ok, err := l.facts.Known(ctx, m[1])
	if err != nil || !ok {
		return conditionResult{}, err
	}
	return conditionResult{yes: true, seen: f.ID, what: "I know: " + textnorm.Ellipsize(f.Text, 200), from: f.Source}, nil
}

// evalTime evaluates conditions about a point in time, relative to the creation of the goal.
func evalTime(_ context.Context, m []string, l *ruleContext) (conditionResult, error) {
	at, err := dateparse.Parse(m[1], l.goal.CreatedAt.In(l.now.Location()))
	if err != nil {
		return conditionResult{}, errNotThis
	}
	if l.now.Before(at.Time) {
		return conditionResult{next: at.Time}, nil
	}
	return conditionResult{yes: true, seen: at.Time.UTC().Format("20060102T150405"), what: "it is past " + m[1]}, nil
}
