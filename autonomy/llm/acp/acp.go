// Package acp uses an external agent (Claude Code, Codex, Gemini CLI, OpenCode, Copilot, ...) as
// the model of a conversation, over the Agent Client Protocol (https://agentclientprotocol.com):
// JSON-RPC on the standard input and output of a child process.
//
// Such an agent runs its own actions with its own tools under the user's operating system account.
// Its permission requests go to llm.PermissionBroker and thus to Hob's guard; its reports of
// actions are recorded there too. Hob can neither see nor stop actions without a permission
// request: only a sandbox around the agent's command can do that. Therefore Hob offers the agent no
// tools, file system or terminal, gives it an environment without the secrets of Hob and other
// providers, and treats all its output as untrusted text.
//
// Each conversation has its own child process and agent session. A turn that runs while an earlier
// one of the conversation waits for the user's permission gets a process and a session of its own.
// The history stores the session id as the signature of the answer's text. After a restart the session is resumed if the agent
// supports that. The daemon must Close a Model.
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

// Options holds the settings of a Model.
type Options struct {
	Provider string // name of the section in [providers]
	// Preset names a well-known agent (see Presets). The preset's command, arguments and mode are
	// the defaults for the fields below.
	Preset  string
	Command string // the program, as a name in PATH or a path
	Args    []string
	// Env lists additional variables for the agent's environment (see childEnv). "NAME" passes a
	// variable of Hob. "NAME=value" sets a variable; value may be a reference to a secret.
	Env []string
	// Dir is the agent's working folder, an absolute path.
	Dir   string
	Model string // a model that the agent offers; "" lets the agent choose
	Mode  string // a mode that the agent offers; "" means the preset's mode, or the agent's default
	Auth  string // the agent's authentication method, if it must be specified; "" means none
	// Silence is the maximum time without output while no approval request is open (default 10
	// minutes). Start is the maximum startup time (default 3 minutes). Idle is how long an unused
	// process is kept (default 5 minutes).
	Silence, Start, Idle time.Duration
	// Secret resolves a reference in Env. If it is nil, values are used verbatim.
	Secret func(ref string) (string, error)
	// Environ is the environment from which Env selects variables, usually os.Environ().
	Environ []string
	Log     *slog.Logger

	alive *runningChildren
}

// Model is an external agent. Its methods may be called concurrently. The calls in one conversation
// run in sequence, except during permission requests.
type Model struct {
	o Options

	life context.Context // canceled by Close
	die  context.CancelFunc

	mu     sync.Mutex
	seats  map[string][]*conversation // keyed by conversation
	closed bool
	open   sync.WaitGroup // calls and idle timers that use a conversation
}

// New returns a Model after checking the options. The agent is started at the first message.
func New(o Options) (*Model, error) {
	o, err := o.completeOptions()
	if err != nil {
		return nil, err
	}
	m := &Model{o: o, seats: map[string][]*conversation{}}
	m.life, m.die = context.WithCancel(context.Background())
	return m, nil
}

func (o Options) completeOptions() (Options, error) {
	if o.Preset != "" {
		p, ok := findPreset(o.Preset)
		if !ok {
			return o, fmt.Errorf("preset %q is not one of %s", o.Preset, presetNames())
		}
		if o.Command == "" {
			o.Command, o.Args = p.Command, append(p.Args[:len(p.Args):len(p.Args)], o.Args...)
		}
	}
	switch {
	case o.Provider == "":
		return o, errors.New("the name of the agent is missing")
	case o.Command == "":
		return o, fmt.Errorf("the agent needs a command, or a preset (%s)", presetNames())
	case !filepath.IsAbs(o.Dir):
		return o, fmt.Errorf("cwd %q must be an absolute path: the folder in which the agent works", o.Dir)
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
	o.alive = &runningChildren{pids: map[int]bool{}}
	return o, nil
}

// Info describes the agent. Local is false, because the agent's provider may charge the user.
func (m *Model) Info() llm.Info {
	return llm.Info{Provider: m.o.Provider, Model: m.o.Model, Vision: true, Acts: true}
}

// Models checks whether the agent's program exists, without starting it. It lists no models,
// because that would require a session.
func (m *Model) Models(context.Context) ([]string, error) {
	if _, err := exec.LookPath(m.o.Command); err != nil {
		return nil, m.o.missingError(err)
	}
	return nil, nil
}

// Stream sends the new messages of the conversation and yields the agent's answer.
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if err := m.streamTurn(ctx, r, yield); err != nil {
			yield(llm.Event{}, err)
		}
	}
}

// streamTurn returns the error to yield, or nil if Done was yielded or the consumer stopped.
func (m *Model) streamTurn(ctx context.Context, r llm.Request, yield func(llm.Event, error) bool) error {
	if r.Broker != nil {
		if err := r.Broker.CheckAllowed(); err != nil { // with this kind of error, llm.Fallback tries the next model
			return &llm.Error{Kind: llm.Unauthorized, Provider: m.o.Provider, Message: err.Error(), Err: err}
		}
	}
	s, err := m.acquireSeat(ctx, r)
	if err != nil {
		return err
	}
	defer m.releaseSeat(s)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(m.life, func() { cancel(context.Canceled) })()
	return newTalk(m.o, s, r, m.usedElsewhere(s), yield).runPrompt(ctx)
}
