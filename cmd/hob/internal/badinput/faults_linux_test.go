package badinput

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"hob/autonomy/llm/llmtest"
)

var update = flag.Bool("update", false, "rewrite the transcripts in docs/faults.md")

const faultsFile = "../../../../docs/faults.md"

// faultsHead is the beginning of the part of docs/faults.md that TestFaultTranscripts generates.
const faultsHead = `## When this machine misbehaves

TestFaultTranscripts recorded these transcripts with the real program. In each case, Hob keeps working and recovers on its own.
`

// TestFaultTranscripts removes resources that Hob needs while Hob runs, checks how Hob continues,
// and compares what the user sees with docs/faults.md.
func TestFaultTranscripts(t *testing.T) {
	if !rerunInNamespace(t) {
		return
	}
	cases := []struct {
		title string
		play  func(*transcript)
	}{
		{"The model server is stopped", modelStopped},
		{"Another program uses the port", portTaken},
		{"A mistake in config.toml", configBroken},
		{"The disk is full", diskFull},
		{"The database is damaged", databaseDamaged},
		{"The daemon is killed during hob chat", chatKilled},
	}
	shown := make([]string, len(cases))
	t.Run("all", func(t *testing.T) {
		for i, c := range cases {
			t.Run(c.title, func(t *testing.T) {
				t.Parallel()
				s := &transcript{t: t}
				c.play(s)
				shown[i] = s.String()
			})
		}
	})
	if t.Failed() {
		return
	}
	want := faultsHead
	for i, c := range cases {
		want += fmt.Sprintf("\n### %s\n\n```console\n%s```\n", c.title, shown[i])
	}
	b, err := os.ReadFile(faultsFile)
	failOnError(t, err)
	before, got, _ := strings.Cut(string(b), "\n## ")
	if *update {
		failOnError(t, os.WriteFile(faultsFile, []byte(before+"\n"+want), 0o644)) //nolint:gosec // a document
	} else if "## "+got != want {
		t.Errorf("docs/faults.md is out of date; run: go test ./cmd/hob/internal/badinput -run TestFaultTranscripts -update\n%s", want)
	}
}

// transcript is what a user types and reads.
type transcript struct {
	t *testing.T
	h *daemonFixture
	b strings.Builder
	// names maps parts of the output that differ in each run to their names in the transcript.
	names []string
}

func (s *transcript) String() string { return s.b.String() }

var loopback = regexp.MustCompile(`127\.0\.0\.1:\d{4,5}\b`)

// replaced lists other parts of the output that differ in each run.
var replaced = []struct {
	old *regexp.Regexp
	new string
}{
	{regexp.MustCompile(`\bt[0-9a-z]{9}\b`), "t1a2b3c4d5"},
	{regexp.MustCompile(`\bpid \d+`), "pid 4711"},
	{regexp.MustCompile(`today at \d\d:\d\d`), "today at 15:00"},
	{regexp.MustCompile(`after \d\d:\d\d:\d\d`), "after 15:00:10"},
	{regexp.MustCompile(`code=\S+`), "code=CODE"},
	{regexp.MustCompile(`\d{8}T\d{6}\.\d{3}`), "20260301T080000.000"},
	{regexp.MustCompile(`on \d{4}-\d\d-\d\d \d\d:\d\d`), "on 2026-03-01 08:00"},
}

// showText adds text to the transcript.
func (s *transcript) showText(text string) {
	text = strings.NewReplacer(append(s.names, s.h.home, "~/.hob", s.h.user, "~")...).Replace(text)
	text = loopback.ReplaceAllStringFunc(text, func(at string) string {
		if fixed := s.names; slices.Contains(fixed, at) || strings.HasSuffix(at, ":7718") {
			return at
		}
		return "127.0.0.1:PORT"
	})
	for _, r := range replaced {
		text = r.old.ReplaceAllString(text, r.new)
	}
	s.b.WriteString(strings.TrimRight(text, "\n") + "\n")
}

// showNote adds a comment.
func (s *transcript) showNote(text string) { s.showText("# " + text) }

// runTests runs a command whose output must match pattern, and adds both to the transcript. If only is
// not "", it shows only the lines that contain that text.
func (s *transcript) runTests(pattern, only string, args ...string) {
	s.t.Helper()
	r := s.h.runHob(args...)
	out := r.out + r.errs
	line := "$ hob"
	for _, a := range args {
		if strings.ContainsAny(a, " ?") {
			a = strconv.Quote(a)
		}
		line += " " + a
	}
	if only != "" {
		line += " | grep "
		if strings.Contains(only, " ") {
			line += strconv.Quote(only)
		} else {
			line += only
		}
		var kept []string
		for l := range strings.Lines(out) {
			if strings.Contains(l, only) {
				kept = append(kept, l)
			}
		}
		out = strings.Join(kept, "")
	}
	if !regexp.MustCompile(`(?s)` + pattern).MatchString(out) {
		s.t.Errorf("%s: output:\n%s%s\nwant a match of %q", line, r.out, r.errs, pattern)
	}
	s.showText(line + "\n" + out)
}

// runUntil runs a command until its output matches a pattern or, if matches is false, no longer does.
func (s *transcript) runUntil(pattern string, matches bool, args ...string) {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	s.h.waitUntil(pattern, func() bool {
		r := s.h.runHob(args...)
		return re.MatchString(r.out) == matches
	})
}

// modelServer is a model server that can be stopped and started again at its address.
type modelServer struct {
	t       *testing.T
	handler http.Handler
	address string
	srv     *http.Server
}

func (m *modelServer) startServer() {
	m.t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(m.t.Context(), "tcp", m.address)
	failOnError(m.t, err)
	m.address = ln.Addr().String()
	m.srv = &http.Server{Handler: m.handler, ReadHeaderTimeout: time.Minute}
	go func(srv *http.Server) { _ = srv.Serve(ln) }(m.srv)
	m.t.Cleanup(m.stopServer)
}

func (m *modelServer) stopServer() { _ = m.srv.Close() }

func modelStopped(s *transcript) {
	srv := &modelServer{t: s.t, address: "127.0.0.1:0", handler: llmtest.NewServer(s.t, llmtest.Options{Memory: true, Otherwise: &llmtest.Answer{Text: "The model says hello."}})}
	srv.startServer()
	s.h = newFixture(s.t, strings.Replace(offline, `"offline"`, `"local/m"`, 1)+fmt.Sprintf("[providers.local]\nkind = \"openai\"\nbase_url = \"http://%s/v1\"\n", srv.address))
	s.names = []string{srv.address, "127.0.0.1:11434"}
	s.h.startDaemon()
	s.runTests("The model says hello", "", "ask", "hello")
	s.showNote("The model server stops.")
	srv.stopServer()
	s.runTests("Added task.*My built-in brain answered, because local cannot be reached", "", "ask", "add a task: buy milk")
	s.runTests("buy milk", "", "ask", "what are my tasks?")
	s.runTests("unreachable.*tries again with the first message after", "Problem", "status")
	s.showNote("The model server runs again.")
	srv.startServer()
	s.runUntil("Problem", false, "status")
	s.runTests("^$", "Problem", "status")
	s.runTests("The model says hello", "", "ask", "hello")
	s.h.stopDaemon()
}

func portTaken(s *transcript) {
	other, err := (&net.ListenConfig{}).Listen(s.t.Context(), "tcp", "127.0.0.1:0")
	failOnError(s.t, err)
	defer other.Close()
	s.h = newFixture(s.t, strings.Replace(offline, "127.0.0.1:0", other.Addr().String(), 1))
	s.names = []string{other.Addr().String(), "127.0.0.1:7717"}
	s.showNote("Another program listens on 127.0.0.1:7717, the address in [web] listen.")
	s.runTests("ready at http://127.0.0.1:", "", "start")
	s.runTests("another program uses .*so Hob listens on", "Problem", "status")
	s.runTests("Hello", "", "ask", "hello")
	s.runTests("login.code=", "", "open", "--print")
	s.runTests("warn +port", "daemon listens", "doctor")
	s.h.runHob("stop").checkSuccess("stopped")
}

func configBroken(s *transcript) {
	s.h = newFixture(s.t, offline+"[autonomy]\nlevel = \"watch\"\n")
	s.h.startDaemon()
	broken := strings.Replace(offline, "model", "modle", 1)
	s.showNote("You edit config.toml while Hob runs, and mistype a key.")
	s.h.writeFile("config.toml", broken)
	s.runUntil("Problem since .*: the configuration", true, "status")
	s.runTests(`config.toml:2: agent.modle: unknown key`, "Problem", "status")
	notices := s.h.listDeliveries("notice")
	if len(notices) != 1 || !strings.Contains(notices[0].Text, "config.toml:2: agent.modle: unknown key") {
		s.t.Errorf("the notifications: %+v", notices)
	}
	s.runTests("fail +config", "config.toml:", "doctor")
	s.showNote("Hob is stopped and started. It uses the last valid configuration, including its autonomy level.")
	s.h.stopDaemon()
	s.runTests("warning: .*agent.modle.*last valid configuration", "", "start")
	s.runTests("level watch", "level", "status")
	s.showNote("You correct the file. Hob restarts with it within seconds.")
	s.h.writeFile("config.toml", offline)
	s.runUntil("level supervised", true, "status")
	s.runTests("level supervised", "level", "status")
	s.h.writeFile("config.toml", "") // a full disk leaves such a file
	s.runUntil("Problem since .*: the file is empty", true, "status")
	if err := os.Remove(filepath.Join(s.h.home, "config.toml")); err != nil {
		s.t.Error(err)
	}
	s.runUntil("Problem since", false, "status")
	s.h.runHob("stop").checkSuccess("stopped")
}

func diskFull(s *transcript) {
	d := smallDisk(s.t)
	s.h = d.newFixture(offline)
	s.h.startDaemon()
	s.runTests("Added", "", "ask", "add a task: buy milk")
	s.showNote("The disk fills up.")
	d.fillDisk()
	s.runTests("the disk is full", "", "ask", "add a task: buy bread")
	const message = `{"text":"add a task: buy eggs","dedupe_key":"eggs"}`
	s.showNote("Another program sends \"add a task: buy eggs\" through the API, and gets an error.")
	if code, body := s.h.callAPI(http.MethodPost, "/api/v1/sessions/home/messages", message); code != http.StatusInsufficientStorage {
		s.t.Errorf("a message: %d %s", code, body)
	}
	s.showNote("There is space again. The other program sends its message again, twice.")
	d.freeDisk()
	for range 2 {
		if code, body := s.h.callAPI(http.MethodPost, "/api/v1/sessions/home/messages", message); code != http.StatusOK {
			s.t.Errorf("repeated message: %d %s", code, body)
		}
	}
	s.runTests("Added", "", "ask", "add a task: buy bread")
	s.runTests("bread.*eggs.*milk", "", "task", "list")
	s.runTests("ok +database", "is sound", "doctor")
	s.h.stopDaemon()
}

func databaseDamaged(s *transcript) {
	s.h = newFixture(s.t, offline)
	s.runTests("Added", "", "ask", "add a task: buy milk")
	s.h.runHob("backup").checkSuccess("snapshot-")
	s.showNote("The machine fails later and damages the database.")
	s.h.writeFile("hob.db", strings.Repeat("not a database ", 600))
	s.runTests("milk.*was damaged and is now .*newest good backup", "", "task", "list")
	s.runTests("Restored the newest good backup", "Restored", "restore", "--pending")
	s.runTests("hold has ended", "", "restore", "--release", "all")
}

func chatKilled(s *transcript) {
	s.h = newFixture(s.t, offline)
	c := openChat(s)
	c.expectText("This is Hob.")
	c.pressKeys("add a task: buy milk\r")
	c.expectText(`Added task "buy milk"`)
	c.awaitIdle()

	c.pressKeys("add a task: buy br") // not sent yet
	c.expectText("> add a task: buy br")
	c.killChat()
	c.expectText("Starting it again.")
	c.expectText("Hob is running again.")
	c.pressKeys("ead\r")
	c.expectText(`Added task "buy bread"`)
	s.showNote("The daemon is killed with kill -9 while you type \"add a task: buy bread\".")
	s.showText("$ hob chat\n" + c.readScreen())

	c.stopChat() // the daemon is suspended, so the message does not reach it
	c.pressKeys("add a task: buy eggs\r")
	c.expectText("› add a task: buy eggs")
	time.Sleep(300 * time.Millisecond)
	c.killChat()
	c.expectText(`Added task "buy eggs"`)
	c.pressKeys("\x04")
	c.awaitEnd()

	r := s.h.runHob("task", "list")
	for _, what := range []string{"milk", "bread", "eggs"} {
		if strings.Count(r.out, what) != 1 {
			s.t.Errorf("%s does not occur exactly once:\n%s", what, r.out)
		}
	}
	s.h.runHob("stop").checkSuccess("stopped")
}

// chatTerminal is a terminal that runs hob chat.
type chatTerminal struct {
	s    *transcript
	tty  *os.File
	done chan error

	mu sync.Mutex
	em *vt.Emulator
}

func openChat(s *transcript) *chatTerminal {
	s.t.Helper()
	cmd := s.h.newCommand(s.t.Context(), "chat")
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	tty, err := pty.StartWithAttrs(cmd, &pty.Winsize{Rows: 24, Cols: 120}, sysProcAttr(cmd.SysProcAttr))
	failOnError(s.t, err)
	c := &chatTerminal{s: s, tty: tty, done: make(chan error, 1), em: vt.NewEmulator(120, 24)}
	go func() { _, _ = io.Copy(io.Discard, c.em) }() // the emulator's responses to queries of the program
	s.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = tty.Close(); _ = c.em.Close() })
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := tty.Read(b)
			c.mu.Lock()
			_, _ = c.em.Write(b[:n])
			c.mu.Unlock()
			if err != nil { // EIO when the program has ended
				c.done <- cmd.Wait()
				return
			}
		}
	}()
	return c
}

func sysProcAttr(a *syscall.SysProcAttr) *syscall.SysProcAttr {
	if a == nil {
		a = &syscall.SysProcAttr{}
	}
	a.Setsid, a.Setctty = true, true
	return a
}

func (c *chatTerminal) pressKeys(keys string) {
	c.s.t.Helper()
	_, err := c.tty.WriteString(keys)
	failOnError(c.s.t, err)
}

// expectText waits until the screen shows a text.
func (c *chatTerminal) expectText(text string) {
	c.s.t.Helper()
	c.s.h.waitUntil(fmt.Sprintf("%q in the chat", text), func() bool { return strings.Contains(c.readScreen(), text) })
}

// awaitIdle waits until the answer is complete.
func (c *chatTerminal) awaitIdle() {
	c.s.t.Helper()
	c.s.h.waitUntil("the answer is complete", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return !strings.Contains(c.em.String(), "  Ctrl-C stops")
	})
}

func (c *chatTerminal) awaitEnd() {
	c.s.t.Helper()
	select {
	case err := <-c.done:
		failOnError(c.s.t, err)
	case <-time.After(60 * time.Second):
		c.s.t.Fatal("the chat did not end")
	}
}

// sendSignal sends a signal to the daemon of this home and returns its pid.
func (c *chatTerminal) sendSignal(sig syscall.Signal) int {
	c.s.t.Helper()
	b, err := os.ReadFile(filepath.Join(c.s.h.home, "endpoint.json"))
	failOnError(c.s.t, err)
	m := regexp.MustCompile(`"pid":(\d+)`).FindSubmatch(b)
	if m == nil {
		c.s.t.Fatalf("no process id in %s", b)
	}
	pid, err := strconv.Atoi(string(m[1]))
	failOnError(c.s.t, errors.Join(err, syscall.Kill(pid, sig)))
	return pid
}

// stopChat suspends the daemon and waits until all its threads have stopped.
func (c *chatTerminal) stopChat() {
	c.s.t.Helper()
	pid := c.sendSignal(syscall.SIGSTOP)
	c.s.h.waitUntil("the daemon is suspended", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err == nil && strings.Contains(string(b), ") T ")
	})
}

func (c *chatTerminal) killChat() { c.s.t.Helper(); c.sendSignal(syscall.SIGKILL) }

// readScreen returns the lines that the terminal shows, without the status bar and the spinner.
func (c *chatTerminal) readScreen() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out strings.Builder
	for l := range strings.SplitSeq(strings.ReplaceAll(c.em.String(), "\r", ""), "\n") {
		if s := strings.TrimRight(l, " "); s != "" && s != ">" && !strings.Contains(s, " · /help") && !strings.HasSuffix(s, "  Ctrl-C stops") {
			out.WriteString(s + "\n")
		}
	}
	return out.String()
}

// A message that the daemon had received when it was killed is answered once, by the next daemon.
func TestChat_ShowsTheAnswerOfTheNextDaemon(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 10)
	model := llmtest.NewServer(t, llmtest.Options{Reply: func(r llmtest.Request) (llmtest.Answer, bool) {
		if len(r.Results) > 0 {
			return llmtest.Answer{Text: "It is now on your list of things to buy.", Pieces: 2, Gap: 2 * time.Second}, true
		}
		asked <- struct{}{}
		return llmtest.Answer{Calls: []llmtest.Call{{Name: "create_task", Args: `{"title":"buy milk"}`}}}, true
	}})
	s := &transcript{t: t, h: newFixture(t, withModel(model))}
	c := openChat(s)
	c.expectText("This is Hob.")
	c.pressKeys("please buy milk\r")
	<-asked
	c.expectText("It is now")
	c.killChat()
	c.expectText("Hob is running again.")
	c.expectText("things to buy.")
	c.awaitIdle()
	if out := c.readScreen(); strings.Count(out, "It is now") != 1 || strings.Contains(out, "cut off") {
		t.Errorf("the beginning of the answer is shown again:\n%s", out)
	}
	c.pressKeys("\x04")
	c.awaitEnd()
	r := s.h.runHob("task", "list")
	if strings.Count(r.out, "milk") != 1 || len(asked) != 0 {
		t.Errorf("%d more requests; the tasks:\n%s", len(asked), r.out)
	}
	if n := len(s.h.listReplies()); n != 1 {
		t.Errorf("%d replies", n)
	}
	s.h.runHob("stop").checkSuccess("stopped")
}

// listReplies lists the replies of a daemon that a command started.
func (h *daemonFixture) listReplies() []delivery {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(h.home, "endpoint.json"))
	failOnError(h.t, err)
	m := regexp.MustCompile(`"address":"([^"]+)"`).FindSubmatch(b)
	if m == nil {
		h.t.Fatalf("no address in %s", b)
	}
	h.base = "http://" + string(m[1])
	return h.listDeliveries("reply")
}
