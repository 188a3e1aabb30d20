package wine

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience is the timeout of one command under Wine. It allows for a busy machine.
const patience = 90 * time.Second

// windows is a separate Windows installation for a test: a folder that Wine uses as drive C.
type windows struct {
	t    *testing.T
	dir  string
	hob  string
	last int
}

// startWine creates an installation with the program; its processes end with the test.
func startWine(t *testing.T) *windows {
	t.Helper()
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the Wine test needs linux/amd64 and is slow")
	}
	for _, name := range []string{"wine", "wineboot"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("Wine is not installed (apt install wine wine64)")
		}
	}
	w := &windows{t: t, dir: t.TempDir()}
	w.hob = filepath.Join(w.dir, "hob.exe")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=v1.2.3", "-o", w.hob, "hob/cmd/hob")
	build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build for Windows: %v\n%s", err, out)
	}
	if err := os.MkdirAll(filepath.Join(w.dir, "home"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.endProcesses)
	if out, _, code := w.runProgram("wineboot", "--init"); code != 0 {
		t.Skipf("Wine cannot create its environment: %s", out)
	}
	w.repairRandom()
	return w
}

// endProcesses ends all processes in the installation and waits until they have written their data, because
// the test deletes the folder.
func (w *windows) endProcesses() {
	server := "/usr/lib/wine/wineserver" // Debian's path, which is not on PATH
	if path, err := exec.LookPath("wineserver"); err == nil {
		server = path
	}
	if _, err := os.Stat(server); err != nil {
		w.runProgram("wineboot", "--kill")
		return
	}
	w.runProgram(server, "--kill")
	w.runProgram(server, "--wait")
}

// repairRandom adds a DLL that all Go programs load and that older versions of Wine lack.
func (w *windows) repairRandom() {
	path := filepath.Join(w.dir, "prefix", "drive_c", "windows", "system32", "bcryptprimitives.dll")
	if _, err := os.Stat(path); err == nil {
		return
	}
	if err := os.WriteFile(path, buildForwarder("bcryptprimitives.dll", "ProcessPrng", "advapi32.SystemFunction036"), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// runProgram runs a program in the installation. The output goes to files, because a remaining process
// would keep a pipe open.
func (w *windows) runProgram(name string, args ...string) (stdout, stderr string, code int) {
	w.t.Helper()
	w.last++
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = w.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(w.dir, "home"), "WINEPREFIX=" + filepath.Join(w.dir, "prefix"),
		"WINEDEBUG=-all", "WINEDLLOVERRIDES=mscoree,mshtml=;winemenubuilder.exe=d", "TZ=UTC",
	}
	var files [2]*os.File
	for i := range files {
		f, err := os.Create(filepath.Join(w.dir, "out"+strconv.Itoa(w.last)+"."+strconv.Itoa(i)))
		if err != nil {
			w.t.Fatal(err)
		}
		defer f.Close()
		files[i] = f
	}
	cmd.Stdout, cmd.Stderr = files[0], files[1]
	err := cmd.Run()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		w.t.Fatalf("%s %q: %v", name, args, err)
	}
	var texts [2]string
	for i, f := range files {
		b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
		if err != nil {
			w.t.Fatal(err)
		}
		texts[i] = strings.ReplaceAll(string(b), "\r\n", "\n")
	}
	return texts[0], texts[1], cmd.ProcessState.ExitCode()
}

// wantHob runs a command of Hob and checks its exit code and its output.
func (w *windows) wantHob(code int, says string, args ...string) string {
	w.t.Helper()
	stdout, stderr, got := w.runProgram("wine", append([]string{w.hob}, args...)...)
	if both := stdout + stderr; got != code || !strings.Contains(both, says) {
		w.t.Fatalf("hob %q: exit code %d, output %q; want %d and %q\nlog:\n%s", args, got, both, code, says, w.readLog())
	}
	return stdout
}

func (w *windows) readJSON(into any, args ...string) {
	w.t.Helper()
	out := w.wantHob(0, "", append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), into); err != nil {
		w.t.Fatalf("hob %q --json: %v in %q", args, err, out)
	}
}

// readLog returns the log of the daemon.
func (w *windows) readLog() string {
	found, _ := filepath.Glob(filepath.Join(w.dir, "prefix", "drive_c", "users", "*", "AppData", "*", "*", "logs", "hob.log"))
	if len(found) == 0 {
		found, _ = filepath.Glob(filepath.Join(w.dir, "prefix", "drive_c", "users", "*", "AppData", "*", "*", "hob.log"))
	}
	var all strings.Builder
	for _, f := range found {
		b, _ := os.ReadFile(f)
		all.Write(b)
	}
	return all.String()
}

func TestWine(t *testing.T) {
	w := startWine(t)
	w.wantHob(0, "hob v1.2.3", "version")
	w.wantHob(3, "Hob is not running", "status")
	w.wantHob(0, "127.0.0.1:0", "config", "set", "web.listen", "127.0.0.1:0")

	t.Log("without a daemon")
	w.wantHob(0, "flowerpot", "ask", "remember that the spare key is under the flowerpot")
	w.wantHob(0, "flowerpot", "ask", "what did I ask you to remember?")

	t.Log("with one")
	w.wantHob(0, "Hob is ready", "start")
	w.wantHob(0, "Hob was already running", "start")
	w.wantHob(1, "a daemon is already running", "start", "--foreground")
	w.wantHob(0, "windows/amd64", "status")
	w.wantHob(0, "milk", "ask", "add milk to my tasks")
	w.wantHob(0, "flowerpot", "ask", "what did I ask you to remember?")
	w.checkDoctor()

	t.Log("stopped and started again")
	w.wantHob(0, "Hob has stopped", "stop")
	w.wantHob(3, "not running", "stop")
	w.wantHob(0, "Hob is ready", "start")
	w.expectTasks("milk")

	t.Log("killed and started again")
	w.wantHob(0, "bread", "ask", "add bread to my tasks")
	var s struct {
		PID int `json:"pid"`
	}
	w.readJSON(&s, "status")
	if out, errs, code := w.runProgram("wine", "taskkill", "/f", "/pid", strconv.Itoa(s.PID)); code != 0 {
		t.Fatalf("taskkill: %d %s%s", code, out, errs)
	}
	w.wantHob(3, "Hob is not running", "status")
	w.wantHob(0, "Hob is ready", "start")
	w.expectTasks("bread", "milk") // the newest first
	w.expectConversation("add milk to my tasks", "add bread to my tasks")
	w.wantHob(0, "Hob has stopped", "stop")
	for line := range strings.Lines(w.readLog()) {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "the index is behind") {
			t.Errorf("logged: %s", line)
		}
	}

	t.Log("with the session")
	w.wantHob(0, "Not installed", "service", "status")
	w.wantHob(0, "Hob starts when you log in", "service", "install")
	w.wantHob(0, `Installed: run, HKCU\Software\Microsoft\Windows\CurrentVersion\Run\Hob`, "service", "status")
	w.wantHob(0, "", "service", "uninstall")
	w.wantHob(0, "Not installed", "service", "status")
}

// checkDoctor runs the doctor checks that work the same under Wine and Windows, and fails on an error.
func (w *windows) checkDoctor() {
	w.t.Helper()
	var checks []struct{ Name, State, Cause string }
	w.readJSON(&checks, "doctor")
	seen := 0
	for _, c := range checks {
		switch c.Name {
		case "config", "home", "disk", "token", "database", "daemon", "zone", "clock":
			seen++
			if c.State != "ok" {
				w.t.Errorf("hob doctor: %s is %s: %s", c.Name, c.State, c.Cause)
			}
		}
	}
	if seen != 8 {
		w.t.Errorf("hob doctor reports %d of 8 checks: %v", seen, checks)
	}
}

func (w *windows) expectTasks(want ...string) {
	w.t.Helper()
	var list []struct{ Title string }
	w.readJSON(&list, "task", "list")
	var got []string
	for _, t := range list {
		got = append(got, t.Title)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		w.t.Errorf("tasks: %q, want %q", got, want)
	}
}

// expectConversation checks that the conversation of the command line contains the messages.
func (w *windows) expectConversation(said ...string) {
	w.t.Helper()
	text := w.wantHob(0, "", "session", "show", "cli")
	for _, s := range said {
		if !strings.Contains(text, s) {
			w.t.Errorf("the conversation lacks %q: %s", s, text)
		}
	}
}
