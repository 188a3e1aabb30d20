package repo

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// updateTestNames records the current numbers, unless their sum has risen.
var updateTestNames = flag.Bool("update-testnames", false, "record the numbers of testdata/testnames.tsv")

const testNamesFile = "testdata/testnames.tsv"

// TestLanguageOfTestHelpers is a ratchet as TestLanguageFigures, for the helpers of tests: in no package
// may the number of functions with a name of one word rise, and a new package starts at 0.
func TestLanguageOfTestHelpers(t *testing.T) {
	now, found := map[string]int{}, map[string][]string{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "bin" || e.Name() == "testdata" || strings.HasPrefix(e.Name(), ".") && path != root):
			return fs.SkipDir
		case e.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := moduleDir(path)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && isOneWord(f.Name.Name) {
				now[dir]++
				found[dir] = append(found[dir], f.Name.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	recorded, before, after := map[string]int{}, 0, 0
	text, err := os.ReadFile(testNamesFile)
	if err != nil && !*updateTestNames {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var dir string
		var n int
		if _, err := fmt.Sscan(line, &dir, &n); err == nil {
			recorded[dir] = n
			before += n
		}
	}
	var out strings.Builder
	for _, dir := range slices.Sorted(maps.Keys(now)) {
		after += now[dir]
		fmt.Fprintf(&out, "%s\t%d\n", dir, now[dir])
		if now[dir] > recorded[dir] && !*updateTestNames {
			t.Errorf("%s: %d helpers of tests with a name of one word, want at most %d; give the new one a verb phrase, or record moved code with -update-testnames: %s",
				dir, now[dir], recorded[dir], strings.Join(found[dir], ", "))
		}
	}
	if !*updateTestNames {
		return
	}
	if len(text) > 0 && after > before {
		t.Fatalf("not recorded, because the sum has risen from %d to %d", before, after)
	}
	if err := os.WriteFile(testNamesFile, []byte(out.String()), 0o644); err != nil { //nolint:gosec // part of the sources
		t.Fatal(err)
	}
}
