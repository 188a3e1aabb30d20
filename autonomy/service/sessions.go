package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"hob/autonomy/agents"
	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/autonomy/mind/extract"
	"hob/autonomy/payload"
	"hob/autonomy/session"
	"hob/autonomy/trace"
	"hob/channels"
	"hob/platform/store"
	"hob/platform/text/credential"
	"hob/platform/text/sorting"
)

// Sessions implements api.Sessions.
func (sv *Service) Sessions(ctx context.Context, q api.Query) ([]api.Session, error) {
	list, err := sv.o.Sessions.List(ctx, q.Limit)
	return ConvertEach(list, apiSession), Classify(err)
}

// Messages implements api.Sessions. It merges received and sent messages. The two lists have
// separate ids, so it reads more of both until it finds enough rows after Query.Before.
func (sv *Service) Messages(ctx context.Context, q api.Query) ([]api.ChatLine, error) {
	for n := q.Limit; ; n *= 4 {
		out, complete, err := sv.mergedMessages(ctx, q.Of, n)
		if err != nil {
			return nil, Classify(err)
		}
		at := 0
		if q.Before != "" {
			at = slices.IndexFunc(out, func(l api.ChatLine) bool { return l.ID == q.Before }) + 1
			if at == 0 && complete {
				return []api.ChatLine{}, nil
			}
		}
		if complete || at+q.Limit <= n && (at > 0 || q.Before == "") {
			return out[at:min(len(out), at+q.Limit)], nil
		}
	}
}

// mergedMessages returns at least the newest n messages in a session, newest first. complete reports
// whether there are no others.
func (sv *Service) mergedMessages(ctx context.Context, session string, n int) (out []api.ChatLine, complete bool, err error) {
	heard, err := sv.o.Bus.Inbox.List(ctx, session, "", n)
	if err != nil {
		return nil, false, err
	}
	said, err := sv.o.Bus.Outbox.Deliveries(ctx, session, "", "", n)
	if err != nil {
		return nil, false, err
	}
	copied, err := sv.forkedLines(ctx, session)
	if err != nil {
		return nil, false, err
	}
	out = append([]api.ChatLine{}, copied...)
	for _, e := range heard {
		from := "owner"
		if e.Provenance.Tainted() || agents.IsTaskEvent(e) { // the task was delegated by another agent
			from = e.Sender
		}
		out = append(out, api.ChatLine{ID: e.ID, Event: e.ID, From: from, Kind: "message", Text: e.Text, State: string(e.State), At: e.ReceivedAt, Attached: payload.Attachments(e)})
	}
	for _, d := range said {
		out = append(out, api.ChatLine{ID: d.ID, Event: d.Event, From: "hob", Kind: string(d.Kind), Text: d.Text, State: string(d.State), At: d.CreatedAt})
	}
	sorting.StableByFunc(out, func(x, y api.ChatLine) int { return y.At.Compare(x.At) })
	return out, len(heard) < n && len(said) < n, nil
}

// forkedLines returns the lines that a fork copied from its original conversation.
func (sv *Service) forkedLines(ctx context.Context, id string) ([]api.ChatLine, error) {
	var out []api.ChatLine
	err := sv.o.Sessions.ForEachCopied(ctx, id, func(r session.Row) {
		text := ""
		for _, p := range r.Message.Parts {
			if !p.Context && p.Text != "" {
				text = strings.TrimSpace(text + "\n" + p.Text)
			}
		}
		l := api.ChatLine{ID: fmt.Sprint("m", r.ID), Event: r.Turn, From: session.SpeakerOf(r.Message), Kind: "message", Text: text, State: "done", At: r.CreatedAt}
		if r.Message.Role == llm.Assistant {
			l.Kind = "reply"
		}
		if text != "" {
			out = append(out, l)
		}
	})
	slices.Reverse(out)
	return out, err
}

// Search implements api.Sessions.
func (sv *Service) Search(ctx context.Context, q api.SearchQuery) ([]api.FoundMessage, error) {
	if q.Who != "" && !slices.Contains(session.Speakers(), q.Who) {
		return nil, fmt.Errorf("%w: who=%q; use %s", api.ErrInvalid, q.Who, strings.Join(session.Speakers(), ", "))
	}
	found, err := sv.o.Messages.Search(ctx, session.Query{Text: q.Text, Session: q.Session, Who: q.Who, Since: q.Since, Until: q.Until, Limit: q.Limit, Viewer: credential.AskedBy(q.Text)})
	return ConvertEach(found, apiFoundMessage), Classify(err)
}

// Export implements api.Sessions.
func (sv *Service) Export(ctx context.Context, id, format string, w io.Writer) error {
	return Classify(sv.o.Sessions.Export(ctx, id, format, sv.o.Zone(), w))
}

// Fork implements api.Sessions.
func (sv *Service) Fork(ctx context.Context, from, to, at string) (api.Session, error) {
	var out session.Info
	err := sv.o.Store.Write(ctx, func(tx *store.Tx) (err error) {
		if to == "" {
			if to, err = sv.o.Sessions.FreeTx(tx, from+"-fork"); err != nil {
				return err
			}
		}
		out, err = sv.o.Sessions.ForkTx(tx, from, to, at)
		return err
	})
	return api.Session(out), Classify(err)
}

// Replay implements api.Sessions.
func (sv *Service) Replay(ctx context.Context, id, turn string) (api.Replay, error) {
	r, err := sv.o.Replayer.Replay(ctx, id, turn)
	return apiReplay(r), Classify(err)
}

// Reset implements api.Sessions.
func (sv *Service) Reset(ctx context.Context, session string) (api.ResetSession, error) {
	err := sv.o.Sessions.Reset(ctx, session)
	return api.ResetSession{Session: session}, Classify(err)
}

// Compact implements api.Sessions.
func (sv *Service) Compact(ctx context.Context, id string) (api.Compaction, error) {
	saved, err := sv.o.Extractor.Flush(ctx, id)
	if err != nil && !errors.Is(err, extract.ErrOff) { // the messages stay, so that Hob can extract their facts later
		sv.o.Log.Warn("facts not extracted before the compaction", "session", id, "err", err)
	}
	r, err := sv.o.Compactor.CompactNow(ctx, id)
	if errors.Is(err, session.ErrNothing) {
		err = fmt.Errorf("%w: %w, because its newest messages always stay", api.ErrConflict, err)
	}
	return api.Compaction{Session: id, How: r.How, Model: r.Model, Before: r.Before, After: r.After, Facts: len(saved.Facts)}, Classify(err)
}

// Receive implements channels.Receiver.
func (sv *Service) Receive(ctx context.Context, in channels.Inbound) (channels.Accepted, error) {
	acc, err := sv.o.Intake.Receive(ctx, in)
	return acc, Classify(err)
}

// Known implements channels.DuplicateChecker.
func (sv *Service) Known(ctx context.Context, in channels.Inbound) (channels.Accepted, bool, error) {
	return sv.o.Intake.Known(ctx, in)
}

// Overhear implements channels.RejectionObserver.
func (sv *Service) Overhear(ctx context.Context, in channels.Inbound) error {
	return sv.o.Intake.Overhear(ctx, in)
}

// Event implements api.Turns.
func (sv *Service) Event(ctx context.Context, id string) (api.EventStatus, error) {
	e, err := sv.o.Bus.Inbox.Event(ctx, id)
	if err != nil {
		return api.EventStatus{}, Classify(err)
	}
	return sv.eventStatus(ctx, e)
}

// Wait implements api.Turns.
func (sv *Service) Wait(ctx context.Context, id string) (api.EventStatus, error) {
	for first := true; ; first = false {
		settled, cancel := sv.o.Bus.Inbox.EventClosed(id)
		e, err := sv.o.Bus.Inbox.Event(ctx, id)
		if err != nil {
			cancel()
			return api.EventStatus{}, Classify(err)
		}
		if e.State == bus.Done || e.State == bus.Dead {
			cancel()
			return sv.eventStatus(ctx, e)
		}
		if first && isDoneWithin(settled, soon) { // most turns end soon
			cancel()
			continue
		}
		if s, waits, err := sv.awaitsOwner(ctx, e); err != nil || waits {
			cancel()
			return s, err
		}
		// An event that waits for an earlier event gets no signal when the earlier one requests
		// approval. Therefore poll from time to time.
		var again <-chan time.Time
		if e.State == bus.Pending {
			again = time.After(time.Second)
		}
		select {
		case <-settled:
		case <-again:
		case <-ctx.Done():
			cancel()
			return api.EventStatus{}, ctx.Err()
		}
		cancel()
	}
}

// soon is how long Wait waits for the end before it checks for an approval request.
const soon = 50 * time.Millisecond

func isDoneWithin(done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

func (sv *Service) eventStatus(ctx context.Context, e bus.Event) (api.EventStatus, error) {
	s := api.EventStatus{ID: e.ID, Session: e.Session, State: string(e.State), Attempts: e.Attempts, Answer: e.Answer, Error: e.Error, Tools: []api.ToolUse{}, Usage: json.RawMessage("null")}
	if e.State == bus.Pending || e.State == bus.Claimed {
		n, err := sv.o.Bus.Inbox.QueuePosition(ctx, e)
		if err != nil {
			return s, err
		}
		s.Position = n
		waiting, err := sv.o.Guard.Approvals(ctx, guard.Pending, "", e.ID, 100)
		if err != nil {
			return s, err
		}
		s.Approvals = ConvertEach(waiting, guard.Approval.API)
		below, err := sv.questionsBelow(ctx, e)
		s.Approvals = append(s.Approvals, below...)
		return s, err
	}
	done, err := trace.ReadTurn(sv.o.Store.Reader(ctx), e.ID)
	if err != nil {
		return s, err
	}
	if done == nil {
		return s, nil
	}
	if s.Usage, err = json.Marshal(done.Usage); err != nil {
		return s, err
	}
	if done.How == "command" || done.How == "notice" {
		return s, nil // commands and notices use no tools
	}
	calls, err := sv.o.Bus.Ledger.Calls(ctx, e.ID)
	for _, c := range calls {
		s.Tools = append(s.Tools, api.ToolUse{ID: c.Call, Name: c.Tool, Args: c.Args, State: string(c.State), Text: c.Result, Data: c.Data, Undoable: isUndoable(c)})
	}
	return s, err
}

// awaitsOwner reports whether the event cannot continue before the user answers a request, either
// for this event or for an earlier event in its session that blocks it.
func (sv *Service) awaitsOwner(ctx context.Context, e bus.Event) (api.EventStatus, bool, error) {
	s, err := sv.eventStatus(ctx, e) // also done for a claimed event, because the turn of an external agent waits for an approval in memory
	if err != nil || len(s.Approvals) > 0 || s.Position == 0 {
		return s, err == nil && len(s.Approvals) > 0, err
	}
	blockers, err := sv.o.Bus.Inbox.Blockers(ctx, e)
	if err != nil {
		return s, false, err
	}
	before, err := sv.o.Guard.Approvals(ctx, guard.Pending, e.Session, "", 100)
	if err != nil {
		return s, false, err
	}
	before = slices.DeleteFunc(before, func(a guard.Approval) bool { return !slices.Contains(blockers, a.Event) })
	s.Approvals = append(s.Approvals, ConvertEach(before, guard.Approval.API)...)
	below, err := sv.questionsUnder(ctx, e.Session, func(t agents.Task) bool { return !t.Background })
	s.Approvals = append(s.Approvals, below...)
	return s, len(s.Approvals) > 0, err
}

// questionsBelow returns the approval requests for tasks that a turn delegated. They are shown in
// the conversation of the turn, and the turn waits for the answers.
func (sv *Service) questionsBelow(ctx context.Context, e bus.Event) ([]api.Approval, error) {
	if e.State != bus.Pending || e.NotBefore.IsZero() {
		return nil, nil
	}
	return sv.questionsUnder(ctx, e.Session, func(t agents.Task) bool { return !t.Background && (t.Parent == e.ID || t.Session != e.Session) })
}

// questionsUnder returns the approval requests for running tasks that were delegated by a
// conversation, or by a conversation below it.
func (sv *Service) questionsUnder(ctx context.Context, session string, meant func(agents.Task) bool) ([]api.Approval, error) {
	list, err := sv.o.Agents.Tasks(ctx, false, 1000)
	if err != nil {
		return nil, err
	}
	var out []api.Approval
	for _, t := range list {
		if t.Session != session && !strings.HasPrefix(t.Session, session+"/") || !meant(t) {
			continue
		}
		waiting, err := sv.o.Guard.Approvals(ctx, guard.Pending, "", t.Event, 100)
		if err != nil {
			return nil, err
		}
		out = append(out, ConvertEach(waiting, guard.Approval.API)...)
	}
	return out, nil
}

// Inbox implements api.Turns.
func (sv *Service) Inbox(ctx context.Context, q api.Query) ([]api.Event, error) {
	list, err := sv.o.Bus.Inbox.List(ctx, q.Of, q.Before, q.Limit)
	return ConvertEach(list, apiEvent), Classify(err)
}

// Stop implements api.Turns.
func (sv *Service) Stop(ctx context.Context, session string) (api.Stopped, error) {
	stopped, err := sv.o.Loop.Stop(ctx, session)
	return api.Stopped{Stopped: stopped}, Classify(err)
}

// CancelEvent ends one event; see autonomy.Loop.CancelEvent. The A2A server uses it.
func (sv *Service) CancelEvent(ctx context.Context, id string) (bool, error) {
	open, err := sv.o.Loop.CancelEvent(ctx, id)
	return open, Classify(err)
}

// Subscribe implements api.Feed.
func (sv *Service) Subscribe(after uint64) api.Subscription {
	s := &subscription{sub: sv.o.Bus.Feed.Subscribe(after), c: make(chan api.FeedEvent), stop: make(chan struct{})}
	go s.pumpEvents()
	return s
}

// subscription converts the bus's live events to the API's.
type subscription struct {
	sub  *bus.Subscription
	c    chan api.FeedEvent
	stop chan struct{}
}

func (s *subscription) pumpEvents() {
	defer close(s.c)
	for e := range s.sub.C() {
		select {
		case s.c <- api.FeedEvent(e):
		case <-s.stop:
			return
		}
	}
}

func (s *subscription) C() <-chan api.FeedEvent { return s.c }

func (s *subscription) Close() {
	close(s.stop)
	s.sub.Close()
}
