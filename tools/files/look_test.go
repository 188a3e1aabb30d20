package files

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/platform/provenance"
	"hob/tools"
)

func TestList(t *testing.T) {
	b := newBench(t, nil)
	b.putFile("Documents/sub/a.PDF", "x")
	b.putFile("Documents/sub/deep/b.pdf", "xx")
	b.putFile("Documents/.hidden", "x")
	b.putFile("Documents/.ssh/id", "x")
	b.putFile("Documents/node_modules/m/c.pdf", "x")
	b.putFile("Documents/cache/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55")
	b.putFile("Documents/cache/d.pdf", "x")
	b.linkFile("/etc", "Documents/link")
	for _, p := range []string{"notes.txt", "sub/a.PDF", "sub/deep/b.pdf"} {
		if err := os.Chtimes(b.filePath("Documents/"+p), now, now); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name string
		args map[string]any
		want string
	}{
		{"plain", map[string]any{"path": "~/Documents"}, "~/Documents: 5 entries\n- cache/\n- link -> /etc\n- node_modules/\n- notes.txt (14 bytes, 2026-03-09)\n- sub/\n" +
			"(Not complete: 1 hidden item was left out; 1 protected item was left out.)"},
		{"pattern", map[string]any{"path": "sub", "pattern": "*.pdf"}, "~/Documents/sub: 1 entry matching *.pdf\n- a.PDF (1 byte, 2026-03-09)"},
		{"recursive", map[string]any{"path": ".", "pattern": "*.pdf", "recursive": true}, "~/Documents: 2 entries matching *.pdf\n- sub/a.PDF (1 byte, 2026-03-09)\n- sub/deep/b.pdf (2 bytes, 2026-03-09)\n" +
			"(Not complete: the content of cache, node_modules was left out; 1 hidden item was left out; 1 protected item was left out.)"},
		{"hidden asked for", map[string]any{"path": ".", "pattern": ".h*"}, "~/Documents: 1 entry matching .h*\n- .hidden (1 byte, "},
		{"nothing", map[string]any{"path": "sub", "pattern": "*.doc"}, "Nothing in ~/Documents/sub matches *.doc."},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			r := b.mustCall("list_directory", tc.args)
			source := provenance.Outside
			if tc.name == "nothing" {
				source = provenance.Tool
			}
			if !strings.HasPrefix(r.Text, tc.want) || r.Source != source {
				t.Errorf("%s\n%s", r.Source, cmp.Diff(tc.want, r.Text))
			}
		})
	}
	if _, err := b.callTool("list_directory", map[string]any{"path": "notes.txt"}); tools.CodeOf(err) != tools.InvalidArguments {
		t.Errorf("a file: %v", err)
	}
	if _, err := b.callTool("list_directory", map[string]any{"path": ".", "pattern": "[a"}); tools.CodeOf(err) != tools.InvalidArguments {
		t.Errorf("a bad pattern: %v", err)
	}
	for i := range maxListed + 5 {
		b.putFile("Documents/many/"+string(rune('a'+i%26))+strings.Repeat("x", i/26)+".txt", "")
	}
	if r := b.mustCall("list_directory", map[string]any{"path": "many"}); !strings.Contains(r.Text, "5 more not shown") {
		t.Errorf("many: %s", r.Text[len(r.Text)-80:])
	}
}

func TestSearch(t *testing.T) {
	b := newBench(t, func(o *Options) { o.MaxFile = 4096 })
	b.putFile("Documents/a/budget.md", "Rent: 900\nFood: 300\n")
	b.putFile("Documents/a/b.txt", strings.Repeat("rent again\n", 7))
	b.putFile("Documents/pic.bin", "rent\x00\x01")
	b.putFile("Documents/big.txt", strings.Repeat("rent ", 1000))
	b.putFile("Documents/.hidden", "rent")
	r := b.mustCall("search_files", map[string]any{"path": "~/Documents", "query": "RENT"})
	want := "6 matches for \"RENT\" in ~/Documents:\n- a/b.txt:1: rent again\n- a/b.txt:2: rent again\n- a/b.txt:3: rent again\n- a/b.txt:4: rent again\n- a/b.txt:5: rent again\n" +
		"- a/budget.md:1: Rent: 900\n" +
		"(Not complete: 1 binary item was left out; 2 further matches in files with more than 5 were left out; 1 hidden item was left out; 1 item larger than 4 KB was left out.)"
	if d := cmp.Diff(want, r.Text); d != "" {
		t.Error(d)
	}
	r = b.mustCall("search_files", map[string]any{"path": ".", "query": "budget", "pattern": "*.md"})
	if d := cmp.Diff("1 match for \"budget\" in ~/Documents:\n- a/budget.md", strings.Split(r.Text, "\n(")[0]); d != "" {
		t.Error(d)
	}
	if r = b.mustCall("search_files", map[string]any{"path": "a", "query": "zebra"}); r.Text != `Nothing in ~/Documents/a contains "zebra" (2 text files searched).` {
		t.Error(r.Text)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := b.by["search_files"].Call(ctx, tools.Call{Args: json.RawMessage(`{"path":".","query":"x"}`), Now: now}); tools.CodeOf(err) != tools.Cancelled {
		t.Errorf("cancelled: %v", err)
	}
}

func TestInspect(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Drop = "~/Documents/Hob"; o.Trusted = []string{"~/Documents/mine"} })
	b.putFile("Documents/repo/.git/HEAD", "x")
	tests := []struct {
		path string
		want Place
	}{
		{"notes.txt", Place{Path: b.filePath("Documents/notes.txt"), Exists: true, Inert: true}},
		{"mine/x.sh", Place{Path: b.filePath("Documents/mine/x.sh"), Trusted: true, Inert: true}},
		{"Hob/report.md", Place{Path: b.filePath("Documents/Hob/report.md"), Drop: true, Inert: true}},
		{"Hob/.x.md", Place{Path: b.filePath("Documents/Hob/.x.md"), Drop: true}},
		{"repo/x.md", Place{Path: b.filePath("Documents/repo/x.md")}},
	}
	for _, tc := range tests {
		got, err := b.f.Inspect(tc.path)
		if d := cmp.Diff(tc.want, got); d != "" || err != nil {
			t.Error(tc.path, err, d)
		}
	}
}

func TestDropFolder_IsCreated(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Allowed = nil; o.Drop = "~/Drop/Hob" })
	if _, err := b.callTool("read_file", map[string]any{"path": "x.txt"}); tools.CodeOf(err) != tools.NotFound || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("read before the file exists = %v", err)
	}
	b.mustCall("write_file", map[string]any{"path": "x.txt", "content": "x"})
	if b.readFile("Drop/Hob/x.txt") != "x" {
		t.Error("the file was not written")
	}
}

// A file in a hidden folder is hidden even if its own name is not; a hidden folder that
// files.allowed names does not count as hidden.
func TestHidden_FileInAHiddenFolder(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Allowed = []string{"~/Documents", "~/.plans"} })
	for rel, want := range map[string]bool{
		"Documents/a.txt": false, "Documents/.a.txt": true, "Documents/.config/app/a.txt": true, "Documents/x/.y/a.txt": true,
		".plans/a.txt": false, ".plans/.old/a.txt": true,
	} {
		b.putFile(rel, "x")
		doc, r, err := b.f.OpenDocument(b.filePath(rel), 10)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		if doc.Hidden != want {
			t.Errorf("%s is hidden: %v", rel, doc.Hidden)
		}
	}
}
