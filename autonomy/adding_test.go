package autonomy_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// insertion adds a line after the first line that contains a text.
type insertion struct{ file, after, line string }

// addition is an extension that a contributor adds: new files, and lines in existing ones.
type addition struct {
	name  string // testdata/adding/NAME.txtar
	lines []insertion
	more  func(t *testing.T, root string) // further new files
	test  []string                        // packages whose tests must pass, conformance suites among them
	run   string                          // -run for these
}

func additions() []addition {
	return []addition{
		{
			name: "channel", test: []string{"./channels/pigeon", "./channels/all"},
			lines: []insertion{
				{"channels/all/all.go", `"hob/channels/notes"`, `	"hob/channels/pigeon"`},
				{"channels/all/all.go", `alexa.Driver{}`, `		pigeon.Driver{},`},
			},
		},
		{
			name: "watcher", test: []string{"./watchers/lines"},
			lines: []insertion{
				{"watchers/all/all.go", `"hob/watchers/github"`, `	"hob/watchers/lines"`},
				{"watchers/all/all.go", `github.New()`, `		lines.New(),`},
			},
		},
		{
			name: "provider", test: []string{"./autonomy/llm/parrot", "./autonomy/llm/all"}, run: "TestConformance|TestDrivers", more: copyChatCompletions,
			lines: []insertion{
				{"autonomy/llm/all/all.go", `"hob/autonomy/llm/openai"`, `	"hob/autonomy/llm/parrot"`},
				{"autonomy/llm/all/all.go", `gemini.Driver{}`, `		parrot.Driver{},`},
			},
		},
		{
			name: "tool", test: []string{"./tools/all"}, run: "TestConformance",
			lines: []insertion{
				{"tools/health/health.go", `d.habitStreak(),`, `		d.countHabits(),`},
				{"tools/all/cases_test.go", `step("habit_streak", ` + "`{}`", "\t\t{Step: step(\"count_habits\", `{}`), Want: \"0 habits are logged.\"},"},
			},
		},
		{
			name: "account", test: []string{"./platform/pim/all"},
			lines: []insertion{
				{"platform/pim/all/all.go", `"hob/platform/pim/imapmail"`, `	"hob/platform/pim/letterbox"`},
				{"platform/pim/all/all.go", `caldav.AddressBooks{}`, `		letterbox.Kind{},`},
			},
		},
		{name: "platform", test: []string{"./platform/host/hostlabel"}},
	}
}

// TestAddingOne adds one driver of each family to a copy of the module, in the places that
// CONTRIBUTING.md names and nowhere else. The copy must build, pass the conformance suites, and
// offer the new drivers to the user.
func TestAddingOne(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a copy of the program")
	}
	root := copyModule(t)
	for _, a := range additions() {
		a.apply(t, root)
	}
	for _, a := range additions() {
		args := append([]string{"test", "-trimpath", "-vet=off", "-ldflags=-s -w", "-run", a.run}, a.test...)
		if out, err := goCommand(t, root, nil, args...); err != nil {
			t.Errorf("%s: %v\n%s", a.name, err, out)
		}
	}
	for _, goos := range []string{"linux", "darwin", "windows", "freebsd"} {
		if out, err := goCommand(t, root, []string{"GOOS=" + goos}, "build", "-trimpath", "./platform/host/hostlabel"); err != nil {
			t.Errorf("%s: %v\n%s", goos, err, out)
		}
	}
	if out, err := goCommand(t, root, nil, "test", "-trimpath", "-vet=off", "-ldflags=-s -w", "-run", "TestDocs", "./cmd/hob", "-update"); err != nil {
		t.Errorf("documentation: %v\n%s", err, out)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "configuration.md"))
	if err != nil {
		t.Error(err)
	}
	for _, want := range []string{"address of the loft", "The letterbox of your loft."} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("docs/configuration.md does not contain %q", want)
		}
	}
	testOffered(t, root)
}

// testOffered runs the program of the copy.
func testOffered(t *testing.T, root string) {
	t.Helper()
	hob := filepath.Join(t.TempDir(), "hob.exe")
	if out, err := goCommand(t, root, nil, "build", "-trimpath", "-ldflags=-s -w", "-o", hob, "./cmd/hob"); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	home := t.TempDir()
	for _, c := range []struct{ args, want string }{
		{"channel list", "posts to your own loft"},
		{"channel add pigeon --untested --set url=https://loft.example/ --secret-from token=env:LOFT", "pigeon is set up"},
		{"config set providers.bird.kind parrot", ""},
		{"account add ada@loft.example --letterbox loft.example:7 --password env:LOFT --untested", "Added the account loft"},
		{"account list", "letters: loft.example:7"},
		{"config check", ""},
		{"watch add --help", "page, github, lines"},
		{"tool call count_habits", "0 habits are logged."},
	} {
		cmd := exec.CommandContext(t.Context(), hob, strings.Fields(c.args)...)
		cmd.Env = append(os.Environ(), "HOB_HOME="+home, "LOFT=played")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("hob %s: %v; want %q in:\n%s", c.args, err, c.want, out)
		}
	}
}

// copyModule copies the module's files to a temporary folder. Its builds use -trimpath, so that
// they share the build cache although the folder is another one each time.
func copyModule(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = ".."
	list, err := cmd.Output()
	if err != nil {
		t.Skipf("not a git checkout: git ls-files: %v", err)
	}
	root := t.TempDir()
	for name := range strings.SplitSeq(strings.Trim(string(list), "\x00"), "\x00") {
		b, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
		if os.IsNotExist(err) {
			continue // deleted in the work tree
		}
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(root, filepath.FromSlash(name)), b)
	}
	return root
}

// apply adds the new files and lines.
func (a addition) apply(t *testing.T, root string) {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "adding", a.name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		writeFile(t, filepath.Join(root, filepath.FromSlash(f.Name)), f.Data)
	}
	if a.more != nil {
		a.more(t, root)
	}
	for _, x := range a.lines {
		path := filepath.Join(root, filepath.FromSlash(x.file))
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(b), "\n")
		i := slices.IndexFunc(lines, func(s string) bool { return strings.Contains(s, x.after) })
		if i < 0 {
			t.Fatalf("%s has no line with %s", x.file, x.after)
		}
		writeFile(t, path, []byte(strings.Join(slices.Insert(lines, i+1, x.line), "\n")))
	}
}

// copyChatCompletions copies the driver of Chat Completions to the new provider, except its
// description.
func copyChatCompletions(t *testing.T, root string) {
	t.Helper()
	from := filepath.Join(root, "autonomy", "llm", "openai")
	list, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		name := f.Name()
		if name == "driver.go" || name == "discovered.go" || f.IsDir() || strings.HasSuffix(name, "_test.go") && name != "conformance_test.go" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(root, "autonomy", "llm", "parrot", name), bytes.Replace(b, []byte("package openai"), []byte("package parrot"), 1))
	}
}

func goCommand(t *testing.T, dir string, env []string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func writeFile(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
