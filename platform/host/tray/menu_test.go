package tray

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// When a question is answered the next one moves up, under a pointer that was meant for
// the first.
func TestTrayMovesUp(t *testing.T) {
	m := &Menu{o: MenuOptions{Assistant: noQuestions{}}, poke: make(chan struct{}, 1), asked: map[string]bool{}}
	var open []Question
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		open = append(open, Question{ID: id})
	}
	show := func(open []Question) {
		var wg sync.WaitGroup
		m.watchQuestions(t.Context(), &wg, open)
		wg.Wait() // there are no such questions: none is waited for
	}
	show(open)
	long := time.Now().Add(-time.Hour)
	m.moved = long
	show(open)
	if !m.shownSince("a").Equal(long) || !m.shownSince("e").Equal(long) {
		t.Error("the menu is as it was, and counts as changed")
	}
	show(open[1:])
	for _, id := range []string{"b", "f"} {
		if time.Since(m.shownSince(id)) > time.Minute {
			t.Errorf("%s came under the pointer, and counts as having stood there", id)
		}
	}
	if !m.shownSince("a").IsZero() {
		t.Error("what has ended is said to be too quick, in place of that")
	}
}

// noQuestions is an assistant whose questions have all ended.
type noQuestions struct{ Assistant }

// WaitAnswered implements Assistant.
func (noQuestions) WaitAnswered(context.Context, string) {}

func findItem(items []Item, key string) (Item, bool) {
	for _, it := range items {
		if it.Key == key {
			return it, true
		}
		if k, ok := findItem(it.Items, key); ok {
			return k, true
		}
	}
	return Item{}, false
}

// A request that does not fit into a menu cannot be approved there.
func TestQuestionLines(t *testing.T) {
	long := strings.Repeat("rm -rf /tmp/x; ", 200)
	items := questionItems([]Question{{ID: "a1", Summary: "run this", Runs: long}}, true)
	if _, ok := findItem(items, "yes a1"); ok {
		t.Error("nobody read it, and it can be approved")
	}
	if _, ok := findItem(items, "no a1"); !ok {
		t.Error("it cannot be denied")
	}
	lines := wrapText("one two  three\n"+strings.Repeat("x", 25), 10)
	if got := strings.Join(lines, "|"); got != "one two|three|xxxxxxxxxx|xxxxxxxxxx|xxxxx" {
		t.Error(got)
	}
}

// If Hob cannot tell whether one of its programs runs, the menu offers nothing that would have to
// be refused.
func TestTrayThatDecidesNothing(t *testing.T) {
	items := questionItems([]Question{{ID: "a1", Session: "s", Summary: "run this"}}, false)
	items = append(items, pauseItems(false, true, "07:00", false, "")...)
	keys := []string{}
	var all func([]Item)
	all = func(list []Item) {
		for _, it := range list {
			if it.Key != "" {
				keys = append(keys, it.Key)
			}
			all(it.Items)
		}
	}
	all(items)
	if want := []string{"open s", "quiet 2h"}; !slices.Equal(keys, want) {
		t.Errorf("it offers %q, want %q", keys, want)
	}
}
