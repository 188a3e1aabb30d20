package repo

import (
	"bufio"
	"flag"
	"fmt"
	"go/ast"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// updateLanguage records the current figures, unless a total has increased.
var updateLanguage = flag.Bool("update-language", false, "record the figures of testdata/language.tsv")

const languageFile = "testdata/language.tsv"

// languageFigures counts what makes a package hard to read.
type languageFigures struct {
	oneWord int // functions with an unexported name of one word
	isAre   int // function comments such as "place is the folder"
	phrases int // phrases of testdata/phrases.txt in comments, long strings and Markdown
}

func (f *languageFigures) addFigures(o languageFigures) {
	f.oneWord, f.isAre, f.phrases = f.oneWord+o.oneWord, f.isAre+o.isAre, f.phrases+o.phrases
}

// listWorse lists the figures that are higher than in the record.
func (f languageFigures) listWorse(recorded languageFigures) (out []string) {
	for _, c := range []struct {
		what      string
		now, then int
	}{
		{"functions with a name of one word", f.oneWord, recorded.oneWord},
		{`function comments "x is/are"`, f.isAre, recorded.isAre},
		{"phrases of testdata/phrases.txt", f.phrases, recorded.phrases},
	} {
		if c.now > c.then {
			out = append(out, fmt.Sprintf("%d %s, want at most %d", c.now, c.what, c.then))
		}
	}
	return out
}

// TestLanguageFigures is a ratchet: in no package may a figure rise, and a new package starts at 0.
// After moving code between packages, or to lock in an improvement, run it with -update-language.
func TestLanguageFigures(t *testing.T) {
	phrases := readPhrases(t)
	now := map[string]*languageFigures{}
	found := map[string][]string{} // locations of the counted items, by package
	in := func(dir string) *languageFigures {
		if now[dir] == nil {
			now[dir] = &languageFigures{}
		}
		return now[dir]
	}
	count := func(dir, text string) {
		text = strings.ToLower(text)
		for _, hit := range phrases.FindAllStringIndex(text, -1) {
			in(dir).phrases++
			found[dir] = append(found[dir], fmt.Sprintf("%q in %q", text[hit[0]:hit[1]], text[max(0, hit[0]-40):min(len(text), hit[1]+40)]))
		}
	}
	inspectSources(t, func(dir string, file *ast.File) {
		for _, c := range file.Comments {
			count(dir, c.Text())
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.BasicLit:
				if len(x.Value) > 22 {
					count(dir, x.Value)
				}
			case *ast.FuncDecl:
				if isOneWord(x.Name.Name) {
					in(dir).oneWord++
					found[dir] = append(found[dir], "function "+x.Name.Name)
				}
				if verb := strings.Fields(x.Doc.Text() + " . ."); slices.Contains([]string{"is", "are", "was", "were"}, verb[1]) {
					in(dir).isAre++
					found[dir] = append(found[dir], "comment of "+x.Name.Name)
				}
			}
			return true
		})
	})
	inspectMarkdown(t, count)

	recorded := readLanguageFile(t)
	var total, before languageFigures
	for _, f := range now {
		total.addFigures(*f)
	}
	for _, f := range recorded {
		before.addFigures(f)
	}
	if *updateLanguage {
		if worse := total.listWorse(before); worse != nil {
			t.Fatalf("not recorded, since a total has risen: %s", strings.Join(worse, "; "))
		}
		writeLanguageFile(t, now)
		return
	}
	for dir, f := range now {
		if worse := f.listWorse(recorded[dir]); worse != nil {
			t.Errorf("%s: %s; reword it (testdata/phrases.txt has the replacements), or record moved code with -update-language:\n\t%s",
				dir, strings.Join(worse, "; "), strings.Join(found[dir], "\n\t"))
		}
	}
}

// readPhrases joins the patterns of testdata/phrases.txt.
func readPhrases(t *testing.T) *regexp.Regexp {
	t.Helper()
	text, err := os.ReadFile("testdata/phrases.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		if pattern, _, ok := strings.Cut(line, "\t"); ok && line[0] != '#' {
			all = append(all, strings.ReplaceAll(pattern, " ", `\s+`))
		}
	}
	return regexp.MustCompile(`\b(?:` + strings.Join(all, "|") + `)\b`)
}

// inspectMarkdown visits the Markdown files of the module except reports.
func inspectMarkdown(t *testing.T, visit func(dir, text string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "bin" || e.Name() == "testdata" || e.Name() == "reports" || strings.HasPrefix(e.Name(), ".") && path != root):
			return fs.SkipDir
		case e.IsDir() || !strings.HasSuffix(path, ".md"):
			return nil
		}
		text, err := os.ReadFile(path)
		visit(moduleDir(path), string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func readLanguageFile(t *testing.T) map[string]languageFigures {
	t.Helper()
	file, err := os.Open(languageFile)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	out := map[string]languageFigures{}
	for s := bufio.NewScanner(file); s.Scan(); {
		var dir string
		var f languageFigures
		if n, _ := fmt.Sscan(s.Text(), &dir, &f.oneWord, &f.isAre, &f.phrases); n == 4 {
			out[dir] = f
		}
	}
	return out
}

func writeLanguageFile(t *testing.T, now map[string]*languageFigures) {
	t.Helper()
	var b strings.Builder
	b.WriteString("# package\tone-word functions\tcomments \"x is/are\"\tphrases (packages that are not listed: 0); written by go test ./cmd/hob/internal/repo -run TestLanguageFigures -update-language\n")
	for _, dir := range slices.Sorted(maps.Keys(now)) {
		if f := now[dir]; *f != (languageFigures{}) {
			fmt.Fprintf(&b, "%s\t%d\t%d\t%d\n", dir, f.oneWord, f.isAre, f.phrases)
		}
	}
	if err := os.WriteFile(languageFile, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
