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
	"hob/platform/host/osrun"
)

// Timeouts for ending a child process.
const (
	// farewell is how long an unneeded child process may take to exit after its input is closed,
	// and again after it is terminated.
	farewell = 2 * time.Second
	// grace is the time between session/cancel and the kill of a child.
	grace = 400 * time.Millisecond
	// linger is how long the output of an exited child process is still read.
	linger = 300 * time.Millisecond
)

// child is a running agent and the connection to it. It exists until gone is closed. All its
// goroutines have then ended, except those of the SDK, which end with their streams.
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
	room  chan struct{} // slots for notifications that are being processed
	heard atomic.Int64  // number of updates received so far

	mu     sync.Mutex
	broken error       // error in the child's output
	ending bool        // whether Hob is ending the child
	talk   *promptTurn // the current turn; nil between turns
	loaded sdk.SessionId
}

// spawnChild starts the agent and initializes the connection. An error is an *llm.Error.
func spawnChild(ctx context.Context, o Options) (*child, error) {
	path, err := exec.LookPath(o.Command)
	if err != nil {
		return nil, o.missingError(err)
	}
	env, secrets, err := o.childEnv()
	if err != nil {
		return nil, o.newError(llm.Unauthorized, err, "cannot create its environment: "+err.Error(), "correct env in [providers."+o.Provider+"]")
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, o.newError(llm.NotFound, err, "cannot create its folder: "+err.Error(), "set cwd in [providers."+o.Provider+"] to one of your folders")
	}
	c := &child{
		o: o, log: o.Log, gone: make(chan struct{}), room: make(chan struct{}, maxUnderWay),
		words: stderrLog{log: o.Log, secrets: secrets},
	}
	if err := c.startProcess(context.WithoutCancel(ctx), path, env); err != nil {
		return nil, o.newError(llm.NotFound, err, "cannot start it: "+err.Error(), o.installRemedy())
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.Start, errSlowStart)
	defer cancel()
	if err := c.initializeConnection(ctx); err != nil {
		c.killProcess()
		<-c.gone
		return nil, err
	}
	return c, nil
}

var errSlowStart = errors.New("the agent did not start in time")

// startProcess runs the program with three pipes. The program outlives the call that starts it, so
// ctx must never end. gone closes Hob's ends of the pipes.
func (c *child) startProcess(ctx context.Context, path string, env []string) error {
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
	for _, f := range []*os.File{ends[0][0], ends[1][1], ends[2][1]} { // the child's ends of the pipes
		if err := f.Close(); err != nil {
			c.log.Debug("cannot close a pipe", "err", err)
		}
	}
	c.o.alive.addPid(tree.Pid())
	c.tree, c.stdin = tree, ends[0][1]
	c.readOutput(ends[1][0], ends[2][0])
	return nil
}

// readOutput reads the child's output until the child has ended.
func (c *child) readOutput(stdout, stderr *os.File) {
	lines, toSDK := io.Pipe()
	c.conn = sdk.NewConnection(c.handleMessage, c.stdin, lines)
	c.conn.SetLogger(slog.New(slog.DiscardHandler)) // otherwise the SDK logs complete messages; safe here, because nothing has been read yet
	c.wg.Go(func() { c.filterMessages(stdout, toSDK) })
	c.wg.Go(func() { c.words.readLines(stderr) })
	go func() {
		<-c.tree.Done()
		// A descendant outside the process group may hold the pipes open.
		timer := time.AfterFunc(linger, func() { _ = errors.Join(stdout.Close(), stderr.Close()) })
		c.wg.Wait()
		timer.Stop()
		_ = errors.Join(stdout.Close(), stderr.Close(), c.stdin.Close(), lines.Close()) // may already be closed
		c.o.alive.removePid(c.tree.Pid())
		close(c.gone)
	}()
}

// initializeConnection sends the initialize request; see
// https://agentclientprotocol.com/protocol/initialization.
func (c *child) initializeConnection(ctx context.Context) error {
	info, err := sdk.SendRequest[sdk.InitializeResponse](c.conn, ctx, sdk.AgentMethodInitialize, sdk.InitializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		// Offer neither a file system nor a terminal: the agent would use them to bypass Hob's
		// tools, which check permissions and support undo.
		ClientCapabilities: sdk.ClientCapabilities{},
		ClientInfo:         &sdk.Implementation{Name: "hob", Version: "1"},
	})
	if err != nil {
		return c.requestError(ctx, err, llm.NotFound, "it did not initialize the connection")
	}
	if info.ProtocolVersion != sdk.ProtocolVersionNumber {
		return c.o.newError(llm.NotFound, nil, "it uses a different version of the Agent Client Protocol than Hob ("+
			formatVersion(info.ProtocolVersion)+", not "+formatVersion(sdk.ProtocolVersionNumber)+")", "install a compatible version; see docs/acp.md")
	}
	c.info = info
	return nil
}

// killProcess kills the child immediately. gone is closed when the child has ended.
func (c *child) killProcess() {
	c.mu.Lock()
	c.ending = true
	c.mu.Unlock()
	c.tree.Kill()
	_ = c.stdin.Close() // makes a blocked write return
}

// endProcess asks the child to exit and returns when the child has ended.
func (c *child) endProcess() {
	c.mu.Lock()
	c.ending = true
	c.mu.Unlock()
	_ = c.stdin.Close() // closing the input tells the agent that it is no longer needed
	c.tree.End(farewell)
	<-c.gone
}

// isAlive reports whether the child still accepts messages.
func (c *child) isAlive() bool {
	select {
	case <-c.tree.Done():
		return false
	case <-c.conn.Done():
		return false
	default:
		return true
	}
}

// breakWith records an error in the child's output and ends the child.
func (c *child) breakWith(err error) {
	c.mu.Lock()
	if c.broken == nil {
		c.broken = err
	}
	c.mu.Unlock()
	c.tree.Kill()
}

// stderrLog reads a child's standard error. It logs parts of it, and errors contain the last line.
type stderrLog struct {
	log     *slog.Logger
	secrets []string

	mu   sync.Mutex
	last string
}

// Limits of the stored standard error.
const (
	maxStderrLines = 200
	maxStderrLine  = 300
)

func (s *stderrLog) readLines(r io.Reader) {
	n := 0
	for line := range boundedLines(r, 8<<10) {
		text := redactLine(strings.TrimSpace(strings.ToValidUTF8(string(line), "\uFFFD")), s.secrets)
		if text = singleLine(text, maxStderrLine); text == "" {
			continue
		}
		s.mu.Lock()
		s.last = text
		s.mu.Unlock()
		if n++; n <= maxStderrLines {
			s.log.Debug("agent stderr", "line", text)
		}
	}
	if n > maxStderrLines {
		s.log.Debug("more agent stderr omitted", "lines", n-maxStderrLines)
	}
}

func (s *stderrLog) lastLine() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}
