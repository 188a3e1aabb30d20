package command

import (
	"errors"
	stdflag "flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "embed"
)

var updateFigures = stdflag.Bool("update", false, "write the figures into docs/commands.md")

//go:embed testdata/everyday.txt
var everyday string

// everydayCommands returns the commands of the list, one per line.
func everydayCommands() []string {
	var out []string
	for line := range strings.Lines(everyday) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			out = append(out, line)
		}
	}
	return out
}

// newEverydayHome returns a home with the files that the list of everyday commands names.
func newEverydayHome(t *testing.T) *bench {
	t.Helper()
	onUnix(t)
	b := newBench(t, nil)
	for name, text := range map[string]string{
		"notes.txt": "one word\ntwo words here\nthe third line is somewhat longer than the others\n", "todo.md": "- [ ] word\n", "my file.txt": "x\n", "report.csv": "name,city,sum\nann,Bonn,3\nbob,Rome,4\n",
		"data.json": `{"a":1,"items":[{"name":"x"}]}`, "server.log": "12:00 start\n12:01 ERROR no disk\n12:02 end\n", "names.txt": "ann\nann\nbob\n", "numbers.txt": "1\n2\n3\n", "photo.jpg": "\xff\xd8\xff\xe0 some bytes",
		"project/README.md": "# a project\n", "project/src/main.py": "# TODO\n", "project/doc/main.py": "# done\n",
	} {
		b.putFile(t, "Documents/"+name, text)
	}
	for _, args := range [][]string{
		{"tar", "czf", "backup.tar.gz", "notes.txt", "project"},
		{"python3", "-c", "import zipfile; zipfile.ZipFile('archive.zip', 'w').write('notes.txt')"},
		{"gzip", "-k", "server.log"},
		{"git", "-C", "project", "init", "-q"},
		{"git", "-C", "project", "add", "README.md"},
		{"git", "-C", "project", "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "first"},
		{"git", "-C", "project", "add", "src"},
		{"git", "-C", "project", "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "second"},
	} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir, cmd.Env = b.docs, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("%s: %v: %s", args, err, out)
		}
	}
	return b
}

// isMissing reports whether a program of a command is not installed on this machine.
func (b *bench) isMissing(text string) bool {
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("|&; ", r) }) {
		if e := b.judge.table().entries[w]; e != nil && b.judge.findProgram("/", w).path == "" {
			return true
		}
	}
	return false
}

// TestTwoHundredEverydayCommands counts which of the commands run without approval, and checks
// their results in each sandbox of this machine and with files that Hob opens. -update writes the
// figures into docs/commands.md.
func TestTwoHundredEverydayCommands(t *testing.T) {
	b := newEverydayHome(t)
	list := everydayCommands()
	boxes := []sandbox{{kind: "bubblewrap"}, {kind: "landlock"}, {missing: "none"}}
	counts, asked := make([]int, len(boxes)), make([][]string, len(boxes))
	here := 0
	for _, text := range list {
		if b.isMissing(text) {
			t.Logf("a program of %q is not installed", text)
			continue
		}
		here++
		v := b.judgeText(text)
		if v.Refused != nil {
			t.Errorf("%q is refused: %v", text, v.Refused)
		}
		for i, box := range boxes {
			if v.Within(box).Listed {
				counts[i]++
			} else {
				asked[i] = append(asked[i], text)
			}
		}
	}
	if len(list) < 200 || counts[0]*100 < 85*here || counts[1]*100 < 85*here {
		t.Errorf("of %d commands %d run without approval with bubblewrap, %d with Landlock; approval is needed with bubblewrap for %q, with Landlock for %q", here, counts[0], counts[1], asked[0], asked[1])
	}
	t.Logf("of %d commands run without a question: %d with bubblewrap, %d with Landlock, %d without a sandbox; with Landlock are asked: %s; without a sandbox: %s",
		here, counts[0], counts[1], counts[2], strings.Join(asked[1], " · "), strings.Join(asked[2], " · "))
	if *updateFigures {
		fatalIf(t, here != len(list), "a program of the list is not installed")
		writeFigures(t, fmt.Sprintf("| commands | with bubblewrap | with Landlock | without a sandbox |\n|---|---|---|---|\n| %d | %d | %d | %d |\n", here, counts[0], counts[1], counts[2]))
	}
}

// Commands that run without approval print the same output as in Bash.
func TestEverydayCommandsDoWhatBashDoes(t *testing.T) {
	b := newEverydayHome(t)
	runners := map[string]*Runner{"without a sandbox": b.newRunner(t, Off)}
	if r := b.bubblewrapRunner(t); r != nil {
		runners["bubblewrap"] = r
	}
	step := 8
	if os.Getenv("HOB_TEST_LONG") != "" {
		step = 1
	}
	list := everydayCommands()
	for i := 0; i < len(list); i += step {
		text := list[i]
		// the output differs between runs or sandboxes
		changes := strings.HasPrefix(text, "ps") || strings.ContainsAny(text[:1], "w") || strings.Contains(text, "/proc/")
		for _, word := range []string{"date", "df", "uptime", "free", "env", "lsblk", "top", "pgrep", "hostname", "shuf", "ls -l", "id", "lscpu", "users", "du "} {
			changes = changes || strings.HasPrefix(text, word)
		}
		if b.isMissing(text) {
			continue
		}
		bash := exec.CommandContext(t.Context(), "bash", "--norc", "-c", text)
		bash.Dir, bash.Env = b.docs, b.judge.commandEnviron(t.TempDir())
		want, err := bash.Output()
		status := statusOf(err)
		for kind, r := range runners {
			v := b.judgeText(text).Within(r.Sandbox(t.Context()))
			if !v.Listed {
				continue
			}
			out, err := r.Run(t.Context(), v.Plan, time.Minute, func(int64) {})
			if err != nil || out.Status != status && !changes || !changes && !sameText(out.Output, string(want)) {
				t.Errorf("%s: %q ended with %d (%v), Bash with %d:\n%s\nwant\n%s", kind, text, out.Status, err, status, out.Output, want)
			}
		}
	}
}

// sameText compares two outputs. It ignores the names of files that Hob opened, and the order of
// search results.
func sameText(got, want string) bool {
	return got == stripTerminalCodes(want) || strings.Contains(got, "/dev/") || len(strings.Fields(got)) == len(strings.Fields(want)) || strings.HasPrefix(want, strings.TrimSpace(got))
}

func fatalIf(t *testing.T, wrong bool, text string) {
	t.Helper()
	if wrong {
		t.Fatal(text)
	}
}

// writeFigures puts a table into docs/commands.md.
func writeFigures(t *testing.T, table string) {
	t.Helper()
	const begin, end = "<!-- everyday -->\n", "<!-- end -->"
	path := filepath.Join("..", "..", "docs", "commands.md")
	raw, err := os.ReadFile(path)
	fatalIf(t, err != nil, fmt.Sprint(err))
	head, rest, ok := strings.Cut(string(raw), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	fatalIf(t, !ok || !ok2, "docs/commands.md has no place for the figures")
	if err := errors.Join(os.WriteFile(path, []byte(head+begin+table+end+tail), 0o644)); err != nil {
		t.Fatal(err)
	}
}
