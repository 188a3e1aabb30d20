package channels

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"hob/platform/retry"
	"hob/platform/store/lease"
)

// Options holds the options of a Manager. Outbox, Receiver and Log are required.
type Options struct {
	Outbox   Outbox
	Receiver Receiver
	Log      *slog.Logger
	// Owners identifies paired owners. Nil means that no one is paired.
	Owners Owners
	// Channels maps names to channels. A channel's name is also the name of its configuration
	// section.
	Channels map[string]Channel
	// Failed maps the names of channels that could not be created to their errors, for Status.
	Failed map[string]error
	// Trouble, if set, is called once when a channel stops until its owner acts.
	Trouble func(channel string, err error)
	// SharedGroups makes the members of a group chat share one conversation.
	SharedGroups bool
	// SendTimeout is the timeout of one Send (default 30 s).
	SendTimeout time.Duration
	// Choices holds the user's settings by channel name.
	Choices map[string]ChannelOverride
	// Files stores incoming files; the zero value stores none.
	Files Files
	// Drafts stores which messages show unfinished answers. If it is nil, only complete answers are
	// sent.
	Drafts Drafts
	// Redact removes credentials from unfinished answers, as is done for all messages that are
	// sent. If it is nil, they are not removed.
	Redact func(string) string
	// Lease is the membership of this process in a fleet. One process at a time receives from and
	// sends to the account of a channel. Nil means that this is the only process.
	Lease *lease.Member
	// Grace is how long a Send may continue after Run was canceled (default 3 s).
	Grace time.Duration
}

// ChannelOverride holds the user's settings for a channel. The zero value uses the defaults.
type ChannelOverride struct {
	Unmentioned bool           // in groups, accept messages that are not addressed to Hob
	Whole       bool           // do not show drafts of answers
	Settle      *time.Duration // replaces Limits.Debounce if set
}

// Manager runs channels concurrently. It restarts a failed channel with exponential backoff. A
// failure does not affect other channels.
type Manager struct {
	opt Options

	mu    sync.Mutex
	state map[string]*Health
	runs  map[string]*receiverRun // the running receivers, by channel

	gates   map[string]*inboundFilter
	typists typingIndicators
	drafts  openDrafts
}

// New returns a Manager after checking the options. It starts nothing.
func New(o Options) (*Manager, error) {
	if o.Outbox == nil || o.Receiver == nil || o.Log == nil {
		return nil, errors.New("channels: Options needs Outbox, Receiver and Log")
	}
	o.SendTimeout = cmp.Or(o.SendTimeout, 30*time.Second)
	o.Grace = cmp.Or(o.Grace, 3*time.Second)
	m := &Manager{opt: o, state: map[string]*Health{}, runs: map[string]*receiverRun{}, gates: map[string]*inboundFilter{}, typists: typingIndicators{open: map[[2]string]*typist{}}}
	for name, ch := range o.Channels {
		if name == "" || ch == nil {
			return nil, fmt.Errorf("channels: the channel %q is nil or has no name", name)
		}
		m.state[name] = &Health{Name: name, State: "starting", Pull: m.Pull(name), Deaf: isSendOnly(ch)}
		m.gates[name] = newGate(name, ch, m)
	}
	for name, err := range o.Failed {
		m.state[name] = &Health{Name: name, State: "failed", Error: err.Error()}
	}
	return m, nil
}

// Pull reports whether the channel's clients fetch their messages. Such a delivery is complete when
// its row can be read.
func (m *Manager) Pull(name string) bool {
	_, ok := m.opt.Channels[name].(PullChannel)
	return ok
}

// Pushes reports whether the channel runs and sends its messages: its clients do not pull.
func (m *Manager) Pushes(name string) bool { return m.Has(name) && !m.Pull(name) }

// Attaches reports whether a channel accepts files, and their maximum size in bytes.
func (m *Manager) Attaches(name string) (largest int64, ok bool) {
	ch := m.opt.Channels[name]
	if _, ok = ch.(Attacher); !ok {
		return 0, false
	}
	largest = channelLimits(ch).MaxFile
	return largest, largest > 0
}

func isSendOnly(ch Channel) bool {
	_, is := ch.(SendOnly)
	return is
}

// Has reports whether a channel with this name works or may recover without action by its owner. A
// channel that cannot be created here, for lack of its secret, may work on another instance.
func (m *Manager) Has(name string) bool {
	if _, ok := m.opt.Channels[name]; !ok {
		return m.opt.Failed[name] != nil && m.opt.Lease.IsShared()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state[name].State != "stopped"
}

// Run receives and delivers messages until ctx ends. It returns nil after all its goroutines have
// ended.
func (m *Manager) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	for name, ch := range m.opt.Channels {
		if _, posted := ch.(WebhookReceiver); posted || m.Pull(name) {
			wg.Go(func() { m.runHearing(ctx, name, ch) }) // each process has its own clients
		}
		if !m.Pull(name) {
			wg.Go(func() { m.runAccount(ctx, name, ch) })
		}
	}
	wg.Wait()
	m.typists.endAll()
	m.drafts.endAll()
	return nil
}

// runAccount receives from and delivers to the account of a channel while this process holds its
// lease.
func (m *Manager) runAccount(ctx context.Context, name string, ch Channel) {
	if m.opt.Lease.IsShared() {
		m.noteState(name, "standby", nil)
	}
	_ = m.opt.Lease.While("channel:"+name, func(ctx context.Context) error { // both halves report their own errors
		var wg sync.WaitGroup
		if _, posted := ch.(WebhookReceiver); !posted {
			wg.Go(func() { m.runHearing(ctx, name, ch) })
		}
		wg.Go(func() { m.superviseHalf(ctx, name, "deliver", m.newDeliverer(name, ch).runDeliveries) })
		wg.Wait()
		if m.opt.Lease.IsShared() {
			m.noteState(name, "standby", nil)
		}
		return nil
	})(ctx)
}

func (m *Manager) runHearing(ctx context.Context, name string, ch Channel) {
	m.superviseHalf(ctx, name, "hear", func(ctx context.Context) error { return m.runReceiver(ctx, name, ch, m.gates[name]) })
}

// superviseHalf runs one half of a channel (receiving or delivering) and restarts it until ctx ends
// or the owner must act.
func (m *Manager) superviseHalf(ctx context.Context, name, part string, run func(context.Context) error) {
	m.noteState(name, "running", nil)
	last := ""       // the text of the last failure
	var failed error // the failure that caused the next restart
	s := retry.Supervisor{
		Backoff: backoff(), Healthy: longWait,
		Wake: func() <-chan struct{} { return m.wakeSignal(name) },
		Failed: func(err error, delay time.Duration) (time.Duration, bool) {
			failed = fmt.Errorf("channels: %s: %s: %w", name, part, err)
			if c := ClassOf(err); c == Unauthorized || c == Permanent || c == Unsupported {
				m.opt.Log.Error("channel stopped until the next start", "channel", name, "part", part, "error", failed)
				m.noteState(name, "stopped", failed)
				if m.opt.Trouble != nil {
					m.opt.Trouble(name, errors.New(briefError(failed)))
				}
				return 0, false
			}
			m.opt.Log.Warn("channel failed; restarting it", "channel", name, "part", part, "error", failed)
			m.noteState(name, "waiting", failed)
			return limitDelay(delay, err), true
		},
	}
	_ = s.Run(ctx, func(ctx context.Context) error { // the channel status shows the error
		if failed != nil {
			m.noteState(name, "running", failed)
			last, failed = briefError(failed), nil
		}
		was := last
		steady := time.AfterFunc(steadyAfter, func() { m.clearError(name, was) })
		defer steady.Stop()
		err := recoverPanic(func() error { return run(ctx) })
		if err == nil {
			err = errors.New("the channel stopped unexpectedly")
		}
		return err
	})
}

// briefError returns the error text without the stack of a panic, which is only logged.
func briefError(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\ngoroutine ")
	return text
}

// recoverPanic converts a driver's panic into an error that contains the stack.
func recoverPanic(f func() error) error {
	err := retry.Recover(f)
	if p, ok := errors.AsType[*retry.PanicError](err); ok {
		err = &Error{MaybeSent: true, Err: fmt.Errorf("%w\n%s", p, p.Stack)}
	}
	return err
}
