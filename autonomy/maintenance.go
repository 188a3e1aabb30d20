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

// maintenance maintains conversations and traces when Hob is idle.
type maintenance struct {
	store      *store.Store
	compactor  *session.Compactor // nil means that conversations have no limit
	messages   MessageIndexer     // nil means that messages are not indexed
	delivery   *delivery.Delivery
	turns      *runningTurns
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
	for {
		select {
		case <-ctx.Done():
			return
		case <-calm.C:
			if m.turns.count() == 0 {
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
		case job := <-m.jobs:
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
