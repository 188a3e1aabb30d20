package reconcile_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/autonomy/mind/goals"
	"hob/autonomy/mind/reconcile"
	"hob/platform/store"
	"hob/platform/store/storetest"
	"hob/templates"
	"hob/watchers"
	watchersall "hob/watchers/all"
)

var now = time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)

// home has the stores of a home in which templates are applied.
type home struct {
	t *testing.T
	reconcile.Parts
}

func openHome(t *testing.T) *home {
	t.Helper()
	drivers := watchersall.Drivers()
	sets := append([]store.MigrationSet{bus.Migrations(), goals.Migrations()}, watchers.AllMigrations(drivers)...)
	s, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), sets, store.Options{})
	failOnError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	h := &home{t: t, Parts: reconcile.Parts{Store: s}}
	h.Watchers, err = watchers.New(watchers.Options{Store: s, Drivers: drivers, AllowedRead: func(string) error { return nil }})
	failOnError(t, err)
	h.Goals, err = goals.New(goals.Options{Store: s, Bus: bus.New(s, bus.Options{})})
	failOnError(t, err)
	return h
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// coachTemplate returns the desired state of a template with a goal, a schedule, a reminder and a watcher
// of folder.
func coachTemplate(folder string) templates.DesiredState {
	return templates.DesiredState{
		Source: templates.SourceOf("coach"), Trusted: true,
		Goals:     []templates.Goal{{Description: "the exam is prepared", CheckEvery: "6h"}},
		Schedules: []templates.Schedule{{Every: "weekday at 8:30", Do: "brief me"}, {Every: "day at 22:00", Say: "sleep"}},
		Watchers:  []templates.Watcher{{Kind: "file", Config: map[string]any{"path": folder}, Do: "file it"}},
	}
}

// applyState applies a state and returns the numbers of items: "made 4, removed 0, kept 0, failed 0".
func (h *home) applyState(w templates.DesiredState) (templates.ApplyResult, string) {
	h.t.Helper()
	done, err := reconcile.Apply(h.t.Context(), h.Parts, w, now)
	failOnError(h.t, err)
	return done, fmt.Sprintf("made %d, removed %d, kept %d, failed %d", len(done.Made), len(done.Removed), len(done.Kept), len(done.Failed))
}

// listItems lists the stored items, each with its source.
func (h *home) listItems() (out []string) {
	h.t.Helper()
	list, err := h.Watchers.List(h.t.Context(), watchers.Filter{States: []watchers.State{watchers.Active, watchers.Paused}})
	failOnError(h.t, err)
	for _, s := range list {
		out = append(out, strings.Join([]string{s.Kind, string(s.State), s.Source}, " "))
	}
	open, err := goals.ListIn(h.Store.Reader(h.t.Context()), false)
	failOnError(h.t, err)
	for _, g := range open {
		out = append(out, "goal "+g.Status+" "+g.Source)
	}
	slices.Sort(out)
	return out
}

// TestApply_IsIdempotent: applying the same state again, as each start with a template may do,
// creates no duplicates and resets nothing.
func TestApply_IsIdempotent(t *testing.T) {
	h, folder := openHome(t), t.TempDir()
	dry := coachTemplate(folder)
	dry.Dry = true
	if _, got := h.applyState(dry); got != "made 4, removed 0, kept 0, failed 0" || len(h.listItems()) != 0 {
		t.Errorf("the preview reports %s and leaves %q, want the same report and no change", got, h.listItems())
	}
	if _, got := h.applyState(coachTemplate(folder)); got != "made 4, removed 0, kept 0, failed 0" {
		t.Errorf("first Apply: %s", got)
	}
	before := h.listItems()
	if _, got := h.applyState(coachTemplate(folder)); got != "made 0, removed 0, kept 0, failed 0" {
		t.Errorf("second Apply: %s", got)
	}
	if after := h.listItems(); !slices.Equal(before, after) || len(after) != 4 {
		t.Errorf("items before %q and after %q", before, after)
	}
}

// TestApply_RemovesItemsOfOldTemplate: switching to another template removes the items of the old
// template, but none of the user's own items.
func TestApply_RemovesItemsOfOldTemplate(t *testing.T) {
	h := openHome(t)
	_, _ = h.applyState(coachTemplate(t.TempDir()))
	var own watchers.Spec
	failOnError(t, h.Store.Write(t.Context(), func(tx *store.Tx) (err error) {
		kind, config, err := watchers.ParseSchedule("", "day at 7:00", now)
		failOnError(t, err)
		own, err = h.Watchers.CreateTx(tx, watchers.Spec{Kind: kind, Timed: true, Config: config, Mode: watchers.Remind, Action: "stretch", Provenance: "owner", CreatedAt: now})
		return err
	}))
	done, got := h.applyState(templates.DesiredState{Source: templates.SourceOf("other"), Trusted: true, Goals: []templates.Goal{{Description: "the garden is green"}}})
	if got != "made 1, removed 4, kept 0, failed 0" {
		t.Errorf("%s: %+v", got, done)
	}
	if got := h.listItems(); !slices.Equal(got, []string{"cron active ", "goal active template:other"}) {
		t.Errorf("items %q, want the user's reminder %s and the new goal", got, own.ID)
	}
}

// TestApply_KeepsWhatUserChanged: items that the user paused or changed stay, and no longer belong
// to the template.
func TestApply_KeepsWhatUserChanged(t *testing.T) {
	h := openHome(t)
	first, _ := h.applyState(coachTemplate(t.TempDir()))
	failOnError(t, h.Store.Write(t.Context(), func(tx *store.Tx) error {
		for _, x := range first.Made {
			switch x.What {
			case "reminder":
				if _, err := h.Watchers.SetStateTx(tx, x.ID, watchers.Paused); err != nil {
					return err
				}
			case "goal":
				g, err := goals.Get(tx, x.ID)
				if err != nil {
					return err
				}
				g.Description = "the exam is passed"
				if _, err := h.Goals.ChangeTx(tx, g, now); err != nil {
					return err
				}
			}
		}
		return nil
	}))
	done, got := h.applyState(templates.DesiredState{})
	if got != "made 0, removed 2, kept 2, failed 0" {
		t.Fatalf("%s: %+v", got, done)
	}
	var why []string
	for _, x := range done.Kept {
		why = append(why, x.What+": "+x.Why)
	}
	slices.Sort(why)
	if want := []string{"goal: you changed it", "reminder: you paused it"}; !slices.Equal(why, want) {
		t.Errorf("kept %q, want %q", why, want)
	}
	for _, item := range h.listItems() {
		if strings.Contains(item, "template:") {
			t.Errorf("%q still belongs to the template", item)
		}
	}
	if _, got := h.applyState(templates.DesiredState{}); got != "made 0, removed 0, kept 0, failed 0" {
		t.Errorf("the next template: %s, want that it does not touch them", got)
	}
}

// TestApply_ReportsInvalidItems: invalid items of a template are reported, and its valid items are
// still created. A source that is not a template is rejected.
func TestApply_ReportsInvalidItems(t *testing.T) {
	h := openHome(t)
	w := coachTemplate(t.TempDir())
	w.Schedules = append(w.Schedules, templates.Schedule{Every: "blue moon", Do: "brief me"}, templates.Schedule{At: "2020-01-01 08:00", Say: "too late"})
	w.Watchers = append(w.Watchers, templates.Watcher{Kind: "carrier", Config: map[string]any{}}, templates.Watcher{Kind: "file", Config: map[string]any{"pth": "~"}})
	done, got := h.applyState(w)
	if got != "made 4, removed 0, kept 0, failed 4" {
		t.Errorf("%s: %+v", got, done.Failed)
	}
	for _, x := range done.Failed {
		if x.Why == "" {
			t.Errorf("%s %q failed without a reason", x.What, x.Text)
		}
	}
	_, err := reconcile.Apply(t.Context(), h.Parts, templates.DesiredState{Source: "owner"}, now)
	if !errors.Is(err, api.ErrInvalid) {
		t.Errorf("Apply with a forged source = %v, want %v", err, api.ErrInvalid)
	}
}
