package autonomy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/delivery"
	"hob/autonomy/guard"
	"hob/autonomy/session"
	"hob/autonomy/trace"
	"hob/platform/host/system"
	"hob/platform/store"
	"hob/platform/store/lease"
)

// maintenanceJob is the maintenance that a conversation needs after an answer.
type maintenanceJob struct {
	session, turn string
	unattended    bool
}

// MessageIndexer indexes new messages. *session.MessageIndex implements it.
type MessageIndexer interface {
	Index(ctx context.Context) error
}

// MemoryKeeper keeps the memory tidy. *consolidate.Consolidator implements it.
type MemoryKeeper interface {
	// StoreUses stores which facts searches have found.
	StoreUses(ctx context.Context) error
	// Step makes the nightly consolidation if it is due, and returns the time of the next one.
	Step(ctx context.Context) (next time.Time, err error)
}

// maintenance maintains conversations, the memory and traces when Hob is idle.
type maintenance struct {
	store      *store.Store
	compactor  *session.Compactor // nil means that conversations have no limit
	messages   MessageIndexer     // nil means that messages are not indexed
	memory     MemoryKeeper       // nil means that the memory is not consolidated
	nightly    bool               // whether this process consolidates the memory each night
	delivery   *delivery.Delivery
	turns      *runningTurns
	lease      *lease.Member
	keepTraces time.Duration
	log        *slog.Logger

	jobs    chan maintenanceJob // jobs to run when Hob is idle; see TidyLater
	unfound atomic.Bool         // whether some messages are not indexed yet
}

// TidyLater queues a conversation for maintenance when Hob is idle. If the queue is full, the next
// answer queues the conversation again.
func (m *maintenance) TidyLater(ev bus.Event) {
	select {
	case m.jobs <- maintenanceJob{ev.Session, ev.ID, ev.Kind != bus.Message}:
	default:
	}
}

// calmAfter is how long Hob must be idle after the last turn before it returns memory to the
// system. The Go runtime alone would return it only after minutes. A collection of the small heap
// takes about a millisecond.
const calmAfter = 10 * time.Second

// gatherAfter is how long Hob must be idle after the last turn before it indexes new messages.
// Consecutive turns therefore share one transaction.
const gatherAfter = time.Second

// runJobs maintains one conversation at a time until ctx ends. It returns memory to the system when
// Hob is idle.
func (m *maintenance) runJobs(ctx context.Context) {
	calm := time.NewTimer(calmAfter) // after startup, some memory is unused
	defer calm.Stop()
	gather := time.NewTimer(calmAfter / 2) // index messages that the previous process did not index
	defer gather.Stop()
	night := time.NewTimer(calmAfter)
	defer night.Stop()
	if !m.nightly {
		night.Stop()
	}
	busy := false // whether turns have ended since the last calm
	for {
		select {
		case <-ctx.Done():
			return
		case <-calm.C:
			if m.turns.count() == 0 {
				system.CollectOften()
				busy = false
				debug.FreeOSMemory()
			}
			if err := m.pruneTraces(ctx); err != nil && ctx.Err() == nil {
				m.log.Warn("old traces cannot be removed", "err", err)
			}
			if m.turns.count() == 0 { // done last, because the work above loads many pages of the program into memory
				system.ReleaseProgramPages()
			}
		case <-gather.C:
			m.indexMessages(ctx)
		case <-night.C:
			night.Reset(m.consolidateMemory(ctx))
		case job := <-m.jobs:
			if !busy {
				system.CollectRarely()
				busy = true
			}
			calm.Reset(calmAfter)
			if !m.unfound.Swap(true) {
				gather.Reset(gatherAfter)
			}
			if err := m.tidyOne(ctx, job); err != nil && ctx.Err() == nil {
				m.log.Warn("conversation maintenance failed", "session", job.session, "err", err)
			}
		}
	}
}

// indexMessages indexes new messages.
func (m *maintenance) indexMessages(ctx context.Context) {
	if m.messages == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			m.log.Error("message indexing panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	m.unfound.Store(false)
	if err := m.messages.Index(ctx); err != nil && ctx.Err() == nil {
		m.log.Warn("message indexing failed, retrying after the next turn", "err", err)
	}
	if m.memory == nil {
		return
	}
	if err := m.memory.StoreUses(ctx); err != nil && ctx.Err() == nil {
		m.log.Warn("uses of facts not stored", "err", err)
	}
}

// consolidateMemory makes the nightly consolidation if it is due, and returns the time until it
// should be called again. That is at most an hour, because the machine may be suspended in the
// meantime.
func (m *maintenance) consolidateMemory(ctx context.Context) (wait time.Duration) {
	if m.turns.count() > 0 || !m.lease.Holds("consolidation") {
		return calmAfter
	}
	wait = time.Hour
	defer func() {
		if p := recover(); p != nil {
			m.log.Error("consolidation of the memory panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	next, err := m.memory.Step(ctx)
	if err != nil && ctx.Err() == nil {
		m.log.Warn("consolidation of the memory failed; Hob will try again", "err", err)
	}
	return min(wait, max(calmAfter, time.Until(next)))
}

// gatherLast indexes new messages before the process exits, because a command without a daemon ends
// before the idle time has passed.
func (m *maintenance) gatherLast(ctx context.Context) {
	if !m.unfound.Load() && len(m.jobs) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, gatherAfter)
	defer cancel()
	m.indexMessages(ctx)
}

// tidyOne keeps a conversation's window within its limits.
func (m *maintenance) tidyOne(ctx context.Context, job maintenanceJob) (err error) {
	defer func() {
		if p := recover(); p != nil {
			m.log.Error("tidying panicked", "session", job.session, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	if m.compactor != nil {
		err = m.compactor.CompactIfNeeded(ctx, job.session, job.turn, job.unattended)
	}
	return err
}

// pruneTraces removes traces of ticks and outcomes of notices whose retention time has passed.
func (m *maintenance) pruneTraces(ctx context.Context) error {
	if m.keepTraces <= 0 {
		return nil
	}
	return errors.Join(trace.PruneTicks(ctx, m.store, m.keepTraces), m.delivery.Prune(ctx, time.Now().Add(-m.keepTraces)))
}

// RecordCompaction returns a function that records a compaction in the audit log, in the
// transaction of the compaction. The entry contains sizes but no text from the conversation.
func RecordCompaction(g *guard.Guard) func(*store.Tx, session.Report) error {
	return func(tx *store.Tx, r session.Report) error {
		return g.AuditTx(tx, guard.Record{
			Actor: "hob", Action: "compact", Event: r.Turn, Session: r.Session, Origin: "session", Tool: "(none)", Verdict: "allow",
			Rule: r.How, Tainted: r.Tainted, Outcome: fmt.Sprintf("%d to %d bytes", r.Before, r.After),
		})
	}
}
