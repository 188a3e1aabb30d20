package tray

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMenu_TimeRestartsWhenARequestMovesUp checks that the time of a request restarts when it moves up in the menu: the user
// may have meant to click the request that was there before.
func TestMenu_TimeRestartsWhenARequestMovesUp(t *testing.T) {
	m := &Menu{o: MenuOptions{Assistant: noQuestions{}}, poke: make(chan struct{}, 1), asked: map[string]bool{}}
	var open []Question
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		open = append(open, Question{ID: id})
	}
	show := func(open []Question) {
		var wg sync.WaitGroup
		m.watchQuestions(t.Context(), &wg, open)
		wg.Wait() // noQuestions reports that all questions have ended, so this returns immediately
	}
	show(open)
	long := time.Now().Add(-time.Hour)
	m.moved = long
	show(open)
	if !m.shownSince("a").Equal(long) || !m.shownSince("e").Equal(long) {
		t.Error("an unchanged menu was reported as changed")
	}
	show(open[1:])
	for _, id := range []string{"b", "f"} {
		if time.Since(m.shownSince(id)) > time.Minute {
			t.Errorf("%s moved up, but its time did not restart", id)
		}
	}
	if !m.shownSince("a").IsZero() {
		t.Error("an ended request still has a time")
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

// A request that does not fit into the menu cannot be approved in the menu.
func TestQuestionLines(t *testing.T) {
	long := strings.Repeat("rm -rf /tmp/x; ", 200)
	items := questionItems([]Question{{ID: "a1", Sentence: "run this", Details: []string{long}}}, true)
	if _, ok := findItem(items, "yes a1"); ok {
		t.Error("a truncated request can be approved")
	}
	if _, ok := findItem(items, "no a1"); !ok {
		t.Error("the request cannot be denied")
	}
	lines := wrapText("one two  three\n"+strings.Repeat("x", 25), 10)
	if got := strings.Join(lines, "|"); got != "one two|three|xxxxxxxxxx|xxxxxxxxxx|xxxxx" {
		t.Error(got)
	}
}

// If Hob cannot detect whether one of its own programs is running, the menu offers no action that
// Hob would have to refuse.
func TestMenu_OffersNoDecisionWithoutDetection(t *testing.T) {
	items := questionItems([]Question{{ID: "a1", Session: "s", Sentence: "run this"}}, false)
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
		t.Errorf("menu keys = %q, want %q", keys, want)
	}
}
