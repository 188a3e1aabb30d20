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

// maintenanceJob is the maintenance of a conversation after an answer.
type maintenanceJob struct {
	session, turn string
	unattended    bool
}

// MessageIndexer indexes new messages; *session.MessageIndex implements it.
type MessageIndexer interface {
	Index(ctx context.Context) error
}

// maintenance works on conversations and traces while no one waits.
type maintenance struct {
	store      *store.Store
	compactor  *session.Compactor // nil: conversations have no limit
	messages   MessageIndexer     // nil: messages are not indexed
	delivery   *delivery.Delivery
	turns      *runningTurns
	keepTraces time.Duration
	log        *slog.Logger

	jobs    chan maintenanceJob // jobs that wait for an idle moment; see TidyLater
	unfound atomic.Bool         // messages exist that are not indexed yet
}

// TidyLater queues the maintenance of a conversation for an idle moment. If the queue is full,
// the next answer queues it again.
func (m *maintenance) TidyLater(ev bus.Event) {
	select {
	case m.jobs <- maintenanceJob{ev.Session, ev.ID, ev.Kind != bus.Message}:
	default:
	}
}

// calmAfter is the idle time after the last turn until memory is returned to the system. The Go
// runtime would return it only after minutes, and collecting the small heap takes about a
// millisecond.
const calmAfter = 10 * time.Second

// gatherAfter is the idle time after the last turn until new messages are indexed: many
// consecutive turns share one transaction.
const gatherAfter = time.Second

// runJobs maintains conversations, one at a time, until ctx ends. It returns memory to the system
// when the process is idle.
func (m *maintenance) runJobs(ctx context.Context) {
	calm := time.NewTimer(calmAfter) // the start of Hob leaves unused memory
	defer calm.Stop()
	gather := time.NewTimer(calmAfter / 2) // for messages that the previous process did not index
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
			if m.turns.count() == 0 { // last, because the work above reads many pages of the program
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

// gatherLast indexes new messages before the process exits: a command without a daemon ends
// before the idle time has passed.
func (m *maintenance) gatherLast(ctx context.Context) {
	if !m.unfound.Load() && len(m.jobs) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, gatherAfter)
	defer cancel()
	m.indexMessages(ctx)
}

// tidyOne keeps the window within its limits.
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

// pruneTraces removes the traces of ticks and the outcomes of notices that are older than they
// are kept.
func (m *maintenance) pruneTraces(ctx context.Context) error {
	if m.keepTraces <= 0 {
		return nil
	}
	return errors.Join(trace.PruneTicks(ctx, m.store, m.keepTraces), m.delivery.Prune(ctx, time.Now().Add(-m.keepTraces)))
}

// RecordCompaction returns a function that writes a line of the audit log about a compaction, in
// its transaction. The line contains sizes and no text of the conversation.
func RecordCompaction(g *guard.Guard) func(*store.Tx, session.Report) error {
	return func(tx *store.Tx, r session.Report) error {
		return g.AuditTx(tx, guard.Record{
			Actor: "hob", Action: "compact", Event: r.Turn, Session: r.Session, Origin: "session", Tool: "(none)", Verdict: "allow",
			Rule: r.How, Tainted: r.Tainted, Outcome: fmt.Sprintf("%d to %d bytes", r.Before, r.After),
		})
	}
}
