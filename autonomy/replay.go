package autonomy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/autonomy/payload"
	"hob/autonomy/session"
	"hob/autonomy/trace"
	"hob/autonomy/turn"
	"hob/autonomy/turn/modelrouter"
	"hob/autonomy/turn/prompt"
	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/tools"
)

// Replayed is the result that a recorded turn would have today.
type Replayed struct {
	Session     string       `json:"session"`
	Turn        string       `json:"turn"`
	Same        bool         `json:"same"`
	ModelCalls  int          `json:"model_calls"` // answers that were played
	Calls       int          `json:"calls"`       // tool calls that were answered from the ledger
	Differences []Difference `json:"differences"`
}

// Difference is one changed value between the recording and the replay.
type Difference struct {
	What  string `json:"what"`            // system, tools, model, verdict, result, provenance, answer, end
	Where string `json:"where,omitempty"` // a call, a tool
	Was   string `json:"was"`
	Now   string `json:"now"`
}

// ErrNotReplayed says that the event asked no model.
var ErrNotReplayed = errors.New("the event has no model call; only turns can be replayed")

// Replay runs a recorded turn ("" means the last one of the conversation) through the current
// agent. The model gives its recorded answers, tools answer from the ledger without running,
// and all writes go to a temporary store.
func (l *Loop) Replay(ctx context.Context, id, turnID string) (Replayed, error) {
	rec, err := l.o.Sessions.Recorded(ctx, id, turnID)
	if err != nil {
		return Replayed{}, err
	}
	ev, err := l.o.Bus.Event(ctx, rec.Turn)
	if err != nil {
		return Replayed{}, err
	}
	if ev.Kind == bus.Task || ev.Kind == bus.System {
		return Replayed{}, fmt.Errorf("%s: %w", rec.Turn, ErrNotReplayed)
	}
	ledger, err := l.o.Bus.Calls(ctx, rec.Turn)
	if err != nil {
		return Replayed{}, err
	}
	then, err := trace.ReadTurn(l.o.Store.Reader(ctx), rec.Turn)
	if err != nil {
		return Replayed{}, err
	}
	s, err := newStage(ctx, rec, ev)
	if err != nil {
		return Replayed{}, err
	}
	defer s.close()
	as := l.o.Runner
	if l.o.Crew != nil {
		m, err := payload.ParseMessage(ev)
		if err != nil {
			return Replayed{}, err
		}
		who, err := l.o.Crew.CurrentAgent(ctx, placeOf(s.ev, m))
		if err != nil {
			return Replayed{}, fmt.Errorf("replay: find the agent: %w", err)
		}
		as = who.Runner
	}
	return s.replayTurn(ctx, as, ledger, then)
}

// replaySandbox is the temporary store in which a turn is replayed.
type replaySandbox struct {
	rec      session.Recording
	ev       bus.Event
	dir      string
	store    *store.Store
	bus      *bus.Bus
	sessions *session.Sessions
	player   *recordedModel
}

func newStage(ctx context.Context, rec session.Recording, ev bus.Event) (_ *replaySandbox, err error) {
	ev.Session, ev.Lane = rec.Session, rec.Session
	ev.Attempts, ev.Crashes = 1, 0
	s := &replaySandbox{rec: rec, ev: ev, player: &recordedModel{rec: recordedAnswers(rec.Own)}}
	if s.dir, err = os.MkdirTemp("", "hob-replay-"); err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	sets := []store.MigrationSet{bus.Migrations(), guard.Migrations(), session.Migrations(), prompt.Migrations(), origins.Migrations(), trace.Migrations()}
	if s.store, err = store.Open(ctx, filepath.Join(s.dir, "replay.db"), sets, store.Options{SkipCheck: true}); err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	s.bus = bus.New(s.store, bus.Options{Route: func(channel, chat string) (string, string, bool) { return channel, chat, true }})
	s.sessions = session.New(s.store)
	if _, err = s.bus.Put(ctx, ev); err != nil {
		return nil, err
	}
	err = s.store.Write(ctx, func(tx *store.Tx) error {
		for _, r := range rec.Before {
			if err := s.sessions.AppendTx(tx, rec.Session, r.Turn, []llm.Message{r.Message}); err != nil {
				return err
			}
		}
		return s.sessions.AppendTx(tx, rec.Session, rec.Turn, []llm.Message{rec.Own[0].Message})
	})
	return s, err
}

func (s *replaySandbox) close() {
	if s.store != nil {
		_ = s.store.Close() // the store is deleted next
	}
	_ = os.RemoveAll(s.dir)
}

// replayTurn runs the turn and compares.
func (s *replaySandbox) replayTurn(ctx context.Context, as *turn.Runner, ledger []bus.Entry, then *trace.Turn) (Replayed, error) {
	out := Replayed{Session: s.rec.Session, Turn: s.rec.Turn, Differences: []Difference{}}
	d := &differences{list: &out.Differences}
	again, err := as.With(func(o *turn.Options) {
		choose := o.Model
		o.Store, o.Bus, o.Sessions, o.Compactor, o.Book, o.Hooks, o.Log = s.store, s.bus, s.sessions, nil, nil, nil, slog.New(slog.DiscardHandler)
		if o.Results != nil {
			o.Results = kept{} // by the turn itself
		}
		o.Dry = func(call string) (tools.Result, error) { return ledgerResult(ledger, call) }
		o.Model = func(ctx context.Context, ask modelrouter.TurnInfo) (modelrouter.Choice, error) {
			c, err := choose(ctx, ask)
			if err != nil {
				d.addIfDifferent("model", "", modelOf(then), "none: "+err.Error())
				return modelrouter.Choice{Model: s.player}, nil
			}
			s.player.info = c.Model.Info()
			if was := modelOf(then); was != "" && was != s.player.info.Name() {
				d.addIfDifferent("model", "", was, s.player.info.Name())
			}
			return modelrouter.Choice{Model: s.player, Reason: c.Reason}, nil
		}
	})
	if err != nil {
		return out, err
	}
	mine := s.ev.Kind == bus.Message && s.ev.Provenance == provenance.Owner
	res, err := again.Run(ctx, turn.Turn{
		Event: s.ev, Text: s.ev.Text, Source: s.ev.Provenance, Attended: mine, Guest: s.ev.Kind == bus.Message && !mine, Origin: s.ev.Channel, Report: s.rec.Session,
	})
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	now, herr := s.turnMessages(ctx, res)
	if herr != nil {
		return out, herr
	}
	d.compareStamps(s.rec.Stamp, again.Stamp(s.player.system))
	d.compareMessages(s.player.comparableMessages(s.rec.Own), now)
	played, perr := s.bus.Calls(ctx, s.rec.Turn)
	if perr != nil {
		return out, perr
	}
	d.compareVerdicts(ledger, played)
	switch {
	case res.Suspended:
		d.addIfDifferent("end", "", "it went on", "the owner is asked")
	case errors.Is(err, errRecording) && len(s.player.comparableMessages(s.rec.Own)) < len(s.rec.Own)-1: // the owner spoke into it
	case errors.Is(err, errRecording):
		d.addIfDifferent("end", "", "it ended with an answer", "the model is asked again")
	case err != nil:
		d.addIfDifferent("end", "", "it ended with an answer", "it fails: "+err.Error())
	}
	out.ModelCalls, out.Calls, out.Same = s.player.next, len(played), len(out.Differences) == 0
	return out, nil
}

// kept stands for results that were stored when the turn ran.
type kept struct{}

func (kept) Put(string, string) error { return nil }

// turnMessages returns the turn's messages after the question.
func (s *replaySandbox) turnMessages(ctx context.Context, res turn.Outcome) ([]llm.Message, error) {
	if res.Record != nil {
		if err := s.store.Write(ctx, res.Record); err != nil {
			return nil, err
		}
	}
	_, stored, err := s.sessions.History(ctx, s.rec.Session, s.rec.Turn)
	if err != nil {
		return nil, err
	}
	return slices.Concat(stored, res.Messages)[1:], nil
}

func modelOf(t *trace.Turn) string {
	if t == nil {
		return ""
	}
	return t.Model
}

// ledgerResult returns the recorded result of a call from the ledger.
func ledgerResult(ledger []bus.Entry, call string) (tools.Result, error) {
	for _, e := range ledger {
		if e.Call != call {
			continue
		}
		if e.State == bus.CallDone {
			return tools.Result{Text: e.Result, Source: e.Source}, nil
		}
		return tools.Result{}, &tools.Error{Code: tools.Code(e.Code), Message: e.Result, Source: e.Source}
	}
	return tools.Result{}, tools.Errorf(tools.OutcomeUnknown, "this call was not made then, and a replay makes none")
}
