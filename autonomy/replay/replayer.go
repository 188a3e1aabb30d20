// Package replay runs a recorded turn with the current agent and compares the outcome with the
// recording: the system prompt, the tools, the guard's verdicts, the results and the answer. The
// model returns its recorded answers. Tool calls are answered from the ledger without running the
// tools. All writes go to a temporary store. `hob session replay` shows the comparison.
package replay

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hob/autonomy/agents"
	"hob/autonomy/bus"
	"hob/autonomy/payload"
	"hob/autonomy/session"
	"hob/autonomy/trace"
	"hob/autonomy/turn"
	"hob/platform/store"
	"hob/platform/text/textnorm"
)

// ErrNotReplayed means that the event has no turn that could be replayed.
var ErrNotReplayed = errors.New("the event has no model call; only turns can be replayed")

// Options holds the options of New. Options without a documented default are required.
type Options struct {
	Store    *store.Store
	Bus      *bus.Bus
	Sessions *session.Sessions
	// Runner runs the turns of the default agent.
	Runner *turn.Runner
	// Agents finds the agent that answers in a conversation. Nil means that only the default agent
	// exists.
	Agents *agents.Registry
}

// Replayer replays recorded turns. Its methods may be called concurrently.
type Replayer struct{ o Options }

// New returns a Replayer after checking the options.
func New(o Options) (*Replayer, error) {
	if o.Store == nil || o.Bus == nil || o.Sessions == nil || o.Runner == nil {
		return nil, errors.New("replay: Options needs Store, Bus, Sessions and Runner")
	}
	return &Replayer{o: o}, nil
}

// Comparison is the result that a recorded turn would have now, compared with the recording.
type Comparison struct {
	Session     string       `json:"session"`
	Turn        string       `json:"turn"`
	Same        bool         `json:"same"`
	ModelCalls  int          `json:"model_calls"` // number of recorded answers that were replayed
	Calls       int          `json:"calls"`       // number of tool calls answered from the ledger
	Differences []Difference `json:"differences"`
}

// Difference is one value that differs between the recording and the replay.
type Difference struct {
	What  string `json:"what"`            // system, tools, model, verdict, result, provenance, answer or end
	Where string `json:"where,omitempty"` // the call or tool that differs
	Was   string `json:"was"`
	Now   string `json:"now"`
}

// Text formats the comparison for users.
func (r Comparison) Text() string {
	if r.Same {
		return fmt.Sprintf("no differences: turn %s of %s, %d answers and %d calls", r.Turn, r.Session, r.ModelCalls, r.Calls)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d differences: turn %s of %s, %d answers and %d calls", len(r.Differences), r.Turn, r.Session, r.ModelCalls, r.Calls)
	for _, x := range r.Differences {
		fmt.Fprintf(&b, "\n%s\n  - %s\n  + %s", strings.TrimSpace(x.What+" "+x.Where), excerptDifference(x.Was, x.Now), excerptDifference(x.Now, x.Was))
	}
	return b.String()
}

// excerptDifference returns an excerpt of s that begins shortly before the point where s and other
// differ.
func excerptDifference(s, other string) string {
	at := 0
	for at < min(len(s), len(other)) && s[at] == other[at] {
		at++
	}
	if s == "" {
		return "(nothing)"
	}
	if from := at - 40; from > 0 {
		s = "… " + strings.ToValidUTF8(s[from:], "")
	}
	return textnorm.Ellipsize(s, 200)
}

// Replay runs a recorded turn with the current agent. If turnID is "", it is the last turn of the
// conversation. The model returns its recorded answers. Tool calls are answered from the ledger
// without running the tools. All writes go to a temporary store.
func (p *Replayer) Replay(ctx context.Context, sessionID, turnID string) (Comparison, error) {
	rec, err := p.o.Sessions.Recorded(ctx, sessionID, turnID)
	if err != nil {
		return Comparison{}, err
	}
	ev, err := p.o.Bus.Inbox.Event(ctx, rec.Turn)
	if err != nil {
		return Comparison{}, err
	}
	if ev.Kind == bus.Task || ev.Kind == bus.System {
		return Comparison{}, fmt.Errorf("%s: %w", rec.Turn, ErrNotReplayed)
	}
	ledger, err := p.o.Bus.Ledger.Calls(ctx, rec.Turn)
	if err != nil {
		return Comparison{}, err
	}
	then, err := trace.ReadTurn(p.o.Store.Reader(ctx), rec.Turn)
	if err != nil {
		return Comparison{}, err
	}
	s, err := newSandbox(ctx, rec, ev)
	if err != nil {
		return Comparison{}, err
	}
	defer s.close()
	as := p.o.Runner
	if p.o.Agents != nil {
		m, err := payload.ParseMessage(ev)
		if err != nil {
			return Comparison{}, err
		}
		who, err := p.o.Agents.CurrentAgent(ctx, agents.MessageOriginOf(s.ev, m))
		if err != nil {
			return Comparison{}, fmt.Errorf("replay: find the agent: %w", err)
		}
		as = who.Runner
	}
	return s.replayTurn(ctx, as, ledger, then)
}
