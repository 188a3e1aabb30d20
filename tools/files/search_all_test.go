package files

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/platform/host/system/fileindex"
	"hob/platform/provenance"
	"hob/tools"
)

// catalog is a fake Index that returns the results of the test case.
type catalog struct {
	found fileindex.Found
	err   error
	asked []string
}

func (c *catalog) Find(_ context.Context, text string, roots []string) (fileindex.Found, error) {
	c.asked = append([]string{text}, roots...)
	return c.found, c.err
}

// TestSearchAll_IndexOnlyFindsCandidates checks that an index only finds candidates and never decides what
// may be shown.
func TestSearchAll_IndexOnlyFindsCandidates(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	fatalFiles(t, err)
	put := func(name, text string) string {
		path := filepath.Join(home, filepath.FromSlash(name))
		fatalFiles(t, os.MkdirAll(filepath.Dir(path), 0o700))
		fatalFiles(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	in := put("Documents/invoice may.txt", "pay 99")
	inside := put("Documents/letter.txt", "the invoice\n")
	binary := put("Documents/scan.pdf", "%PDF\x00")
	elsewhere := put("Private/invoice.txt", "secret invoice")
	hidden := put("Documents/.cache/invoice.txt", "x")
	key := put("Documents/.ssh/id_invoice", "x")
	repository := put("Documents/node_modules/invoice.txt", "x")
	gone := filepath.Join(home, "Documents", "invoice gone.txt")
	away := filepath.Join(home, "Documents", "invoice away.txt")
	fatalFiles(t, os.Symlink(elsewhere, away))
	twin := filepath.Join(home, "Documents", "twin.bin")
	fatalFiles(t, os.Link(elsewhere, twin))
	all := []string{in, inside, binary, elsewhere, hidden, key, repository, gone, away, twin, home, filepath.Join(home, "Documents")}
	index := &catalog{found: fileindex.Found{Paths: all, By: "Spotlight"}}
	f, err := New(Options{Allowed: []string{filepath.Join(home, "Documents")}, Home: home, Index: index})
	fatalFiles(t, err)
	search := func(args string) (tools.Result, error) {
		return f.searchFiles().Call(t.Context(), tools.Call{Args: json.RawMessage(args)})
	}
	r, err := search(`{"query":"Invoice"}`)
	fatalFiles(t, err)
	want := "3 matches for \"Invoice\" in your folders:\n- ~/Documents/invoice may.txt\n- ~/Documents/letter.txt:1: the invoice\n- ~/Documents/scan.pdf\n"
	if !strings.HasPrefix(r.Text, strings.TrimSuffix(want, "\n")) || !strings.Contains(r.Text, "Found by Spotlight") || r.Source != provenance.Outside {
		t.Errorf("%s\n%s", r.Text, r.Source)
	}
	for _, secret := range []string{"Private", ".ssh", ".cache", "node_modules", "gone", "away", "twin", "secret"} {
		if strings.Contains(r.Text, secret) {
			t.Errorf("the result mentions %s:\n%s", secret, r.Text)
		}
	}
	if strings.Join(index.asked, " ") != "Invoice "+filepath.Join(home, "Documents") {
		t.Errorf("queries of the index = %q", index.asked)
	}
	if r, err = search(`{"query":"invoice","pattern":"*.pdf"}`); err != nil || !strings.HasPrefix(r.Text, "1 match") {
		t.Errorf("%s, %v", r.Text, err)
	}
	for name, ix := range map[string]Index{"none": nil, "one that fails": &catalog{err: errors.New("no")}, "one that has nothing": &catalog{}} {
		t.Run(name, func(t *testing.T) {
			f.opt.Index = ix
			r, err := search(`{"query":"invoice"}`)
			if err != nil || !strings.Contains(r.Text, "- ~/Documents/invoice may.txt\n") || !strings.Contains(r.Text, "letter.txt:1: the invoice") || strings.Contains(r.Text, "ssh") {
				t.Errorf("%s, %v", r.Text, err)
			}
			if r, err := search(`{"query":"zebra"}`); err != nil || !strings.HasPrefix(r.Text, `Nothing in your folders contains "zebra"`) {
				t.Errorf("%s, %v", r.Text, err)
			}
		})
	}
}

func fatalFiles(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestSearchAll_IndexOmitsResults checks that omitted index results do not end the walk, and that a
// file that matches only by another form of a word is not a match.
func TestSearchAll_IndexOmitsResults(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	fatalFiles(t, err)
	var roots, named []string
	for _, dir := range []string{"A", "B"} {
		root := filepath.Join(home, dir)
		roots = append(roots, root)
		fatalFiles(t, os.MkdirAll(root, 0o700))
		fatalFiles(t, os.WriteFile(filepath.Join(root, "plan.md"), []byte("the boat\n"), 0o600))
		fatalFiles(t, os.WriteFile(filepath.Join(root, "other.txt"), []byte("boats\n"), 0o600))
		fatalFiles(t, os.WriteFile(filepath.Join(root, "form.md"), []byte("to sail\n"), 0o600))
		named = append(named, filepath.Join(root, "other.txt"), filepath.Join(root, "form.md"))
	}
	f, err := New(Options{Allowed: roots, Home: home, Index: &catalog{found: fileindex.Found{Paths: named, By: "LocalSearch", Cut: true}}})
	fatalFiles(t, err)
	r, err := f.searchFiles().Call(t.Context(), tools.Call{Args: json.RawMessage(`{"query":"boat","pattern":"*.md"}`)})
	fatalFiles(t, err)
	if want := "2 matches for \"boat\" in your folders:\n- ~/A/plan.md:1: the boat\n- ~/B/plan.md:1: the boat"; r.Text != want {
		t.Errorf("%s", r.Text)
	}
}
