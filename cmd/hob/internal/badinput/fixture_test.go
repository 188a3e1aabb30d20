//go:build unix

// Package badinput gives the real program invalid input: wrong arguments and files, damaged and
// foreign databases, read-only folders, full disks, misbehaving models and receivers, signals at
// bad moments. Each must end in an error that names cause and remedy, and in an exit code that
// `hob --help` lists. Nothing may be lost or left incomplete. The package contains only tests.
package badinput

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
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// nobody is the user that runs the program if the tests run as the superuser, because the superuser
// could write to any file of the machine.
const nobody = 65534

// daemonFixture is a home with its own user, in which the program runs.
type daemonFixture struct {
	t      *testing.T
	dir    string // contains all files of this fixture
	log    string // the daemon's log
	user   string // HOME
	home   string // HOB_HOME
	env    []string
	daemon *exec.Cmd
	exited chan struct{}
	base   string // URL of the running daemon

	relayMu sync.Mutex
	relays  map[string]string // see relayTo
}

const offline = "[agent]\nmodel = \"offline\"\ntimezone = \"UTC\"\n[web]\nlisten = \"127.0.0.1:0\"\n"

// workshop is the folder with the program and the homes.
var workshop string // set by TestMain

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

// The environment of a test that runs again in a mount namespace; see alone.
const (
	workshopVar = "HOB_BADINPUT_WORKSHOP" // the folder with the program, which is already built
	mappedVar   = "HOB_BADINPUT_MAPPED"   // set if the test is the superuser only inside the namespace
)

func runTests(m *testing.M) int {
	if to := os.Getenv(relayVar); to != "" {
		return relayConnections(to)
	}
	if workshop = os.Getenv(workshopVar); workshop != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "hob-badinput-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	workshop = dir
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", programPath(), "hob/cmd/hob")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err = errors.Join(err, os.Chmod(dir, 0o755), copySelf()); err != nil { //nolint:gosec // the user nobody must be able to enter
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

func programPath() string { return filepath.Join(workshop, "hob") }

func isSuperuser() bool { return os.Getuid() == 0 && os.Getenv(mappedVar) == "" }

// newFixture creates a home with the configuration conf.
func newFixture(t *testing.T, conf string) *daemonFixture {
	t.Helper()
	dir, err := os.MkdirTemp(workshop, "house-")
	failOnError(t, err)
	return houseIn(t, dir, conf)
}

func houseIn(t *testing.T, dir, conf string) *daemonFixture {
	t.Helper()
	h := &daemonFixture{t: t, dir: dir, log: filepath.Join(dir, "daemon.log"), user: filepath.Join(dir, "user"), home: filepath.Join(dir, "hob")}
	failOnError(t, errors.Join(os.Mkdir(h.user, 0o700), os.Mkdir(h.home, 0o700)))
	h.writeFile("config.toml", conf)
	h.takeOwnership(dir, h.user, h.home)
	h.env = []string{"HOME=" + h.user, "HOB_HOME=" + h.home, "TZ=UTC", "PATH=" + os.Getenv("PATH")}
	t.Cleanup(func() {
		h.killDaemon()
		_ = h.newCommand(context.Background(), "stop").Run() // stop a daemon that a command may have started
		if b, err := os.ReadFile(h.log); err == nil && t.Failed() {
			t.Logf("end of the daemon's log:\n%s", b[max(0, len(b)-4000):])
		}
		_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
			if d != nil && d.IsDir() {
				_ = os.Chmod(path, 0o700) //nolint:gosec // to be removed
			}
			return nil
		})
		failOnError(t, os.RemoveAll(dir))
	})
	return h
}

// takeOwnership makes the user who runs the program the owner of these files.
func (h *daemonFixture) takeOwnership(paths ...string) {
	h.t.Helper()
	for _, p := range paths {
		if isSuperuser() {
			failOnError(h.t, os.Lchown(p, nobody, nobody))
		}
	}
}

// writeFile writes a file in HOB_HOME.
func (h *daemonFixture) writeFile(name, text string) {
	h.t.Helper()
	path := filepath.Join(h.home, name)
	failOnError(h.t, os.WriteFile(path, []byte(text), 0o600))
	h.takeOwnership(path)
}

func (h *daemonFixture) changeMode(name string, mode os.FileMode) {
	h.t.Helper()
	failOnError(h.t, os.Chmod(filepath.Join(h.home, name), mode))
}

func (h *daemonFixture) listFiles() []string {
	h.t.Helper()
	entries, err := os.ReadDir(h.home)
	failOnError(h.t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func failOnError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newCommand returns a command that runs the program until ctx ends.
func (h *daemonFixture) newCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, programPath(), args...)
	cmd.Dir, cmd.Env = h.user, h.env
	cmd.WaitDelay = 5 * time.Second
	if isSuperuser() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, NoSetGroups: true}}
	}
	return cmd
}

// result is the result of a command.
type result struct {
	t         *testing.T
	what      string
	code      int
	out, errs string
}

// runHob runs a command without input.
func (h *daemonFixture) runHob(args ...string) result {
	h.t.Helper()
	return h.runWithInput(nil, args...)
}

// runWithInput runs a command with in as standard input.
func (h *daemonFixture) runWithInput(in io.Reader, args ...string) result {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	cmd := h.newCommand(ctx, args...)
	cmd.Stdin = in
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, is := errors.AsType[*exec.ExitError](err); err != nil && !is {
		h.t.Fatal(err)
	}
	what := "hob " + strings.Join(args, " ")
	return result{h.t, what[:min(len(what), 120)], cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

var remedyLine = regexp.MustCompile(`(?m)^     \S`)

// remedyInJSON matches an error with a remedy, as printed with --json.
var remedyInJSON = regexp.MustCompile(`^{"error":".+","remedy":".+","exit":\d+}\n$`)

// checkFailure checks the exit code and that the error's cause and remedy, on separate lines, match the
// pattern.
func (r result) checkFailure(code int, pattern string) {
	r.t.Helper()
	switch {
	case r.code != code:
		r.t.Errorf("%s: exit code %d, want %d; %s%s", r.what, r.code, code, r.out, r.errs)
	case !regexp.MustCompile(`(?s)` + pattern).MatchString(r.errs):
		r.t.Errorf("%s: stderr:\n%s\nwant a match of %q", r.what, r.errs, pattern)
	case strings.HasPrefix(r.errs, "{"):
		if !remedyInJSON.MatchString(r.errs) {
			r.t.Errorf("%s: the error has no cause or no remedy:\n%s", r.what, r.errs)
		}
	case !strings.HasPrefix(r.errs, "hob: ") || !remedyLine.MatchString(r.errs):
		r.t.Errorf("%s: the error has no cause or no remedy:\n%s", r.what, r.errs)
	case strings.Contains(r.errs, "goroutine "):
		r.t.Errorf("%s: the program crashed:\n%s", r.what, r.errs)
	}
}

// checkSuccess checks that the command succeeded and its output matches the pattern.
func (r result) checkSuccess(pattern string) {
	r.t.Helper()
	if r.code != 0 || !regexp.MustCompile(`(?s)`+pattern).MatchString(r.out) {
		r.t.Errorf("%s: exit code %d, output %q %q, want a match of %q", r.what, r.code, r.out, r.errs, pattern)
	}
}

// startDaemon runs the daemon until it is ready.
func (h *daemonFixture) startDaemon() {
	h.t.Helper()
	log, err := os.OpenFile(h.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	failOnError(h.t, err)
	defer log.Close()
	cmd := h.newCommand(context.WithoutCancel(h.t.Context()), "start", "--foreground")
	cmd.Stdout, cmd.Stderr = log, log
	h.beginCommand(cmd)
}

func (h *daemonFixture) beginCommand(cmd *exec.Cmd) {
	h.t.Helper()
	failOnError(h.t, cmd.Start())
	h.daemon, h.exited = cmd, make(chan struct{})
	go func(done chan struct{}) { _ = cmd.Wait(); close(done) }(h.exited)
	h.waitUntil("the daemon is ready", func() bool {
		select {
		case <-h.exited:
			h.t.Fatal("the daemon ended while starting")
		default:
		}
		var at struct {
			PID     int
			Address string
		}
		b, err := os.ReadFile(filepath.Join(h.home, "endpoint.json"))
		if err != nil || json.Unmarshal(b, &at) != nil || at.PID != cmd.Process.Pid {
			return false
		}
		h.base = "http://" + at.Address
		code, _ := h.callAPI(http.MethodGet, "/readyz", "")
		return code == http.StatusOK
	})
}

// stopDaemon stops the daemon normally.
func (h *daemonFixture) stopDaemon() {
	h.t.Helper()
	failOnError(h.t, h.daemon.Process.Signal(syscall.SIGTERM))
	select {
	case <-h.exited:
	case <-time.After(60 * time.Second):
		h.t.Fatal("the daemon did not stop on SIGTERM")
	}
	if code := h.daemon.ProcessState.ExitCode(); code != 0 {
		h.t.Errorf("exit code of the daemon = %d", code)
	}
	h.daemon = nil
}

func (h *daemonFixture) killDaemon() {
	if h.daemon != nil {
		_ = h.daemon.Process.Kill()
		<-h.exited
		h.daemon = nil
	}
}

// waitUntil waits for a condition.
func (h *daemonFixture) waitUntil(what string, ok func() bool) {
	h.t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			h.t.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(15 * time.Millisecond)
	}
}

// callAPI sends a request as the owner; the body is JSON unless it is empty.
func (h *daemonFixture) callAPI(method, path, body string) (int, string) {
	h.t.Helper()
	return h.postBody(method, path, "application/json", strings.NewReader(body))
}

func (h *daemonFixture) postBody(method, path, kind string, body io.Reader) (int, string) {
	h.t.Helper()
	q, err := http.NewRequestWithContext(h.t.Context(), method, h.base+path, body)
	failOnError(h.t, err)
	token, _ := os.ReadFile(filepath.Join(h.home, "token"))
	q.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	q.Header.Set("Content-Type", kind)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: h.dialServer}, Timeout: 5 * time.Minute}
	res, err := client.Do(q)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	failOnError(h.t, err)
	return res.StatusCode, string(b)
}

// sendMessage sends a message from the owner and returns the answer.
func (h *daemonFixture) sendMessage(text string) string {
	h.t.Helper()
	body, err := json.Marshal(map[string]string{"text": text})
	failOnError(h.t, err)
	code, out := h.callAPI(http.MethodPost, "/api/v1/sessions/home/messages", string(body))
	var r struct{ Answer string }
	if code != http.StatusOK || json.Unmarshal([]byte(out), &r) != nil {
		h.t.Fatalf("%q: %d %s", text, code, out)
	}
	return r.Answer
}

// delivery is a text that Hob sent.
type delivery struct{ ID, Event, Kind, Session, Channel, Text, State, Error string }

func (h *daemonFixture) listDeliveries(kind string) []delivery {
	h.t.Helper()
	code, body := h.callAPI(http.MethodGet, "/api/v1/deliveries", "")
	var all []delivery
	if code != http.StatusOK || json.Unmarshal([]byte(body), &all) != nil {
		h.t.Fatalf("deliveries: %d %s", code, body)
	}
	return slices.DeleteFunc(all, func(d delivery) bool { return d.Kind != kind })
}
