//go:build unix

package badinput

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Wrong arguments exit with 2, failed operations with 1 or 4, and a missing daemon with 3.
func TestArguments(t *testing.T) {
	t.Parallel()
	h := newFixture(t, offline)
	h.runHob().checkSuccess("Try this first:")
	h.runHob("help").checkSuccess("Talk:")
	tests := []struct {
		name, want string
		code       int
		args       []string
	}{
		{"unknown command", `"frob" is not a command of hob`, 2, []string{"frob"}},
		{"unknown command before a flag", `"tsak" is not a command.*did you mean: .*hob task`, 2, []string{"tsak", "--json"}},
		{"unknown subcommand", `not a command of hob task`, 2, []string{"task", "frob"}},
		{"help about an unknown command", `"frob" is not a command`, 2, []string{"help", "frob"}},
		{"unknown flag", `unknown flag: --nope`, 2, []string{"status", "--nope"}},
		{"no argument", `hob config get KEY`, 2, []string{"config", "get"}},
		{"an argument too many", `"x"`, 2, []string{"backup", "x"}},
		{"empty argument", `the argument is empty`, 2, []string{"watch", "add", ""}},
		{"blank argument", `the argument is empty`, 2, []string{"task", "done", "  "}},
		{"empty conversation", `--session is empty`, 2, []string{"ask", "-s", "", "hi"}},
		{"conversation of another encoding", `not valid UTF-8`, 2, []string{"ask", "-s", "a\xff", "hi"}},
		{"not a number", `invalid argument "x" for "--last"`, 2, []string{"undo", "--last", "x"}},
		{"message of another encoding", `argument "caf\\xe9" is not valid UTF-8`, 2, []string{"ask", "caf\xe9"}},
		{"path of another encoding", `not valid UTF-8.*rename files`, 2, []string{"watch", "add", "/tmp/caf\xe9"}},
		{"long conversation name", `1 to 200 bytes`, 1, []string{"ask", "-s", strings.Repeat("s", 300), "hi"}},
		{"not JSON", `not a JSON object.*write them as`, 2, []string{"tool", "call", "create_task", "{bad"}},
		{"deep JSON", `not a JSON object`, 2, []string{"tool", "call", "create_task", strings.Repeat("[", 100_000)}},
		{"unknown tool", `tool "nope": not found.*hob tool list`, 1, []string{"tool", "call", "nope"}},
		{"unknown tool argument", `no argument "titel".*it takes title`, 2, []string{"tool", "call", "create_task", `{"titel":"x"}`}},
		{"wrong type", `title.*want "string"`, 2, []string{"tool", "call", "create_task", `{"title":5}`}},
		{"missing tool argument", `title`, 2, []string{"tool", "call", "create_task", `{}`}},
		{"huge tool argument", `500 bytes.*notes`, 2, []string{"task", "add", strings.Repeat("x", 100_000)}},
		{"not an amount", `amount -5 is negative`, 2, []string{"tool", "call", "log_expense", `{"amount":-5}`}},
		{"no such month", `"2026-13": not understood.*forms that work`, 2, []string{"tool", "call", "spending_summary", `{"period":"2026-13"}`}},
		{"a file of others", `not in an allowed folder.*copy the file to an allowed folder`, 4, []string{"tool", "call", "read_file", `{"path":"/etc/passwd"}`}},
		{"bad cron", `minute "61": 61 is not between 0 and 59.*a cron line is`, 2, []string{"schedule", "add", "x", "--every", "61 * * * *"}},
		{"cron of a day that never comes", `the day of month does not exist in the given months`, 2, []string{"schedule", "add", "x", "--every", "0 8 31 2 *"}},
		{"cron with seconds", `6 fields instead of 5`, 2, []string{"schedule", "add", "x", "--every", "* * * * * *"}},
		{"bad words for a time", `not understood.*forms that work`, 2, []string{"schedule", "add", "x", "--at", "the twelfth of never"}},
		{"a day that does not exist", `not understood`, 2, []string{"task", "add", "x", "--due", "2026-02-30"}},
		{"a time that is over", `has passed.*later`, 2, []string{"schedule", "add", "x", "--at", "2001-01-01"}},
		{"bad policy", `run_once`, 2, []string{"schedule", "add", "x", "--every", "0 8 * * *", "--missed", "never"}},
		{"bad pattern", `not closed properly`, 2, []string{"watch", "add", "/tmp", "--pattern", "[z"}},
		{"bad event", `unknown event "moved".*created, modified or removed`, 2, []string{"watch", "add", "/tmp", "--events", "moved"}},
		{"unknown event", `event "nope": not found`, 1, []string{"why", "nope"}},
		{"unknown question", `no pending approval request "nope"`, 1, []string{"approve", "nope"}},
		{"unknown trigger", `trigger "nope": not found`, 1, []string{"trigger", "fire", "nope"}},
		{"not running", `Hob is not running.*hob start`, 3, []string{"status", "--json"}},
		{"nothing to stop", `Hob is not running`, 3, []string{"stop"}},
	}
	for _, tt := range tests {
		r := h.runHob(tt.args...)
		r.what = tt.name
		r.checkFailure(tt.code, tt.want)
		if r.out != "" {
			t.Errorf("%s: output in addition to the error: %q", tt.name, r.out)
		}
	}
	h.runWithInput(strings.NewReader("caf\xe9"), "ask").checkFailure(2, "standard input is not valid UTF-8")
	h.runWithInput(strings.NewReader(" \n"), "ask", "--json").checkFailure(2, "write a message")
	h.runWithInput(strings.NewReader(strings.Repeat("a", 10<<20+1)), "ask").checkFailure(2, "longer than 10.5 MB.*name the file")
	h.runWithInput(strings.NewReader(strings.Repeat("a", 17<<20)), "ask").checkFailure(2, "longer than 10.5 MB.*name the file")
	h.runWithInput(strings.NewReader("hello\ncaf\xe9\nhelp\n"), "chat", "--no-start", "--mine").checkSuccess("Hello.*not valid UTF-8.*remind")
	h.runHob(append([]string{"ask"}, strings.Fields(strings.Repeat("word ", 20_000))...)...).checkSuccess("did not understand")
	h.runHob("memory", "search", strings.Repeat("x", 100_000)).checkSuccess("Nothing matches")
	h.runHob("watch", "list").checkSuccess("No watchers") // the wrong arguments above created no watcher
	h.runHob("task", "list").checkSuccess("No open tasks")
	h.runHob("schedule", "list").checkSuccess("No schedules")
}

// A command fails if its output cannot be written, but not if the reader closes the pipe early.
func TestOutput(t *testing.T) {
	t.Parallel()
	h := newFixture(t, offline)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("/dev/full is not available:", err)
	}
	defer full.Close()
	for _, args := range [][]string{{"tool", "list"}, {"tool", "list", "--json"}, {"version"}, {"ask", "hello"}, {"--help"}} {
		cmd := h.newCommand(t.Context(), args...)
		var errs strings.Builder
		cmd.Stdout, cmd.Stderr = full, &errs
		_ = cmd.Run() // the exit code shows the result
		if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(errs.String(), "no space left") {
			t.Errorf("%v: exit code %d, %q", args, cmd.ProcessState.ExitCode(), errs.String())
		}
	}
	r, w, err := os.Pipe()
	failOnError(t, err)
	failOnError(t, r.Close())
	defer w.Close()
	cmd := h.newCommand(t.Context(), "tool", "list", "--json")
	var errs strings.Builder
	cmd.Stdout, cmd.Stderr = w, &errs
	if err := cmd.Run(); err == nil || errs.String() != "" {
		t.Errorf("write to a closed pipe: %v, %q", err, errs.String())
	}
	h.runHob("ask", "hello").checkSuccess("Hello")
}

// Homes with unusual names work.
func TestHome_UnusualNames(t *testing.T) {
	t.Parallel()
	h := newFixture(t, offline)
	for _, name := range []string{"with space", "Käse 日本 🏠", "100%41", "a#b?c=d&e", "new\nline", "bad\xff", "'quoted' \"twice\"", "-dash"} {
		h.home = filepath.Join(h.dir, name)
		if err := os.Mkdir(h.home, 0o700); err != nil {
			t.Logf("%q: %v", name, err) // the file system does not allow this name
			continue
		}
		h.takeOwnership(h.home)
		h.writeFile("config.toml", offline)
		h.env[1] = "HOB_HOME=" + h.home
		h.startDaemon()
		h.runHob("ask", "remember that the code is 9911").checkSuccess("Noted")
		h.stopDaemon()
		h.runHob("ask", "what did I ask you to remember?").checkSuccess("9911")
	}
}
