// Package hooks runs the user's own programs at fixed points of the message flow ([[hooks]] in the
// configuration). A hook reads one JSON object from its standard input. It may refuse the action, or
// add text, which counts as untrusted. It cannot widen permissions: its result contains no approval,
// no grant and no changed argument.
//
// The hooks before an action fail closed: any exit status but 0, a timeout, invalid or oversized
// output, and a program that is missing, unsafe or changed refuse the action. The hooks after an
// action fail open. A hook runs at least once for each event; after a crash it may run again.
//
// The callers are packages intake, turn, commit, notify and session. The package knows none of
// them.
package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"path/filepath"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/autonomy/guard"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
)

// Event is the JSON object that a hook reads.
type Event struct {
	On string `json:"on"` // one of config.HookEvents
	// Session, Event, Call and Channel are ids. Person is the author of the message: "owner",
	// "channel:sender", or "" if there is none.
	Session string `json:"session"`
	Event   string `json:"event,omitempty"`
	Call    string `json:"call,omitempty"`
	Channel string `json:"channel,omitempty"`
	Person  string `json:"person,omitempty"`
	Agent   string `json:"agent,omitempty"`
	// Tool is the name in the catalog.
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Effects   []string        `json:"effects,omitempty"`
	// Text is the message, the result of the call, the answer or the notice. Error is the error of
	// the call.
	Text     string `json:"text,omitempty"`
	Error    string `json:"error,omitempty"`
	Attended bool   `json:"attended"`
	Tainted  bool   `json:"tainted"`
}

// NewEvent returns the input for hooks about an event of the inbox.
func NewEvent(on string, ev bus.Event) Event {
	e := Event{On: on, Session: ev.Session, Event: ev.ID, Channel: ev.Channel, Tainted: ev.Provenance.Tainted()}
	if ev.Kind == bus.Message {
		if e.Attended = ev.Provenance == provenance.Owner; e.Attended {
			e.Person = "owner"
		} else {
			e.Person = ev.Channel + ":" + ev.Sender
		}
	}
	return e
}

// isBefore reports whether hooks at the event may refuse.
func (e Event) isBefore() bool { return e.On != config.ToolAfter && e.On != config.SessionEnd }

// Added is untrusted text that a hook added.
type Added struct {
	Hook string // the name of the hook's program
	Text string
}

// Origin returns the origin of the text.
func (a Added) Origin() provenance.Origin { return provenance.Origin{Kind: "hook", Label: a.Hook} }

// Join appends the added texts to text, each under the name of its hook.
func Join(text string, added []Added) string {
	for _, a := range added {
		text += fmt.Sprintf("\n\n[added by the hook %s]\n%s", a.Hook, a.Text)
	}
	return text
}

// Refusal is the error of an action that a hook refused. Reason is untrusted text.
type Refusal struct {
	On, Hook, Reason string
}

// Error implements error.
func (r *Refusal) Error() string {
	return fmt.Sprintf("the hook %s refused (%s): %s", r.Hook, r.On, r.Reason)
}

// Options holds the options of Open.
type Options struct {
	Hooks []config.Hook
	Off   bool         // runs no hook, for simulations
	Files config.Files // a program in these folders is refused, because tools can change it
	Pins  string       // path of the file with the digests; see system.Paths
	// Store and Guard record each run in the audit log. Nil records nothing.
	Store *store.Store
	Guard *guard.Guard
	Log   *slog.Logger // nil discards all messages
}

// Hooks runs hooks. A nil *Hooks has none. Its methods may be called concurrently.
type Hooks struct {
	o    Options
	list []hook
	pins *pinFile
}

// hook is one entry with its expanded command.
type hook struct {
	config.Hook
	args []string // the command with "~" expanded
}

// programName returns the name of the hook's program or script, for messages.
func (x hook) programName() string {
	if files, err := x.namedFiles(); err == nil && len(files) > 0 && x.isInterpreter() {
		return filepath.Base(files[0])
	}
	return filepath.Base(x.args[0])
}

// Open returns the hooks, and pins the programs that are seen for the first time. A hook that
// cannot run is reported in the log and does not prevent a start.
func Open(o Options) *Hooks {
	if len(o.Hooks) == 0 || o.Off {
		return nil
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &Hooks{o: o, pins: &pinFile{path: o.Pins, stamps: map[string]stampedDigest{}}}
	if o.Store != nil { // this process owns the home, so a hook that still runs was started by a process that was killed
		killMarked(h.runMark())
		killRecordedGroups(h.runFolder())
	}
	for _, c := range o.Hooks {
		h.list = append(h.list, hook{Hook: c, args: expandArgs(c.Command)})
	}
	for _, s := range h.List() {
		if s.State != Ready {
			o.Log.Error("hook not usable", "on", s.On, "command", s.Command[0], "err", s.Cause)
		}
	}
	return h
}

// Has reports whether a hook runs at an event.
func (h *Hooks) Has(on string) bool {
	if h == nil {
		return false
	}
	for _, x := range h.list {
		if x.On == on {
			return true
		}
	}
	return false
}

// matchesEvent reports whether the hook runs at the event.
func (x hook) matchesEvent(e Event) bool {
	ok, err := path.Match(x.Match, e.Tool)
	return x.On == e.On && (x.Match == "" || ok && err == nil)
}

// Run runs the hooks of an event in the order of the configuration and returns the text that they
// added. The error is a *Refusal if a hook refused, which only hooks before an action can, or the
// error of ctx.
func (h *Hooks) Run(ctx context.Context, e Event) ([]Added, error) {
	if !h.Has(e.On) {
		return nil, nil
	}
	var added []Added
	for _, x := range h.list {
		if !x.matchesEvent(e) {
			continue
		}
		r := h.runHook(ctx, x, e)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("hooks: %s: %w", x.programName(), context.Cause(ctx))
		}
		h.recordRun(ctx, x, e, r)
		switch {
		case r.refuse != "" && e.isBefore():
			return nil, &Refusal{On: e.On, Hook: x.programName(), Reason: r.refuse}
		case r.refuse != "":
			h.o.Log.Warn("hook failed", "on", e.On, "hook", x.programName(), "err", r.refuse)
		case r.add != "":
			added = append(added, Added{Hook: x.programName(), Text: r.add})
		}
	}
	return added, nil
}

// EndSession runs the hooks for the end of a conversation.
func (h *Hooks) EndSession(ctx context.Context, session string) {
	_, _ = h.Run(ctx, Event{On: config.SessionEnd, Session: session}) // Run logs failures
}

// result is the outcome of one run.
type result struct {
	refuse string // reason; "" if the hook did not refuse
	failed bool   // whether the program failed instead of refusing
	add    string
	took   time.Duration
}

// Outcomes of a run in the audit log.
const (
	outcomePassed  = "passed"
	outcomeAdded   = "added text"
	outcomeRefused = "refused"
	outcomeFailed  = "failed"
)

func (r result) outcomeText() string {
	switch {
	case r.failed:
		return outcomeFailed
	case r.refuse != "":
		return outcomeRefused
	case r.add != "":
		return outcomeAdded
	}
	return outcomePassed
}

// recordRun writes one line into the audit log. The reason is not part of it, because it may
// contain text that the user wants to forget.
func (h *Hooks) recordRun(ctx context.Context, x hook, e Event, r result) {
	if h.o.Store == nil || h.o.Guard == nil {
		return
	}
	verdict := "allow"
	if r.refuse != "" && e.isBefore() {
		verdict = "deny"
	}
	err := h.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		return h.o.Guard.AuditTx(tx, guard.Record{
			Actor: "hook", Action: "hook", Event: e.Event, Session: e.Session, Origin: e.On, Tool: e.Tool, Call: e.Call, Verdict: verdict,
			Rule: "hook " + x.programName(), Tainted: e.Tainted, Outcome: fmt.Sprintf("%s in %s", r.outcomeText(), r.took.Round(time.Millisecond)), Args: e.Arguments,
		})
	})
	if err != nil {
		h.o.Log.Error("hook run not recorded", "on", e.On, "hook", x.programName(), "err", err)
	}
}

// Limits of a hook's output.
const (
	maxOutput = 64 << 10 // bytes on stdout
	maxReason = 300      // characters of a reason
)

// reply is the JSON object that a hook may print.
type reply struct {
	Refuse *string `json:"refuse"`
	Add    string  `json:"add"`
}

// errReply is the error of output that is not a reply.
var errReply = errors.New(`invalid output: print nothing, plain text, or an object with "refuse" (a reason) or "add" (a text)`)

// parseReply parses the output of a hook that ended with status 0. Output that is not JSON is
// ignored.
func parseReply(out []byte) (r result, err error) {
	text := strings.TrimSpace(string(out))
	switch {
	case len(out) > maxOutput:
		return r, fmt.Errorf("output is larger than %d KiB; print less", maxOutput>>10)
	case text == "" || text[0] != '{' && text[0] != '[':
		return r, nil
	}
	var in reply
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil || dec.More() {
		return r, errReply
	}
	r.add = strings.ToValidUTF8(strings.TrimSpace(in.Add), "\uFFFD")
	if in.Refuse != nil {
		r.refuse, r.add = cleanReason(*in.Refuse, "no reason given"), ""
	}
	return r, nil
}

// cleanReason returns a reason on one line, at most maxReason characters long.
func cleanReason(text, otherwise string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if text == "" {
		return otherwise
	}
	return textnorm.Ellipsize(text, maxReason)
}
