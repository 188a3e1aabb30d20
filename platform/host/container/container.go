// Package container runs one program at a time in a container, through the command-line client of
// Docker or Podman. The container has a read-only root, no capabilities and no way to gain any,
// limits on memory, CPUs, processes and time, no network unless requested, and one writable folder.
//
// The package never falls back to running the program outside a container. Check reports a missing
// engine or image and the remedy. Hob uses labels to find containers that a crash left behind.
package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"hob/platform/text/shortid"
)

// Limits on the output of a container, in bytes.
const (
	maxOut = 32 << 20
	maxErr = 16 << 10
)

// Errors of Check and Run.
var (
	ErrNoEngine = errors.New("no container engine found")
	ErrDown     = errors.New("container engine does not respond")
	ErrNoImage  = errors.New("container image not found")
	ErrTimeout  = errors.New("container exceeded its time limit and was stopped")
)

// Options are the options of New. Image and Home are required.
type Options struct {
	Engine string // "docker", "podman" or a path; "" or "auto" selects the installed one
	Image  string
	// Home identifies the containers of this installation.
	Home    string
	Name    string // name of the agent
	Memory  string // memory limit, default "256m"
	CPUs    float64
	PIDs    int
	Network bool
	Timeout time.Duration // time limit of one run, default 2 minutes
	// Program is mounted read-only as /hob. Workspace is mounted read-write at its own path and is
	// the working folder.
	Program, Workspace string
}

// Box runs programs in containers with the same options, one at a time. It may be used concurrently.
type Box struct {
	o    Options
	turn chan struct{}

	mu      sync.Mutex
	checked time.Time
	err     error
}

// checkAgain is the time for which the result of Check is cached.
const checkAgain = 30 * time.Second

// New checks the options. It does not search for the engine; see Check.
func New(o Options) (*Box, error) {
	if o.Image == "" || o.Home == "" || o.Workspace == "" || o.Program == "" {
		return nil, errors.New("container: the options Image, Home, Workspace and Program are required")
	}
	if !filepath.IsAbs(o.Workspace) || !filepath.IsAbs(o.Program) {
		return nil, errors.New("container: workspace and program must be absolute paths")
	}
	if strings.ContainsAny(o.Workspace+o.Program, ":,") {
		return nil, fmt.Errorf("container: cannot mount %s: the path contains a colon or a comma", o.Workspace)
	}
	if strings.HasPrefix(o.Image, "-") {
		return nil, fmt.Errorf("container: %q is not a valid image name", o.Image)
	}
	if o.Memory == "" {
		o.Memory = "256m"
	}
	if o.CPUs <= 0 {
		o.CPUs = 1
	}
	if o.PIDs <= 0 {
		o.PIDs = 64
	}
	if o.Timeout <= 0 {
		o.Timeout = 2 * time.Minute
	}
	return &Box{o: o, turn: make(chan struct{}, 1)}, nil
}

// findEngine returns the path of the container engine.
func (b *Box) findEngine() (string, error) {
	names := []string{b.o.Engine}
	if b.o.Engine == "" || b.o.Engine == "auto" {
		names = []string{"docker", "podman"}
	}
	for _, n := range names {
		if path, err := exec.LookPath(n); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w (%s is not installed); install Docker or Podman, or set isolation = \"none\"", ErrNoEngine, strings.Join(names, " or "))
}

// Check returns the reason why programs cannot run now, with the remedy after the last
// "; ". Its result is cached for 30 s.
func (b *Box) Check(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.checked.IsZero() && time.Since(b.checked) < checkAgain && (b.err == nil || time.Since(b.checked) < time.Second) {
		return b.err
	}
	b.err = b.checkImage(ctx)
	b.checked = time.Now()
	return b.err
}

func (b *Box) checkImage(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	engine, err := b.findEngine()
	if err != nil {
		return err
	}
	name := filepath.Base(engine)
	if _, err := runEngine(ctx, engine, nil, "info"); err != nil {
		return fmt.Errorf("%w: %s info: %w; start the engine, or set isolation = \"none\"", ErrDown, name, err)
	}
	if _, err := runEngine(ctx, engine, nil, "image", "inspect", b.o.Image); err != nil {
		return fmt.Errorf("%w: %s; fetch it with: %s pull %s", ErrNoImage, b.o.Image, name, b.o.Image)
	}
	return nil
}

// RemoveStale removes containers of this installation that a crash left behind.
func (b *Box) RemoveStale(ctx context.Context) error {
	engine, err := b.findEngine()
	if err != nil {
		return err
	}
	out, err := runEngine(ctx, engine, nil, "ps", "--all", "--quiet", "--filter", "label=hob.home="+b.o.Home, "--filter", "label=hob.agent="+b.o.Name)
	if err != nil {
		return fmt.Errorf("list leftover containers: %w", err)
	}
	ids := strings.Fields(string(out))
	if len(ids) == 0 {
		return nil
	}
	if _, err := runEngine(ctx, engine, nil, append([]string{"rm", "--force"}, ids...)...); err != nil {
		return fmt.Errorf("remove leftover containers: %w", err)
	}
	return nil
}

// Run runs the program with the given arguments in a new container, with in as standard input. It
// returns the standard output. If ctx or the time limit ends first, it removes the container.
func (b *Box) Run(ctx context.Context, in []byte, args ...string) ([]byte, error) {
	if err := b.Check(ctx); err != nil {
		return nil, err
	}
	engine, err := b.findEngine()
	if err != nil {
		return nil, err
	}
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	name := "hob-" + shortid.New("")
	limit, cancel := context.WithTimeout(ctx, b.o.Timeout)
	defer cancel()
	out, err := runEngine(limit, engine, in, append(b.engineArgs(filepath.Base(engine), name), args...)...)
	if limit.Err() == nil {
		return out, err
	}
	b.removeContainer(context.WithoutCancel(ctx), engine, name)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("%w after %s", ErrTimeout, b.o.Timeout)
}

func (b *Box) removeContainer(ctx context.Context, engine, name string) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	_, _ = runEngine(ctx, engine, nil, "rm", "--force", name) // the container may already be removed; otherwise RemoveStale removes it later
}

// engineArgs returns the engine's arguments, which precede the program's arguments.
func (b *Box) engineArgs(engine, name string) []string {
	o := b.o
	network := "none"
	if o.Network {
		network = "bridge"
	}
	a := []string{
		"run", "--rm", "--interactive", "--pull=never", "--name", name, "--label", "hob.home=" + o.Home, "--label", "hob.agent=" + o.Name,
		"--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--memory", o.Memory, "--memory-swap", o.Memory,
		"--cpus", strconv.FormatFloat(o.CPUs, 'f', -1, 64), "--pids-limit", strconv.Itoa(o.PIDs), "--network", network,
		"--tmpfs", "/tmp:rw,nosuid,nodev,noexec,size=64m", "--env", "HOME=/tmp", "--workdir", o.Workspace,
		"--volume", o.Program + ":/hob:ro", "--volume", o.Workspace + ":" + o.Workspace + ":rw",
	}
	if runtime.GOOS != "windows" {
		a = append(a, "--user", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()))
	}
	if strings.HasPrefix(engine, "podman") && os.Getuid() != 0 { // only a rootless engine supports this option; others reject it
		a = append(a, "--userns=keep-id")
	}
	return append(a, "--entrypoint", "/hob", o.Image)
}

// runEngine runs the engine's command-line program with limited output and without this process's secrets.
func runEngine(ctx context.Context, engine string, in []byte, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, engine, args...)
	cmd.Env = engineEnviron(os.Environ())
	cmd.Stdin = bytes.NewReader(in)
	out, errOut := &boundedBuffer{max: maxOut}, &boundedBuffer{max: maxErr}
	cmd.Stdout, cmd.Stderr = out, errOut
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(errOut.String()); text != "" {
			return nil, fmt.Errorf("%s: %w", firstLine(text), err)
		}
		return nil, err
	}
	if out.cut {
		return nil, fmt.Errorf("output exceeds %d MB", maxOut>>20)
	}
	return out.Bytes(), nil
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// engineEnviron returns the environment variables that an engine needs, without any secrets.
func engineEnviron(all []string) (out []string) {
	for _, e := range all {
		name, _, _ := strings.Cut(e, "=")
		switch {
		case name == "PATH", name == "HOME", name == "USERPROFILE", name == "SystemRoot", name == "XDG_RUNTIME_DIR", name == "TMPDIR":
			out = append(out, e)
		case strings.HasPrefix(name, "DOCKER_"), strings.HasPrefix(name, "CONTAINER_"), strings.HasPrefix(name, "PODMAN_"):
			out = append(out, e)
		}
	}
	return out
}

// boundedBuffer keeps the first bytes and drops the rest.
type boundedBuffer struct {
	bytes.Buffer
	max int
	cut bool
}

// Write implements io.Writer.
func (b *boundedBuffer) Write(p []byte) (int, error) {
	n := len(p)
	if room := b.max - b.Len(); n > room {
		b.cut = true
		p = p[:max(0, room)]
	}
	_, err := b.Buffer.Write(p)
	return n, err
}

var _ io.Writer = (*boundedBuffer)(nil)
