package command

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == Helper {
		syscall.Exit(Serve(os.Stdin, os.Stdout, os.Stderr)) // with the race detector, os.Exit takes a second longer
	}
	if plans := os.Getenv(traceEnv); plans != "" && len(os.Args) == 1 {
		syscall.Exit(runTraced(plans))
	}
	goleak.VerifyTestMain(m)
}

func (b *bench) newRunner(t *testing.T, mode string) *Runner {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRunner(RunOptions{Judge: b.judge, Sandbox: mode, Helper: []string{exe, Helper}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (b *bench) runCommand(t *testing.T, r *Runner, c Command) Outcome {
	t.Helper()
	v := b.judge.Judge(c).Within(r.Sandbox(t.Context()))
	if v.Refused != nil {
		t.Fatalf("%s is refused: %v", c.Text, v.Refused)
	}
	out, err := r.Run(t.Context(), v.Plan, time.Minute, func(int64) {})
	if err != nil {
		t.Fatalf("%s: %v (%s)", c.Text, err, out.Output)
	}
	return out
}

func (b *bench) hasFile(name string) bool {
	_, err := os.Lstat(filepath.Join(b.home, name))
	return err == nil
}

func TestRun(t *testing.T) {
	b := newRepositoryHome(t)
	r := b.newRunner(t, Off)
	for text, want := range map[string]struct {
		status int
		output string
	}{
		"cat notes.txt":                             {0, "one\ntwo\n"},
		"cat notes.txt | sort -r | head -1":         {0, "two\n"},
		"grep -q three notes.txt && echo yes":       {1, ""},
		"grep -q three notes.txt || echo no":        {0, "no\n"},
		"! grep -q three notes.txt; echo a; echo b": {0, "a\nb\n"},
		"cd repo && cat a.txt":                      {0, "a\n"},
		"cat < notes.txt | wc -l":                   {0, "2\n"},
		"ls nothing 2>/dev/null || echo no":         {0, "no\n"},
		"ls nothing 2>&1 | grep -c nothing":         {0, "1\n"},
		"cat notes.txt >/dev/null":                  {0, ""},
		"echo 'a  b' \"$HOME\" | wc -w":             {0, "3\n"},
		"echo *.json":                               {0, "data.json\n"},
		"false; true":                               {0, ""},
		"true && false":                             {1, ""},
		"nonesuch -x":                               {127, "hob: nonesuch: program not found\n"},
		"for i in 1 2; do echo $i; done":            {0, "1\n2\n"},
		"echo hi > made.txt; cat made.txt":          {0, "hi\n"},
		"exit 7":                                    {7, ""},
		"cat <<E\n$HOME_NOT\nE":                     {0, "\n"},
		"printf '\\033[31mred\\033[0m\\007'":        {0, "red"},
		"read x; echo \"[$x]\"":                     {0, "[]\n"},
	} {
		t.Run(text, func(t *testing.T) {
			if out := b.runCommand(t, r, Command{Text: text}); out.Status != want.status || out.Output != want.output {
				t.Errorf("%d %q, want %d %q", out.Status, out.Output, want.status, want.output)
			}
		})
	}
}

// No key or token in Hob's environment reaches a command.
func TestScrubbedEnvironment(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "HTTPS_PROXY", "LD_PRELOAD_X", "HOB_TOKEN", "BASH_ENV", "GIT_SSH_COMMAND", "BASH_FUNC_ls%%", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS"} {
		t.Setenv(name, "canary")
	}
	b := newRepositoryHome(t)
	for _, text := range []string{"env", "for i in 1; do env; done"} {
		out := b.runCommand(t, b.newRunner(t, Off), Command{Text: text})
		if strings.Contains(out.Output, "canary") || !strings.Contains(out.Output, "PATH=/usr/bin:/bin") || strings.Contains(out.Output, "HOB_") {
			t.Errorf("%s: %s", text, out.Output)
		}
	}
}

func TestOutputIsBounded(t *testing.T) {
	b := newRepositoryHome(t)
	out := b.runCommand(t, b.newRunner(t, Off), Command{Text: "seq 1 1000000"})
	if len(out.Output) > keepHead+keepTail+100 || out.Cut == 0 || !strings.HasPrefix(out.Output, "1\n2\n") || !strings.HasSuffix(out.Output, "\n1000000\n") || !strings.Contains(out.Output, "bytes left out") {
		t.Errorf("%d bytes, %d cut: %.40q", len(out.Output), out.Cut, out.Output)
	}
}

// Only the analyzed code runs: a script that has changed since the analysis does not run.
func TestRun_RefusesAChangedScript(t *testing.T) {
	b := newRepositoryHome(t)
	v := b.judgeText("./ls")
	b.putFile(t, "Documents/ls", "#!/bin/sh\necho evil\n")
	out, err := b.newRunner(t, Off).Run(t.Context(), v.Plan, time.Minute, func(int64) {})
	if err != nil || out.Status != statusNotRun || !strings.Contains(out.Output, "changed after the command was analyzed") {
		t.Errorf("%+v, %v", out, err)
	}
	if w := b.judgeText("./ls"); w.Exact == v.Exact {
		t.Error("the change of the script does not change Exact")
	}
}

func TestRequireWithoutASandbox(t *testing.T) {
	b := newRepositoryHome(t)
	r := b.newRunner(t, Require)
	r.looked, r.found = time.Now(), sandbox{missing: "none here"}
	_, err := r.Run(t.Context(), b.judgeText("ls").Plan, time.Minute, func(int64) {})
	if !errors.Is(err, ErrNoSandbox) || !strings.Contains(err.Error(), "none here") {
		t.Errorf("Run = %v", err)
	}
	r.opt.Sandbox = Auto
	if out := b.runCommand(t, r, Command{Text: "ls"}); out.Missing != "none here" {
		t.Errorf("the output does not report the missing sandbox: %+v", out)
	}
}

func TestServeWithoutAJob(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, in := range []string{"", "{", "x\n"} {
		if got := Serve(strings.NewReader(in), null, null); got != statusNotRun {
			t.Errorf("%q: Serve = %d", in, got)
		}
	}
}
