//go:build unix

// Package daemontest builds the program with its failpoints and runs daemons that tests kill, suspend
// and restart. The tests in cmd/hob/internal/crash and fleet use it.
package daemontest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/platform/net/nettest"
)

// Build builds the program with its failpoints as the file bin.
func Build(bin string) error {
	cmd := exec.CommandContext(context.Background(), "go", "build", "-ldflags", "-s -w -X hob/platform/failpoint.enabled=yes", "-o", bin, "hob/cmd/hob")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as in a release
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}

// Daemon is a home with the daemon that runs on it, if one does. Only one goroutine may start and end the
// daemon; Call and Status may be called concurrently.
type Daemon struct {
	Bin, Addr string
	User      string   // HOME of the daemon
	Home      string   // HOB_HOME
	Env       []string // additional environment
	Wrap      []string // command that runs the program with the arguments after it; it must become the program
	Client    *http.Client

	t      testing.TB
	cmd    *exec.Cmd
	exited chan struct{}
	log    *os.File
}

// New creates the homes below dir. The daemon is killed when the test ends; the end of its log is
// shown if the test failed.
func New(t testing.TB, bin, dir string) *Daemon {
	t.Helper()
	d := &Daemon{
		t: t, Bin: bin, Addr: "127.0.0.1:" + nettest.FreePort(t), User: filepath.Join(dir, "user"), Home: filepath.Join(dir, "hob-home"),
		Client: &http.Client{Timeout: 5 * time.Second},
	}
	for _, x := range []string{d.User, d.Home} {
		if err := os.MkdirAll(x, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if d.log, err = os.OpenFile(filepath.Join(dir, "daemon.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.Kill()
		_ = d.log.Close()
		if t.Failed() {
			b, _ := os.ReadFile(d.log.Name())
			t.Logf("end of the log of %s:\n%s", filepath.Base(dir), b[max(0, len(b)-4000):])
		}
	})
	return d
}

// Configure writes config.toml.
func (d *Daemon) Configure(config string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.Home, "config.toml"), []byte(config), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// newCommand returns a command of the program in the home.
func (d *Daemon) newCommand(ctx context.Context, args ...string) *exec.Cmd {
	line := append(append(slices.Clone(d.Wrap), d.Bin), args...)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env = append(append(os.Environ(), "HOME="+d.User, "HOB_HOME="+d.Home, "TZ=UTC"), d.Env...)
	return cmd
}

// Launch starts the daemon, with a failpoint if point is not "".
func (d *Daemon) Launch(point string) {
	d.t.Helper()
	cmd := d.newCommand(context.WithoutCancel(d.t.Context()), "start", "--foreground")
	if point != "" {
		cmd.Env = append(cmd.Env, "HOB_FAILPOINT="+point)
	}
	cmd.Stdout, cmd.Stderr = d.log, d.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.cmd, d.exited = cmd, make(chan struct{})
	go func(done chan struct{}) { _ = cmd.Wait(); close(done) }(d.exited)
}

// Start launches the daemon and reports whether it became ready before it ended.
func (d *Daemon) Start(point string) bool {
	d.t.Helper()
	d.Launch(point)
	return d.AwaitReady()
}

// AwaitReady waits until the daemon is ready, and reports whether it is: false if it ended.
func (d *Daemon) AwaitReady() bool {
	d.t.Helper()
	deadline := time.After(3 * time.Minute)
	for d.Status() != http.StatusOK {
		select {
		case <-d.exited:
			return false
		case <-deadline:
			d.t.Fatal("the daemon did not start")
		case <-time.After(3 * time.Millisecond):
		}
	}
	return true
}

// Status returns the status code of /readyz, or 0.
func (d *Daemon) Status() int {
	q, err := http.NewRequestWithContext(context.WithoutCancel(d.t.Context()), http.MethodGet, "http://"+d.Addr+"/readyz", http.NoBody)
	if err != nil {
		return 0
	}
	res, err := d.Client.Do(q)
	if err != nil {
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// LogFile returns the path of the log of all daemons of this home.
func (d *Daemon) LogFile() string { return d.log.Name() }

// Run runs a command in the home and returns what it printed.
func (d *Daemon) Run(args ...string) (string, error) {
	out, err := d.newCommand(d.t.Context(), args...).CombinedOutput()
	return string(out), err
}

// Exited returns a channel that is closed when the daemon has ended.
func (d *Daemon) Exited() <-chan struct{} { return d.exited }

// PID returns the number of the process.
func (d *Daemon) PID() int { return d.cmd.Process.Pid }

// Signal sends a signal to the daemon, but not to its children. A daemon that has ended, for example at a
// failpoint, is ignored.
func (d *Daemon) Signal(s syscall.Signal) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		d.t.Error(err)
	}
}

// Kill kills the daemon with SIGKILL. It returns false if the daemon had already ended.
func (d *Daemon) Kill() bool {
	if d.cmd == nil {
		return false
	}
	defer func() { d.cmd = nil }()
	select {
	case <-d.exited:
		return false
	default:
	}
	_ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL)
	<-d.exited
	return true
}

// Stop stops the daemon normally.
func (d *Daemon) Stop() {
	d.t.Helper()
	d.Signal(syscall.SIGTERM)
	select {
	case <-d.exited:
	case <-time.After(60 * time.Second):
		d.t.Error("the daemon did not stop on SIGTERM")
		d.Kill()
	}
	d.cmd = nil
}

// StatusError is a response whose status is not 2xx.
type StatusError struct {
	Code int
	Text string
}

// Error implements error.
func (e *StatusError) Error() string { return fmt.Sprintf("refused: %d %s", e.Code, e.Text) }

// Call sends a JSON request with the token of the home. It returns a *StatusError if the status of
// the response is not 2xx.
func (d *Daemon) Call(ctx context.Context, method, path string, in, out any) error {
	token, err := os.ReadFile(filepath.Join(d.Home, "token"))
	if err != nil {
		return err
	}
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	q, err := http.NewRequestWithContext(ctx, method, "http://"+d.Addr+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	q.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("X-Hob-Client", "crash-test") // a bare yes or no counts only from the client that displayed the question
	res, err := d.Client.Do(q)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode/100 != 2 {
		return &StatusError{Code: res.StatusCode, Text: string(b)}
	}
	return json.Unmarshal(b, out)
}

// Send posts a message, once. The same text in the same session is the same message.
func (d *Daemon) Send(ctx context.Context, session, text string) (event string, err error) {
	var r struct {
		Event string `json:"event"`
	}
	err = d.Call(ctx, http.MethodPost, "/api/v1/sessions/"+session+"/messages", map[string]any{"text": text, "dedupe_key": session + text, "async": true}, &r)
	return r.Event, err
}

// ExitCode returns the exit code of a daemon that has ended, or -1 if a signal ended it.
func (d *Daemon) ExitCode() int { return d.cmd.ProcessState.ExitCode() }
