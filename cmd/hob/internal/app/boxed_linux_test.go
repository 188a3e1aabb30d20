package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hob/autonomy/llm/all"
	"hob/platform/host/browser"
	"hob/platform/host/system"
	"hob/platform/net/safehttp/safehttptest"
)

// TestButtonsWhileTheBrowserRuns checks that a sandboxed browser does not disable buttons, and that
// an unsandboxed browser and any other program started by Hob do.
func TestButtonsWhileTheBrowserRuns(t *testing.T) {
	web := safehttptest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<title>Page</title>") }))
	b, err := browser.New(browser.Options{Profile: t.TempDir(), Network: web.Client(t), Headless: true})
	failOnError(t, err)
	if _, err := b.Find(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("no browser is installed: ", err)
	}
	press := (&App{browser: b, agents: &all.Agents{}}).newButtons()
	alone := func() bool {
		t.Helper()
		ok, err := press.HasNoSubprocess()
		failOnError(t, err)
		return ok
	}
	if !alone() {
		t.Skip("a program of another test still runs below this process")
	}
	defer b.Close()
	orphans, stop := context.WithCancel(t.Context()) // as in the daemon: orphaned processes stay below this process
	kept := make(chan error, 1)
	go func() { kept <- system.KeepOrphans(orphans) }()
	defer func() {
		stop()
		failOnError(t, errors.Join(<-kept, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)))
	}()
	_, err = b.Open(t.Context(), "http://plain.example/")
	failOnError(t, err)
	boxed := !b.RunsUnsandboxed() // a browser that runs as root has no sandbox
	until := func(want bool) {
		t.Helper()
		for deadline := time.Now().Add(60 * time.Second); alone() != want; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) { // long after the browser's short-lived helper processes have ended
				t.Fatalf("timed out: sandbox %v, presses accepted %v", boxed, !want)
			}
		}
	}
	until(boxed)
	cmd := exec.CommandContext(t.Context(), "sleep", "60")
	failOnError(t, cmd.Start())
	if alone() {
		t.Error("presses are accepted while another program runs")
	}
	failOnError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	b.Close()
	until(true)
	if b.SandboxedPid() != 0 || b.Pid() != 0 {
		t.Error("the browser has ended, but its process id is still reported")
	}
}
