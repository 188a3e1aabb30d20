package repo

import (
	"bytes"
	"encoding/json"
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

// addition is an extension that a contributor adds: new files, and lines in existing files.
type addition struct {
	name  string // testdata/adding/NAME.txtar
	lines []insertion
	more  func(*overlay) // adds further new files
	test  []string       // packages whose tests must pass, conformance suites among them
	run   string         // value of -run for these tests
}

func allAdditions() []addition {
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
				{"tools/all/cases_test.go", `newStep("habit_streak", ` + "`{}`", "\t\t{Step: newStep(\"count_habits\", `{}`), Want: \"0 habits are logged.\"},"},
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

// TestAddingOne adds one driver of each family in the places that CONTRIBUTING.md names and nowhere
// else. The module must build with them, pass the conformance suites, and offer the new drivers to
// the user. The additions are an overlay of the build (go help build, -overlay), so that every
// package that they do not change comes from the build cache.
func TestAddingOne(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program several times")
	}
	m := newOverlay(t)
	for _, a := range allAdditions() {
		m.applyAddition(a)
	}
	m.writeList()
	for _, a := range allAdditions() {
		for _, pkg := range a.test {
			if out, err := m.testPackage(pkg, "-test.run="+a.run); err != nil {
				t.Errorf("%s: %s: %v\n%s", a.name, pkg, err, out)
			}
		}
	}
	for _, goos := range []string{"linux", "darwin", "windows", "freebsd"} {
		if out, err := m.runGo([]string{"GOOS=" + goos}, "build", "./platform/host/hostlabel"); err != nil {
			t.Errorf("%s: %v\n%s", goos, err, out)
		}
	}
	m.testDocumented()
	m.testOffered()
}

// testDocumented generates the documentation in a copy of docs and of the drivers' pages.
func (m *overlay) testDocumented() {
	m.t.Helper()
	if err := os.CopyFS(filepath.Join(m.files, "docs"), os.DirFS(filepath.Join(m.root, "docs"))); err != nil {
		m.t.Fatal(err)
	}
	described, err := filepath.Glob(filepath.Join(m.root, "channels", "*", "config.md"))
	if err != nil {
		m.t.Fatal(err)
	}
	for _, path := range described {
		name, err := filepath.Rel(m.root, path)
		if err != nil {
			m.t.Fatal(err)
		}
		m.putFile(filepath.ToSlash(name), m.readFile(filepath.ToSlash(name)))
	}
	if out, err := m.testPackage("./cmd/hob", "-test.run=TestDocs", "-update"); err != nil {
		m.t.Errorf("documentation: %v\n%s", err, out)
	}
	page, err := os.ReadFile(filepath.Join(m.files, "docs", "configuration.md"))
	if err != nil {
		m.t.Error(err)
	}
	for _, want := range []string{"address of the loft", "The letterbox of your loft."} {
		if !bytes.Contains(page, []byte(want)) {
			m.t.Errorf("docs/configuration.md does not contain %q", want)
		}
	}
}

// testOffered runs the program with the new drivers.
func (m *overlay) testOffered() {
	t := m.t
	t.Helper()
	hob := filepath.Join(t.TempDir(), "hob.exe")
	if out, err := m.runGo(nil, "build", "-ldflags=-s -w", "-o", hob, "./cmd/hob"); err != nil {
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
		{"watch add --help", "search, github, lines"},
		{"tool call count_habits", "0 habits are logged."},
	} {
		cmd := exec.CommandContext(t.Context(), hob, strings.Fields(c.args)...)
		cmd.Env = append(os.Environ(), "HOB_HOME="+home, "LOFT=played")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("hob %s: %v; want %q in:\n%s", c.args, err, c.want, out)
		}
	}
}

// overlay holds new and changed files of the module.
type overlay struct {
	t     *testing.T
	root  string            // root folder of the module
	files string            // folder that contains the new and changed files at their paths in the module
	paths map[string]string // path in the module: path in files
}

func newOverlay(t *testing.T) *overlay {
	t.Helper()
	root, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	return &overlay{t: t, root: root, files: t.TempDir(), paths: map[string]string{}}
}

// putFile adds a file, with its path below the root.
func (m *overlay) putFile(name string, content []byte) {
	m.t.Helper()
	path := filepath.Join(m.files, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		m.t.Fatal(err)
	}
	m.paths[filepath.Join(m.root, filepath.FromSlash(name))] = path
}

// readFile returns a file of the module with the changes so far.
func (m *overlay) readFile(name string) []byte {
	m.t.Helper()
	path := filepath.Join(m.root, filepath.FromSlash(name))
	if changed, ok := m.paths[path]; ok {
		path = changed
	}
	b, err := os.ReadFile(path)
	if err != nil {
		m.t.Fatal(err)
	}
	return b
}

// writeList writes the list of the files for -overlay.
func (m *overlay) writeList() {
	m.t.Helper()
	b, err := json.Marshal(map[string]any{"Replace": m.paths})
	if err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.files, "overlay.json"), b, 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// runGo runs a go command with the overlay.
func (m *overlay) runGo(env []string, command string, args ...string) (string, error) {
	cmd := exec.CommandContext(m.t.Context(), "go", append([]string{command, "-overlay", filepath.Join(m.files, "overlay.json")}, args...)...)
	cmd.Dir = m.root
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// testPackage builds the tests of a package and runs them in its folder, or in the overlay's folder if the
// package is new or writes files.
func (m *overlay) testPackage(pkg string, args ...string) (string, error) {
	m.t.Helper()
	program := filepath.Join(m.t.TempDir(), "package.test")
	if out, err := m.runGo(nil, "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", program, pkg); err != nil {
		return out, err
	}
	dir := filepath.Join(m.root, filepath.FromSlash(pkg))
	if _, err := os.Stat(dir); err != nil || slices.Contains(args, "-update") {
		dir = filepath.Join(m.files, filepath.FromSlash(pkg))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			m.t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(m.t.Context(), program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// applyAddition adds the new files and lines.
func (m *overlay) applyAddition(a addition) {
	m.t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "adding", a.name+".txtar"))
	if err != nil {
		m.t.Fatal(err)
	}
	for _, f := range archive.Files {
		m.putFile(f.Name, f.Data)
	}
	if a.more != nil {
		a.more(m)
	}
	for _, x := range a.lines {
		lines := strings.Split(string(m.readFile(x.file)), "\n")
		i := slices.IndexFunc(lines, func(s string) bool { return strings.Contains(s, x.after) })
		if i < 0 {
			m.t.Fatalf("%s has no line with %s", x.file, x.after)
		}
		m.putFile(x.file, []byte(strings.Join(slices.Insert(lines, i+1, x.line), "\n")))
	}
}

// copyChatCompletions copies the driver of Chat Completions to the new provider, except its
// description.
func copyChatCompletions(m *overlay) {
	m.t.Helper()
	const from = "autonomy/llm/openai/"
	list, err := os.ReadDir(filepath.Join(m.root, from))
	if err != nil {
		m.t.Fatal(err)
	}
	for _, f := range list {
		name := f.Name()
		if name == "driver.go" || name == "discovered.go" || f.IsDir() || strings.HasSuffix(name, "_test.go") && name != "conformance_test.go" {
			continue
		}
		m.putFile("autonomy/llm/parrot/"+name, bytes.Replace(m.readFile(from+name), []byte("package openai"), []byte("package parrot"), 1))
	}
}
