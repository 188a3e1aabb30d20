package app

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/autonomy/mind/reconcile"
	"hob/platform/provenance"
	"hob/templates"
	"hob/watchers"
)

// applyTemplate applies the resources of a template over the API.
func (h *daemonFixture) applyTemplate(w templates.DesiredState) (done templates.ApplyResult) {
	h.t.Helper()
	code, body := h.callAPI("POST", "/api/v1/manage/template", w)
	if code != http.StatusOK {
		h.t.Fatalf("%d %s", code, body)
	}
	failOnError(h.t, json.Unmarshal(body, &done))
	return done
}

func wantedOf(t *templates.Template) templates.DesiredState {
	return templates.DesiredState{Source: t.Source(), Trusted: t.Origin == templates.Builtin, Goals: t.Goals, Schedules: t.Schedules, Watchers: t.Watchers}
}

func (h *daemonFixture) listWatchers() []watchers.Spec {
	h.t.Helper()
	all, err := h.d.watchers.List(h.t.Context(), watchers.Filter{})
	failOnError(h.t, err)
	return all
}

// TestTemplates_SwitchKeepsTheOwnersResources checks that after switching between templates in any order, with pauses,
// resumes and cancellations by the owner in between, only the resources that the owner created or
// changed remain.
func TestTemplates_SwitchKeepsTheOwnersResources(t *testing.T) {
	h := openDaemon(t, "")
	failOnError(t, os.MkdirAll(filepath.Join(h.home, "Documents"), 0o700))
	h.askHob("every day at 6:00 list my tasks")
	h.askHob("remind me every Monday at 9:00 to stretch")
	own := h.listWatchers()
	if len(own) != 2 {
		t.Fatalf("%d of 2 watchers exist", len(own))
	}
	all, err := templates.Builtins()
	failOnError(t, err)
	r := rand.New(rand.NewPCG(3, 9)) //nolint:gosec // a fixed seed makes the test reproducible
	touched := map[string]bool{}
	for range 60 {
		switch r.IntN(5) {
		case 0, 1:
			w := wantedOf(all[r.IntN(len(all))])
			w.Dry = true
			before := h.listWatchers()
			would := h.applyTemplate(w)
			if got := h.listWatchers(); len(got) != len(before) {
				t.Fatalf("a dry run changed %d into %d", len(before), len(got))
			}
			w.Dry = false
			did := h.applyTemplate(w)
			if fmt.Sprint(would) != fmt.Sprint(did) {
				t.Fatalf("preview:\n%v\nresult:\n%v", would, did)
			}
			if again := h.applyTemplate(w); len(again.Made)+len(again.Removed) > 0 {
				t.Fatalf("the second use changes %+v", again)
			}
		case 2:
			h.applyTemplate(templates.DesiredState{})
		default:
			list := slices.DeleteFunc(h.listWatchers(), func(s watchers.Spec) bool { return s.Source == "" })
			if len(list) == 0 {
				continue
			}
			s := list[r.IntN(len(list))]
			tool, arg := "pause_schedule", "schedule"
			switch {
			case s.Mode == watchers.Remind:
				h.callTool("cancel_reminder", fmt.Sprintf(`{"reminder": %q}`, s.ID))
				continue
			case s.Kind == "file":
				tool, arg = "pause_watcher", "watcher"
			}
			h.callTool(tool, fmt.Sprintf(`{%q: %q}`, arg, s.ID))
			touched[s.ID] = true
		}
	}
	h.applyTemplate(templates.DesiredState{})
	for _, s := range h.listWatchers() {
		mine := slices.ContainsFunc(own, func(o watchers.Spec) bool { return o.ID == s.ID })
		if s.Source != "" || !mine && !(touched[s.ID] && s.State == watchers.Paused) {
			t.Errorf("%s (%s, %q) remains", s.Title, s.State, s.Source)
		}
	}
	for _, o := range own {
		if !slices.ContainsFunc(h.listWatchers(), func(s watchers.Spec) bool { return s.ID == o.ID && s.State == o.State }) {
			t.Errorf("the owner's watcher %q is missing", o.Title)
		}
	}
}

// TestTemplates_SecondUseChangesNothing checks that applying a template again changes nothing, on any day and in
// any time zone, except where the owner changed a schedule.
func TestTemplates_SecondUseChangesNothing(t *testing.T) {
	h := openDaemon(t, "")
	w := templates.DesiredState{Source: "template:mine", Trusted: true}
	for _, every := range []string{"2 weeks on Friday", "90 minutes", "other day at 7:15", "3 days", "5 hours", "weekday at 8:30", "*/7 * * * *"} {
		w.Schedules = append(w.Schedules, templates.Schedule{Every: every, Say: every})
	}
	apply := func(now time.Time) (templates.ApplyResult, error) {
		return reconcile.Apply(t.Context(), reconcile.Parts{Store: h.d.store, Watchers: h.d.watchers, Goals: h.d.goals}, w, now)
	}
	first := time.Date(2026, 3, 3, 10, 20, 30, 0, time.UTC)
	done, err := apply(first)
	failOnError(t, err)
	if len(done.Made) != len(w.Schedules) {
		t.Fatalf("%+v", done)
	}
	for _, later := range []time.Time{first.Add(time.Hour), first.AddDate(0, 0, 5), first.AddDate(1, 2, 3).In(time.FixedZone("", 7200))} {
		done, err := apply(later)
		failOnError(t, err)
		if len(done.Made)+len(done.Removed)+len(done.Kept) > 0 {
			t.Errorf("at %s: %+v", later, done)
		}
	}
	for _, s := range h.listWatchers() {
		if s.Action != "2 weeks on Friday" {
			continue
		}
		for _, every := range []string{"2 weeks on Monday", "2 weeks on Friday at 10", "3 weeks on Friday"} {
			_, s.Config, err = watchers.ParseSchedule("", every, first)
			failOnError(t, err)
			if reconcile.WatcherID(s) == s.ID {
				t.Errorf("WatcherID of %q ignores the change", every)
			}
		}
	}
}

// TestTemplates_WorkOffline checks that the built-in brain can execute each request of each built-in
// template, that each schedule has a next occurrence, and that templates made for it need nothing
// else.
func TestTemplates_WorkOffline(t *testing.T) {
	h := openDaemon(t, "")
	failOnError(t, os.MkdirAll(filepath.Join(h.home, "Documents"), 0o700))
	all, err := templates.Builtins()
	failOnError(t, err)
	for _, x := range all {
		done := h.applyTemplate(wantedOf(x))
		if len(done.Failed) > 0 || len(done.Made) != len(x.Schedules)+len(x.Watchers)+len(x.Goals) {
			t.Errorf("%s: %+v", x.Name, done)
		}
		for _, s := range x.Schedules {
			if s.Do == "" {
				continue
			}
			answer := h.askHob(s.Do)
			for _, bad := range []string{"did not work", "not understand", "cannot do", "do not know"} {
				if strings.Contains(answer, bad) {
					t.Errorf("%s: %q: %s", x.Name, s.Do, answer)
				}
			}
		}
	}
}

// TestTemplates_ResourcesRun checks that a template's resources run and report without a model, and that the
// text of a template that is not built in is treated as untrusted.
func TestTemplates_ResourcesRun(t *testing.T) {
	h := openDaemon(t, "")
	docs := filepath.Join(h.home, "Documents")
	failOnError(t, os.MkdirAll(docs, 0o700))
	h.askHob("add a task to clean the gutters today")
	h.applyTemplate(templates.DesiredState{
		Source: "template:mine", Trusted: true,
		Schedules: []templates.Schedule{{At: "in 1 second", Say: "Water the plants."}, {At: "in 1 second", Do: "what's due today?"}},
		Watchers:  []templates.Watcher{{Kind: "file", Config: map[string]any{"path": docs, "pattern": "*invoice*"}}},
	})
	h.awaitDelivery("notice", "Reminder: Water the plants")
	h.awaitDelivery("notice", "clean the gutters")
	failOnError(t, os.WriteFile(filepath.Join(docs, "invoice-12.pdf"), []byte("x"), 0o600))
	h.awaitDelivery("notice", "invoice-12.pdf")

	h.applyTemplate(templates.DesiredState{Source: "template:foreign", Schedules: []templates.Schedule{{Every: "day at 5:00", Do: "add a task to pay Eve"}}})
	for _, s := range h.listWatchers() {
		if s.Source == "template:foreign" && s.Provenance != provenance.Outside {
			t.Errorf("%s has the provenance %s", s.Title, s.Provenance)
		}
	}
}
