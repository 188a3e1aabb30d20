package watchers_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/platform/store"
	"hob/platform/store/erase"
	"hob/watchers"
)

// rulesOf returns the rules that silence a watcher, and the texts suppressed by each rule.
func (h *managerFixture) rulesOf(id string) (holds []watchers.Rule, passed map[watchers.Rule][]string) {
	h.t.Helper()
	s, err := h.m.Silence(h.t.Context(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, x := range s.Holds {
		holds = append(holds, x.Rule)
	}
	passed = map[watchers.Rule][]string{}
	for _, p := range s.Passed {
		passed[p.Rule] = append(passed[p.Rule], p.Text)
	}
	return holds, passed
}

func (h *managerFixture) wantHold(id string, want watchers.Rule) {
	h.t.Helper()
	holds, _ := h.rulesOf(id)
	if len(holds) == 0 || holds[0] != want {
		h.t.Errorf("held by %v, want %s first", holds, want)
	}
}

// TestSilence_NamesTheRule checks that Silence names the rule that silences a watcher. It covers
// each rule.
func TestSilence_NamesTheRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{}
		src.addItem("an old line", time.Time{})
		h := newFixture(t, src)
		h.startManager()
		spec := h.createWatcher("source", `{}`, func(s *watchers.Spec) { s.PerDay = 1 })
		synctest.Wait()
		if _, passed := h.rulesOf(spec.ID); len(passed[watchers.RuleBaseline]) != 1 {
			t.Errorf("Silence does not report the baseline: %v", passed)
		}
		time.Sleep(15 * time.Minute)
		h.wantHold(spec.ID, watchers.RuleKnown)

		src.mu.Lock()
		src.extra.Passed = []watchers.SuppressedSignal{{Rule: watchers.RuleCondition, Key: "other", Text: "something else", Why: "it has none of the words"}}
		src.mu.Unlock()
		src.addItem("a first line", time.Time{})
		src.addItem("a second line", time.Time{})
		time.Sleep(15 * time.Minute)
		h.wantHold(spec.ID, watchers.RulePerDay)
		_, passed := h.rulesOf(spec.ID)
		if len(passed[watchers.RulePerDay]) != 1 || len(passed[watchers.RuleCondition]) != 1 {
			t.Errorf("items suppressed by the limit or the condition are missing: %v", passed)
		}
		h.stop()

		h.startManager() // suppressed items survive a restart
		if _, again := h.rulesOf(spec.ID); len(again[watchers.RulePerDay]) != 1 || len(again[watchers.RuleCondition]) != 1 || len(again[watchers.RuleBaseline]) != 1 {
			t.Errorf("suppressed items after a restart: %v", again)
		}
		found, err := h.m.Passed(t.Context(), []string{"SECOND"}, time.Time{}, 10)
		if err != nil || len(found) != 1 || found[0].Watcher != spec.ID {
			t.Errorf("suppressed item not found by its words: %v %v", found, err)
		}
		src.failWith(errors.New("no answer"))
		time.Sleep(24 * time.Hour)
		h.wantHold(spec.ID, watchers.RuleFailing)
		if err := h.writeTx(func(tx *store.Tx) error { _, err := h.m.SetStateTx(tx, spec.ID, watchers.Paused); return err }); err != nil {
			t.Fatal(err)
		}
		h.wantHold(spec.ID, watchers.RulePaused)
	})
}

// The number of stored suppressed items is limited, and they contain no duplicates. They are erased
// with their watcher, and if they contain an erased phrase.
func TestSilence_IsLimitedAndErasable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{}
		h := newFixture(t, src)
		h.startManager()
		spec := h.createWatcher("source", `{}`, func(s *watchers.Spec) { s.Hours = "00:00-23:00" })
		synctest.Wait()
		for n := range 3 * watchers.KeepPassed {
			src.mu.Lock()
			src.extra.Passed = append(src.extra.Passed, watchers.SuppressedSignal{Rule: watchers.RuleCondition, Key: string(rune('a' + n)), Text: "kestrel " + string(rune('a'+n)), At: time.Now()})
			src.mu.Unlock()
			src.addItem("line "+string(rune('a'+n)), time.Time{})
			time.Sleep(11 * time.Minute)
		}
		s, err := h.m.Silence(t.Context(), spec.ID)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Passed) != watchers.KeepPassed || len(s.Counts) != 1 || s.Counts[0].Count != 3*watchers.KeepPassed {
			t.Errorf("%d stored, counts %+v; want %d of %d", len(s.Passed), s.Counts, watchers.KeepPassed, 3*watchers.KeepPassed)
		}
		if text := s.Text(func(at time.Time) string { return at.Format(time.TimeOnly) }); !strings.Contains(text, "kestrel") || !strings.Contains(text, "[condition]") {
			t.Errorf("suppressed item missing in the text: %s", text)
		}
		e, scrub := &erase.Erasure{}, erase.NewScrubber("kestrel")
		if err := h.writeTx(func(tx *store.Tx) error { _, err := h.m.Eraser().EraseTx(tx, e, scrub); return err }); err != nil {
			t.Fatal(err)
		}
		if found, err := h.m.Passed(t.Context(), []string{"kestrel"}, time.Time{}, 10); err != nil || len(found) != 0 {
			t.Errorf("erased items are still stored: %v %v", found, err)
		}
		if err := h.writeTx(func(tx *store.Tx) error { _, err := h.m.CancelTx(tx, spec.ID); return err }); err != nil {
			t.Fatal(err)
		}
		if found, err := h.m.Passed(t.Context(), nil, time.Time{}, 10); err != nil || len(found) != 0 {
			t.Errorf("items of a cancelled watcher are still stored: %v %v", found, err)
		}
	})
}
