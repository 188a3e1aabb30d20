package lease

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/retry"
	"hob/platform/store"
)

const (
	// followEvery is how often a member checks whether others committed something, if the database does
	// not notify it.
	followEvery = 250 * time.Millisecond
	// healEvery is how often it checks this although the database notifies it, because a notification
	// may be lost with a connection.
	healEvery = 2 * time.Second
	// followGap is the time from a notification until the member acts on it and on those that followed. By
	// then, the instance that received a message has usually claimed it.
	followGap = 10 * time.Millisecond
)

// Join makes this process a member. If the name belongs to a process that may still live, it waits
// until that lease ends, or returns ErrTaken as soon as it was renewed. Call it before anything
// writes.
func (m *Member) Join(ctx context.Context) error {
	if !m.IsShared() {
		return nil
	}
	return m.joinAs(ctx, true)
}

// joinAs joins. first reports whether this is the start of the process.
func (m *Member) joinAs(ctx context.Context, first bool) error {
	var seen int64 // when the process that has the name was last seen
	for {
		began := time.Now()
		var epoch int64
		var other instanceRow
		err := m.o.Store.WriteUnfenced(ctx, func(tx *store.Tx) (err error) {
			epoch, other, err = m.joinTx(tx, first)
			return err
		})
		switch {
		case err != nil:
			return fmt.Errorf("lease: join the fleet: %w", err)
		case epoch != 0:
			m.beginTerm(epoch, began)
			return nil
		case seen != 0 && other.seenAt > seen:
			return fmt.Errorf("instance %q: %w: it runs on host %s since %s; set another name as [store] instance", m.o.Instance, ErrTaken,
				other.host, store.Time(other.startedAt).Format(time.RFC3339))
		}
		seen = other.seenAt
		if err := retry.Sleep(ctx, m.o.Lease/6); err != nil {
			return err
		}
	}
}

// instanceRow is the part of a row that joining needs.
type instanceRow struct {
	host, home                    string
	startedAt, seenAt, until, now int64
	ended                         bool
}

// joinTx takes the name and returns the new epoch, or 0 and the row of the process that has the name.
func (m *Member) joinTx(tx *store.Tx, first bool) (epoch int64, r instanceRow, err error) {
	err = tx.QueryRow(`SELECT host, home, started_at, seen_at, until, ended, `+m.o.Clock+` FROM instances WHERE name = ?`, m.o.Instance).Scan(
		&r.host, &r.home, &r.startedAt, &r.seenAt, &r.until, &r.ended, &r.now)
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return 0, r, err
	case !r.ended && r.until > r.now && !m.mayReplace(r, first):
		return 0, r, nil
	}
	if err := tx.QueryRow(`SELECT coalesce(max(epoch), 0) + 1 FROM instances`).Scan(&epoch); err != nil {
		return 0, r, err
	}
	_, err = tx.Exec(`INSERT INTO instances (name, epoch, host, home, version, started_at, seen_at, until) VALUES (?, ?, ?, ?, ?, `+m.o.Clock+`, `+m.o.Clock+`, `+m.o.Clock+` + ?)
		ON CONFLICT (name) DO UPDATE SET epoch = excluded.epoch, host = excluded.host, home = excluded.home, version = excluded.version,
		started_at = excluded.started_at, seen_at = excluded.seen_at, until = excluded.until, ended = 0`,
		m.o.Instance, epoch, m.host, m.o.Home+homeMark+m.process, m.o.Version, m.o.Lease.Milliseconds())
	if err != nil {
		return 0, r, err
	}
	if _, err = endLate(tx, m.o.Clock); err != nil {
		return 0, r, err
	}
	// the names with a slash are those of commands without a daemon; the new row has the largest epoch
	_, err = tx.Exec(`DELETE FROM instances WHERE ended = 1 AND (name LIKE '%/%' OR seen_at < `+m.o.Clock+` - ?)`, keepEnded.Milliseconds())
	return epoch, r, err
}

// homeMark separates the home and the process in a row.
const homeMark = "\x1f"

// mayReplace reports whether this process may replace a living member at once: its own membership, of
// which a lost connection hid the answer, or, at the start, the one of its predecessor.
func (m *Member) mayReplace(r instanceRow, first bool) bool {
	home, process, _ := strings.Cut(r.home, homeMark)
	return r.host == m.host && home == m.o.Home && (first || process == m.process)
}

// endLate ends the memberships that were not renewed in time, and frees the leases of all that have
// ended. It returns the names.
func endLate(tx *store.Tx, clock string) (names []string, err error) {
	if names, err = scanNames(tx.Query(`UPDATE instances SET ended = 1 WHERE ended = 0 AND until <= ` + clock + ` RETURNING name`)); err != nil {
		return nil, err
	}
	_, err = tx.Exec(`DELETE FROM leases WHERE epoch NOT IN (SELECT epoch FROM instances WHERE ended = 0)`)
	return names, err
}

func scanNames(rows *sql.Rows, err error) (names []string, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// beginTerm starts a membership that was written after began.
func (m *Member) beginTerm(epoch int64, began time.Time) {
	ctx, cancel := context.WithCancelCause(context.Background())
	t := &term{epoch: epoch, ctx: ctx, cancel: cancel, held: map[string]bool{}, deadline: began.Add(m.ownLease())}
	t.timer = time.AfterFunc(time.Until(t.deadline), func() { cancel(ErrLost) })
	m.mu.Lock()
	defer m.mu.Unlock()
	m.term, m.why = t, nil
	close(m.joined)
	m.joined = make(chan struct{})
}

// ownLease returns the lease as this process counts it: it ends a little earlier than for the others, so
// that its work has been canceled when they take over.
func (m *Member) ownLease() time.Duration { return m.o.Lease - m.o.Lease/10 }

// Parts returns the part that renews the lease, and a part that runs run while this process is a
// member. Without sharing, there is only run.
func (m *Member) Parts(run func(context.Context) error) []func(context.Context) error {
	if !m.IsShared() {
		return []func(context.Context) error{run}
	}
	return []func(context.Context) error{m.Run, m.While("", run)}
}

// Outlast returns the parts of a process so that they begin again after an outage of the shared
// database instead of ending the process.
func (m *Member) Outlast(parts []func(context.Context) error) []func(context.Context) error {
	if !m.IsShared() {
		return parts
	}
	out := make([]func(context.Context) error, len(parts))
	for i, run := range parts {
		out[i] = func(ctx context.Context) error {
			for {
				err := run(ctx)
				if ctx.Err() != nil || !store.IsOutage(err) {
					return err
				}
				m.o.Log.Warn("part stopped by an outage of the database; starting it again", "err", err)
				_ = retry.Sleep(ctx, m.o.Lease/6) // ends with ctx
			}
		}
	}
	return out
}

// Run renews the lease and joins again after a loss, until ctx ends and everything under While has
// ended. Call it after Join, and Leave after it.
func (m *Member) Run(ctx context.Context) error {
	var over chan struct{} // closed when everything under While has ended
	ends := ctx.Done()
	due := time.Now().Add(m.o.Lease / 3) // time of the next renewal
	commits, pause := m.o.Store.ForeignCommits(), followEvery
	if commits != nil {
		pause = healEvery
	}
	m.nextEnd = due
	for {
		m.mu.Lock()
		t := m.term
		m.mu.Unlock()
		if t == nil {
			return nil // ctx ended before this process could join again
		}
		renew := false
		tick := time.NewTimer(min(pause, time.Until(due), time.Until(m.nextEnd)))
		select {
		case <-ends:
			ends, over = nil, m.endWork(t)
		case <-over:
			return nil
		case <-t.ctx.Done():
			if err := m.joinAgain(ctx, t); err != nil {
				return err
			}
			due = time.Now()
		case <-m.asked:
			renew = true
		case <-commits:
			_ = retry.Sleep(ctx, followGap) // ends with ctx
			renew = m.followChanges(ctx)
		case <-tick.C:
			renew = m.followOthers(ctx) || !time.Now().Before(due)
		}
		tick.Stop()
		if m.Check() == nil && renew {
			m.renewLease(context.WithoutCancel(ctx), t)
			due = time.Now().Add(m.o.Lease / 3)
		}
	}
}

// endWork lets no further part begin. The returned channel is closed when the running ones have
// ended; until then, the lease is renewed.
func (m *Member) endWork(t *term) chan struct{} {
	m.mu.Lock()
	m.leaving = true
	m.mu.Unlock()
	over := make(chan struct{})
	go func() {
		defer close(over)
		t.work.Wait()
	}()
	return over
}

// renewLease extends the lease, ends the memberships of others that are late, and takes free leases that
// this process wants. If the database cannot be reached, the term ends at its deadline.
func (m *Member) renewLease(ctx context.Context, t *term) {
	began := time.Now()
	m.mu.Lock()
	wanted := make([]string, 0, len(m.wanted))
	for name := range m.wanted {
		wanted = append(wanted, name)
	}
	m.mu.Unlock()
	slices.Sort(wanted)
	var late []string
	held := map[string]bool{}
	err := m.o.Store.WriteUnfenced(ctx, func(tx *store.Tx) (err error) {
		res, err := tx.Exec(`UPDATE instances SET seen_at = `+m.o.Clock+`, until = `+m.o.Clock+` + ? WHERE name = ? AND epoch = ? AND ended = 0`, m.o.Lease.Milliseconds(), m.o.Instance, t.epoch)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n != 1 {
			return errors.Join(err, ErrLost)
		}
		if late, err = endLate(tx, m.o.Clock); err != nil {
			return err
		}
		return m.takeFree(tx, t.epoch, wanted, held)
	})
	switch {
	case errors.Is(err, ErrLost):
		t.cancel(ErrLost)
		return
	case err != nil:
		if ctx.Err() == nil {
			m.o.Log.Warn("lease not renewed", "instance", m.o.Instance, "err", err)
		}
		return
	}
	m.mu.Lock()
	if t.timer.Stop() { // otherwise the term has just ended
		t.deadline = began.Add(m.ownLease())
		t.timer.Reset(time.Until(t.deadline))
	}
	news := false
	for name, mine := range held {
		if was, known := t.held[name]; !known || was != mine {
			t.held[name], news = mine, true
		}
	}
	if news {
		close(m.granted)
		m.granted = make(chan struct{})
	}
	m.mu.Unlock()
	if len(late) > 0 {
		m.o.Log.Warn("other instances did not renew their lease; taking over", "instances", late)
		m.signalEnded()
	}
}

// takeFree takes the wanted leases that are free. held receives which of them this process has.
func (m *Member) takeFree(tx *store.Tx, epoch int64, wanted []string, held map[string]bool) error {
	rows, err := tx.Query(`SELECT name, epoch FROM leases`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var holder int64
		if err := rows.Scan(&name, &holder); err != nil {
			return err
		}
		if slices.Contains(wanted, name) {
			held[name] = holder == epoch
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, name := range wanted {
		if _, taken := held[name]; taken {
			continue
		}
		if _, err := tx.Exec(`INSERT INTO leases (name, epoch, since) VALUES (?, ?, `+m.o.Clock+`)`, name, epoch); err != nil {
			return err
		}
		held[name] = true
	}
	return nil
}

func (m *Member) signalEnded() {
	select {
	case m.ended <- struct{}{}:
	default:
	}
}

// joinAgain drops the work of a lost term and joins under a new epoch. It returns an error only if
// another live process has the name.
func (m *Member) joinAgain(ctx context.Context, t *term) error {
	m.mu.Lock()
	t.timer.Stop()
	m.term, m.why = nil, ErrLost
	m.mu.Unlock()
	m.o.Log.Warn("lease lost; the work in progress was dropped and continues where the lease is", "instance", m.o.Instance, "epoch", t.epoch, "outage", m.o.Store.Away())
	t.work.Wait() // nothing of the old term may run under the new epoch
	for ctx.Err() == nil {
		err := m.joinAs(ctx, false)
		switch {
		case err == nil:
			m.o.Log.Info("joined the fleet again", "instance", m.o.Instance, "epoch", m.Epoch())
			m.followOthers(ctx)
			m.signalEnded()
			return nil
		case errors.Is(err, ErrTaken):
			return err
		case ctx.Err() == nil:
			m.o.Log.Debug("cannot join the fleet", "err", err)
		}
		_ = retry.Sleep(ctx, m.o.Lease/6)
	}
	return nil
}

// Leave ends the membership, so that others take over at once. After it, this process writes nothing.
func (m *Member) Leave() {
	if !m.IsShared() {
		return
	}
	m.mu.Lock()
	t := m.term
	if t == nil {
		m.mu.Unlock()
		return
	}
	t.timer.Stop()
	t.cancel(ErrLost)
	m.term = nil
	m.mu.Unlock()
	err := m.o.Store.WriteUnfenced(context.Background(), func(tx *store.Tx) error {
		if _, err := tx.Exec(`UPDATE instances SET ended = 1, commits = commits + 1 WHERE name = ? AND epoch = ?`, m.o.Instance, t.epoch); err != nil {
			return err
		}
		_, err := tx.Exec(`DELETE FROM leases WHERE epoch = ?`, t.epoch)
		return err
	})
	if err != nil {
		m.o.Log.Warn("lease not freed; others take over when it ends", "err", err)
	}
}

// followOthers calls the functions of Follow if other members committed something. It reports whether
// a membership ended, began or is late, so that leases may be free.
func (m *Member) followOthers(ctx context.Context) (moved bool) {
	var commits, ended, left int64
	err := m.o.Store.Read().QueryRowContext(ctx, `SELECT coalesce(sum(commits), 0) + coalesce(max(epoch), 0), coalesce(sum(ended), 0),
		coalesce(min(CASE WHEN ended = 0 THEN until END) - `+m.o.Clock+`, ?) FROM instances WHERE name <> ?`, m.o.Lease.Milliseconds(), m.o.Instance).Scan(&commits, &ended, &left)
	if m.nextEnd = time.Now().Add(m.o.Lease); err != nil { // only the goroutine of Run uses these fields
		return false
	}
	m.nextEnd = time.Now().Add(time.Duration(max(left, 50)) * time.Millisecond)
	moved = left <= 0 || ended != m.seenEnded
	if commits == m.seen && ended == m.seenEnded {
		return moved
	}
	m.seen, m.seenEnded = commits, ended
	m.o.Store.NoteForeignCommit()
	for _, f := range m.follow {
		f.call()
	}
	return moved
}

// followChanges does what followOthers does after notifications, which name the changed tables. Most commits do
// not concern the other instances, so it asks the database only about the members.
func (m *Member) followChanges(ctx context.Context) (moved bool) {
	tables := m.o.Store.TakeForeignChanges()
	if tables == nil || tables["instances"] || tables["leases"] {
		return m.followOthers(ctx)
	}
	m.o.Store.NoteForeignCommit()
	for _, f := range m.follow {
		if slices.ContainsFunc(f.tables, func(t string) bool { return tables[t] }) {
			f.call()
		}
	}
	return false
}
