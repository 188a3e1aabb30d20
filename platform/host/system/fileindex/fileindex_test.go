package fileindex

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/platform/host/osrun"
	"hob/platform/host/osrun/osruntest"
)

func TestQueries(t *testing.T) {
	if got, want := mdQuery(`a"b*c\d'`), `kMDItemFSName == "*a\"b\*c\\d\'*"cd || kMDItemTextContent == "a\"b\*c\\d\'*"cd`; got != want {
		t.Errorf("mdfind %s", got)
	}
	got := searchSQL(`50%_o'Brien" OR 1=1 --`, `C:\Users\o'x`)
	want := `SELECT TOP 500 System.ItemPathDisplay FROM SystemIndex WHERE SCOPE='file:C:/Users/o''x' AND (System.FileName LIKE '%50[%][_]o''Brien" OR 1=1 --%' OR CONTAINS(System.Search.Contents,'"50%_o''Brien  OR 1=1 --*"'))`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestReadURIs(t *testing.T) {
	out := "\x1b[32mFiles:\x1b[0m\n  \x1b[1mfile:///home/me/a%20b%C3%BC.txt\x1b[0m\n  file://elsewhere/x\n  file://localhost/home/me/c.txt (note)\nnothing: http://x\n"
	if diff := cmp.Diff([]string{"/home/me/a bü.txt", "/home/me/c.txt"}, readURIs([]byte(out))); diff != "" {
		t.Error(diff)
	}
}

func TestPathsBelow(t *testing.T) {
	got := pathsBelow([]string{"/home/me/a", "/home/me/../you/b", "relative", "/home/me/a", "/home/mean", "/home/me", "/home/me/x/../y"}, []string{"/home/me"})
	if diff := cmp.Diff([]string{"/home/me/a", "/home/me/y"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestPrograms checks the arguments of the programs: the search text is always an operand, even if
// it begins with a hyphen.
func TestPrograms(t *testing.T) {
	for program, tc := range map[string]struct {
		says, want string
		paths      []string
	}{
		"localsearch":  {"file:///r/a--x.txt", "search --disable-snippets --disable-color --limit=500 -- --x", []string{"/r/a--x.txt"}},
		"tracker3":     {"file:///r/b", "search --files --disable-snippets --disable-color --limit=500 -- --x", []string{"/r/b"}},
		"baloosearch6": {"/r/c\n/elsewhere\n", "-l 500 -d /r -- --x", []string{"/r/c"}},
		"plocate":      {"/r/d--X\x00/r/--x/other\x00", `-i -0 -l 4000 -- /r/* *--x*`, []string{"/r/d--X"}},
	} {
		t.Run(program, func(t *testing.T) {
			dir := t.TempDir()
			failOnError(t, os.WriteFile(filepath.Join(dir, program), nil, 0o700)) //nolint:gosec // it must be executable
			var ran string
			x := Index{1e10, unixIndex{osrun.Programs{Getenv: func(string) string { return dir }, Output: func(_ context.Context, cmd *exec.Cmd, _ []byte) ([]byte, error) {
				ran = strings.Join(cmd.Args[1:], " ")
				return []byte(tc.says), nil
			}}}}
			f, err := x.Find(t.Context(), "--x", []string{"/r"})
			if err != nil || ran != tc.want {
				t.Errorf("%v, ran %s", err, ran)
			}
			if diff := cmp.Diff(tc.paths, f.Paths); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFind_FallsBack checks that the next program is tried if one fails, and that a missing program is
// not reported as an empty result.
func TestFind_FallsBack(t *testing.T) {
	dir := t.TempDir()
	env := func(string) string { return dir }
	x := Index{1e10, unixIndex{osrun.Programs{Getenv: env, Output: func(_ context.Context, cmd *exec.Cmd, _ []byte) ([]byte, error) {
		if strings.HasSuffix(cmd.Path, "tracker3") {
			return nil, &osrun.Failure{Said: "no miner runs", Err: errors.New("exit status 1")}
		}
		return nil, &osrun.Failure{Err: errors.New("exit status 1")}
	}}}}
	if _, err := x.Find(t.Context(), "x", []string{"/r"}); !errors.Is(err, ErrNone) || !errors.Is(err, osrun.ErrNoProgram) {
		t.Errorf("Find without an index program = %v", err)
	}
	failOnError(t, os.WriteFile(filepath.Join(dir, "tracker3"), nil, 0o700)) //nolint:gosec // it must be executable
	if _, err := x.Find(t.Context(), "x", []string{"/r"}); !errors.Is(err, ErrNone) {
		t.Errorf("failing program: %v", err)
	}
	failOnError(t, os.WriteFile(filepath.Join(dir, "plocate"), nil, 0o700)) //nolint:gosec // it must be executable
	if f, err := x.Find(t.Context(), "x", []string{"/r"}); err != nil || len(f.Paths) != 0 || f.By != "plocate" {
		t.Errorf("Find without a match = %+v, %v", f, err)
	}
}

func TestWindowsSearch(t *testing.T) {
	w := windowsSearch{osrun.NewScripts(osrun.Options{Output: func(_ context.Context, _ *exec.Cmd, in []byte) ([]byte, error) {
		if !strings.HasPrefix(string(in), `{"sql":"SELECT TOP 500 `) {
			t.Errorf("input of the script = %s", in)
		}
		return []byte("\n--hob--\n" + `{"ok":true,"data":{"paths":["/r/a"]}}`), nil
	}})}
	x := Index{1e10, w}
	if f, err := x.Find(t.Context(), "x", []string{"/r"}); err != nil || len(f.Paths) != 1 {
		t.Errorf("Find = %+v, %v", f, err)
	}
	osruntest.Check(t, searchScript())
}

func TestSpotlight(t *testing.T) {
	dir := t.TempDir()
	s := spotlight{osrun.Programs{Getenv: func(string) string { return dir }}}
	x := Index{1e10, s}
	if _, err := os.Stat("/usr/bin/mdfind"); err == nil {
		t.Skip("Spotlight is available on this system")
	}
	if _, err := x.Find(t.Context(), "x", []string{"/r"}); !errors.Is(err, ErrNone) {
		t.Errorf("Find without mdfind = %v", err)
	}
	if diff := cmp.Diff([]string{"/a b", "/c\nd"}, splitNulTerminated([]byte("/a b\x00/c\nd\x00"))); diff != "" {
		t.Error(diff)
	}
}

// TestPlocate uses the real plocate with a private index.
func TestPlocate(t *testing.T) {
	updatedb, err := exec.LookPath("updatedb.plocate")
	if err != nil {
		t.Skip("plocate is not installed")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	failOnError(t, err)
	for _, name := range []string{"Quarterly [draft].txt", "other.txt", "sub/QUARTERLY.pdf"} {
		failOnError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700))
		failOnError(t, os.WriteFile(filepath.Join(root, name), nil, 0o600))
	}
	db := filepath.Join(t.TempDir(), "plocate.db")
	if out, err := exec.CommandContext(t.Context(), updatedb, "-U", root, "-o", db, "-l", "0", "--prunepaths", "", "--prunefs", "").CombinedOutput(); err != nil { //nolint:gosec // a program of the system
		t.Skipf("updatedb: %v: %s", err, out)
	}
	x := &Index{1e10, plocate{osrun.Programs{Output: func(ctx context.Context, cmd *exec.Cmd, in []byte) ([]byte, error) {
		cmd.Args = append([]string{cmd.Args[0], "-d", db}, cmd.Args[1:]...)
		return osrun.Output(ctx, cmd, in)
	}}}}
	for text, want := range map[string]int{"quarterly": 2, "[draft]": 1, "nothing": 0, "*": 0} {
		if f, err := x.Find(t.Context(), text, []string{root}); err != nil || len(f.Paths) != want {
			t.Errorf("%s: Find = %+v, %v", text, f, err)
		}
	}
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
