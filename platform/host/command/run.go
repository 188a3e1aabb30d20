package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"hob/platform/host/osrun"
)

// Modes of a sandbox.
const (
	Auto    = "auto"    // the available sandbox; if there is none, Missing contains the reason
	Off     = "off"     // no sandbox
	Require = "require" // commands run only in a sandbox
)

// RunOptions are the options of NewRunner.
type RunOptions struct {
	Judge   *Analyzer // required
	Sandbox string    // Auto, Off or Require; default Auto
	// Helper is the command line that starts Serve in a new process: this program and its
	// hidden command. Run fails without it.
	Helper []string
}

// Runner runs plans. It may be used concurrently.
type Runner struct {
	opt RunOptions

	mu     sync.Mutex
	looked time.Time
	found  sandbox
}

// NewRunner checks the options. It detects the sandbox later, when needed.
func NewRunner(opt RunOptions) (*Runner, error) {
	if opt.Judge == nil {
		return nil, errors.New("command: RunOptions needs Judge")
	}
	switch opt.Sandbox {
	case "":
		opt.Sandbox = Auto
	case Auto, Off, Require:
	default:
		return nil, fmt.Errorf("command: unknown sandbox %q; use auto, off or require", opt.Sandbox)
	}
	return &Runner{opt: opt}, nil
}

// Errors of Run.
var (
	ErrNoSandbox = errors.New("no sandbox available")
	ErrNoHelper  = errors.New("cannot start the helper process")
	ErrTimeout   = errors.New("command exceeded its time limit and was stopped")
	ErrNotFound  = errors.New("program not found")
)

// Outcome is the result of a command.
type Outcome struct {
	Status  int    // exit status of the command
	Output  string // combined output in order; truncated in the middle
	Cut     int64  // number of omitted bytes
	Sandbox string // sandbox that confined the command; "" if there was none
	// Missing is the reason if no sandbox confined the command although one was configured.
	Missing string
}

// helperJob is the input of the helper.
type helperJob struct {
	Plan   Plan             `json:"plan"`
	Shell  []string         `json:"shell,omitempty"` // path of the shell, then its arguments
	Env    []string         `json:"env"`
	Bounds resourceLimits   `json:"bounds"`
	Lock   *landlockRuleset `json:"lock,omitempty"`
	// Hand is true if no sandbox confines the plan, so that its programs must not open files
	// themselves.
	Hand bool `json:"hand,omitempty"`
}

// resourceLimits contains the resource limits of each process.
type resourceLimits struct {
	CPU   uint64 `json:"cpu"`   // seconds
	File  uint64 `json:"file"`  // bytes
	Data  uint64 `json:"data"`  // bytes of memory
	Procs uint64 `json:"procs"` // limit for all processes of the user
}

// landlockRuleset contains the rules of a sandbox that a process applies to itself.
type landlockRuleset struct {
	Read    []string `json:"read"`
	Write   []string `json:"write"`
	Network bool     `json:"network"`
}

// stopped is how long a command may keep running after the first signal.
const stopped = 300 * time.Millisecond

// Run runs a plan until the plan ends, ctx ends, or the time limit expires. In the last two cases
// it returns ctx's error or ErrTimeout, together with the output so far. No process of the plan
// survives; see Serve.
func (r *Runner) Run(ctx context.Context, p Plan, limit time.Duration, progress func(bytes int64)) (Outcome, error) {
	if len(r.opt.Helper) == 0 {
		return Outcome{}, ErrNoHelper
	}
	box := r.Sandbox(ctx)
	if box.kind == "" && r.opt.Sandbox == Require {
		return Outcome{}, fmt.Errorf("%w: %s", ErrNoSandbox, box.missing)
	}
	if !box.Meets(p.Needs) {
		return Outcome{}, fmt.Errorf("%w for an unapproved command: %s", ErrNoSandbox, box.missing)
	}
	if limit <= 0 {
		limit = DefaultTimeout
	}
	temp, err := os.MkdirTemp("", "hob-run-")
	if err != nil {
		return Outcome{}, fmt.Errorf("create a folder for temporary files: %w", err)
	}
	defer func() { _ = os.RemoveAll(temp) }() // remaining files are harmless
	j := helperJob{Plan: p, Bounds: boundsOf(limit), Hand: box.kind == ""}
	if p.Shell != "" {
		j.Shell = r.opt.Judge.shellFor(p.Shell)
	}
	args, seen := r.confineHelper(box, p, temp, &j)
	j.Env = r.opt.Judge.commandEnviron(seen)
	out, err := r.startHelper(ctx, args, p.Dir, j, limit, progress)
	out.Sandbox, out.Missing = box.kind, box.missing
	return out, err
}

func (j *Analyzer) shellFor(text string) []string {
	path, args := j.shellCommand()
	return append(append([]string{path}, args...), text)
}

// startHelper starts the helper and sends it the job. The helper's input stays open while Hob is
// running, so that the helper ends with Hob.
func (r *Runner) startHelper(ctx context.Context, args []string, dir string, j helperJob, limit time.Duration, progress func(int64)) (Outcome, error) {
	text, err := json.Marshal(j)
	if err != nil {
		return Outcome{}, err
	}
	inR, inW, err := osrun.Pipe()
	if err != nil {
		return Outcome{}, err
	}
	outR, outW, err := osrun.Pipe()
	if err != nil {
		return Outcome{}, errors.Join(err, inR.Close(), inW.Close())
	}
	cmd := exec.Command(args[0], args[1:]...) //nolint:noctx // waitTree ends the whole process tree
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, outW
	cmd.Dir, cmd.Env = dir, append(j.Env, helperEnv+"=1")
	tree, err := osrun.Start(cmd)
	_, _ = inR.Close(), outW.Close() // the child has its own copies
	if err != nil {
		return Outcome{}, errors.Join(err, inW.Close(), outR.Close())
	}
	var kept outputBuffer
	var work sync.WaitGroup
	work.Go(func() { _, _ = inW.Write(append(text, '\n')) }) // Wait reports that the child process has ended
	read := make(chan struct{})
	work.Go(func() {
		defer close(read)
		_, _ = io.Copy(&kept, outR) // reading ends when the child ends
	})
	err = waitTree(ctx, tree, limit, func() { progress(kept.totalSize()) })
	_ = inW.Close()
	drainPipe(read, outR)
	work.Wait()
	out := Outcome{Status: statusOf(tree.Err())}
	out.Output, out.Cut = kept.keptText()
	return out, err
}

// drainPipe waits briefly for the last output and then closes the pipe, because a process that left
// the tree may keep it open.
func drainPipe(read <-chan struct{}, r *os.File) {
	t := time.NewTimer(stopped)
	defer t.Stop()
	select {
	case <-read:
	case <-t.C:
	}
	_ = r.Close()
}

// waitTree returns when the tree has ended.
func waitTree(ctx context.Context, tree *osrun.Tree, limit time.Duration, tick func()) error {
	end := time.NewTimer(limit)
	defer end.Stop()
	ticker := time.NewTicker(2 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-tree.Done():
			return nil
		case <-ticker.C:
			tick()
			continue
		case <-ctx.Done():
			stopTree(tree)
			return ctx.Err()
		case <-end.C:
			stopTree(tree)
			return ErrTimeout
		}
	}
}

// stopTree asks the helper to end all its processes, and kills the remaining ones.
func stopTree(tree *osrun.Tree) {
	tree.Terminate()
	t := time.NewTimer(stopped)
	defer t.Stop()
	select {
	case <-tree.Done():
	case <-t.C:
		tree.Kill()
		<-tree.Done()
	}
}

func statusOf(err error) int {
	if err == nil {
		return 0
	}
	if x, ok := errors.AsType[*exec.ExitError](err); ok {
		return x.ExitCode()
	}
	return -1
}
