package mcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/platform/host/command"
	"hob/platform/host/osrun"
	"hob/platform/net/safehttp"
)

// Limits of a connection.
const (
	maxMessage    = 16 << 20 // bytes of one message
	patience      = time.Second
	closePatience = 2 * time.Second
)

// openTransport starts the program, or prepares the requests to the URL.
func (s *server) openTransport(ctx context.Context, ses *session, handler auth.OAuthHandler) (mcp.Transport, *seenStatus, error) {
	if s.cfg.Document != "" {
		t, err := s.documentTransport(ctx, ses)
		return t, nil, err
	}
	if s.cfg.URL != "" {
		return s.httpTransport(ctx, handler)
	}
	p, err := s.startProcess(ctx)
	if err != nil {
		return nil, nil, err
	}
	ses.process = p
	return &mcp.IOTransport{Reader: p.out, Writer: p.in, MaxLineLength: maxMessage}, nil, nil
}

// process is the program of a server.
type process struct {
	tree    *osrun.Tree
	in      *os.File
	out     *messageReader
	sandbox string
	output  sync.WaitGroup
	once    sync.Once
	logs    *logRing
}

// startProcess starts the program of the server.
func (s *server) startProcess(ctx context.Context) (*process, error) {
	key := "mcp.servers." + s.cfg.Name
	if s.m.opt.Runner == nil {
		return nil, errors.New("this command cannot start programs; use the running Hob")
	}
	home := filepath.Join(s.m.opt.Dir, s.cfg.Name)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of the server: %w", err)
	}
	var env []string
	for name, ref := range s.cfg.Env {
		v, err := s.m.opt.Secret(ctx, ref)
		if err != nil {
			return nil, fmt.Errorf("%s.env.%s: %w", key, name, err)
		}
		env = append(env, name+"="+v)
	}
	slices.Sort(env)
	cmd, kind, err := s.m.opt.Runner.ServiceCommand(ctx, command.Service{
		Program: s.cfg.Command, Args: s.cfg.Args, Env: env, Home: home, Dir: s.cfg.Cwd, Confine: s.cfg.Sandbox, Network: s.cfg.Network, Write: s.cfg.Folders,
	})
	switch {
	case errors.Is(err, command.ErrNotFound):
		return nil, fmt.Errorf("%w; install the program, or set %s.command to its full path", err, key)
	case errors.Is(err, command.ErrNoSandbox):
		return nil, fmt.Errorf("not started without a sandbox: %w; or trust the program and set %s.sandbox = false", err, key)
	case err != nil:
		return nil, fmt.Errorf("%w; see docs/mcp.md", err)
	}
	p := &process{sandbox: kind, logs: &s.logs}
	inR, inW, err := osrun.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := osrun.Pipe()
	if err != nil {
		return nil, errors.Join(err, inR.Close(), inW.Close())
	}
	errR, errW, err := osrun.Pipe()
	if err != nil {
		return nil, errors.Join(err, inR.Close(), inW.Close(), outR.Close(), outW.Close())
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
	p.tree, err = osrun.Start(cmd)
	_, _, _ = inR.Close(), outW.Close(), errW.Close() // the child has its own copies
	if err != nil {
		return nil, fmt.Errorf("%w; check %s.command", errors.Join(err, inW.Close(), outR.Close(), errR.Close()), key)
	}
	p.in, p.out = inW, newMessageReader(outR, &s.logs)
	p.output.Go(func() {
		_, _ = io.Copy(&splitLines{log: &s.logs}, errR) // ends with the program
		_ = errR.Close()
	})
	return p, nil
}

// endProgram closes the program's input and waits until the program has ended. If the program does
// not end, endProgram terminates and then kills it.
func (p *process) endProgram() {
	p.once.Do(func() { _ = p.in.Close() })
	p.tree.End(patience)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.output.Wait()
	}()
	select {
	case <-done:
	case <-time.After(patience): // a process that left the process tree keeps the output open
	}
	_ = p.out.Close()
}

// describeEnd describes the end of a program that the user did not stop.
func (p *process) describeEnd(err error) string {
	select {
	case <-p.tree.Done():
	default:
		return fmt.Sprintf("the program broke the protocol: %v", err)
	}
	text := "the program ended (" + osrun.DescribeExit(p.tree.Err()) + ")"
	if n := p.out.strayLines(); n > 0 {
		text += fmt.Sprintf(" after %d lines on standard output that are not MCP", n)
	}
	for _, l := range slices.Backward(p.logs.lastLines(3)) {
		if time.Since(l.At) < time.Minute {
			return text + ": " + cutText(strings.ReplaceAll(l.Text, "; ", ", "), 200)
		}
	}
	return text
}

// messageReader passes on the lines that may be messages. It writes other lines to the log, because
// many programs print log lines to standard output.
type messageReader struct {
	file *os.File
	r    *bufio.Reader
	logs *logRing
	rest []byte // rest of the current line
	open bool   // true if only a part of the line was read

	mu    sync.Mutex
	stray int
}

func newMessageReader(f *os.File, logs *logRing) *messageReader {
	return &messageReader{file: f, r: bufio.NewReaderSize(f, 64<<10), logs: logs}
}

// Read implements io.Reader.
func (m *messageReader) Read(b []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.r.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !full && len(line) == 0 {
			return 0, err
		}
		begins := !m.open
		m.open = full
		if text := strings.TrimSpace(string(line[:min(len(line), 1+logLine)])); begins && !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[{") {
			if err := m.skipLine(text, full); err != nil {
				return 0, err
			}
			continue
		}
		m.rest = line
	}
	n := copy(b, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// skipLine logs a line that is not a message, and reads the rest of the line.
func (m *messageReader) skipLine(text string, more bool) error {
	m.open = false
	if text != "" {
		m.logs.addLine("standard output: " + text)
		m.mu.Lock()
		m.stray++
		m.mu.Unlock()
	}
	for more {
		_, err := m.r.ReadSlice('\n')
		if more = errors.Is(err, bufio.ErrBufferFull); err != nil && !more {
			return err
		}
	}
	return nil
}

func (m *messageReader) strayLines() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stray
}

// Close implements io.Closer.
func (m *messageReader) Close() error { return m.file.Close() }

// seenStatus remembers the last HTTP status, because the SDK's errors do not contain it.
type seenStatus struct {
	next http.RoundTripper
	set  http.Header
	seen func(*http.Request, *http.Response) // called for each response

	mu     sync.Mutex
	status int
	login  bool // true if a request failed because of a missing or rejected token
}

// RoundTrip implements http.RoundTripper.
func (t *seenStatus) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, v := range t.set {
		r.Header[name] = v
	}
	resp, err := t.next.RoundTrip(r)
	if err == nil {
		t.mu.Lock()
		t.status = resp.StatusCode
		t.login = t.login || t.status == http.StatusUnauthorized
		t.mu.Unlock()
		t.seen(r, resp)
	}
	return resp, err
}

// lastStatus returns the last status of a response. After a request that needed a login it returns
// 401, because the SDK then tries the former revision, which may fail in another way.
func (t *seenStatus) lastStatus() int {
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.login {
		return http.StatusUnauthorized
	}
	return t.status
}

// httpTransport returns the transport for the URL. It follows no redirects, because the configured
// headers are only for the configured address.
func (s *server) httpTransport(ctx context.Context, handler auth.OAuthHandler) (mcp.Transport, *seenStatus, error) {
	network, err := s.m.opt.Network.Named(s.cfg.URL)
	if err != nil {
		return nil, nil, fmt.Errorf("mcp.servers.%s.url: %w", s.cfg.Name, err)
	}
	seen := &seenStatus{next: &safehttp.Transport{Client: network, MaxLine: maxMessage, Wait: s.cfg.Timeout.Duration + connectTimeout}, set: http.Header{}, seen: s.followListen}
	for name, ref := range s.cfg.Headers {
		v, err := s.m.opt.Secret(ctx, ref)
		if err != nil {
			return nil, nil, fmt.Errorf("mcp.servers.%s.headers.%s: %w", s.cfg.Name, name, err)
		}
		seen.set.Set(name, v)
	}
	if handler == nil && seen.set.Get("Authorization") == "" {
		if handler, err = s.storedHandler(ctx); err != nil {
			return nil, nil, err
		}
	}
	return &mcp.StreamableClientTransport{
		Endpoint: s.cfg.URL, MaxEventSize: maxMessage, OAuthHandler: handler,
		HTTPClient: safehttp.NewStreamingClient(seen),
	}, seen, nil
}
