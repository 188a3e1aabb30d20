package autonomy

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"hob/autonomy/bus"
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

// tidyLater queues the maintenance of a conversation for an idle moment. If the queue is full,
// the next answer queues it again.
func (l *Loop) tidyLater(ev bus.Event) {
	select {
	case l.chores <- maintenanceJob{ev.Session, ev.ID, ev.Kind != bus.Message}:
	default:
	}
}

// calmAfter is the idle time after the last turn until memory is returned to the system. The Go
// runtime would take minutes, and collecting the small heap takes about a millisecond.
const calmAfter = 10 * time.Second

// gatherAfter is the idle time after the last turn until new messages are indexed: many
// consecutive turns share one transaction.
const gatherAfter = time.Second

// runMaintenance maintains conversations, one at a time, until ctx ends. It returns memory to the system
// when the process is idle.
func (l *Loop) runMaintenance(ctx context.Context) {
	calm := time.NewTimer(calmAfter) // opening left some behind
	defer calm.Stop()
	gather := time.NewTimer(calmAfter / 2) // what the last process left
	defer gather.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-calm.C:
			if l.Running() == 0 {
				debug.FreeOSMemory()
			}
			if err := errors.Join(trace.PruneTicks(ctx, l.o.Store, l.o.KeepTraces), l.pruneNotices(ctx)); err != nil && ctx.Err() == nil {
				l.o.Log.Warn("old traces cannot be removed", "err", err)
			}
			if l.Running() == 0 { // last, since what comes before uses much of the program
				system.ReleaseProgramPages()
			}
		case <-gather.C:
			l.indexMessages(ctx)
		case c := <-l.chores:
			calm.Reset(calmAfter)
			if !l.unfound.Swap(true) {
				gather.Reset(gatherAfter)
			}
			if err := l.tidyOne(ctx, c); err != nil && ctx.Err() == nil {
				l.o.Log.Warn("conversation maintenance failed", "session", c.session, "err", err)
			}
		}
	}
}

// indexMessages indexes new messages.
func (l *Loop) indexMessages(ctx context.Context) {
	if l.o.Gather == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			l.o.Log.Error("message indexing panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	l.unfound.Store(false)
	if err := l.o.Gather(ctx); err != nil && ctx.Err() == nil {
		l.o.Log.Warn("message indexing failed, retrying after the next turn", "err", err)
	}
}

// gatherLast indexes new messages before the process exits: a command without a daemon ends
// before the idle time has passed.
func (l *Loop) gatherLast(ctx context.Context) {
	if !l.unfound.Load() && len(l.chores) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, gatherAfter)
	defer cancel()
	l.indexMessages(ctx)
}

// tidyOne keeps the window within its limits.
func (l *Loop) tidyOne(ctx context.Context, c maintenanceJob) (err error) {
	defer func() {
		if p := recover(); p != nil {
			l.o.Log.Error("tidying panicked", "session", c.session, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	if l.o.Compactor != nil {
		err = l.o.Compactor.CompactIfNeeded(ctx, c.session, c.turn, c.unattended)
	}
	return err
}

// RecordCompaction writes a line of the audit log about each compaction, in its
// transaction: sizes, no words.
func RecordCompaction(g *guard.Guard) func(*store.Tx, session.Report) error {
	return func(tx *store.Tx, r session.Report) error {
		return g.AuditTx(tx, guard.Record{
			Actor: "hob", Action: "compact", Event: r.Turn, Session: r.Session, Origin: "session", Tool: "(none)", Verdict: "allow",
			Rule: r.How, Tainted: r.Tainted, Outcome: fmt.Sprintf("%d to %d bytes", r.Before, r.After),
		})
	}
}
