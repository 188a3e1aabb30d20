package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestLinks checks that the targets of all links in the pages exist.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	for _, p := range append(pages, "../../README.md", "../../CONTRIBUTING.md") {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(b), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(p), m[1])); err != nil {
				t.Errorf("%s points to %s: %v", p, m[1], err)
			}
		}
	}
}
