package graphdraw

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func plainLabel(_ Node, s string) string { return s }

func buildFamily() Graph {
	return Graph{
		Nodes: []Node{{"a", "Ana Novak", "person"}, {"b", "Ben", "person"}, {"i", "Initech", "organisation"}, {"l", "Ljubljana", "place"}, {"x", "Bike <b>&\"", "thing"}},
		Edges: []Edge{{"a", "works at", "i"}, {"i", "is in", "l"}, {"a", "is sister of", "b"}, {"b", "is brother of", "a"}, {"b", "owns", "x"}, {"a", "lives in", "l"}, {"a", "knows", "nobody"}, {"a", "trusts", "a"}},
	}
}

func TestTree(t *testing.T) {
	want := `Ana Novak (person)
├─ works at → Initech (organisation)
│  └─ is in → Ljubljana (place)
├─ is sister of → Ben (person)
│  └─ owns → Bike <b>&" (thing)
├─ ← is brother of Ben (person) …
├─ lives in → Ljubljana (place) …
└─ trusts → Ana Novak (person) …
`
	got := buildFamily().Tree("a", plainLabel)
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if all := buildFamily().Tree("", plainLabel); !strings.HasPrefix(all, "Ana Novak") || strings.Count(all, "Bike") != 1 {
		t.Errorf("complete tree:\n%s", all)
	}
	if got := (Graph{}).Tree("", plainLabel) + (Graph{}).Tree("nobody", plainLabel); got != "" {
		t.Errorf("tree of an empty graph = %q", got)
	}
}

func TestDOT(t *testing.T) {
	got := buildFamily().DOT()
	for _, want := range []string{`n0 [label="Ana Novak"`, `n0 -> n2 [label="works at"];`, `label="Bike <b>&\""`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "nobody") {
		t.Error("the tree shows an edge to a missing node")
	}
}

// wellFormed parses a picture as XML and fails on elements that could run code or load resources.
func wellFormed(t *testing.T, svg string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		if e, ok := tok.(xml.StartElement); ok {
			if e.Name.Local == "script" || e.Name.Local == "image" || e.Name.Local == "a" {
				t.Errorf("the SVG contains a %s element", e.Name.Local)
			}
			for _, at := range e.Attr {
				if strings.HasPrefix(at.Name.Local, "on") || at.Name.Local == "href" {
					t.Errorf("the SVG contains the attribute %s=%q", at.Name.Local, at.Value)
				}
			}
		}
	}
}

func TestSVG(t *testing.T) {
	svg := buildFamily().SVG()
	wellFormed(t, svg)
	inline := buildFamily().InlineSVG(`People <&"`)
	wellFormed(t, inline)
	if strings.Contains(inline, "style") || !strings.Contains(inline, `role="img" aria-label="People &lt;&amp;&#34;"`) || !strings.Contains(inline, "Initech") {
		t.Errorf("a page shows %s", inline)
	}
	if svg != buildFamily().SVG() {
		t.Error("two drawings of the same graph differ")
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Error("the SVG contains an invalid coordinate")
	}
	if to := os.Getenv("HOB_PICTURE"); to != "" {
		if err := os.WriteFile(filepath.Clean(to), []byte(buildManyNodes(40).SVG()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func buildManyNodes(n int) Graph {
	g := Graph{}
	kinds := []string{"person", "organisation", "place", "event", "thing"}
	for i := range n {
		g.Nodes = append(g.Nodes, Node{fmt.Sprint(i), strings.Repeat("Name ", 1+i%3) + fmt.Sprint(i), kinds[i%5]})
		if i > 0 && i%7 != 0 {
			g.Edges = append(g.Edges, Edge{fmt.Sprint(i), []string{"knows", "works at", "lives in"}[i%3], fmt.Sprint(i * i % (i/2 + 1))})
		}
	}
	return g
}

// In graphs of any size, few boxes overlap much, and every node has a position.
func TestLayout(t *testing.T) {
	for _, n := range []int{1, 2, 5, 60, 150, 500} {
		g := buildManyNodes(n)
		at := g.layoutNodes()
		over := 0
		for i := range at {
			if math.IsNaN(at[i].x+at[i].y) || at[i].x < margin || at[i].y < margin {
				t.Fatalf("%d: %v", n, at[i])
			}
			for j := range i {
				if math.Abs(at[i].x-at[j].x) < halfWidth(g.Nodes[i])+halfWidth(g.Nodes[j]) && math.Abs(at[i].y-at[j].y) < boxHeight {
					over++
				}
			}
		}
		if over > n/20 {
			t.Errorf("%d nodes: %d boxes overlap others", n, over)
		}
	}
}

func FuzzPicture(f *testing.F) {
	f.Add("Ana", "person", "works <at>", "Initech")
	f.Add("]]>", "\x00", "&amp;", "\u202e")
	f.Add("\uffff\xff\xfe", "\ufffe", "\\\"", "\u0085\u2028")
	f.Fuzz(func(t *testing.T, name, kind, word, other string) {
		g := Graph{Nodes: []Node{{"1", name, kind}, {"2", other, kind}}, Edges: []Edge{{"1", word, "2"}, {"2", word, "2"}}}
		wellFormed(t, g.SVG())
		wellFormed(t, "<p>"+g.InlineSVG(singleLine(name))+"</p>")
		if strings.Count(g.DOT(), "\n") != 9 {
			t.Errorf("unexpected number of lines:\n%s", g.DOT())
		}
		_ = g.Tree("", plainLabel)
	})
}
