package acp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"hob/autonomy/llm"
	"hob/platform/osrun"
)

// Times of a child's end.
const (
	// farewell is how long a child that is no longer needed has to end by itself,
	// and again when it is asked to.
	farewell = 2 * time.Second
	// grace is what remains to a child after session/cancel, before it is killed.
	grace = 400 * time.Millisecond
	// linger is how long what a dead child has written may still be read.
	linger = 300 * time.Millisecond
)

// child is a running agent and the connection to it. It lives until gone is
// closed; then all its goroutines have ended but those of the SDK, which end
// with their streams.
type child struct {
	o     Options
	tree  *osrun.Tree
	conn  *sdk.Connection
	info  sdk.InitializeResponse
	log   *slog.Logger
	stdin *os.File
	gone  chan struct{}
	wg    sync.WaitGroup
	words stderrLog
	room  chan struct{} // places for notifications that are under way
	heard atomic.Int64  // updates so far

	mu     sync.Mutex
	broken error // what was wrong with its output
	ending bool  // Hob ends it
	talk   *talk // whose turn it is, nil between turns
	loaded sdk.SessionId
}

// spawn starts the agent and shakes hands. The error is an *llm.Error.
func spawn(ctx context.Context, o Options) (*child, error) {
	path, err := exec.LookPath(o.Command)
	if err != nil {
		return nil, o.missing(err)
	}
	env, secrets, err := o.environ()
	if err != nil {
		return nil, o.fail(llm.Unauthorized, err, "its environment cannot be made: "+err.Error(), "correct env in [providers."+o.Provider+"]")
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, o.fail(llm.NotFound, err, "its folder cannot be made: "+err.Error(), "set cwd in [providers."+o.Provider+"] to a folder of yours")
	}
	c := &child{
		o: o, log: o.Log, gone: make(chan struct{}), room: make(chan struct{}, maxUnderWay),
		words: stderrLog{log: o.Log, secrets: secrets},
	}
	if err := c.start(context.WithoutCancel(ctx), path, env); err != nil {
		return nil, o.fail(llm.NotFound, err, "it cannot be started: "+err.Error(), o.remedy())
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.Start, errSlowStart)
	defer cancel()
	if err := c.initialize(ctx); err != nil {
		c.kill()
		<-c.gone
		return nil, err
	}
	return c, nil
}

var errSlowStart = errors.New("it did not come up in time")

// start runs the program with three pipes; it outlives the call that needs it
// first, so ctx never ends. The ends of Hob are closed by gone.
func (c *child) start(ctx context.Context, path string, env []string) error {
	var files []*os.File
	undo := func(err error) error {
		for _, f := range files {
			err = errors.Join(err, f.Close())
		}
		return err
	}
	var ends [3][2]*os.File
	for i := range ends {
		r, w, err := osrun.Pipe()
		if err != nil {
			return undo(err)
		}
		ends[i] = [2]*os.File{r, w}
		files = append(files, r, w)
	}
	cmd := exec.CommandContext(ctx, path, c.o.Args...)
	cmd.Dir, cmd.Env = c.o.Dir, env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = ends[0][0], ends[1][1], ends[2][1]
	tree, err := osrun.Start(cmd)
	if err != nil {
		return undo(err)
	}
	for _, f := range []*os.File{ends[0][0], ends[1][1], ends[2][1]} { // the child's own ends
		if err := f.Close(); err != nil {
			c.log.Debug("cannot close a pipe", "err", err)
		}
	}
	c.o.alive.born(tree.Pid())
	c.tree, c.stdin = tree, ends[0][1]
	c.run(ends[1][0], ends[2][0])
	return nil
}

// run reads what the child writes until it is gone.
func (c *child) run(stdout, stderr *os.File) {
	lines, toSDK := io.Pipe()
	c.conn = sdk.NewConnection(c.handle, c.stdin, lines)
	c.conn.SetLogger(slog.New(slog.DiscardHandler)) // it would log whole messages; nothing has been read yet
	c.wg.Go(func() { c.filter(stdout, toSDK) })
	c.wg.Go(func() { c.words.read(stderr) })
	go func() {
		<-c.tree.Done()
		// A descendant that left the tree may hold the pipes open.
		timer := time.AfterFunc(linger, func() { _ = errors.Join(stdout.Close(), stderr.Close()) })
		c.wg.Wait()
		timer.Stop()
		_ = errors.Join(stdout.Close(), stderr.Close(), c.stdin.Close(), lines.Close()) // closed before, perhaps
		c.o.alive.died(c.tree.Pid())
		close(c.gone)
	}()
}

// initialize is the first exchange; see
// https://agentclientprotocol.com/protocol/initialization.
func (c *child) initialize(ctx context.Context) error {
	info, err := sdk.SendRequest[sdk.InitializeResponse](c.conn, ctx, sdk.AgentMethodInitialize, sdk.InitializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		// No file system, no terminal: the agent would reach the owner's files past
		// Hob's own tools, which know what is allowed and can undo.
		ClientCapabilities: sdk.ClientCapabilities{},
		ClientInfo:         &sdk.Implementation{Name: "hob", Version: "1"},
	})
	if err != nil {
		return c.failure(ctx, err, llm.NotFound, "it does not begin the conversation")
	}
	if info.ProtocolVersion != sdk.ProtocolVersionNumber {
		return c.o.fail(llm.NotFound, nil, "it speaks another version of the Agent Client Protocol than Hob ("+
			version(info.ProtocolVersion)+", not "+version(sdk.ProtocolVersionNumber)+")", "install a version of it that fits; see docs/acp.md")
	}
	c.info = info
	return nil
}

// kill ends the child at once; gone tells when.
func (c *child) kill() {
	c.mu.Lock()
	c.ending = true
	c.mu.Unlock()
	c.tree.Kill()
	_ = c.stdin.Close() // a write that hangs comes back
}

// end ends the child in its own time and returns when it is gone.
func (c *child) end() {
	c.mu.Lock()
	c.ending = true
	c.mu.Unlock()
	_ = c.stdin.Close() // that is how an agent learns that it is no longer needed
	c.tree.End(farewell)
	<-c.gone
}

// alive reports whether the child can still be talked to.
func (c *child) alive() bool {
	select {
	case <-c.tree.Done():
		return false
	case <-c.conn.Done():
		return false
	default:
		return true
	}
}

// breakWith notes what is wrong with the child's output and ends it.
func (c *child) breakWith(err error) {
	c.mu.Lock()
	if c.broken == nil {
		c.broken = err
	}
	c.mu.Unlock()
	c.tree.Kill()
}

// stderrLog takes what a child writes for people: the log gets some of it, an
// error the last line.
type stderrLog struct {
	log     *slog.Logger
	secrets []string

	mu   sync.Mutex
	last string
}

// Bounds of what is kept of a child's words.
const (
	maxStderrLines = 200
	maxStderrLine  = 300
)

func (s *stderrLog) read(r io.Reader) {
	n := 0
	for line := range boundedLines(r, 8<<10) {
		text := redact(strings.TrimSpace(strings.ToValidUTF8(string(line), "\uFFFD")), s.secrets)
		if text = printable(text, maxStderrLine); text == "" {
			continue
		}
		s.mu.Lock()
		s.last = text
		s.mu.Unlock()
		if n++; n <= maxStderrLines {
			s.log.Debug("agent says", "line", text)
		}
	}
	if n > maxStderrLines {
		s.log.Debug("agent said more", "lines", n-maxStderrLines)
	}
}

func (s *stderrLog) lastLine() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}
