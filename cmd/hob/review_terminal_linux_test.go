package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/creack/pty"
)

// hostileText is stored text from an unknown sender. It clears the screen, sets the title, writes
// to the clipboard, changes the writing direction, and hides words.
const hostileText = "one\x1b[2J\x1b]0;evil\x07\x1b]52;c;ZXZpbA==\x07 two\u202egnp\u202c three\u200bfour\u2060\ufeff five\U000e0041\U000e007f six\u009b31m\u0085\x7f\x08\x08seven\r<<hidden>>"

// ownSequences are the sequences that Hob itself may write: colors, and the beginning of an empty
// line.
var ownSequences = regexp.MustCompile("\x1b\\[(0|1|2|31|32|33)m|\r\x1b\\[K|\r\n")

// hiddenIn returns the forbidden characters in a terminal's output.
func hiddenIn(shown string) (out []rune) {
	for _, r := range ownSequences.ReplaceAllString(shown, "\n") {
		switch {
		case r == '\n' || r == '\t':
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == 0x200b, r == 0x2060, r == 0xfeff, r >= 0xe0000 && r <= 0xe007f:
			out = append(out, r)
		}
	}
	return out
}

// onTerminal runs a command in a terminal and returns the complete output.
func onTerminal(t *testing.T, home string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "hob", args...)
	cmd.Env = append(homeEnv(home), "TERM=xterm-256color")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 200, Cols: 4000})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tty.Close() }()
	var b strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := tty.Read(buf)
		b.Write(buf[:n])
		if err != nil { // EIO means that the program has ended
			break
		}
	}
	_ = cmd.Wait() // several of the commands are expected to fail
	return b.String()
}

func homeEnv(home string) []string {
	return []string{"HOME=" + filepath.Join(home, "user"), "HOB_HOME=" + filepath.Join(home, "hob"), "PATH=" + os.Getenv("PATH"), "TZ=UTC"}
}

// inPipe runs a command with its output in a pipe.
func inPipe(t *testing.T, home string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "hob", args...)
	cmd.Env = homeEnv(home)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("hob %q: %v: %s", args, err, out)
	}
	return string(out)
}

// fillHostile stores hostileText in every kind of item.
func fillHostile(t *testing.T, home string) {
	t.Helper()
	call := func(tool string, args map[string]any) {
		t.Helper()
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		inPipe(t, home, "tool", "call", tool, string(raw))
	}
	for _, text := range append(naughtyStrings(), hostileText) {
		if strings.ContainsRune(text, 0) || strings.TrimSpace(text) == "" {
			continue
		}
		inPipe(t, home, "ask", "-s", "home", "--", "remember that "+text)
	}
	call("create_task", map[string]any{"title": hostileText, "notes": hostileText})
	call("create_note", map[string]any{"title": hostileText, "text": hostileText})
	call("remember", map[string]any{"text": "fact " + hostileText})
	call("create_reminder", map[string]any{"text": hostileText, "at": "2099-01-01T10:00:00Z"})
	inPipe(t, home, "schedule", "add", hostileText, "--every", "every day at 9:00")
}

// naughtyStrings returns strings that are known to break programs.
func naughtyStrings() []string {
	return []string{"\u2066test\u2067", "Ṱ̺̺̕o͞ ̷i̲̬͇̪͙n̝̗͕v̟̜̘̦͟o̶̙̰̠kè͚̮̺̪̹̱̤", "\ufeff", "\u180e\u2005\u2006", "\u001b[31mroot\u001b[0m", "%n%s%x"}
}

// No command that prints stored text lets a control or invisible character through to the terminal,
// neither in tables, text and JSON nor in errors.
func TestReview10_NoCommandPrintsHiddenCharactersToTerminal(t *testing.T) {
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "user"), 0o700); err != nil {
		t.Fatal(err)
	}
	fillHostile(t, home)
	commands := [][]string{
		{"session", "list"},
		{"session", "show", "home"},
		{"session", "export", "home"},
		{"session", "export", "home", "--raw"},
		{"session", "export", "home", "-f", "jsonl"},
		{"session", "search", "seven"},
		{"memory", "list"},
		{"memory", "search", "seven"},
		{"memory", "why", "seven"},
		{"memory", "graph"},
		{"memory", "export"},
		{"memory", "export", "-f", "markdown"},
		{"memory", "stats"},
		{"task", "list"},
		{"note", "list"},
		{"reminder", "list"},
		{"watch", "list"},
		{"schedule", "list"},
		{"goal", "list"},
		{"expense", "list"},
		{"habit", "list"},
		{"trigger", "list"},
		{"undo", "--list"},
		{"approvals", "list"},
		{"grant", "list"},
		{"audit"},
		{"why"},
		{"usage"},
		{"tool", "list"},
		{"agent", "list"},
		{"status"},
		{"notify", "list"},
		{"learned"},
		{"template", "list"},
		{"policy", "list"},
		{"tool", "call", "list_tasks", "{}"},
		{"tool", "call", "recall", `{"query":"seven"}`},
		{"ask", "what do you know about seven"},
		{"ask", "list my tasks"},
		{"memory", "show", hostileText},
		{"session", "show", hostileText},
		{hostileText},
		{"config", "set", hostileText, "x"},
		{"memory", "search", hostileText},
		{"ask", "--session", hostileText, "hi"},
		{"__complete", "memory", "show", ""},
		{"__complete", "session", "show", ""},
		{"__complete", "task", "done", ""},
	}
	shownText := 0
	for _, args := range commands {
		for _, asJSON := range []bool{false, true} {
			if asJSON {
				if strings.HasPrefix(args[0], "__") {
					continue
				}
				args = append(args[:len(args):len(args)], "--json")
			}
			shown := onTerminal(t, home, args...)
			if strings.Contains(shown, "seven") {
				shownText++
			}
			if hidden := hiddenIn(shown); len(hidden) > 0 {
				t.Errorf("hob %q prints %q to the terminal: %.300q", args, string(hidden), shown)
			}
		}
	}
	if shownText < 20 {
		t.Errorf("only %d commands show the stored text, so the test proves nothing", shownText)
	}
}

// The shell displays completions that it reads from a pipe, and an export may be displayed later.
// Both contain only visible characters.
func TestReview10_ExportAndCompletionsAreVisibleInPipes(t *testing.T) {
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "user"), 0o700); err != nil {
		t.Fatal(err)
	}
	inPipe(t, home, "ask", "-s", "home", "--", "remember that "+hostileText)
	for _, args := range [][]string{{"session", "export", "home"}, {"undo", "--list"}, {"memory", "list"}, {"__complete", "memory", "show", ""}, {"session", "show", "home"}} {
		if hidden := hiddenIn(inPipe(t, home, args...)); len(hidden) > 0 {
			t.Errorf("hob %q prints %q", args, string(hidden))
		}
	}
	if raw := inPipe(t, home, "session", "export", "home", "--raw"); !strings.Contains(raw, "\u202e") {
		t.Errorf("--raw does not print the text unchanged: %q", raw)
	}
	var rows []map[string]any
	if err := json.Unmarshal([]byte(inPipe(t, home, "memory", "list", "--json")), &rows); err != nil || len(rows) != 1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
}

// The chat, which draws on the terminal itself, shows only visible text.
func TestReview10_ChatShowsOnlyVisibleText(t *testing.T) {
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "user"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(home, "hob"), 0o700); err != nil {
		t.Fatal(err)
	}
	conf := "[agent]\nmodel = \"offline\"\n[web]\nlisten = \"127.0.0.1:0\"\n"
	if err := os.WriteFile(filepath.Join(home, "hob", "config.toml"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopLeftover(t, filepath.Join(home, "hob", "hob.lock")) }) // a chat starts the daemon
	inPipe(t, home, "ask", "-s", "home", "--", "remember that "+hostileText)
	s := startInTerminal(t, home, nil, "chat")
	s.expectScreen("This is Hob.", ">")
	s.pressKeys("what do you know about seven?\r")
	s.expectScreen("seven<<hidden", "ready")
	s.pressKeys("\x04")
	s.awaitExit()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, bad := range []string{"\x1b]0", "\x1b]52", "\u202e", "\u200b", "\u2060", "\ufeff", "\U000e0041", "\u009b", "\b\bseven"} {
		if strings.Contains(string(s.shown), bad) {
			t.Errorf("the chat prints %q: %q", bad, s.shown)
		}
	}
}
