package reconcile

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/templates"
	"hob/watchers"
)

func (r *run) reconcileTx(tx *store.Tx) error {
	specs := r.wantedSpecs()
	current, err := r.o.Watchers.ListIn(tx, watchers.Filter{})
	if err != nil {
		return err
	}
	existing := map[string]bool{}
	for _, s := range current {
		if !strings.HasPrefix(s.Source, templates.SourceOf("")) {
			if hasSpec(specs, s.ID) { // the user changed it, so it no longer belongs to the template
				existing[s.ID] = true
				t := r.specThing(s)
				t.Why = "it already exists and is " + string(s.State)
				r.done.Kept = append(r.done.Kept, t)
			}
			continue
		}
		if s.Source == r.w.Source && hasSpec(specs, s.ID) && s.ID == WatcherID(s) {
			existing[s.ID] = true // unchanged, whether paused or not
			continue
		}
		if err := r.dropSpec(tx, s); err != nil {
			return err
		}
	}
	for _, s := range specs {
		if existing[s.ID] {
			continue
		}
		existing[s.ID] = true
		if err := r.addSpec(tx, s); err != nil {
			return err
		}
	}
	return r.reconcileGoals(tx)
}

func hasSpec(specs []watchers.Spec, id string) bool {
	for _, s := range specs {
		if s.ID == id {
			return true
		}
	}
	return false
}

// dropSpec removes an item that the template no longer contains. An item that the user changed or
// paused stays, but no longer belongs to the template.
func (r *run) dropSpec(tx *store.Tx, s watchers.Spec) error {
	t := r.specThing(s)
	switch {
	case s.ID != WatcherID(s):
		t.Why = "you changed it"
	case s.State == watchers.Paused:
		t.Why = "you paused it"
	default:
		_, err := r.o.Watchers.CancelTx(tx, s.ID)
		r.done.Removed = append(r.done.Removed, t)
		return err
	}
	r.done.Kept = append(r.done.Kept, t)
	return r.o.Watchers.SetSourceTx(tx, s.ID, "")
}

func (r *run) addSpec(tx *store.Tx, s watchers.Spec) error {
	made, err := r.o.Watchers.CreateTx(tx, s)
	if errors.Is(err, watchers.ErrInvalid) {
		t := r.specThing(s)
		t.Why = invalidReason(err)
		r.done.Failed = append(r.done.Failed, t)
		return nil
	}
	if err == nil {
		r.done.Made = append(r.done.Made, r.specThing(made))
	}
	return err
}

// invalidReason returns the specific part of a watcher's error.
func invalidReason(err error) string {
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), watchers.ErrInvalid.Error()+": "), watchers.ErrPermanent.Error()+": ")
}

func (r *run) specThing(s watchers.Spec) templates.Resource {
	what := "watcher"
	switch {
	case s.Mode == watchers.Remind:
		what = "reminder"
	case s.Timed:
		what = "schedule"
	}
	return templates.Resource{What: what, ID: s.ID, Text: r.o.Watchers.Describe(s)}
}

// wantedSpecs returns the watchers that the template should have. It reports invalid watchers.
func (r *run) wantedSpecs() []watchers.Spec {
	var out []watchers.Spec
	base := watchers.Spec{Source: r.w.Source, Provenance: provenance.Outside, CreatedAt: r.now}
	if r.w.Trusted {
		base.Provenance = provenance.Hob
	}
	for _, x := range r.w.Schedules {
		s := base
		kind, config, err := watchers.ParseSchedule(x.At, x.Every, r.now)
		if err != nil {
			r.done.Failed = append(r.done.Failed, templates.Resource{What: "schedule", Text: x.Every + x.At + ": " + x.Do + x.Say, Why: invalidReason(err)})
			continue
		}
		s.Kind, s.Timed, s.Config, s.Missed = kind, true, config, watchers.MisfirePolicy(x.Missed)
		s.Mode, s.Action = watchers.Do, x.Do
		if x.Do == "" {
			s.Mode, s.Action = watchers.Remind, x.Say
		}
		out = append(out, r.withStableID(s))
	}
	for _, x := range r.w.Watchers {
		s := base
		config, err := json.Marshal(x.Config)
		if err != nil {
			r.done.Failed = append(r.done.Failed, templates.Resource{What: "watcher", Text: x.Kind, Why: err.Error()})
			continue
		}
		s.Kind, s.Config, s.Mode = x.Kind, config, watchers.Notify
		if err := s.ExtractPace(); err != nil {
			r.done.Failed = append(r.done.Failed, templates.Resource{What: "watcher", Text: x.Kind, Why: invalidReason(err)})
			continue
		}
		if s.Action = strings.TrimSpace(x.Do); s.Action != "" {
			s.Mode = watchers.Do
		}
		out = append(out, r.withStableID(s))
	}
	return out
}

// withStableID returns the spec with an id that is derived from its content.
func (r *run) withStableID(s watchers.Spec) watchers.Spec {
	if s.Missed == "" {
		s.Missed = watchers.RunOnce
	}
	s.Action = strings.TrimSpace(s.Action)
	s.ID = WatcherID(s)
	return s
}

// stableConfig returns a watcher's configuration without values that depend on the day on which it
// was parsed. The first time of an interval is reduced to weekday and clock time.
func stableConfig(s watchers.Spec) any {
	var c map[string]any
	if s.Kind != watchers.KindCron || json.Unmarshal(s.Config, &c) != nil {
		return s.Config
	}
	text := func(key string) string { s, _ := c[key].(string); return s }
	every, err := time.ParseDuration(text("interval"))
	at, aerr := time.Parse(time.RFC3339, text("anchor"))
	if err != nil || aerr != nil {
		return s.Config
	}
	const day = 24 * time.Hour
	delete(c, "anchor")
	if every%day == 0 {
		c["anchor"] = at.Format("15:04:05")
	}
	if every%(7*day) == 0 {
		c["anchor"] = at.Format("Monday 15:04:05")
	}
	return c
}

// WatcherID returns the id of a template watcher that the user has not changed. It returns "" if
// the configuration cannot be encoded.
func WatcherID(s watchers.Spec) string {
	const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	b, err := json.Marshal([]any{s.Source, s.Kind, stableConfig(s), s.Mode, s.Action, s.Missed, s.Report, s.Agent, s.PollPolicy})
	if err != nil {
		return "" // without an id, the watcher counts as changed
	}
	sum := sha256.Sum256(b)
	out := []byte("w")
	for _, c := range sum[:9] {
		out = append(out, alphabet[c&31])
	}
	return string(out)
}
