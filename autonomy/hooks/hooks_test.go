//go:build unix

package hooks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/autonomy/config"
	"hob/autonomy/hooks"
)

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// writeProgram writes an executable script into a folder of the test and returns its path.
func writeProgram(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "check")
	failOnError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700))
	return path
}

func openHooks(t *testing.T, o hooks.Options) *hooks.Hooks {
	t.Helper()
	if o.Pins == "" {
		o.Pins = filepath.Join(t.TempDir(), "hooks.pins")
	}
	return hooks.Open(o)
}

func newHook(on, path string, args ...string) config.Hook {
	return config.Hook{On: on, Command: append([]string{path}, args...), Timeout: config.Duration{Duration: 5 * time.Second}}
}

func TestRun(t *testing.T) {
	t.Setenv("HOB_TEST_SECRET", "hunter2")
	for _, tt := range []struct{ name, script, refused, added string }{
		{"prints nothing", "cat >/dev/null", "", ""},
		{"prints plain text", "echo go on", "", ""},
		{"does not read its input", "exit 0", "", ""},
		{"adds text", `echo '{"add":" scanned "}'`, "", "scanned"},
		{"refuses with an object", `echo '{"refuse":"not on a Monday"}'`, "not on a Monday", ""},
		{"refuses without a reason", `echo '{"refuse":""}'`, "no reason given", ""},
		{"refuses and adds", `echo '{"refuse":"no","add":"text"}'`, "no", ""},
		{"refuses with status 1", "echo stop >&2; exit 1", "stop", ""},
		{"refuses without output", "exit 3", "exit status 3", ""},
		{"crashes", "kill -ABRT $$", "signal: aborted", ""},
		{"allows", `echo '{"allow":true}'`, "invalid output", ""},
		{"changes arguments", `echo '{"arguments":{"path":"/etc/passwd"}}'`, "invalid output", ""},
		{"prints broken JSON", `echo '{"add":'`, "invalid output", ""},
		{"prints two objects", `echo '{}{}'`, "invalid output", ""},
		{"prints a list", `echo '["add"]'`, "invalid output", ""},
		{"prints too much", "yes | head -c 100000", "output is larger than 64 KiB", ""},
		{"reads the event", `grep -q '"on":"tool.before".*"session":"s".*"tool":"write_file","arguments":{"path":"a"}' || exit 1`, "", ""},
		{"sees a minimal environment", `env | grep -q hunter2 && exit 1; test "$HOB_HOOK" = tool.before`, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := openHooks(t, hooks.Options{Hooks: []config.Hook{newHook(config.ToolBefore, writeProgram(t, tt.script))}})
			added, err := h.Run(t.Context(), hooks.Event{On: config.ToolBefore, Session: "s", Tool: "write_file", Arguments: []byte(`{"path":"a"}`)})
			if r, ok := errors.AsType[*hooks.Refusal](err); err != nil != (tt.refused != "") || err != nil && (!ok || !strings.Contains(r.Reason, tt.refused)) {
				t.Errorf("error %v, want %q", err, tt.refused)
			}
			if got := strings.TrimPrefix(hooks.Join("", added), "\n\n[added by the hook check]\n"); got != tt.added {
				t.Errorf("added %q, want %q", got, tt.added)
			}
		})
	}
}

func TestRun_SelectsHooksByEventAndTool(t *testing.T) {
	no := writeProgram(t, "exit 1")
	one := newHook(config.ToolBefore, no)
	one.Match = "write_*"
	h := openHooks(t, hooks.Options{Hooks: []config.Hook{one, newHook(config.ToolAfter, no)}})
	for _, tt := range []struct {
		on, tool string
		refused  bool
	}{{config.ToolBefore, "write_file", true}, {config.ToolBefore, "read_file", false}, {config.ToolAfter, "write_file", false}, {config.TurnBefore, "", false}} {
		if _, err := h.Run(t.Context(), hooks.Event{On: tt.on, Tool: tt.tool}); err != nil != tt.refused {
			t.Errorf("%s %s: %v, want refused = %v", tt.on, tt.tool, err, tt.refused)
		}
	}
	var none *hooks.Hooks
	if added, err := none.Run(t.Context(), hooks.Event{On: config.ToolBefore}); added != nil || err != nil || none.Has(config.ToolBefore) {
		t.Errorf("Run without hooks = %v, %v", added, err)
	}
}

// A hostile hook refuses the action, and Hob ends it together with its descendants.
func TestRun_EndsHostileHooks(t *testing.T) {
	for name, script := range map[string]string{
		"sleeps":                      "sleep 600",
		"floods":                      "yes",
		"floods stderr":               "yes >&2",
		"ignores the signal to end":   "trap '' TERM HUP INT; while :; do sleep 1; done",
		"forks":                       "for i in 1 2 3 4 5 6 7 8 9; do sleep 600 & done; wait",
		"starts a session":            "setsid sleep 600 & sleep 600",
		"leaves a session behind":     "setsid sleep 600 </dev/null >/dev/null 2>&1 & exit 1",
		"leaves a session with pipes": "setsid sleep 600 & exit 1",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath("setsid"); err != nil && strings.Contains(script, "setsid") {
				t.Skip("setsid is not installed")
			}
			tag := "hob-hostile-" + t.Name()
			path := writeProgram(t, script)
			x := newHook(config.ToolBefore, path, tag)
			x.Timeout.Duration = 300 * time.Millisecond
			h := openHooks(t, hooks.Options{Hooks: []config.Hook{x}})
			began := time.Now()
			in := hooks.Event{On: config.ToolBefore, Text: strings.Repeat("x", 1<<20)}
			if _, err := h.Run(t.Context(), in); err == nil {
				t.Error("Run succeeded, want a refusal")
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("Run took %s, want at most 20 s", took)
			}
			if left := listHookProcesses(t, filepath.Dir(path)); left != "" {
				t.Errorf("hook processes are still running: %s", left)
			}
		})
	}
}

// listHookProcesses lists the running processes of hooks in a folder.
func listHookProcesses(t *testing.T, dir string) string {
	t.Helper()
	var out []string
	list, err := filepath.Glob("/proc/[0-9]*/environ")
	failOnError(t, err)
	for _, f := range list {
		env, err := os.ReadFile(f)
		if cwd, _ := os.Readlink(filepath.Join(filepath.Dir(f), "cwd")); err == nil && cwd == dir && bytes.Contains(env, []byte("HOB_HOOK_RUN=")) {
			out = append(out, f)
		}
	}
	return strings.Join(out, " ")
}

func TestRun_StopsWhenCanceled(t *testing.T) {
	h := openHooks(t, hooks.Options{Hooks: []config.Hook{newHook(config.ToolBefore, writeProgram(t, "sleep 600"))}})
	stop := errors.New("stopped by the user")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(stop) })
	if _, err := h.Run(ctx, hooks.Event{On: config.ToolBefore}); !errors.Is(err, stop) {
		t.Errorf("got %v, want %v", err, stop)
	}
}

func TestRun_AfterHooksFailOpen(t *testing.T) {
	var log bytes.Buffer
	h := openHooks(t, hooks.Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Hooks: []config.Hook{
		newHook(config.ToolAfter, writeProgram(t, "exit 1")), newHook(config.ToolAfter, "/no/such/hook"), newHook(config.ToolAfter, writeProgram(t, `echo '{"add":"text"}'`)),
	}})
	added, err := h.Run(t.Context(), hooks.Event{On: config.ToolAfter})
	if err != nil || len(added) != 1 {
		t.Errorf("Run = %v, %v", added, err)
	}
	if n := strings.Count(log.String(), "hook failed"); n != 2 || !strings.Contains(log.String(), "hook not usable") {
		t.Errorf("log:\n%s", &log)
	}
}

func TestList(t *testing.T) {
	ok, shared, inside, changed := writeProgram(t, "exit 0"), writeProgram(t, "exit 0"), writeProgram(t, "exit 0"), writeProgram(t, "exit 0")
	script := writeProgram(t, "exit 0")
	failOnError(t, os.Chmod(shared, 0o722))
	folder := writeProgram(t, "exit 0")
	failOnError(t, os.Chmod(filepath.Dir(folder), 0o777))
	link := filepath.Join(t.TempDir(), "link")
	failOnError(t, os.Symlink(inside, link))
	o := hooks.Options{Pins: filepath.Join(t.TempDir(), "hooks.pins"), Files: config.Files{Allowed: []string{filepath.Dir(inside), "/no/such/folder"}}}
	for _, c := range [][]string{{ok}, {"/no/such/hook"}, {"check"}, {shared}, {folder}, {inside}, {link}, {changed}, {"/bin/sh", script}} {
		o.Hooks = append(o.Hooks, newHook(config.ToolBefore, c[0], c[1:]...))
	}
	h := openHooks(t, o)
	states := func() (out string) {
		for _, s := range h.List() {
			out += string(s.State) + " "
			if s.State != hooks.Ready && !strings.Contains(s.Cause, "; ") {
				t.Errorf("%s: the cause has no remedy: %s", s.Command[0], s.Cause)
			}
		}
		return out
	}
	const want = "ready missing missing unsafe unsafe unsafe unsafe "
	if got := states(); got != want+"ready ready " {
		t.Error(got)
	}
	for _, f := range []string{changed, script} {
		failOnError(t, os.WriteFile(f, []byte("#!/bin/sh\necho '{\"add\":\"x\"}'\n"), 0o700))
	}
	if got := states(); got != want+"changed changed " {
		t.Errorf("states after a change: %s", got)
	}
	h = openHooks(t, o) // a restart does not trust the change
	if got := states(); got != want+"changed changed " {
		t.Errorf("states after a restart: %s", got)
	}
	files, err := h.Trust(changed)
	if failOnError(t, err); len(files) != 1 || states() != want+"ready changed " {
		t.Errorf("trusted %v: %s", files, states())
	}
	if _, err := h.Trust("/no/such/program"); err == nil {
		t.Error("Trust accepted an unknown program")
	}
}

// Code that an argument names is pinned with the program, or the hook is refused.
func TestList_PinsCodeInArguments(t *testing.T) {
	for name, tt := range map[string]struct {
		command []string // FILE is the code, DIR its folder
		refused bool
	}{
		"awk":                      {[]string{"/bin/awk", "-f", "FILE"}, false},
		"awk, attached":            {[]string{"/bin/awk", "-fFILE"}, false},
		"make":                     {[]string{"/bin/make", "-f", "FILE", "check"}, false},
		"make in a folder":         {[]string{"/bin/make", "-C", "DIR"}, true},
		"make, attached folder":    {[]string{"/bin/make", "-CDIR"}, true},
		"make, long option":        {[]string{"/bin/make", "--directory=DIR"}, true},
		"perl with a folder":       {[]string{"/bin/perl", "-I", "DIR", "FILE"}, true},
		"perl, attached folder":    {[]string{"/bin/perl", "-IDIR", "FILE"}, true},
		"perl with a module":       {[]string{"/bin/perl", "-MEvil", "FILE"}, true},
		"ruby with a library":      {[]string{"/bin/ruby", "-r", "./evil", "FILE"}, true},
		"ruby with a file":         {[]string{"/bin/ruby", "-r", "FILE", "-e", "1"}, false},
		"node, long option":        {[]string{"/bin/node", "--import=FILE", "-e", "1"}, false},
		"node with an address":     {[]string{"/bin/node", "--import", "file://FILE", "-e", "1"}, false},
		"node with a package":      {[]string{"/bin/node", "--import", "evil", "-e", "1"}, true},
		"python with a module":     {[]string{"/bin/python3.13", "-m", "evil"}, true},
		"python runs a folder":     {[]string{"/bin/python3", "DIR"}, true},
		"env with a folder":        {[]string{"/bin/env", "PERL5LIB=DIR", "perl", "FILE"}, true},
		"an unknown interpreter":   {[]string{"/bin/frob", "--code=FILE"}, false},
		"an unknown one, response": {[]string{"/bin/frob", "@FILE"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			file := writeProgram(t, "exit 0")
			bin := t.TempDir()
			command := slices.Clone(tt.command)
			for i, a := range command {
				command[i] = strings.NewReplacer("FILE", file, "DIR", filepath.Dir(file)).Replace(a)
			}
			command[0] = filepath.Join(bin, filepath.Base(command[0]))
			failOnError(t, os.WriteFile(command[0], []byte("#!/bin/sh\n"), 0o700))
			h := openHooks(t, hooks.Options{Hooks: []config.Hook{newHook(config.ToolBefore, command[0], command[1:]...)}})
			first := h.List()[0]
			failOnError(t, os.WriteFile(file, []byte("#!/bin/sh\necho changed\n"), 0o700))
			second := h.List()[0]
			if tt.refused && (first.State != hooks.Unsafe || !strings.Contains(first.Cause, "; ")) || !tt.refused && (first.State != hooks.Ready || second.State != hooks.Changed) {
				t.Errorf("%s (%s), after a change %s", first.State, first.Cause, second.State)
			}
		})
	}
}

// If the pin file is damaged, no program is trusted.
func TestList_RefusesWithoutPins(t *testing.T) {
	pins := filepath.Join(t.TempDir(), "hooks.pins")
	failOnError(t, os.WriteFile(pins, []byte("{"), 0o600))
	h := openHooks(t, hooks.Options{Pins: pins, Hooks: []config.Hook{newHook(config.ToolBefore, writeProgram(t, "exit 0"))}})
	if _, err := h.Run(t.Context(), hooks.Event{On: config.ToolBefore}); err == nil || !strings.Contains(err.Error(), "hooks.pins") {
		t.Error(err)
	}
}

// The example in the documentation works as written.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/hooks.md")
	failOnError(t, err)
	block := func(lang string) string {
		_, rest, ok := strings.Cut(string(page), "```"+lang+"\n")
		text, _, _ := strings.Cut(rest, "```")
		if !ok {
			t.Fatalf("docs/hooks.md has no %s example", lang)
		}
		return text
	}
	home := t.TempDir()
	path := filepath.Join(home, "check-confidential")
	failOnError(t, os.WriteFile(path, []byte(block("sh")), 0o700))
	c, err := config.Parse("config.toml", []byte(strings.ReplaceAll(block("toml"), "~/bin/check-confidential", path)))
	failOnError(t, err)
	h := openHooks(t, hooks.Options{Hooks: c.Hooks, Files: config.Files{Allowed: []string{filepath.Join(home, "Documents")}}})
	for text, refused := range map[string]bool{"a CONFIDENTIAL note": true, "a note": false} {
		_, err := h.Run(t.Context(), hooks.Event{On: config.ToolBefore, Tool: "send_message", Arguments: fmt.Appendf(nil, `{"text":%q}`, text)})
		if err != nil != refused {
			t.Errorf("%q: %v, want refused = %v", text, err, refused)
		}
	}
}
