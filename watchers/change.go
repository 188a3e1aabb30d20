package watchers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/store"
	"hob/platform/text/shortid"
	"hob/platform/text/textnorm"
)

// Limits of a watcher's text fields, in characters and bytes.
const (
	maxAction = 10_000
	maxTitle  = 200
	maxConfig = 64 << 10
)

// CreateTx checks a watcher and stores it. The watcher starts once tx is committed. CreateTx fills
// in ID, Title, Mode, Missed, State and CreatedAt if they are empty. Errors wrap ErrInvalid if the
// user must change the request.
func (m *Manager) CreateTx(tx *store.Tx, spec Spec) (Spec, error) {
	if err := spec.ExtractPace(); err != nil {
		return Spec{}, err
	}
	m.fillDefaults(&spec)
	spec.Timed = m.timed[spec.Kind]
	if err := checkSpec(spec); err != nil {
		return Spec{}, err
	}
	made, err := m.buildWatcher(spec)
	if err != nil {
		return Spec{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err := spec.checkPaceApplies(made); err != nil {
		return Spec{}, err
	}
	spec.NextAt = time.Time{}
	spec.Zone = ""
	if timed, ok := made.(Timed); ok {
		after := spec.CreatedAt
		if spec.Kind == KindOneshot {
			after = after.Add(-justPassed)
		}
		spec.Zone = m.inOneZone(func() { spec.NextAt, ok = nextOccurrence(timed, after) }).String()
		if !ok {
			return Spec{}, fmt.Errorf("%w: %s has no future occurrence", ErrInvalid, m.describeConfig(spec))
		}
	}
	return spec, m.insertWatcher(tx, made, spec, false)
}

// RestoreTx stores a watcher that CancelTx returned. For timed watchers, occurrences since the
// cancellation count as missed. Event-driven watchers ignore events since the cancellation.
func (m *Manager) RestoreTx(tx *store.Tx, spec Spec) error {
	if err := checkSpec(spec); err != nil {
		return err
	}
	made, err := m.buildWatcher(spec)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if _, err := m.selectRow(tx, spec.ID); !errors.Is(err, ErrNotFound) {
		return errors.Join(fmt.Errorf("%w: %s already exists", ErrInvalid, spec.ID), err)
	}
	return m.insertWatcher(tx, made, spec, true)
}

func (m *Manager) insertWatcher(tx *store.Tx, made any, spec Spec, again bool) error {
	if spec.State == Active {
		if err := m.checkCapacity(tx); err != nil {
			return err
		}
	}
	if err := insertRow(tx, spec); err != nil {
		return err
	}
	if err := m.beginWatcher(tx, made, spec); err != nil {
		return err
	}
	m.reloadAfterCommit(tx, spec.ID, again)
	return nil
}

func (m *Manager) checkCapacity(q store.Querier) error {
	var n int
	if err := q.QueryRow("SELECT count(*) FROM watchers WHERE state = ?", string(Active)).Scan(&n); err != nil {
		return fmt.Errorf("watchers: count watchers: %w", err)
	}
	if n >= m.opt.Max {
		return fmt.Errorf("%w: the limit of %d active watchers is reached; cancel or pause some", ErrInvalid, n)
	}
	return nil
}

// CancelTx deletes a watcher and its progress and returns the former Spec for RestoreTx. The
// watcher does not fire after tx is committed.
func (m *Manager) CancelTx(tx *store.Tx, id string) (Spec, error) {
	r, err := m.selectRow(tx, id)
	if err != nil {
		return Spec{}, err
	}
	if _, err := tx.Exec("DELETE FROM watchers WHERE id = ?", id); err != nil {
		return Spec{}, fmt.Errorf("watchers: cancel watcher: %w", err)
	}
	if err := forgetPoll(tx, id); err != nil {
		return Spec{}, err
	}
	if k, ok := m.drivers[r.Kind].(StatefulDriver); ok {
		if err := k.Forget(tx, id); err != nil {
			return Spec{}, err
		}
	}
	tx.AfterCommit(func() { m.silent.forgetWatcher(id) })
	m.reloadAfterCommit(tx, id, true)
	return r.Spec, nil
}

// SetStateTx pauses (Paused) or resumes (Active) a watcher and returns its new Spec. A resumed
// watcher ignores events that happened during the pause.
func (m *Manager) SetStateTx(tx *store.Tx, id string, state State) (Spec, error) {
	if state != Active && state != Paused {
		return Spec{}, fmt.Errorf("%w: a watcher can be set to active or paused, not to %q", ErrInvalid, state)
	}
	r, err := m.selectRow(tx, id)
	if err != nil || r.State == state {
		return r.Spec, err
	}
	if r.State == Done {
		return Spec{}, fmt.Errorf("%w: %s is finished; create a new one", ErrInvalid, m.noticeLabel(r.Spec))
	}
	if state == Active {
		if err := m.resumeWatcher(tx, &r); err != nil {
			return Spec{}, err
		}
	}
	r.State = state
	_, err = tx.Exec("UPDATE watchers SET state = ?, next_at = ?, zone = ?, last_error = ? WHERE id = ?",
		string(state), store.Millis(r.NextAt), r.Zone, r.LastError, id)
	if err != nil {
		return Spec{}, fmt.Errorf("watchers: set state: %w", err)
	}
	m.reloadAfterCommit(tx, id, true)
	return r.Spec, nil
}

// ResetEvents restarts all active watchers except timed ones, as if they had been paused: the
// watchers forget their positions and ignore earlier events. It is called in a copy of Hob's home
// folder, whose watchers observe other sources.
func (m *Manager) ResetEvents(ctx context.Context) error {
	list, err := m.List(ctx, Filter{States: []State{Active}})
	if err != nil {
		return err
	}
	return m.opt.Store.Write(ctx, func(tx *store.Tx) error {
		for _, s := range list {
			if s.Timed {
				continue
			}
			for _, state := range []State{Paused, Active} {
				if _, err := m.SetStateTx(tx, s.ID, state); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// SetPaceTx changes the pace of a watcher: its interval, its active hours and its daily limit.
// Empty fields of change keep their values. The watcher keeps its position, so it neither loses an
// event nor fires an event twice.
func (m *Manager) SetPaceTx(tx *store.Tx, id string, change PollPolicy) (before, after Spec, err error) {
	if change.PerDay < AnyPerDay {
		return Spec{}, Spec{}, fmt.Errorf("%w: \"per_day\" must be at least 1, or %d for no limit", ErrInvalid, AnyPerDay)
	}
	r, err := m.selectRow(tx, id)
	if err != nil {
		return Spec{}, Spec{}, err
	}
	spec := r.Spec
	for _, x := range []struct {
		to   *string
		from string
	}{{&spec.Every, change.Every}, {&spec.Hours, change.Hours}} {
		switch {
		case strings.EqualFold(strings.TrimSpace(x.from), Always):
			*x.to = ""
		case x.from != "":
			*x.to = x.from
		}
	}
	if change.PerDay != 0 {
		spec.PerDay = max(change.PerDay, 0) // AnyPerDay (negative) removes the limit
	}
	return r.Spec, spec, m.putPace(tx, spec)
}

// Values that clear a field of a PollPolicy in SetPaceTx. Always clears the interval or the hours;
// AnyPerDay clears the daily limit.
const (
	Always    = "always"
	AnyPerDay = -1
)

// RestorePaceTx restores the former pace of a watcher.
func (m *Manager) RestorePaceTx(tx *store.Tx, id string, pace PollPolicy) (Spec, error) {
	r, err := m.selectRow(tx, id)
	if err != nil {
		return Spec{}, err
	}
	r.PollPolicy = pace
	return r.Spec, m.putPace(tx, r.Spec)
}

func (m *Manager) putPace(tx *store.Tx, spec Spec) error {
	made, err := m.buildWatcher(spec)
	if err == nil {
		_, err = spec.PollPolicy.parsePace()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err := spec.checkPaceApplies(made); err != nil {
		return err
	}
	if _, err := tx.Exec("UPDATE watchers SET every = ?, active_hours = ?, per_day = ? WHERE id = ?", spec.Every, spec.Hours, spec.PerDay, spec.ID); err != nil {
		return fmt.Errorf("watchers: change watcher: %w", err)
	}
	m.reloadAfterCommit(tx, spec.ID, true)
	return nil
}

// SetSourceTx changes the origin of a watcher; "" means that the user owns it. The watcher keeps
// running.
func (m *Manager) SetSourceTx(tx *store.Tx, id, source string) error {
	if _, err := tx.Exec("UPDATE watchers SET source = ? WHERE id = ?", source, id); err != nil {
		return fmt.Errorf("watchers: set source: %w", err)
	}
	return nil
}

func (m *Manager) resumeWatcher(tx *store.Tx, r *row) error {
	if err := m.checkCapacity(tx); err != nil {
		return err
	}
	made, err := m.buildWatcher(r.Spec)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	r.LastError = ""
	if timed, ok := made.(Timed); ok {
		r.Zone = m.inOneZone(func() { r.NextAt, ok = nextOccurrence(timed, time.Now()) }).String()
		if !ok {
			return fmt.Errorf("%w: the time of %s has passed; create a new one", ErrInvalid, m.noticeLabel(r.Spec))
		}
	}
	if r.State == Broken { // events that occurred before the failure still fire
		m.checkDeferredAfterCommit(tx, r.ID)
	} else if _, err := tx.Exec("DELETE FROM watcher_held WHERE watcher = ?", r.ID); err != nil {
		return fmt.Errorf("watchers: resume watcher: %w", err)
	}
	return m.beginWatcher(tx, made, r.Spec)
}

func (m *Manager) beginWatcher(tx *store.Tx, made any, spec Spec) error {
	if _, ok := made.(Polled); ok {
		if err := beginPoll(tx, spec.ID, time.Now()); err != nil {
			return err
		}
	}
	if k, ok := m.drivers[spec.Kind].(StatefulDriver); ok {
		return k.Begin(tx, spec)
	}
	return nil
}

// fillDefaults sets the defaults of a new watcher.
func (m *Manager) fillDefaults(s *Spec) {
	if s.ID == "" {
		s.ID = shortid.New("w")
	}
	if s.CreatedAt.IsZero() {
		s.CreatedAt = time.Now()
	}
	s.CreatedAt = s.CreatedAt.UTC().Truncate(time.Millisecond)
	s.Action = strings.TrimSpace(s.Action)
	if s.Mode == "" {
		s.Mode = Do
		if s.Action == "" {
			s.Mode = Notify
		}
	}
	if s.Missed == "" {
		s.Missed = RunOnce
	}
	s.State, s.Fired, s.FiredAt, s.LastError = Active, 0, time.Time{}, ""
	if s.Title = textnorm.Ellipsize(s.Title, maxTitle); s.Title == "" {
		if s.Title = textnorm.Ellipsize(s.Action, 80); s.Title == "" {
			s.Title = textnorm.Ellipsize(m.describeConfig(*s), maxTitle)
		}
	}
	var b bytes.Buffer
	if err := json.Compact(&b, s.Config); err == nil {
		s.Config = b.Bytes()
	}
}

// checkSpec validates the fields that do not depend on the kind.
func checkSpec(s Spec) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
	}
	switch s.Mode {
	case Notify:
	case Remind, Do, Show, Tell:
		if s.Action == "" {
			return bad("the action is empty")
		}
	default:
		return bad("unknown mode %q; use notify, remind or do", s.Mode)
	}
	switch s.Missed {
	case RunOnce, Skip, RunAll:
	default:
		return bad("unknown policy %q for missed times; use run_once, skip or run_all", s.Missed)
	}
	if _, err := s.PollPolicy.parsePace(); err != nil {
		return bad("%v", err)
	}
	switch {
	case s.Priority != "" && (s.Mode != Remind || !slices.Contains(Priorities(), s.Priority)):
		return bad("the priority %q is not valid; give a reminder one of %s", s.Priority, strings.Join(Priorities(), ", "))
	case s.ID == "":
		return bad("the id is empty")
	case len([]rune(s.Action)) > maxAction:
		return bad("the action is longer than %d characters", maxAction)
	case len(s.Config) > maxConfig:
		return bad("the configuration is larger than %d bytes", maxConfig)
	case !json.Valid(s.Config):
		return bad("the configuration is not JSON")
	}
	return nil
}
