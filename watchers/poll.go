package watchers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"hob/platform/provenance"
	"hob/platform/retry"
	"hob/platform/store"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
)

// Intervals and limits of polls.
const (
	usualEvery  = 15 * time.Minute
	pollTimeout = 2 * time.Minute
	// firstRetry is the wait after a failure; it doubles up to longestRetry.
	firstRetry   = time.Minute
	longestRetry = 4 * time.Hour
	// offlineRetry is the longest wait while there is no network, so that polls resume soon after
	// the network is back.
	offlineRetry = 5 * time.Minute
	// longestWish is the maximum delay between polls that a source may request.
	longestWish = 24 * time.Hour
	// tellAfter is the number of consecutive failures after which the user is notified. Failures
	// that usually end without action (no network, a rate limit) are reported after tellLate.
	tellAfter = 5
	tellLate  = 24 * time.Hour
	// ahead is the maximum time by which a source's clock may be ahead of the local clock.
	ahead = time.Minute
)

// pollOutcome is the part of the result of a poll that the poller needs.
type pollOutcome struct {
	gone  bool      // do not poll again: the watcher was removed or restarts
	again time.Time // time of the next poll
	group time.Time // time until which no watcher of the group is polled
}

// pollWatcher polls the source of one watcher and stores the result.
func (m *Manager) pollWatcher(ctx context.Context, id string, told *reportedErrors) pollOutcome {
	r, err := m.selectRow(m.opt.Store.Reader(ctx), id)
	if err == nil && r.State != Active {
		return pollOutcome{gone: true}
	}
	var p poll
	if err == nil {
		p, err = selectPoll(m.opt.Store.Reader(ctx), id)
	}
	if errors.Is(err, ErrNotFound) {
		return pollOutcome{gone: true}
	}
	if err != nil {
		m.reportTrouble(ctx, told, id, err)
		return pollOutcome{again: time.Now().Add(firstRetry)}
	}
	made, found, err := m.callDriver(ctx, r.Spec, p, told)
	switch {
	case ctx.Err() != nil:
		return pollOutcome{gone: true}
	case errors.Is(err, ErrPermanent):
		m.markBroken(ctx, r.Spec, err)
		return pollOutcome{gone: true}
	case err != nil:
		return m.pollFailed(ctx, r.Spec, p, found, err)
	}
	return m.storePoll(ctx, r.Spec, p, found, m.pollInterval(made, r.Spec), told)
}

// callDriver builds the driver's part of a watcher and polls it. It converts a panic of the driver
// to an error.
func (m *Manager) callDriver(ctx context.Context, spec Spec, p poll, told *reportedErrors) (made Polled, found Found, err error) {
	defer func() {
		if x := recover(); x != nil {
			m.opt.Log.Error("watcher panicked", "watcher", spec.ID, "panic", fmt.Sprint(x), "stack", string(debug.Stack()))
			err = fmt.Errorf("the %s watcher crashed: %v", spec.Kind, x)
		}
	}()
	built, err := m.buildWith(spec, m.troubleReporter(told))
	if err != nil {
		return nil, Found{}, err
	}
	made, ok := built.(Polled)
	if !ok {
		return nil, Found{}, fmt.Errorf("%w: the stored data does not match this kind of watcher", ErrPermanent)
	}
	limited, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	found, err = made.Poll(limited, Progress{Begun: p.begun, First: !p.based, Cursor: p.cursor})
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("no answer within %s: %w", pollTimeout, err)
	}
	return made, found, err
}

// pollInterval returns the poll interval of a watcher.
func (m *Manager) pollInterval(made Polled, spec Spec) time.Duration {
	checked, err := spec.PollPolicy.parsePace()
	every := checked.every
	if every == 0 || err != nil {
		if every = made.Every(); every <= 0 {
			every = usualEvery
		}
	}
	return max(every, m.opt.MinEvery)
}

// storePoll commits the result of a poll and returns the outcome with the time of the next poll.
func (m *Manager) storePoll(ctx context.Context, spec Spec, p poll, found Found, every time.Duration, told *reportedErrors) pollOutcome {
	now := time.Now()
	v := pollOutcome{again: found.nextPoll(now.Add(max(every+rand.N(every/10+1), min(found.Wait, longestWish))), now)}
	fresh, err := selectUnknown(m.opt.Store.Reader(ctx), spec.ID, found.Signals)
	if err == nil {
		m.notePoll(ctx, spec, p, found, fresh, now)
		err = m.commitPoll(ctx, spec, p, fresh, found, now)
	}
	switch {
	case err == nil:
		told.clearLost()
		if told.hasErrors() {
			m.clearError(spec.ID, told)
		}
	case errors.Is(err, ErrPermanent):
		m.markBroken(ctx, spec, err)
		return pollOutcome{gone: true}
	case errors.Is(err, errGone) || errors.Is(err, ErrNotFound) || ctx.Err() != nil:
		return pollOutcome{gone: true}
	default:
		m.reportTrouble(ctx, told, spec.ID, err)
		v.again = now.Add(m.retryDelay(spec, told.countLost(), err)) // a failing database must not cause more requests to the source
	}
	return v
}

func (m *Manager) commitPoll(ctx context.Context, spec Spec, p poll, fresh []Signal, found Found, now time.Time) error {
	fire := m.selectNew(&p, fresh, now)
	run := m.limitPerDay(spec, &p, fire, now)
	changed := len(fresh) > 0 || !p.based || p.fails > 0 || (found.Cursor != nil && !bytes.Equal(found.Cursor, p.cursor))
	if !changed {
		return nil
	}
	if p.told {
		run = append(run, m.recoveryNotice(spec, p, now))
	}
	f := firing{signals: run, at: now}
	if p.fails > 0 { // the source works again
		f.lastError = new(string)
	}
	p.based, p.fails, p.since, p.told, p.notBefore = true, 0, time.Time{}, false, time.Time{}
	p.cursor = found.Cursor
	f.save = func(tx *store.Tx) error {
		if err := storeKeys(tx, spec.ID, fresh); err != nil {
			return err
		}
		if err := m.writeSilences(tx, spec.ID); err != nil {
			return err
		}
		return p.saveRow(tx)
	}
	return m.commitFiring(ctx, spec.ID, f)
}

// firing contains the signals of a watcher and the state changes that are committed with them.
type firing struct {
	signals   []Signal
	at        time.Time
	lastError *string               // nil leaves the stored error unchanged
	save      func(*store.Tx) error // writes the rest of the watcher's state
}

// commitFiring fires the signals of an active watcher and writes its state in one transaction. If
// the watcher is no longer active, the error is errGone or ErrNotFound.
func (m *Manager) commitFiring(ctx context.Context, id string, f firing) error {
	fired, at := countFiring(f.signals, f.at)
	return m.fireWith(ctx, id, f.signals, func(tx *store.Tx) error {
		err := requireRow(tx.Exec("UPDATE watchers SET fired = fired + ?, fired_at = max(fired_at, ?), last_error = coalesce(?, last_error) WHERE id = ? AND state = ?",
			fired, at, f.lastError, id, string(Active)))
		if err != nil {
			return err
		}
		return f.save(tx)
	})
}

// countFiring returns the number of signals that are not notices. at is 0 if there are no such
// signals.
func countFiring(run []Signal, now time.Time) (n int, at int64) {
	for _, s := range run {
		if !s.Notice {
			n, at = n+1, store.Millis(now)
		}
	}
	return n, at
}

// fireWith commits the signals together with the writes of save. Without signals it commits only
// save.
func (m *Manager) fireWith(ctx context.Context, id string, signals []Signal, save func(*store.Tx) error) error {
	if len(signals) == 0 {
		return m.opt.Store.Write(ctx, save)
	}
	gone := false
	err := m.opt.Sink.Fire(ctx, id, signals, func(tx *store.Tx) error {
		err := save(tx)
		gone = errors.Is(err, errGone)
		return err
	})
	if gone {
		return errGone
	}
	return err
}

// selectNew returns the signals to fire, oldest first. At the baseline, only signals dated after
// the start of the watcher fire.
func (m *Manager) selectNew(p *poll, fresh []Signal, now time.Time) []Signal {
	var out []Signal
	for _, s := range fresh {
		if !p.based && (!s.At.After(p.begun) || s.At.After(now.Add(ahead))) {
			continue
		}
		if s.At.IsZero() {
			s.At = now
		}
		if s.Source == "" {
			s.Source = provenance.Outside
		}
		out = append(out, s)
	}
	sorting.StableByFunc(out, func(a, b Signal) int { return a.At.Compare(b.At) })
	return out
}

// limitPerDay returns the signals that may still fire today. It adds a notice for the first signal
// that is dropped on a day.
func (m *Manager) limitPerDay(spec Spec, p *poll, fire []Signal, now time.Time) []Signal {
	if day := now.In(m.opt.Zone()).Format(time.DateOnly); day != p.day {
		p.day, p.fired, p.left = day, 0, 0
	}
	most := spec.PerDay
	if most == 0 {
		most = m.opt.PerDay
	}
	var run, rest []Signal
	for _, s := range fire {
		switch {
		case s.Notice:
			run = append(run, s)
		case p.fired < most:
			run = append(run, s)
			p.fired++
		default:
			rest = append(rest, s)
		}
	}
	m.noteOverLimit(spec, rest, most, now)
	if len(rest) > 0 && p.left == 0 {
		run = append(run, Signal{
			Key: spec.ID + "/limit@" + p.day, At: now, Notice: true, Source: sourceOf(spec),
			Text:    fmt.Sprintf("%s has fired %d times today, its daily limit. I will skip the rest of today.", m.noticeLabel(spec), most),
			Payload: marshalPayload(map[string]any{"limit": most, "day": p.day}),
		})
	}
	p.left += len(rest)
	return run
}

// recoveryNotice returns the notice that a source works again.
func (m *Manager) recoveryNotice(spec Spec, p poll, now time.Time) Signal {
	return Signal{
		Key: spec.ID + "/back@" + p.since.Format(time.RFC3339Nano), At: now, Notice: true, Source: sourceOf(spec),
		Text:    fmt.Sprintf("Watching %s works again (it had been failing since %s).", m.noticeLabel(spec), clockTime(p.since, now, m.opt.Zone())),
		Payload: marshalPayload(map[string]any{"failing_since": p.since.Format(time.RFC3339)}),
	}
}

// pollFailed records a failure and returns the outcome with the time of the next attempt. If the
// failure persists, it notifies the user once. Signals that the driver returned with the error
// fire.
func (m *Manager) pollFailed(ctx context.Context, spec Spec, p poll, found Found, cause error) pollOutcome {
	now := time.Now()
	if p.fails++; p.fails == 1 {
		p.since = now.UTC().Truncate(time.Millisecond)
	}
	v := pollOutcome{again: now.Add(m.retryDelay(spec, p.fails, cause))}
	if wait, ok := errors.AsType[*LaterError](cause); ok {
		until := wait.Until.Round(0)
		if most := now.Add(longestWish); until.After(most) {
			until = most
		}
		v.group, v.again = until, laterOf(until, v.again)
	}
	v.again = found.nextPoll(v.again, now)
	p.notBefore, p.cursor = v.again, nil
	m.opt.Log.Warn("poll failed", "watcher", spec.ID, "fails", p.fails, "again", v.again.UTC().Format(time.RFC3339), "err", cause)
	text := textnorm.Ellipsize(cause.Error(), 500)
	fresh, err := selectUnknown(m.opt.Store.Reader(ctx), spec.ID, found.Signals)
	if err != nil {
		m.opt.Log.Error("known keys not read", "watcher", spec.ID, "err", err)
	}
	signals := m.limitPerDay(spec, &p, m.selectNew(&p, fresh, now), now)
	if !p.told && isPersistent(p, cause, now) {
		p.told = true
		signals = append(signals, Signal{
			Key: spec.ID + "/trouble@" + p.since.Format(time.RFC3339Nano), At: now, Notice: true, Source: provenance.Outside,
			Text: fmt.Sprintf("There is a problem with watching %s: %s. I will keep trying and notify you when it works again.",
				m.noticeLabel(spec), textnorm.Ellipsize(text, 300)),
			Payload: marshalPayload(map[string]any{"error": text, "failing_since": p.since.Format(time.RFC3339)}),
		})
	}
	err = m.commitFiring(ctx, spec.ID, firing{signals: signals, at: now, lastError: &text, save: func(tx *store.Tx) error {
		if err := storeKeys(tx, spec.ID, fresh); err != nil {
			return err
		}
		return p.saveRow(tx)
	}})
	switch {
	case errors.Is(err, errGone) || errors.Is(err, ErrNotFound):
		return pollOutcome{gone: true}
	case err != nil && ctx.Err() == nil: // the failure was not stored, so the next failure is counted and reported instead
		v.again = earlierOf(v.again, now.Add(firstRetry))
		m.opt.Log.Error("poll failure not recorded", "watcher", spec.ID, "err", err)
	}
	return v
}

// isPersistent reports whether a failure lasts so long that the user should be notified.
func isPersistent(p poll, cause error, now time.Time) bool {
	_, asked := errors.AsType[*LaterError](cause)
	if asked || errors.Is(cause, ErrOffline) {
		return now.Sub(p.since) >= tellLate
	}
	return p.fails >= tellAfter
}

// retryDelay returns the wait after fails consecutive failures. Half of the wait is random.
func (m *Manager) retryDelay(spec Spec, fails int, cause error) time.Duration {
	longest := longestRetry
	if errors.Is(cause, ErrOffline) {
		longest = offlineRetry
	}
	first := max(firstRetry, m.opt.MinEvery)
	if p, err := spec.PollPolicy.parsePace(); err == nil && p.every > 0 {
		first = max(min(first, p.every), m.opt.MinEvery)
	}
	return retry.Backoff{First: first, Max: longest, Jitter: 0.5}.Delay(fails)
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
