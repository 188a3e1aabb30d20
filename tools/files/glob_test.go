package files

import (
	"testing"
	"time"
)

func TestGlob(t *testing.T) {
	tests := []struct {
		pattern, path string
		want          bool
	}{
		{"", "a/b.pdf", true},
		{"*.pdf", "a/b.PDF", true},
		{"*.PDF", "b.pdf", true},
		{".pdf", "b.pdf", true},
		{"*.{pdf,docx}", "x.docx", true},
		{"*.{pdf,docx}", "x.doc", false},
		{"*.pdf, *.txt", "x.txt", true},
		{"report-?.md", "report-1.md", true},
		{"a/*.md", "a/b.md", true},
		{"a/*.md", "a/c/b.md", false},
		{"**/*.md", "a/c/b.md", true},
		{"**/*.md", "b.md", true},
		{"a/**", "a/x/y", true},
		{"**", "a/x/y", true},
		{"{a", "{a", true},
		{"a}", "a}", true},
	}
	for _, tc := range tests {
		g, err := newGlob(tc.pattern)
		if err != nil {
			t.Errorf("%q: %v", tc.pattern, err)
			continue
		}
		if got := g.isMatch(tc.path); got != tc.want {
			t.Errorf("%q matches %q: %v", tc.pattern, tc.path, got)
		}
	}
}

func FuzzGlob(f *testing.F) {
	f.Add("{a,b}{c,d}{e,f}{g,h}{i,j}{k,l}{m,n}", "x/y")
	f.Add("**/**/**/**/**/x", "a/a/a/a/a/a/a/a/a/a")
	f.Add("}{,", "a")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if len(pattern) > 200 || len(path) > 200 {
			return
		}
		start := time.Now()
		if g, err := newGlob(pattern); err == nil {
			if len(g.alts) > maxAlts {
				t.Fatalf("%d alternatives", len(g.alts))
			}
			g.isMatch(path)
		}
		if d := time.Since(start); d > 2*time.Second {
			t.Fatalf("took %s", d)
		}
	})
}
