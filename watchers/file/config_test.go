package file

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePatterns(t *testing.T) {
	for in, want := range map[string][]string{
		"":                  nil,
		"*.pdf":             {"*.pdf"},
		"*.PDF; *.docx,x":   {"*.pdf", "*.docx", "x"},
		"*.{jpg,jpeg,png}":  {"*.jpg", "*.jpeg", "*.png"},
		"{a,b{c,d}}.txt":    {"a.txt", "bc.txt", "bd.txt"},
		"{a,b};{c,d}":       {"a", "b", "c", "d"},
		".pdf":              {"*.pdf", ".pdf"},
		"*.pdf;*.pdf":       {"*.pdf"},
		";,":                nil,
		"CAFE\u0301*":       {"caf\u00e9*"},
		"report [0-9]?.txt": {"report [0-9]?.txt"},
	} {
		got, err := parsePatterns(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", in, d)
		}
	}
	for _, bad := range []string{"a/b", "[", "{a", "a}", "{", strings.Repeat("{a,b}", 8), "*.{a,[}"} {
		if got, err := parsePatterns(bad); err == nil {
			t.Errorf("%q is accepted: %q", bad, got)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		patterns string
		yes, no  []string
	}{
		{
			"",
			[]string{"a", "invoice.pdf", "Straße", "a b", "bad\xff", "x.bak"},
			[]string{".hidden", "a.part", "A.CRDOWNLOAD", "a~", "#a#", "~$doc.docx", ".~lock.x#", ".x.swp", "x.swp", "Thumbs.db", "desktop.ini", "Icon\r", "x.tmp"},
		},
		{"*.pdf", []string{"a.pdf", "A.PDF"}, []string{"a.txt", "a.pdf.part", ".a.pdf", "pdf"}},
		{"*.tmp;.env;*.part", []string{"a.tmp", "a.part", ".env"}, []string{".a.tmp", "a.swp"}},
		{".*", []string{".hidden", ".x.swp"}, []string{"a"}},
		{"*", []string{"a"}, []string{".a", "a.part"}},
		{"*~", []string{"a~"}, []string{"a", ".a~"}},
	} {
		p, err := parsePatterns(c.patterns)
		if err != nil {
			t.Fatal(err)
		}
		s := settings{patterns: p}
		for _, n := range c.yes {
			if !s.matchesName(n) {
				t.Errorf("%q does not match %q", c.patterns, n)
			}
		}
		for _, n := range c.no {
			if s.matchesName(n) {
				t.Errorf("%q matches %q", c.patterns, n)
			}
		}
	}
}

func TestDescribe(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	writeFile(t, filepath.Join(home, "notes.txt"), "")
	for config, want := range map[string]string{
		`{"path":"~"}`: "new files in ~",
		`{"path":"~/Downloads","pattern":"*.pdf"}`:                          "new PDF files in ~/Downloads (not there yet)",
		`{"path":"~","pattern":".pdf"}`:                                     "new PDF files in ~",
		`{"path":"~","pattern":"*.{jpg,png}","recursive":true}`:             "new JPG or PNG files in ~ and the folders below it",
		`{"path":"~","pattern":"invoice*","events":["created","modified"]}`: "new or changed files named invoice* in ~",
		`{"path":"~","events":["created","modified","removed"]}`:            "new, changed or removed files in ~",
		`{"path":"~/notes.txt"}`:                                            "changes to ~/notes.txt",
		`{"path":"Downloads"}`:                                              "files in an unreadable place",
	} {
		if got := New().DescribeConfig(json.RawMessage(config)); got != want {
			t.Errorf("%s: %q, want %q", config, got, want)
		}
	}
}

func TestExpand(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for in, want := range map[string]string{
		"~": home, "~/a/../b": filepath.Join(home, "b"), home + "/x/": filepath.Join(home, "x"), "~other": "", "x": "", "": "",
	} {
		if got, err := expandPath(in); got != want || (want == "") != (err != nil) {
			t.Errorf("expand(%q) = %q, %v", in, got, err)
		}
	}
}

func FuzzConfig(f *testing.F) {
	for _, s := range []string{
		`{"path":"/tmp"}`, `{"path":"~","pattern":"*.{a,b}"}`, `{"path":"/","pattern":"[a-"}`, `{"path":"/proc/self"}`, `{"path":"/tmp","pattern":"{{{{,"}`,
		`{"path":"/tmp","pattern":"\\"}`, "{\"path\":\"/\xff\"}",
	} {
		f.Add(s, "name.pdf")
	}
	f.Fuzz(func(t *testing.T, raw, name string) {
		if text := New().DescribeConfig(json.RawMessage(raw)); strings.ContainsAny(text, "\n\x00") {
			t.Fatalf("Describe = %q", text)
		}
		c, err := New().parseConfig(json.RawMessage(raw))
		if err != nil {
			return
		}
		if !filepath.IsAbs(c.root) {
			t.Fatalf("root %q", c.root)
		}
		c.matchesName(name) // must not panic
	})
}
