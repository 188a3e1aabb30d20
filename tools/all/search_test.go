package all

import (
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"text/template"

	"hob/tools"
	"hob/tools/a2a"
	"hob/tools/crew"
	"hob/tools/memory"
	"hob/tools/toolstest"
)

//go:embed testdata/tools-search.md.tmpl
var searchPage string

var update = flag.Bool("update", false, "write docs/tools-search.md")

// enough is the share of requests for which a correct tool must be among the first five results.
const enough = 0.95

// TestRecall measures the search with labeled requests, over a fixture of tools and over the
// current catalog. A new tool needs search words and lines in testdata/search.txt. `go test
// ./tools/all -run TestRecall -update` writes the figures to docs/tools-search.md.
func TestRecall(t *testing.T) {
	fixture := newCatalog(t, toolstest.Fixture(t, "../testdata/search/specs.txt"))
	documents := memory.Tools(memory.Deps{Documents: unusedDocuments{}})
	documents = slices.DeleteFunc(documents, func(x tools.Tool) bool { return x.Spec().Name != "ingest_document" })
	real := newCatalog(t, slices.Concat(openEnv(t).Tools, documents, crew.Tools(nil, nil), a2a.New(a2a.Options{LocalNames: []string{"coder"}}).Tools()))
	page := map[string]any{"Fixture": len(fixture.All()), "Real": len(real.All())}
	for _, set := range []struct {
		name, file string
		c          *tools.Catalog
		least      float64
	}{
		{"Development", "../testdata/search/development.txt", fixture, enough},
		{"HeldOut", "../testdata/search/heldout.txt", fixture, 0.9}, // not used to tune the search, so it reveals overfitting
		{"Own", "testdata/search.txt", real, enough},
		{"Office", "testdata/office.txt", real, enough},
		{"Fresh", "testdata/fresh.txt", real, enough}, // not used to tune the search
	} {
		rows, missed := toolstest.Measure(set.c, toolstest.Requests(t, set.file))
		table := ""
		for _, r := range rows {
			table += fmt.Sprintf("| %s |\n", r)
		}
		page[set.name] = table
		t.Logf("%s\n%s", set.name, table)
		if all := rows[len(rows)-1]; all.At5() < set.least {
			t.Errorf("%s: a right tool is among the first 5 for %.3f of the requests, want at least %.2f", set.file, all.At5(), set.least)
			for _, m := range missed {
				t.Log(m)
			}
		}
	}
	var b bytes.Buffer
	if err := template.Must(template.New("page").Parse(searchPage)).Execute(&b, page); err != nil {
		t.Fatal(err)
	}
	const file = "../../docs/tools-search.md"
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(file); err != nil || !bytes.Equal(bytes.ReplaceAll(have, []byte("\r\n"), []byte("\n")), b.Bytes()) {
		t.Errorf("%s is out of date (%v); run `go test ./tools/all -run TestRecall -update`", file, err)
	}
}

// unusedDocuments makes memory.Tools include ingest_document.
type unusedDocuments struct{ memory.Documents }

func newCatalog(t *testing.T, list []tools.Tool) *tools.Catalog {
	t.Helper()
	c, err := tools.NewCatalog(list...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
