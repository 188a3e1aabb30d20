package watchers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/knowledge/store"
	"hob/platform/phrase"
	"hob/platform/shortid"
)

// The bounds of a watcher's texts, in characters and bytes.
const (
	maxAction = 10_000
	maxTitle  = 200
	maxConfig = 64 << 10
)

// CreateTx checks a watcher and stores it; it starts once tx is committed. ID,
// Title, Mode, Missed, State and CreatedAt may be empty and are filled in.
// Errors wrap ErrInvalid when the owner has to ask for something else.
func (m *Manager) CreateTx(tx *store.Tx, spec Spec) (Spec, error) {
	if err := spec.Lift(); err != nil {
		return Spec{}, err
	}
	m.fill(&spec)
	if err := check(spec); err != nil {
		return Spec{}, err
	}
	made, err := m.build(spec)
	if err != nil {
		return Spec{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err := spec.paced(made); err != nil {
		return Spec{}, err
	}
	spec.NextAt = time.Time{}
	spec.Zone = ""
	if timed, ok := made.(Timed); ok {
		after := spec.CreatedAt
		if spec.Kind == KindOneshot {
			after = after.Add(-justPassed)
		}
		spec.Zone = m.inOneZone(func() { spec.NextAt, ok = following(timed, after) }).String()
		if !ok {
			return Spec{}, fmt.Errorf("%w: %s lies in the past or never comes", ErrInvalid, m.describeConfig(spec))
		}
	}
	return spec, m.add(tx, made, spec, false)
}

// RestoreTx puts back a watcher as CancelTx returned it. Occurrences that
// passed meanwhile are treated as missed ones; what an event-driven watcher
// would have noticed meanwhile is not.
func (m *Manager) RestoreTx(tx *store.Tx, spec Spec) error {
	if err := check(spec); err != nil {
		return err
	}
	made, err := m.build(spec)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if _, err := selectRow(tx, spec.ID); !errors.Is(err, ErrNotFound) {
		return errors.Join(fmt.Errorf("%w: %s exists", ErrInvalid, spec.ID), err)
	}
	return m.add(tx, made, spec, true)
}

func (m *Manager) add(tx *store.Tx, made any, spec Spec, again bool) error {
	if spec.State == Active {
		if err := m.room(tx); err != nil {
			return err
		}
	}
	if err := insertRow(tx, spec); err != nil {
		return err
	}
	if err := m.begin(tx, made, spec); err != nil {
		return err
	}
	m.changed(tx, spec.ID, again)
	return nil
}

func (m *Manager) room(q store.Querier) error {
	var n int
	if err := q.QueryRow("SELECT count(*) FROM watchers WHERE state = ?", string(Active)).Scan(&n); err != nil {
		return fmt.Errorf("watchers: count: %w", err)
	}
	if n >= m.opt.Max {
		return fmt.Errorf("%w: %d watchers are active, which is the limit; cancel or pause some", ErrInvalid, n)
	}
	return nil
}

// CancelTx removes a watcher with its progress and returns it as it was, for
// RestoreTx. Once tx is committed nothing of it fires any more.
func (m *Manager) CancelTx(tx *store.Tx, id string) (Spec, error) {
	r, err := selectRow(tx, id)
	if err != nil {
		return Spec{}, err
	}
	if _, err := tx.Exec("DELETE FROM watchers WHERE id = ?", id); err != nil {
		return Spec{}, fmt.Errorf("watchers: cancel: %w", err)
	}
	if err := forgetPoll(tx, id); err != nil {
		return Spec{}, err
	}
	if k, ok := m.drivers[r.Kind].(Keeper); ok {
		if err := k.Forget(tx, id); err != nil {
			return Spec{}, err
		}
	}
	tx.AfterCommit(func() { m.silent.forget(id) })
	m.changed(tx, id, true)
	return r.Spec, nil
}

// SetStateTx pauses (Paused) or resumes (Active) a watcher and returns it as it
// is now. A resumed watcher starts anew: what happened in the pause does not
// fire.
func (m *Manager) SetStateTx(tx *store.Tx, id string, state State) (Spec, error) {
	if state != Active && state != Paused {
		return Spec{}, fmt.Errorf("%w: a watcher can be made active or paused, not %q", ErrInvalid, state)
	}
	r, err := selectRow(tx, id)
	if err != nil || r.State == state {
		return r.Spec, err
	}
	if r.State == Done {
		return Spec{}, fmt.Errorf("%w: %s is over; make a new one", ErrInvalid, m.label(r.Spec))
	}
	if state == Active {
		if err := m.resume(tx, &r); err != nil {
			return Spec{}, err
		}
	}
	r.State = state
	_, err = tx.Exec("UPDATE watchers SET state = ?, next_at = ?, zone = ?, last_error = ? WHERE id = ?",
		string(state), store.Millis(r.NextAt), r.Zone, r.LastError, id)
	if err != nil {
		return Spec{}, fmt.Errorf("watchers: set state: %w", err)
	}
	m.changed(tx, id, true)
	return r.Spec, nil
}

// SetPaceTx changes when and how often a watcher works, as far as change says
// something. It goes on where it is: nothing is lost or told again by it.
func (m *Manager) SetPaceTx(tx *store.Tx, id string, change Pace) (before, after Spec, err error) {
	if change.PerDay < AnyPerDay {
		return Spec{}, Spec{}, fmt.Errorf("%w: \"per_day\" must be a number from 1 on, or %d for any number", ErrInvalid, AnyPerDay)
	}
	r, err := selectRow(tx, id)
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
		spec.PerDay = max(change.PerDay, 0) // AnyPerDay takes the limit away
	}
	return r.Spec, spec, m.putPace(tx, spec)
}

// Always as a part of a Pace takes what was said of it away, and AnyPerDay its limit
// a day.
const (
	Always    = "always"
	AnyPerDay = -1
)

// RestorePaceTx gives a watcher the pace that it had.
func (m *Manager) RestorePaceTx(tx *store.Tx, id string, pace Pace) (Spec, error) {
	r, err := selectRow(tx, id)
	if err != nil {
		return Spec{}, err
	}
	r.Pace = pace
	return r.Spec, m.putPace(tx, r.Spec)
}

func (m *Manager) putPace(tx *store.Tx, spec Spec) error {
	made, err := m.build(spec)
	if err == nil {
		_, err = spec.Pace.parse()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err := spec.paced(made); err != nil {
		return err
	}
	if _, err := tx.Exec("UPDATE watchers SET every = ?, active_hours = ?, per_day = ? WHERE id = ?", spec.Every, spec.Hours, spec.PerDay, spec.ID); err != nil {
		return fmt.Errorf("watchers: change: %w", err)
	}
	m.changed(tx, spec.ID, true)
	return nil
}

// SetSourceTx says anew where a watcher comes from; "" makes it the owner's own.
// It goes on as it is.
func (m *Manager) SetSourceTx(tx *store.Tx, id, source string) error {
	if _, err := tx.Exec("UPDATE watchers SET source = ? WHERE id = ?", source, id); err != nil {
		return fmt.Errorf("watchers: set source: %w", err)
	}
	return nil
}

func (m *Manager) resume(tx *store.Tx, r *row) error {
	if err := m.room(tx); err != nil {
		return err
	}
	made, err := m.build(r.Spec)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	r.LastError = ""
	if timed, ok := made.(Timed); ok {
		r.Zone = m.inOneZone(func() { r.NextAt, ok = following(timed, time.Now()) }).String()
		if !ok {
			return fmt.Errorf("%w: the time of %s has passed; make a new one", ErrInvalid, m.label(r.Spec))
		}
	}
	if r.State == Broken { // what came before it broke is told all the same
		m.lookAtHeld(tx, r.ID)
	} else if _, err := tx.Exec("DELETE FROM watcher_held WHERE watcher = ?", r.ID); err != nil {
		return fmt.Errorf("watchers: resume: %w", err)
	}
	return m.begin(tx, made, r.Spec)
}

func (m *Manager) begin(tx *store.Tx, made any, spec Spec) error {
	if _, ok := made.(Polled); ok {
		if err := beginPoll(tx, spec.ID, time.Now()); err != nil {
			return err
		}
	}
	if k, ok := m.drivers[spec.Kind].(Keeper); ok {
		return k.Begin(tx, spec)
	}
	return nil
}

// fill sets the defaults of a new watcher.
func (m *Manager) fill(s *Spec) {
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
	if s.Title = phrase.Cut(s.Title, maxTitle); s.Title == "" {
		if s.Title = phrase.Cut(s.Action, 80); s.Title == "" {
			s.Title = phrase.Cut(m.describeConfig(*s), maxTitle)
		}
	}
	var b bytes.Buffer
	if err := json.Compact(&b, s.Config); err == nil {
		s.Config = b.Bytes()
	}
}

// check looks at what does not depend on the kind.
func check(s Spec) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
	}
	switch s.Mode {
	case Notify:
	case Remind, Do:
		if s.Action == "" {
			return bad("it does not say what to do")
		}
	default:
		return bad("unknown mode %q; there are notify, remind and do", s.Mode)
	}
	switch s.Missed {
	case RunOnce, Skip, RunAll:
	default:
		return bad("unknown policy %q for missed times; there are run_once, skip and run_all", s.Missed)
	}
	if _, err := s.Pace.parse(); err != nil {
		return bad("%v", err)
	}
	switch {
	case s.ID == "":
		return bad("it has no id")
	case len([]rune(s.Action)) > maxAction:
		return bad("what to do is longer than %d characters", maxAction)
	case len(s.Config) > maxConfig:
		return bad("its configuration is larger than %d bytes", maxConfig)
	case !json.Valid(s.Config):
		return bad("its configuration is not JSON")
	}
	return nil
}
