package replay

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
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

func newSandbox(ctx context.Context, rec session.Recording, ev bus.Event) (_ *replaySandbox, err error) {
	ev.Session, ev.Lane = rec.Session, rec.Session
	ev.Attempts, ev.Crashes = 1, 0
	s := &replaySandbox{rec: rec, ev: ev, player: &recordedModel{rec: recordedAnswers(rec.Own)}}
	if s.dir, err = os.MkdirTemp("", "hob-replay-"); err != nil {
		return nil, fmt.Errorf("replay: create a temporary folder: %w", err)
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	sets := []store.MigrationSet{bus.Migrations(), guard.Migrations(), session.Migrations(), prompt.Migrations(), origins.Migrations(), trace.Migrations()}
	if s.store, err = store.Open(ctx, filepath.Join(s.dir, "replay.db"), sets, store.Options{SkipCheck: true}); err != nil {
		return nil, fmt.Errorf("replay: open the temporary store: %w", err)
	}
	s.bus = bus.New(s.store, bus.Options{Route: func(channel, chat string) (string, string, bool) { return channel, chat, true }})
	s.sessions = session.New(s.store)
	if _, err = s.bus.Inbox.Put(ctx, ev); err != nil {
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
		_ = s.store.Close() // the store is about to be deleted
	}
	_ = os.RemoveAll(s.dir)
}

// replayTurn runs the turn and compares the results.
func (s *replaySandbox) replayTurn(ctx context.Context, as *turn.Runner, ledger []bus.Entry, then *trace.Turn) (Comparison, error) {
	out := Comparison{Session: s.rec.Session, Turn: s.rec.Turn, Differences: []Difference{}}
	d := &differences{list: &out.Differences}
	again, err := as.With(func(o *turn.Options) {
		o.Store, o.Bus, o.Sessions, o.Compactor, o.Usage, o.Hooks, o.Programs, o.Log = s.store, s.bus, s.sessions, nil, nil, nil, nil, slog.New(slog.DiscardHandler)
		if o.Results != nil {
			o.Results = noResults{}
		}
		o.DryRun = ledgerAnswers(ledger)
		o.Models = &replayChooser{current: o.Models, player: s.player, then: modelOf(then), d: d}
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
	played, perr := s.bus.Ledger.Calls(ctx, s.rec.Turn)
	if perr != nil {
		return out, perr
	}
	d.compareVerdicts(ledger, played)
	switch {
	case res.Suspended:
		d.addIfDifferent("end", "", "the turn continued", "the turn asks you for approval")
	case errors.Is(err, errRecording) && len(s.player.comparableMessages(s.rec.Own)) < len(s.rec.Own)-1: // the owner sent messages to the running turn, and the replay ends at the first of them
	case errors.Is(err, errRecording):
		d.addIfDifferent("end", "", "the turn ended with an answer", "the turn calls the model again")
	case err != nil:
		d.addIfDifferent("end", "", "the turn ended with an answer", "the turn fails: "+err.Error())
	}
	out.ModelCalls, out.Calls, out.Same = s.player.next, len(played), len(out.Differences) == 0
	return out, nil
}

// noResults does not store results, because the turn stored them when it first ran.
type noResults struct{}

func (noResults) Put(string, string) error { return nil }

// turnMessages returns the turn's messages that follow the question.
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

// replayChooser provides the recorded answers as the model. It reports a difference if a different
// model would now answer the turn.
type replayChooser struct {
	current turn.ModelChooser
	player  *recordedModel
	then    string // the model that answered in the recording
	d       *differences
}

// Choose implements turn.ModelChooser.
func (c *replayChooser) Choose(ctx context.Context, ask modelrouter.TurnInfo) (modelrouter.Choice, error) {
	choice, err := c.current.Choose(ctx, ask)
	if err != nil {
		c.d.addIfDifferent("model", "", c.then, "none: "+err.Error())
		return modelrouter.Choice{Model: c.player}, nil
	}
	c.player.info = choice.Model.Info()
	if c.then != "" && c.then != c.player.info.Name() {
		c.d.addIfDifferent("model", "", c.then, c.player.info.Name())
	}
	return modelrouter.Choice{Model: c.player, Reason: choice.Reason}, nil
}

// ledgerAnswers holds the recorded calls of a turn.
type ledgerAnswers []bus.Entry

// AnswerCall implements turn.CallAnswerer with the recorded result.
func (ledger ledgerAnswers) AnswerCall(call string) (tools.Result, error) {
	for _, e := range ledger {
		if e.Call != call {
			continue
		}
		if e.State == bus.CallDone {
			return tools.Result{Text: e.Result, Source: e.Source}, nil
		}
		return tools.Result{}, &tools.Error{Code: tools.Code(e.Code), Message: e.Result, Source: e.Source}
	}
	return tools.Result{}, tools.Errorf(tools.OutcomeUnknown, "this call is not in the recording, and a replay runs no tools")
}

// errRecording means that the replay needs more answers than the recording contains.
var errRecording = errors.New("the recording has no further answer")

// recordedModel is a model that returns the recorded answers in order.
type recordedModel struct {
	info   llm.Info
	rec    []llm.Message
	next   int
	system string // system prompt of the last request
}

// recordedAnswers returns the answers in a turn up to the first message that the owner sent to the
// running turn. A replay cannot reproduce what followed.
func recordedAnswers(own []session.Row) (out []llm.Message) {
	for i, r := range own {
		if i > 0 && r.Message.Role == llm.User {
			break
		}
		if r.Message.Role == llm.Assistant {
			out = append(out, r.Message)
		}
	}
	return out
}

// comparableMessages returns the recorded messages between the question and the next user message.
// The replay ends there, so later messages are not compared.
func (p *recordedModel) comparableMessages(own []session.Row) (out []llm.Message) {
	for _, r := range own[1:] {
		if r.Message.Role == llm.User {
			break
		}
		out = append(out, r.Message)
	}
	return out
}

// Info implements llm.Model.
func (p *recordedModel) Info() llm.Info { return p.info }

// Stream implements llm.Model.
func (p *recordedModel) Stream(_ context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		p.system = r.System
		if p.next >= len(p.rec) {
			yield(llm.Event{}, &llm.Error{Kind: llm.BadRequest, Provider: "replay", Message: errRecording.Error(), Err: errRecording})
			return
		}
		m := p.rec[p.next]
		p.next++
		for _, part := range m.Parts {
			if e, ok := partEvent(part); ok && !yield(e, nil) {
				return
			}
		}
		yield(llm.Event{Kind: llm.Done, Stop: llm.EndTurn}, nil)
	}
}

func partEvent(p llm.Part) (llm.Event, bool) {
	switch {
	case p.Call != nil:
		return llm.Event{Kind: llm.CallDone, Call: *p.Call, Signature: p.Signature}, true
	case p.Reasoning != nil:
		return llm.Event{Kind: llm.ReasoningDone, Reasoning: *p.Reasoning}, true
	case p.Image != nil:
		return llm.Event{Kind: llm.ImageDone, Image: *p.Image, Signature: p.Signature}, true
	case p.Text != "":
		return llm.Event{Kind: llm.TextDelta, Text: p.Text, Signature: p.Signature}, true
	}
	return llm.Event{}, false
}
