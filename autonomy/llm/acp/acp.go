// Package acp lets an external agent (Claude Code, Codex, Gemini CLI, OpenCode,
// Copilot, ...) be the brain of a conversation, over the Agent Client Protocol
// (https://agentclientprotocol.com): JSON-RPC on the standard input and output
// of a child process.
//
// Such an agent acts by itself, with tools of its own, as the owner's user.
// What it asks permission for goes to llm.Desk, and so past Hob's guard; what it
// says that it did is told there, too. What it does without asking Hob cannot
// see or stop: only a sandbox around its command can. So Hob offers it nothing
// of its own (no file system, no terminal, no tools), gives it an environment
// without Hob's and other providers' secrets, and treats all that it says as
// text from outside.
//
// Each conversation has a child and a session of the agent's own. The session's
// id is kept in the history, as the signature of the answer's text; it is taken
// up again after a restart where the agent can. The daemon must Close a Model.
package acp

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"hob/autonomy/llm"
)

// Options of New.
type Options struct {
	Provider string // the section's name in [providers]
	// Preset names a well-known agent (see Presets), whose command, arguments and
	// mode are the defaults of the fields below.
	Preset  string
	Command string // the program: a name to look up in PATH, or a path
	Args    []string
	// Env lists what the agent gets beyond the bare environment (see environ):
	// "NAME" hands on a variable of Hob's own, "NAME=value" sets one, where value
	// may be a reference to a secret.
	Env []string
	// Dir is the folder in which the agent works, an absolute path.
	Dir   string
	Model string // one that the agent offers; "" leaves it to the agent
	Mode  string // one that the agent offers; "" is the preset's, or the agent's own
	Auth  string // the agent's way to sign in, where it wants to be told; "" tries none
	// Silence is how long the agent may say nothing while no question of its waits
	// for the owner, Start how long it may take to come up, Idle how long it is
	// kept when nobody speaks with it. 0 means 10, 3 and 5 minutes.
	Silence, Start, Idle time.Duration
	// Secret resolves a reference in Env; nil takes values as they stand.
	Secret func(ref string) (string, error)
	// Environ is the environment that Env picks from, os.Environ() as a rule.
	Environ []string
	Log     *slog.Logger

	alive *living
}

// Model is an external agent. Its methods may be called concurrently; calls of
// one conversation follow each other.
type Model struct {
	o Options

	life context.Context // ends with Close
	die  context.CancelFunc

	mu     sync.Mutex
	seats  map[string]*seat // by conversation
	closed bool
	open   sync.WaitGroup // those who use a seat
}

// New checks the options. It starts nothing: the agent is started with the
// first message.
func New(o Options) (*Model, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	m := &Model{o: o, seats: map[string]*seat{}}
	m.life, m.die = context.WithCancel(context.Background())
	return m, nil
}

func (o Options) complete() (Options, error) {
	if o.Preset != "" {
		p, ok := preset(o.Preset)
		if !ok {
			return o, fmt.Errorf("preset %q is not one of %s", o.Preset, presetNames())
		}
		if o.Command == "" {
			o.Command, o.Args = p.Command, append(p.Args[:len(p.Args):len(p.Args)], o.Args...)
		}
	}
	switch {
	case o.Provider == "":
		return o, errors.New("an agent needs a name")
	case o.Command == "":
		return o, fmt.Errorf("an agent needs a command, or a preset (%s)", presetNames())
	case !filepath.IsAbs(o.Dir):
		return o, fmt.Errorf("cwd %q must be a whole path: the folder in which the agent works", o.Dir)
	}
	for _, e := range o.Env {
		if err := checkEnv(e); err != nil {
			return o, err
		}
	}
	for d, def := range map[*time.Duration]time.Duration{&o.Silence: 10 * time.Minute, &o.Start: 3 * time.Minute, &o.Idle: 5 * time.Minute} {
		if *d <= 0 {
			*d = def
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Log = o.Log.With("agent", o.Provider)
	o.alive = &living{pids: map[int]bool{}}
	return o, nil
}

// Info names the agent. What its answers cost is between the owner and its
// maker: it is not Local.
func (m *Model) Info() llm.Info {
	return llm.Info{Provider: m.o.Provider, Model: m.o.Model, Vision: true, Acts: true}
}

// Models says whether the agent's program is there; it starts nothing, and which
// models there are only a session tells.
func (m *Model) Models(context.Context) ([]string, error) {
	if _, err := exec.LookPath(m.o.Command); err != nil {
		return nil, m.o.missing(err)
	}
	return nil, nil
}

// Stream sends what is new in the conversation and yields what the agent says.
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if err := m.stream(ctx, r, yield); err != nil {
			yield(llm.Event{}, err)
		}
	}
}

// stream returns the error to yield, nil when Done was yielded or nobody listens.
func (m *Model) stream(ctx context.Context, r llm.Request, yield func(llm.Event, error) bool) error {
	if r.Desk != nil {
		if err := r.Desk.Open(); err != nil { // another model may do
			return &llm.Error{Kind: llm.Unauthorized, Provider: m.o.Provider, Message: err.Error(), Err: err}
		}
	}
	s, err := m.sit(ctx, r.Session)
	if err != nil {
		return err
	}
	defer m.rise(s)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(m.life, func() { cancel(context.Canceled) })()
	return newTalk(m.o, s, r, yield).run(ctx)
}
