package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/platform/provenance"
)

func TestGuide(t *testing.T) {
	home := t.TempDir()
	docs := filepath.Join(home, "Documents")
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, from string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(home, from)); err != nil {
			t.Skip("symbolic links are not available")
		}
	}
	put("AGENTS.md", "beyond the allowed folder")
	put("Documents/AGENTS.md", "of all documents")
	put("Documents/repo/.git/HEAD", "ref")
	put("Documents/repo/AGENTS.md", "of the repository")
	put("Documents/repo/deep/er/main.go", "package main")
	put("Documents/repo/own/AGENTS.md", "of a part")
	put("Documents/repo/own/x/y.go", "package x")
	put("Documents/bare/.git/HEAD", "ref")
	put("Documents/bare/main.go", "package main")
	put("Documents/plain/a.txt", "a")
	put("Documents/trusted/AGENTS.md", "from the owner")
	put("Documents/empty/AGENTS.md", " \n")
	put("Documents/long/AGENTS.md", strings.Repeat("a line of it\n", 5000))
	put("Documents/binary/AGENTS.md", "\x00\x01\x02")
	put("Documents/"+strings.Repeat("d/", 30)+"f", "far down")
	put("Documents/outward/.git/HEAD", "ref")
	put("Documents/loop/.git/HEAD", "ref")
	link(filepath.Join(home, "AGENTS.md"), "Documents/outward/AGENTS.md")
	link("AGENTS.md", "Documents/loop/AGENTS.md")
	link("loop2", "Documents/loop2")
	f, err := New(Options{Home: home, Allowed: []string{docs}, Trusted: []string{filepath.Join(docs, "trusted")}})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, path, want string }{
		{"the repository's", "~/Documents/repo/deep/er/main.go", "of the repository"},
		{"the nearest file takes precedence", "~/Documents/repo/own/x/y.go", "of a part"},
		{"a folder itself", "~/Documents/repo/own", "of a part"},
		{"a file that does not exist yet", "~/Documents/repo/own/new/z.go", "of a part"},
		{"not above the repository", "~/Documents/bare/main.go", ""},
		{"outside of repositories", "~/Documents/plain/a.txt", "of all documents"},
		{"never above the allowed folder", "~/Documents", "of all documents"},
		{"not allowed", "~/elsewhere/x", ""},
		{"dots", "~/Documents/repo/../../x", ""},
		{"20 levels and no more", "~/Documents/" + strings.Repeat("d/", 30) + "f", ""},
		{"an empty file counts as missing", "~/Documents/empty", ""},
		{"a link that leads out", "~/Documents/outward/x", ""},
		{"a link to itself", "~/Documents/loop/x", ""},
		{"a path through a loop", "~/Documents/loop2/x", ""},
		{"not a text", "~/Documents/binary/x", ""},
		{"nonsense", "\x00", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			if tt.name == "an empty file counts as missing" || tt.name == "not a text" {
				want = "of all documents"
			}
			g, ok, err := f.Guide(tt.path)
			if err != nil || g.Text != want || ok != (want != "") {
				t.Errorf("Guide = %+v, %v, %v", g, ok, err)
			}
			if ok && g.Source != provenance.Outside {
				t.Errorf("source of the guide = %q", g.Source)
			}
		})
	}
	g, _, err := f.Guide("~/Documents/trusted/x")
	if err != nil || g.Source != provenance.Owner || !strings.HasSuffix(g.Path, filepath.Join("trusted", "AGENTS.md")) {
		t.Errorf("Guide = %+v, %v", g, err)
	}
	g, _, err = f.Guide("~/Documents/long")
	if err != nil || len(g.Text) > guideBytes+100 || !strings.Contains(g.Text, "goes on") {
		t.Errorf("%d bytes, %v", len(g.Text), err)
	}
	put("Documents/repo/AGENTS.md", "of the Repository")
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(docs, "repo", "AGENTS.md"), later, later); err != nil {
		t.Fatal(err)
	}
	if g, _, err := f.Guide("~/Documents/repo"); err != nil || g.Text != "of the Repository" {
		t.Errorf("guide after an edit = %+v, %v", g, err)
	}
}
