package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
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

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"hob/autonomy/llm/llmtest"
)

// terminalSession is a terminal that runs the program, with its own home. Output is compared without white
// space and control sequences, because the program draws the screen in pieces.
type terminalSession struct {
	t    *testing.T
	tty  *os.File
	cmd  *exec.Cmd
	more chan struct{}

	mu     sync.Mutex
	shown  []byte
	seen   int // number of bytes of the output without white space that expect has consumed
	screen *vt.Emulator
}

var (
	controls = regexp.MustCompile(`\x1b\[[0-9;?<>=$ ]*[A-Za-z~]|\x1b[\]P_][^\x07\x1b]*(\x07|\x1b\\)?|\x1b[()][0-9A-Z]|\x1b[=>78]`)
	blanks   = regexp.MustCompile(`\s+`)
)

func withoutColors(b []byte) string {
	return blanks.ReplaceAllString(controls.ReplaceAllString(string(b), ""), "")
}

// startInTerminal starts the program in a terminal.
func startInTerminal(t *testing.T, home string, env []string, args ...string) *terminalSession {
	t.Helper()
	s := &terminalSession{t: t, cmd: exec.CommandContext(t.Context(), "hob", args...), more: make(chan struct{}, 1), screen: vt.NewEmulator(80, 24)}
	go func() { _, _ = io.Copy(io.Discard, s.screen) }() // the emulator's answers to terminal queries
	t.Cleanup(func() { _ = s.screen.Close() })
	s.cmd.Env = append([]string{"HOME=" + filepath.Join(home, "user"), "HOB_HOME=" + filepath.Join(home, "hob"), "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "TZ=UTC"}, env...)
	tty, err := pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	s.tty = tty
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // usually the process has already ended
		_ = tty.Close()
	})
	go s.readOutput()
	return s
}

func (s *terminalSession) readOutput() {
	b := make([]byte, 4096)
	for {
		n, err := s.tty.Read(b)
		s.mu.Lock()
		s.shown = append(s.shown, b[:n]...)
		_, _ = s.screen.Write(b[:n])
		s.mu.Unlock()
		select {
		case s.more <- struct{}{}:
		default:
		}
		if err != nil { // EIO means that the program has ended
			close(s.more)
			return
		}
	}
}

// expectText waits until the text appears in the output after the text of the previous call.
func (s *terminalSession) expectText(text string) {
	s.t.Helper()
	want := blanks.ReplaceAllString(text, "")
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	for {
		s.mu.Lock()
		all := withoutColors(s.shown)
		i := strings.Index(all[min(s.seen, len(all)):], want)
		if i >= 0 {
			s.seen += i + len(want)
		}
		rest := all[min(s.seen, len(all)):]
		s.mu.Unlock()
		if i >= 0 {
			return
		}
		select {
		case <-ctx.Done():
			s.t.Fatalf("%q was not shown: %s", text, rest)
		case _, ok := <-s.more:
			if !ok {
				s.t.Fatalf("%q was not shown before the program ended: %s", text, rest)
			}
		}
	}
}

// expectScreen waits until the screen shows all texts at the same time.
func (s *terminalSession) expectScreen(texts ...string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	for {
		s.mu.Lock()
		text := s.screen.String()
		s.mu.Unlock()
		all := blanks.ReplaceAllString(text, "")
		if !slices.ContainsFunc(texts, func(want string) bool { return !strings.Contains(all, blanks.ReplaceAllString(want, "")) }) {
			return
		}
		select {
		case <-ctx.Done():
			s.t.Fatalf("%q was not shown:\n%s", texts, text)
		case _, ok := <-s.more:
			if !ok {
				s.t.Fatalf("%q was not shown before the program ended:\n%s", texts, text)
			}
		}
	}
}

// pressKeys types keys.
func (s *terminalSession) pressKeys(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.tty, keys); err != nil {
		s.t.Fatal(err)
	}
}

// awaitExit waits for the program and returns its exit code.
func (s *terminalSession) awaitExit() int {
	s.t.Helper()
	for range s.more { // wait until all output is read
	}
	err := s.cmd.Wait()
	if x, ok := errors.AsType[*exec.ExitError](err); ok {
		return x.ExitCode()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return 0
}

const (
	enter  = "\r"
	ctrlU  = "\x15"
	stop   = "\x03"
	escape = "\x1b"
	down   = "\x1b[B"
)

// homeOf creates a new home for a terminal.
func homeOf(t *testing.T) string {
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "user", "Documents"), 0o700); err != nil {
		t.Fatal(err)
	}
	return home
}

// runCommand runs a command and returns its output.
func runCommand(t *testing.T, home string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "hob", args...)
	cmd.Env = []string{"HOME=" + filepath.Join(home, "user"), "HOB_HOME=" + filepath.Join(home, "hob"), "PATH=" + os.Getenv("PATH"), "TZ=UTC"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("hob %v: %v: %s", args, err, out)
	}
	return string(out)
}

// filesContaining returns the files below a folder that contain a secret in plain text.
func filesContaining(t *testing.T, dir, secret string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(secret)) {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// From a new home to the first answer: the test configures a server with a key, kills the setup,
// continues it, and then asks a question.
func TestSetup_InATerminal(t *testing.T) {
	const key = "sk-terminal-0123456789"
	model := llmtest.NewServer(t, llmtest.Options{Models: []string{"scripted", "tiny"}, Otherwise: &llmtest.Answer{Text: "Hi from the model."}})
	home := homeOf(t)
	s := startInTerminal(t, home, nil, "setup")
	s.expectText("Brain 1/")
	s.expectText("only the built-in brain")
	s.pressKeys(strings.Repeat(down, 5) + enter)
	s.expectText("What is the address of the server?")
	s.pressKeys(ctrlU + model.URL + "/v1" + enter)
	s.expectText("What is the API key?")
	s.pressKeys(key + enter)
	s.expectText("Which model?")
	s.pressKeys(enter)
	s.expectText("The model answers.")
	s.expectText("Channels 2/")
	if err := s.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.awaitExit()
	if strings.Contains(string(s.shown), key) {
		t.Error("the key was shown")
	}

	s = startInTerminal(t, home, []string{"NO_COLOR=1"}, "setup")
	s.expectText("continues where you stopped")
	for _, title := range []string{"Channels 2/", "Mail and calendars 3/"} {
		s.expectText(title)
		s.pressKeys(enter)
	}
	s.expectText("When should the quiet")
	s.pressKeys("23-6" + enter) // replaces the proposal
	s.expectText("Should Hob start when you log in")
	s.pressKeys("n")
	s.expectText("Setup is complete")
	if code := s.awaitExit(); code != 0 {
		t.Error(code)
	}
	if got := runCommand(t, home, "ask", "hello there"); !strings.Contains(got, "Hi from the model.") {
		t.Error(got)
	}
	if got := runCommand(t, home, "config", "get", "notify.quiet_hours.start"); got != "23:00\n" {
		t.Error(got)
	}
	runCommand(t, home, "config", "check")
	if files := filesContaining(t, home, key); len(files) > 0 {
		t.Errorf("the key is stored in %v", files)
	}
	if _, err := os.Stat(filepath.Join(home, "hob", "setup.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the progress file still exists")
	}
}

// Ctrl-C at any step leaves a valid home, and the next setup begins at that step.
func TestSetup_CtrlCAtEachStep(t *testing.T) {
	home := homeOf(t)
	s := startInTerminal(t, home, nil, "setup")
	s.expectText("Brain 1/")
	s.pressKeys(stop)
	for _, step := range []struct{ title, keys, then string }{
		{"Brain 1/", strings.Repeat(down, 6) + enter, "Channels 2/"},
		{"Channels 2/", escape, "Mail and calendars 3/"},
		{"Mail and calendars 3/", enter, "Quiet hours 4/"},
		{"Quiet hours 4/", enter, "Start 5/"},
	} {
		if code := s.awaitExit(); code != 130 {
			t.Errorf("%s: exit code %d", step.title, code)
		}
		s = startInTerminal(t, home, nil, "setup")
		s.expectText(step.title)
		s.pressKeys(step.keys)
		s.expectText(step.then)
		s.pressKeys(stop)
		s.expectText("Your answers are saved")
	}
	if code := s.awaitExit(); code != 130 {
		t.Error(code)
	}
	runCommand(t, home, "config", "check")
	if got := runCommand(t, home, "ask", "what can you do?"); len(got) < 40 {
		t.Error(got)
	}
}

// Ctrl-C also stops the setup while it waits for a server.
func TestSetup_CtrlCDuringARequest(t *testing.T) {
	quiet := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(quiet.Close)
	home := homeOf(t)
	s := startInTerminal(t, home, nil, "setup", "brain")
	s.expectText("only the built-in brain")
	s.pressKeys(strings.Repeat(down, 5) + enter)
	s.expectText("What is the address of the server?")
	s.pressKeys(ctrlU + quiet.URL + "/v1" + enter)
	s.expectText("What is the API key?")
	s.pressKeys(enter)
	s.expectText("Loading the list of models")
	s.pressKeys(stop)
	s.expectText("Your answers are saved")
	if code := s.awaitExit(); code != 130 {
		t.Error(code)
	}
	runCommand(t, home, "config", "check")
}

// In line mode, the key is not displayed, and Ctrl-C during the input restores the terminal.
func TestSetup_LineMode(t *testing.T) {
	const key = "sk-plain-0123456789"
	model := llmtest.NewServer(t, llmtest.Options{Models: []string{"scripted", "tiny"}, Otherwise: &llmtest.Answer{Text: "Hi from the model."}})
	home := homeOf(t)
	for _, env := range []string{"TERM=dumb", "ACCESSIBLE=1"} {
		s := startInTerminal(t, home, []string{env}, "setup", "brain")
		s.expectText("Your choice [1]")
		s.pressKeys("server\n")
		s.expectText("What is the address of the server?")
		s.pressKeys(model.URL + "/v1\n")
		s.expectText("What is the API key?")
		if env == "TERM=dumb" {
			s.pressKeys(stop)
			s.expectText("Your answers are saved")
			state, err := unix.IoctlGetTermios(int(s.tty.Fd()), unix.TCGETS)
			if err != nil || state.Lflag&unix.ECHO == 0 {
				t.Error("the terminal does not show input again", err)
			}
			if code := s.awaitExit(); code != 130 {
				t.Error(code)
			}
			continue
		}
		s.pressKeys(key + "\n")
		s.expectText("2 tiny")
		s.pressKeys("tiny\n")
		s.expectText("The model answers.")
		if code := s.awaitExit(); code != 0 || strings.Contains(string(s.shown), key) {
			t.Error(code, string(s.shown))
		}
	}
	if got := runCommand(t, home, "config", "get", "agent.model"); got != "server/tiny\n" {
		t.Error(got)
	}
	if files := filesContaining(t, home, key); len(files) > 0 {
		t.Errorf("the key is stored in %v", files)
	}
}

// On a terminal a channel can be used as soon as it has been added: the command starts Hob, or restarts
// it without a question, and shows the pairing code if the account is not paired.
func TestChannelAdd_StartsTheChannel(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{"user", "hob", "vault/Hob"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	conf := fmt.Sprintf("[agent]\nmodel = \"offline\"\n[web]\nlisten = \"127.0.0.1:0\"\n[pim]\nnotes_folder = %q\n", filepath.Join(home, "vault"))
	if err := os.WriteFile(filepath.Join(home, "hob", "config.toml"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	defer func() { startInTerminal(t, home, nil, "stop").awaitExit() }()
	for _, running := range []bool{false, true} {
		s := startInTerminal(t, home, nil, "channel", "add", "notes", "--set", "folder=Hob", "--set", "private=true", "--plain")
		s.expectText("notes is set up")
		if running {
			s.expectText("Hob runs with it now")
		} else {
			s.expectText("Start Hob now?")
			s.pressKeys("y\r")
			s.expectText("Hob is ready")
		}
		s.expectText("Send this code on notes")
		if code := s.awaitExit(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
}
