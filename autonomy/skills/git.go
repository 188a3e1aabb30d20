package skills

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"hob/platform/host/unpack"
	"hob/platform/net/safehttp"
	"hob/platform/text/visible"
)

// Limits of a git command.
const (
	gitTimeout = 2 * time.Minute
	maxClone   = 200 << 20 // bytes on disk
	maxStderr  = 4 << 10
)

// readRepository reads the newest commit of a git repository. Git has no working folder, runs no
// hooks, filters or submodules, reads no settings of the user, and reaches only the host of the
// address, through safehttp.
func (s Source) readRepository(ctx context.Context, address string) (c unpack.Contents, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return c, fmt.Errorf("%w: %s is not the plain https address of a git repository; use https://HOST/PATH and select a folder with --path", ErrInvalid, shortValue(address))
	}
	if s.Network == nil {
		return c, fmt.Errorf("%w: the network is not configured; download the repository and add its folder", ErrInvalid)
	}
	if _, err := s.Network.Check(address); err != nil {
		return c, err
	}
	git := s.Git
	if git == "" {
		if git, err = exec.LookPath("git"); err != nil {
			return c, errors.New("git is not installed; install it, or download the repository as an archive")
		}
	}
	dir, err := os.MkdirTemp("", "hob-skill-")
	if err != nil {
		return c, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	proxy, err := startProxy(ctx, s.Network, u)
	if err != nil {
		return c, err
	}
	defer proxy.stopProxy()
	run := gitRun{program: git, dir: dir, proxy: proxy.address}
	if _, err := run.runGit(ctx, 1<<20, "clone", "--quiet", "--bare", "--depth=1", "--single-branch", "--no-tags", "--template=", "--", u.String(), "repository"); err != nil {
		if refused := proxy.lastError(); refused != nil {
			return c, refused
		}
		return c, fmt.Errorf("clone %s: %w; check the address", shortValue(address), err)
	}
	b, err := run.runGit(ctx, maxRepo, "--git-dir=repository", "archive", "--format=tar", "HEAD")
	if err != nil {
		return c, fmt.Errorf("read %s: %w", shortValue(address), err)
	}
	if c, err = unpack.Tar(bytes.NewReader(b), unpackLimits()); err != nil {
		return c, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	c.Top = "" // a repository has no enclosing folder, unlike an archive
	return c, nil
}

// gitRun runs git in an empty folder with a clean environment.
type gitRun struct{ program, dir, proxy string }

// runGit runs a command and returns at most limit bytes of its output.
func (g gitRun) runGit(ctx context.Context, limit int, args ...string) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, g.program, append([]string{
		"-c", "protocol.allow=never", "-c", "protocol.https.allow=always", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.askPass=",
		"-c", "credential.helper=", "-c", "http.proxy=" + g.proxy, "-c", "http.followRedirects=initial", "-c", "fetch.fsckObjects=true", "-c", "submodule.recurse=false",
		"-c", "tar.umask=0077", "-c", "core.attributesFile=/dev/null",
	}, args...)...)
	cmd.Dir = g.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + g.dir, "XDG_CONFIG_HOME=" + g.dir, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GIT_ATTR_NOSYSTEM=1", "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "GIT_SSL_CAINFO=" + os.Getenv("GIT_SSL_CAINFO"),
	}
	if os.Getenv("GIT_SSL_CAINFO") == "" {
		cmd.Env = cmd.Env[:len(cmd.Env)-1]
	}
	cmd.WaitDelay = 5 * time.Second
	out, problems := &limitedBuffer{left: limit, full: cancel}, &limitedBuffer{left: maxStderr}
	cmd.Stdout, cmd.Stderr = out, problems
	watch := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { watchSize(g.dir, watch, cancel) })
	err := cmd.Run()
	close(watch)
	wg.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	if err != nil {
		text := strings.TrimSpace(visible.Text(problems.String()))
		if i := strings.LastIndex(text, "fatal: "); i >= 0 {
			text = text[i+len("fatal: "):]
		}
		return nil, fmt.Errorf("git: %s (%w)", strings.Join(strings.Fields(text), " "), err)
	}
	return out.Bytes(), nil
}

// errTooLarge means that a repository exceeds a limit.
var errTooLarge = fmt.Errorf("%w: the repository is too large; download the folder of the skill and add it", ErrInvalid)

// limitedBuffer keeps the first bytes of an output and calls full, if set, when the limit is
// exceeded.
type limitedBuffer struct {
	bytes.Buffer
	left int
	full context.CancelCauseFunc
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.left -= n
	b.Buffer.Write(p[:n])
	if n < len(p) && b.full != nil {
		b.full(errTooLarge)
	}
	return len(p), nil
}

// watchSize cancels if the files below dir exceed maxClone.
func watchSize(dir string, done <-chan struct{}, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		total := int64(0)
		_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // git removes its temporary files meanwhile
			}
			if fi, err := d.Info(); err == nil {
				total += fi.Size()
			}
			return nil
		})
		if total > maxClone {
			cancel(errTooLarge)
			return
		}
	}
}

// proxy lets git reach one host through safehttp.
type proxy struct {
	address string
	server  *http.Server
	done    chan struct{}
	cancel  context.CancelFunc
	conns   sync.WaitGroup

	mu  sync.Mutex
	err error
}

// startProxy starts a proxy on this machine that connects to the host of u and to nothing else.
func startProxy(ctx context.Context, network *safehttp.Client, u *url.URL) (*proxy, error) {
	host := u.Host
	if u.Port() == "" {
		host = net.JoinHostPort(u.Hostname(), "443")
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{address: "http://" + l.Addr().String(), done: make(chan struct{})}
	ctx, p.cancel = context.WithCancel(ctx)
	p.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || !strings.EqualFold(r.Host, host) {
			p.setError(fmt.Errorf("%w: the repository redirects to %s; use its final address", ErrInvalid, shortValue(r.Host)))
			http.Error(w, "another host", http.StatusForbidden)
			return
		}
		out, err := network.Connect(r.Context(), "https", host) //nolint:contextcheck // the connection ends with the request
		if err != nil {
			p.setError(err)
			http.Error(w, "refused", http.StatusForbidden)
			return
		}
		p.tunnelTraffic(ctx, w, out)
	})}
	go func() {
		defer close(p.done)
		_ = p.server.Serve(l) // ends with stop
	}()
	return p, nil
}

// tunnelTraffic copies between the client and the connection until one of them ends.
func (p *proxy) tunnelTraffic(ctx context.Context, w http.ResponseWriter, out net.Conn) {
	defer func() { _ = out.Close() }()
	in, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		p.setError(err)
		return
	}
	defer func() { _ = in.Close() }()
	p.conns.Add(1)
	defer p.conns.Done()
	stop := context.AfterFunc(ctx, func() { _, _ = in.Close(), out.Close() })
	defer stop()
	if _, err := io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { copyAndClose(out, buffered.Reader, in) })
	copyAndClose(in, bufio.NewReader(out), out)
	wg.Wait()
}

// copyAndClose copies until the source ends, and then closes both ends.
func copyAndClose(to net.Conn, from io.Reader, source net.Conn) {
	_, _ = io.Copy(to, from)
	_, _ = to.Close(), source.Close()
}

func (p *proxy) setError(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
}

func (p *proxy) lastError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// stopProxy ends all connections and waits for them.
func (p *proxy) stopProxy() {
	p.cancel()
	_ = p.server.Close()
	<-p.done
	p.conns.Wait()
}
