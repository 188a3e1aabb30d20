package command

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"hob/platform/host/denypaths"
)

// bench is a home with an allowed folder.
type bench struct {
	home, docs string
	judge      *Analyzer
}

func newBench(t testing.TB, change func(*Options)) *bench {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{home: home, docs: filepath.Join(home, "Documents")}
	for _, dir := range []string{b.docs, filepath.Join(home, ".ssh"), filepath.Join(home, "hob"), filepath.Join(home, "other")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{".ssh/id_ed25519": "canary", "hob/token": "canary", "other/x.txt": "canary", "Documents/notes.txt": "one\ntwo\n"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opt := Options{Home: home, Allowed: []string{b.docs}}
	opt.Places = denypaths.New(denypaths.Options{Home: home, Own: []string{filepath.Join(home, "hob")}, Allowed: opt.Allowed})
	if change != nil {
		change(&opt)
	}
	if b.judge, err = New(opt); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) judgeText(text string) Verdict { return b.judge.Judge(Command{Text: text}) }

// openShared opens a file of the shared data, which is not part of the project.
func openShared(t *testing.T, name string) *bufio.Scanner {
	t.Helper()
	dir := os.Getenv("HOB_TEST_DATA")
	if dir == "" {
		dir = "../../../../shared/data"
	}
	f, err := os.Open(filepath.Join(dir, "payloads", name))
	if err != nil {
		t.Skip("HOB_TEST_DATA is not set: ", err)
	}
	t.Cleanup(func() { _ = f.Close() })
	s := bufio.NewScanner(f)
	s.Buffer(nil, 4<<20)
	return s
}

// harmless maps commands of the hostile corpus that may be listed to the reason. Intruders start
// with these commands, but users also run them. They only print facts about the machine.
var harmless = map[string]string{
	"users\nw\nwho":    "who is logged in",
	"uname -srm":       "which system this is",
	"env":              "Hob's own environment for commands, in which there is nothing",
	"groups\nid":       "who the owner is",
	"ps aux | egrep '": "which programs run",
	"pgrep -l '":       "which programs run",
}

func TestHostileCommands(t *testing.T) {
	b := newBench(t, nil)
	n, refused, asked, excepted := 0, 0, 0, 0
	for s := openShared(t, "hostile-commands.jsonl"); s.Scan(); n++ {
		var row struct{ ID, Name, Shell, Cmd string }
		if err := json.Unmarshal(s.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		switch v := b.judgeText(row.Cmd); {
		case v.Listed && exceptionReason(row.Cmd) != "":
			excepted++
			t.Logf("%s is listed: %q (%s)", row.ID, row.Cmd, exceptionReason(row.Cmd))
		case v.Listed:
			t.Errorf("%s %s is listed: %q", row.ID, row.Name, row.Cmd)
		case v.Refused != nil:
			refused++
		default:
			asked++
		}
	}
	t.Logf("of %d hostile commands %d are refused, %d ask, %d are harmless", n, refused, asked, excepted)
}

func exceptionReason(cmd string) string {
	for begin, why := range harmless {
		if strings.HasPrefix(cmd, begin) {
			return why
		}
	}
	return ""
}

func TestCommandInjection(t *testing.T) {
	b := newBench(t, nil)
	n := 0
	for s := openShared(t, "command-injection.txt"); s.Scan(); n++ {
		for _, cmd := range []string{s.Text(), "ls " + s.Text(), "cat notes.txt" + s.Text()} {
			if v := b.judgeText(cmd); v.Listed {
				t.Logf("listed: %q: %v", cmd, v.Plan.Lines)
				for _, line := range v.Plan.Lines {
					for _, step := range line.Steps {
						if base := filepath.Base(step.Args[0]); b.judge.table().entries[base] == nil {
							t.Errorf("%q runs %s", cmd, base)
						}
					}
				}
			}
		}
	}
	t.Logf("%d payloads", n)
}

func TestEverydayCommands(t *testing.T) {
	b := newBench(t, nil)
	n, listed, unreadable := 0, 0, 0
	why := map[string]int{}
	for s := openShared(t, "everyday-commands.jsonl"); s.Scan(); {
		var row struct{ OS, Name, What, Cmd string }
		if err := json.Unmarshal(s.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		n++
		v := b.judgeText(row.Cmd)
		switch {
		case v.Listed:
			listed++
			if testing.Verbose() {
				t.Logf("LISTED %s", row.Cmd)
			}
		case v.Refused != nil:
			unreadable++
			if testing.Verbose() {
				t.Logf("REFUSED %s %v", row.Cmd, v.Refused)
			}
		default:
			if testing.Verbose() {
				t.Logf("ASK %s # %s", row.Cmd, strings.Join(v.Why, "; "))
			}
			for _, w := range v.Why {
				why[w]++
			}
		}
		if !utf8.ValidString(row.Cmd) {
			t.Error("the command is not valid UTF-8")
		}
	}
	t.Logf("of %d everyday commands %d run without approval, %d are refused", n, listed, unreadable)
}
