package repo

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestHouseFigures limits figures that show how easy the code is to find and to change. Lower a
// limit when a figure has improved; do not raise a limit.
func TestHouseFigures(t *testing.T) {
	folders, err := os.ReadDir(root + "/platform")
	if err != nil {
		t.Fatal(err)
	}
	if len(folders) > 8 {
		t.Errorf("%d folders directly in platform, want at most 8: group them as docs/architecture.md describes", len(folders))
	}
	functions, oneWord, untyped := 0, 0, 0
	methods := map[string]int{}
	inspectSources(t, func(dir string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.FuncDecl:
				functions++
				if isOneWord(x.Name.Name) {
					oneWord++
				}
				if x.Recv != nil && isMessageFlow(dir) {
					methods[dir+"."+receiverType(x)]++
				}
			case *ast.Ident:
				if dir == "autonomy/api" && x.Name == "any" {
					untyped++
				}
			}
			return true
		})
	})
	if share := float64(oneWord) / float64(functions); share > 0.01 {
		t.Errorf("%d of %d functions have an unexported name of one word (%.1f %%), want at most 1 %%: say what it does and to what", oneWord, functions, 100*share)
	}
	for name, n := range methods {
		if n > maxMethods {
			t.Errorf("%s has %d methods, want at most %d: split it into types with one purpose each", name, n, maxMethods)
		}
	}
	for dir, most := range map[string]int{root + "/cmd/hob/internal/app": 1500, root + "/cmd/hob/internal": 15000} {
		if n := sourceLines(t, dir); n > most {
			t.Errorf("%s has %d lines without tests, want at most %d: move behavior to the package that owns it", dir, n, most)
		}
	}
	if untyped > 0 {
		t.Errorf("autonomy/api uses any %d times: give the value a type", untyped)
	}
}

// sourceLines counts the lines of Go files below a folder that are not tests.
func sourceLines(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		n += bytes.Count(text, []byte("\n"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// maxDocWords is the maximum number of words in the documentation that people write.
const maxDocWords = 35_000

// generatedPages are the pages of docs that the program or a test writes completely.
var generatedPages = []string{"cli.md", "configuration.md", "crash.md", "faults.md", "injection.md", "prompt-cost.md", "tools.md"}

// notWritten matches the parts of a page that do not count: code blocks, parts between two
// comments that a test writes, comments, and the names of tests in docs/incidents.md.
var notWritten = regexp.MustCompile("(?ms)^ *```.*?^ *```$" +
	"|<!-- (?:figures|families|everyday|recorded message flow) -->.*?<!-- end.*?-->" +
	"|<!--.*?-->" +
	"|`Test\\w+` \\([\\w/]+\\)(?:<br>)?")

// TestDocs_StayShort counts the words of README.md, CONTRIBUTING.md, CHANGELOG.md and docs/*.md
// except generatedPages and notWritten. A word is a run of characters without white space that
// contains a letter or a digit. Help texts, setup texts and prompts are not documentation.
func TestDocs_StayShort(t *testing.T) {
	pages, err := filepath.Glob(root + "/docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	total, longest, most := 0, "", 0
	for _, page := range append(pages, root+"/README.md", root+"/CONTRIBUTING.md", root+"/CHANGELOG.md") {
		if slices.Contains(generatedPages, filepath.Base(page)) {
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		words := countWords(string(text))
		total += words
		if words > most {
			longest, most = filepath.Base(page), words
		}
		if testing.Verbose() {
			t.Logf("%5d %s", words, filepath.Base(page))
		}
	}
	t.Logf("%d words, %d pages", total, len(pages)+3-len(generatedPages))
	if total > maxDocWords {
		t.Errorf("the documentation has %d words, want at most %d: shorten or replace text (longest: %s, %d)", total, maxDocWords, longest, most)
	}
}

// countWords counts the words that a person wrote on a page.
func countWords(page string) (n int) {
	for word := range strings.FieldsSeq(notWritten.ReplaceAllString(page, " ")) {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	return n
}

func TestCountWords(t *testing.T) {
	for name, c := range map[string]struct {
		page string
		want int
	}{
		"words, not table bars":   {"| Undo | 2 actions |\n|---|---|", 3},
		"no code block":           {"Run it:\n\n```sh\nhob start\n```\n\nDone.", 3},
		"no indented code block":  {"1. Run it:\n   ```sh\n   hob start\n   ```\n", 3},
		"code in a sentence":      {"Run `hob start` now.", 4},
		"no generated part":       {"Before. <!-- figures -->\n| 1 | 2 |\n<!-- end --> After.", 2},
		"no names of tests":       {"| denied | `TestDenied` (autonomy/guard)<br>`TestAsked` (tools/all) |", 1},
		"text after a code block": {"```\na b\n```\nc\n```\nd\n```\ne", 2},
	} {
		if got := countWords(c.page); got != c.want {
			t.Errorf("%s: countWords(%q) = %d, want %d", name, c.page, got, c.want)
		}
	}
}

// maxMethods is the maximum number of methods of a type of the message flow.
const maxMethods = 40

// isMessageFlow reports whether a package is the loop or one of the stages of the message flow
// (docs/architecture.md).
func isMessageFlow(dir string) bool {
	if dir == "autonomy" { // contains Loop
		return true
	}
	for _, stage := range []string{
		"autonomy/bus", "autonomy/intake", "autonomy/dispatch", "autonomy/turn", "autonomy/commit", "autonomy/delivery",
		"autonomy/commands", "autonomy/approvals",
	} {
		if dir == stage || strings.HasPrefix(dir, stage+"/") {
			return true
		}
	}
	return false
}

// receiverType returns the name of the type of a method.
func receiverType(f *ast.FuncDecl) string {
	t := f.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return "(generic)"
}

// isOneWord reports whether an unexported function name is a single word, such as read.
func isOneWord(name string) bool {
	return name != "main" && name != "init" && name != "_" && !strings.ContainsFunc(name, unicode.IsUpper)
}

// inspectSources parses every source file of the module that is not a test.
func inspectSources(t *testing.T, visit func(dir string, file *ast.File)) {
	t.Helper()
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "bin" || e.Name() == "testdata" || strings.HasPrefix(e.Name(), ".") && path != root):
			return fs.SkipDir
		case e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		visit(moduleDir(path), file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
