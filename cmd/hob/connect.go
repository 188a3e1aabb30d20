package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"hob/channels/web/apiclient"
	"hob/platform/host/system"
	"hob/platform/retry"
	"hob/platform/store/upgrade"
)

const (
	// startWait is how long to wait for a daemon to become ready.
	startWait = 30 * time.Second
	// answerWait is how long to wait for a running daemon to report that it is ready.
	answerWait = 10 * time.Second
)

// connectAPI opens the API of the running daemon, or of an engine in this process if no daemon
// runs. The caller closes the client.
func (a *cli) connectAPI(ctx context.Context) (*client, error) {
	p, err := system.DefaultPaths()
	if err != nil {
		return nil, err
	}
	for range 3 { // a daemon may start or stop in the meantime
		c, running, err := a.dialDaemon(ctx, p)
		if running || err != nil {
			return c, err
		}
		c, err = a.openHere(ctx, p)
		if !errors.Is(err, system.ErrRunning) {
			return c, err
		}
	}
	return nil, errors.New("the daemon keeps restarting; see its log with: hob doctor")
}

// connectDaemon opens the API of the running daemon. If no daemon runs, it fails with exit code 3.
func (a *cli) connectDaemon(ctx context.Context) (*client, error) {
	p, err := system.DefaultPaths()
	if err != nil {
		return nil, err
	}
	c, running, err := a.dialDaemon(ctx, p)
	if err == nil && !running {
		return nil, notRunningAfter(p)
	}
	return c, err
}

// notRunningAfter returns notRunning, or names the failed upgrade that may be the reason.
func notRunningAfter(p system.Paths) error {
	f, failed := upgrade.LastFailure(p)
	if !failed {
		return notRunning()
	}
	text, remedy := f.Describe()
	return &failure{code: exitNotRunning, cause: fmt.Sprintf("Hob is not running: at %s, %s", f.At.Local().Format("2006-01-02 15:04"), text), remedy: remedy}
}

// dialDaemon connects to the running daemon. It returns false if no daemon runs.
func (a *cli) dialDaemon(ctx context.Context, p system.Paths) (*client, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	var last error
	for {
		h, held, err := system.Probe(p.LockFile())
		if err != nil {
			return nil, false, err
		}
		if !held || h.Role != system.RoleDaemon {
			return nil, false, nil
		}
		c, err := a.clientOf(p, h.PID)
		if f, final := errors.AsType[*failure](err); final {
			return nil, true, f
		}
		if last = err; err == nil {
			if last = c.checkReady(ctx); last == nil {
				return c, true, nil
			}
		}
		if retry.Sleep(ctx, 20*time.Millisecond) != nil {
			return nil, true, &failure{
				code: exitFailed, err: last,
				cause:  fmt.Sprintf("the daemon (pid %d) does not answer: %v", h.PID, last),
				remedy: "see " + p.LogFile() + ", or restart it: hob stop, then hob start",
			}
		}
	}
}

// daemonAddress holds the address of a running daemon, and the HTTP client and the token for it.
type daemonAddress struct {
	transport *http.Client
	base      string
	token     system.Secret
}

// clientOf returns a client for the daemon with process id pid.
func (a *cli) clientOf(p system.Paths, pid int) (*client, error) {
	d, err := addressOf(p, pid)
	if err != nil {
		return nil, err
	}
	return &client{Client: apiclient.New(d.transport, d.base, d.token), pid: pid}, nil
}

// addressOf returns the address of the daemon with process id pid, from the files that the daemon
// wrote.
func addressOf(p system.Paths, pid int) (d daemonAddress, err error) {
	e, ok, err := system.ReadEndpoint(p.EndpointFile(), pid)
	if err != nil {
		return d, err
	}
	if !ok {
		return d, errors.New("the daemon has not published its address yet")
	}
	token, err := system.ReadToken(p.TokenFile())
	if err != nil { // the daemon creates the token before it writes its address, so the token was removed or damaged later
		cause, _, _ := strings.Cut(err.Error(), "; ")
		return d, &failure{code: exitFailed, err: err, cause: cause, remedy: "restart Hob to create a new one: hob stop, then hob start"}
	}
	t := &http.Transport{ // no proxy, because the daemon runs on this machine
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		ResponseHeaderTimeout: 0, // no limit, because an answer takes as long as its turn
	}
	base := "http://" + e.Address
	if e.Pin != "" {
		base, t.TLSClientConfig = "https://"+loopbackAddress(e.Address), pinnedTLSConfig(e.Pin)
	}
	return daemonAddress{&http.Client{Transport: t}, base, token}, nil
}

// loopbackAddress returns address with the loopback host if the daemon listens on all addresses.
func loopbackAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if a, e := netip.ParseAddr(host); err != nil || e != nil || !a.IsUnspecified() {
		return address
	}
	return net.JoinHostPort("127.0.0.1", port)
}

// pinnedTLSConfig returns a configuration that trusts only the certificate that the daemon
// published in a private file.
func pinnedTLSConfig(pin string) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // the certificate is compared as a whole below
		VerifyConnection: func(cs tls.ConnectionState) error {
			sum := sha256.Sum256(cs.PeerCertificates[0].Raw)
			if subtle.ConstantTimeCompare([]byte(hex.EncodeToString(sum[:])), []byte(pin)) != 1 {
				return errors.New("this is not the certificate of the running daemon")
			}
			return nil
		},
	}
}

// openHere opens an engine in this process for one command.
func (a *cli) openHere(ctx context.Context, p system.Paths) (*client, error) {
	cfg, err := revisionsOf(p).LoadOrLast()
	if err != nil {
		return nil, err
	}
	a.warnBroken(cfg)
	if err := p.Ensure(); err != nil {
		return nil, err
	}
	lock, err := system.Acquire(ctx, p.LockFile(), system.RoleCLI)
	if err != nil {
		return nil, err
	}
	if cfg, err = resumeRestore(ctx, p, cfg); err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	log, closeLog := fileLog(p)
	e, err := a.openOrLast(ctx, engineOptions{Paths: p, Config: cfg, Log: log, Version: a.version, InProcess: true, Release: a.release})
	if err != nil {
		return nil, errors.Join(err, closeLog(), lock.Release())
	}
	if d, is := e.(interface{ SetAside() string }); is && d.SetAside() != "" {
		fmt.Fprintln(a.err, a.colorize(a.err, amber, "warning: ")+d.SetAside())
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	ran := make(chan error, 1)
	go func() { ran <- e.Run(life) }()
	finish := func() error {
		end()
		err := dropCancellations(<-ran)
		return errors.Join(err, e.Close(), closeLog(), lock.Release())
	}
	select {
	case <-e.Ready():
	case err := <-ran:
		ran <- nil
		return nil, errors.Join(err, finish())
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), finish())
	}
	token, err := system.ReadToken(p.TokenFile())
	if err != nil {
		return nil, errors.Join(err, finish())
	}
	return &client{Client: apiclient.New(e.Client(), "http://"+e.Addr(), token), finish: finish}, nil
}

// fileLog returns a logger that writes to the log file. An engine in this process uses it, so that
// its log does not mix with the command's output.
func fileLog(p system.Paths) (*slog.Logger, func() error) {
	f, err := os.OpenFile(p.LogFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return slog.New(slog.DiscardHandler), func() error { return nil }
	}
	return slog.New(slog.NewTextHandler(f, &slog.HandlerOptions{Level: slog.LevelWarn})), f.Close
}

// withClient opens the API, runs fn and closes the API.
func (a *cli) withClient(ctx context.Context, fn func(c *client) error) error {
	c, err := a.connectAPI(ctx)
	if err != nil {
		return err
	}
	return errors.Join(fn(c), c.closeEngine())
}
