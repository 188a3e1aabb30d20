package osrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"hob/platform/retry"
)

// Options of Scripts; the zero value is useful.
type Options struct {
	// OSAScript, Open and PowerShell are the programs; "" selects those of the system by
	// their absolute paths.
	OSAScript, Open, PowerShell string
	// Getenv is os.Getenv unless a test replaces it.
	Getenv func(string) string
	// Cool is the duration of the backoff after an app did not answer (default 90 s).
	Cool time.Duration
	// AtOnce is the maximum number of engines that run at the same time (default 4).
	AtOnce int
	Log    *slog.Logger
	// Output runs a program; it is Output unless a test replaces it.
	Output func(ctx context.Context, cmd *exec.Cmd, in []byte) ([]byte, error)
}

// Scripts runs scripts on this machine. It runs one script per app at a time, because killing
// osascript does not stop the work in the app. An app that did not answer gets no calls until its
// backoff ends.
type Scripts struct {
	opt   Options
	slots chan struct{}

	mu    sync.Mutex
	lanes map[string]*appQueue
}

// appQueue is the call queue of one app.
type appQueue struct {
	turn  chan struct{} // semaphore of size 1, held while a script runs
	until time.Time     // end of the backoff; guarded by Scripts.mu
}

// NewScripts returns a Runner. It starts no program.
func NewScripts(o Options) *Scripts {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.OSAScript == "" {
		o.OSAScript = "/usr/bin/osascript"
	}
	if o.Open == "" {
		o.Open = "/usr/bin/open"
	}
	if o.PowerShell == "" {
		root := o.Getenv("SystemRoot")
		if root == "" {
			root = `C:\Windows`
		}
		o.PowerShell = filepath.Join(root, "System32", "WindowsPowerShell", "v1.0", "powershell.exe")
	}
	if o.Cool <= 0 {
		o.Cool = 90 * time.Second
	}
	if o.AtOnce <= 0 {
		o.AtOnce = 4
	}
	if o.Output == nil {
		o.Output = Output
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Scripts{opt: o, slots: make(chan struct{}, o.AtOnce), lanes: map[string]*appQueue{}}
}

// Limits of a run.
const (
	quick     = 15 * time.Second
	quickPS   = 25 * time.Second // a cold start takes seconds
	maxIn     = 1 << 20
	pause     = 500 * time.Millisecond
	startWait = 10 * time.Second
)

// Run implements Runner.
func (s *Scripts) Run(ctx context.Context, c Call, out any) error {
	in, err := ASCII(c.In)
	if err != nil {
		return fmt.Errorf("%s: encode the request: %w", c.Script.Name, err)
	}
	if len(in) > maxIn {
		return c.callError(Error{Kind: Invalid, Cause: fmt.Sprintf("request is %d bytes long, the limit is %d", len(in), maxIn)})
	}
	if c.Wait <= 0 {
		c.Wait = quick
		if c.Script.Engine == PowerShell {
			c.Wait = quickPS
		}
	}
	began := time.Now()
	data, err := s.runQueued(ctx, c, in)
	s.opt.Log.DebugContext(ctx, "script ran", "script", c.Script.Name, "app", c.App.ID, "took", time.Since(began), "kind", string(KindOf(err)))
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(data, out); err != nil {
		return c.callError(Error{Kind: Internal, Cause: "unexpected answer", Unknown: c.Write, Err: err})
	}
	return nil
}

// runQueued waits until the app is free, runs the script, and records whether the app answered.
func (s *Scripts) runQueued(ctx context.Context, c Call, in []byte) (json.RawMessage, error) {
	l := s.queueFor(c.App.ID)
	wait, cancel := context.WithTimeout(ctx, c.Wait)
	defer cancel()
	for _, door := range []chan struct{}{l.turn, s.slots} {
		if door == nil {
			continue
		}
		select {
		case door <- struct{}{}:
			defer func() { <-door }()
		case <-wait.Done():
			return nil, c.contextError(ctx, Busy, "another request to the app is still running", false)
		}
	}
	if left := s.backoffLeft(l); left > 0 {
		return nil, c.callError(Error{Kind: Busy, Cause: "app did not answer, so Hob does not call it for " + left.Round(time.Second).String(), Remedy: "check the screen for a dialog from the app or the system"})
	}
	data, err := s.runWithRetry(ctx, c, in)
	if KindOf(err) == Timeout && c.App.ID != "" {
		s.mu.Lock()
		l.until = time.Now().Round(0).Add(s.opt.Cool)
		s.mu.Unlock()
	}
	return data, err
}

// BackedOffApps returns the ids of the apps in backoff, with the remaining time of each backoff.
func (s *Scripts) BackedOffApps() map[string]time.Duration {
	s.mu.Lock()
	lanes := maps.Clone(s.lanes)
	s.mu.Unlock()
	out := map[string]time.Duration{}
	for id, l := range lanes {
		if left := s.backoffLeft(l); left > 0 {
			out[id] = left
		}
	}
	return out
}

func (s *Scripts) queueFor(id string) *appQueue {
	if id == "" {
		return &appQueue{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[id]
	if l == nil {
		l = &appQueue{turn: make(chan struct{}, 1)}
		s.lanes[id] = l
	}
	return l
}

// backoffLeft returns the remaining time of an app's backoff. It uses the wall clock, because the
// machine may have been suspended.
func (s *Scripts) backoffLeft(l *appQueue) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := l.until.Sub(time.Now().Round(0))
	if left > s.opt.Cool { // the clock was set back
		l.until = time.Time{}
	}
	return min(left, s.opt.Cool)
}

// runWithRetry runs the script. It repeats the script if that is safe: nothing was done yet, and
// the app was busy, had ended, or must first be started.
func (s *Scripts) runWithRetry(ctx context.Context, c Call, in []byte) (json.RawMessage, error) {
	gone, busy := 1, 3
	started := time.Time{}
	for {
		data, again, err := s.runOnce(ctx, c, in)
		if err == nil || !again {
			return data, err
		}
		switch KindOf(err) {
		case Busy:
			if busy--; busy < 0 {
				return nil, err
			}
		case NotRunning:
			switch {
			case (c.Write || c.Start) && c.Script.Engine != PowerShell && c.App.ID != "":
				if started.IsZero() {
					started = time.Now()
					if err := s.startApp(ctx, c); err != nil {
						return nil, err
					}
				} else if time.Since(started) > startWait {
					return nil, err
				}
			case isGone(err):
				if gone--; gone < 0 {
					return nil, err
				}
			default:
				return nil, err
			}
		default:
			return nil, err
		}
		if retry.Sleep(ctx, pause) != nil {
			return nil, c.contextError(ctx, Cancelled, "", false)
		}
	}
}

// isGone reports whether err means that the app ended during the call. The Messages app returns
// this error for reads even while it is running.
func isGone(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Number == aeNoProcess || e.Number == aeConnection || e.Number == rpcUnavailable || e.Number == rpcFailed)
}

// startApp opens the app in the background, hidden.
func (s *Scripts) startApp(ctx context.Context, c Call) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	cmd := exec.Command(s.opt.Open, "-g", "-j", "-b", c.App.ID) //nolint:noctx // Output ends the whole process tree
	cmd.Env = s.engineEnviron(c.Script.Engine)
	if _, err := s.opt.Output(ctx, cmd, nil); err != nil {
		return c.callError(Error{Kind: NotInstalled, Cause: "app could not be opened", Remedy: "open it first", Err: err})
	}
	return nil
}

// runOnce runs the script once. again is true if nothing was done and the call may be repeated.
func (s *Scripts) runOnce(ctx context.Context, c Call, in []byte) (_ json.RawMessage, again bool, _ error) {
	cmd, in, err := s.scriptCommand(c.Script, in)
	if err != nil {
		return nil, false, c.callError(Error{Kind: Internal, Err: err})
	}
	bound, cancel := context.WithTimeout(ctx, c.Wait)
	defer cancel()
	out, err := s.opt.Output(bound, cmd, in)
	switch {
	case bound.Err() != nil:
		return nil, false, c.contextError(ctx, Timeout, fmt.Sprintf("app did not answer within %s", c.Wait), c.Write)
	case errors.Is(err, os.ErrNotExist):
		return nil, false, c.callError(Error{Kind: Unsupported, Cause: c.Script.Engine.String() + " is not available on " + runtime.GOOS, Err: err})
	case err != nil:
		return nil, false, c.engineError(err)
	case len(out) >= maxOutput:
		return nil, false, c.callError(Error{Kind: Internal, Cause: "answer is too large", Unknown: c.Write})
	}
	a, err := parseOutput(c.Script.Engine, out)
	if err != nil {
		return nil, false, c.callError(Error{Kind: Internal, Cause: "unexpected answer", Unknown: c.Write, Err: err})
	}
	if a.OK {
		return a.Data, false, nil
	}
	e := c.explainError(Error{Kind: a.Kind, Number: a.Number, Said: a.Message})
	e.Unknown = c.Write && a.Began && e.Kind != Denied
	return nil, !a.Began, e
}

// contextError returns the error of a call whose context ended. If ctx itself ended, the error
// wraps ctx's error. Otherwise the time limit of the call expired, and the error has kind and
// cause.
func (c Call) contextError(ctx context.Context, kind Kind, cause string, unknown bool) *Error {
	e := Error{Kind: kind, Cause: cause, Unknown: unknown}
	switch err := ctx.Err(); {
	case errors.Is(err, context.Canceled):
		e.Kind, e.Cause, e.Err = Cancelled, "", err
	case err != nil:
		e.Kind, e.Cause, e.Err = Timeout, "", err
	}
	if e.Kind == Timeout {
		e.Remedy = "check the screen for a system dialog"
	}
	return c.callError(e)
}

// engineError returns the error of an engine that failed before or outside of the script.
func (c Call) engineError(err error) *Error {
	f, ok := errors.AsType[*Failure](err)
	if !ok {
		return c.callError(Error{Kind: Internal, Err: err})
	}
	e := Error{Said: cleanStderr(c.Script.Engine, f.Said), Err: err}
	if c.Script.Engine != PowerShell {
		e.Number = lastNumber(f.Said)
	}
	full := c.explainError(e)
	full.Unknown = c.Write && full.Kind != Denied && full.Number != asSyntax && full.Number != asSyntaxExpected
	return full
}

// explainError fills in the cause and the remedy for a number or a kind.
func (c Call) explainError(e Error) *Error {
	full := c.callError(e)
	switch {
	case full.Kind != "":
		return full.explainNamedKind()
	case c.Script.Engine == PowerShell:
		full = full.explainHRESULT()
	default:
		full = full.explainAppleError(c.App.ID)
	}
	if full.Kind == "" {
		full.Kind = Internal
	}
	return full
}

func (c Call) callError(e Error) *Error {
	e.Script, e.App = c.Script.Name, c.App.Name
	return &e
}

// SystemScripts returns a Runner on systems with a script engine, and nil on others.
func SystemScripts(o Options) Runner {
	if runtime.GOOS != "darwin" && runtime.GOOS != "windows" {
		return nil
	}
	return NewScripts(o)
}
