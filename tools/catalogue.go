package tools

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"unicode"
)

// Catalogue holds the tools of this process that can run on this platform.
// It does not change once made and may be used concurrently.
type Catalogue struct {
	all    []Tool // by name
	byName map[string]Tool
	index  bm25
}

// NewCatalogue checks the tools (unique names) and drops those which cannot run
// on this platform.
func NewCatalogue(list ...Tool) (*Catalogue, error) {
	c := &Catalogue{byName: map[string]Tool{}}
	for _, t := range list {
		s := t.Spec()
		if len(s.Platforms) > 0 && !slices.Contains(s.Platforms, runtime.GOOS) {
			continue
		}
		if _, dup := c.byName[s.Name]; dup {
			return nil, fmt.Errorf("tools: two tools are named %q", s.Name)
		}
		if s.Effects == 0 {
			return nil, fmt.Errorf("tools: %q declares no effects", s.Name)
		}
		c.byName[s.Name] = t
		c.all = append(c.all, t)
	}
	slices.SortFunc(c.all, func(a, b Tool) int { return strings.Compare(a.Spec().Name, b.Spec().Name) })
	for _, t := range c.all {
		c.index.add(document(t.Spec()))
	}
	return c, nil
}

// Get finds a tool by its exact name.
func (c *Catalogue) Get(name string) (Tool, bool) {
	t, ok := c.byName[name]
	return t, ok
}

// All returns every tool in order of name; the slice must not be changed.
func (c *Catalogue) All() []Tool { return c.all }

// Core returns the tools offered in every request, in order of name.
func (c *Catalogue) Core() []Tool {
	var out []Tool
	for _, t := range c.all {
		if t.Spec().Core {
			out = append(out, t)
		}
	}
	return out
}

// Search ranks tools for a request in plain words with BM25 over name,
// description, keywords and arguments, and returns at most n of them.
func (c *Catalogue) Search(query string, n int) []Tool {
	var out []Tool
	for _, i := range c.index.search(words(query), n) {
		out = append(out, c.all[i])
	}
	return out
}

// document lists a tool's words; the name counts three times, keywords twice.
func document(s *Spec) []string {
	name := words(s.Name)
	d := slices.Concat(name, name, name, words(s.Description), words(s.Keywords), words(s.Keywords), words(s.Category))
	for _, f := range strings.Split(string(s.Schema), `"`) {
		d = append(d, words(f)...)
	}
	return d
}

// words splits at anything but letters and digits, lower-cases and stems
// lightly, so that "reminders" meets "remind".
func words(s string) []string {
	f := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	out := f[:0]
	for _, w := range f {
		if len(w) > 1 && !stop[w] {
			out = append(out, stem(w))
		}
	}
	return out
}

var stop = map[string]bool{
	"the": true, "and": true, "of": true, "to": true, "in": true, "is": true, "it": true, "for": true, "on": true, "me": true,
	"my": true, "an": true, "or": true, "with": true, "that": true, "this": true, "be": true, "as": true, "at": true, "by": true,
	"type": true, "string": true, "object": true, "properties": true, "required": true, "additionalproperties": true,
	"description": true, "please": true, "can": true, "you": true, "want": true, "what": true, "do": true,
}

func stem(w string) string {
	for _, suf := range []string{"ations", "ation", "ings", "ing", "ers", "er", "ies", "es", "ed", "s", "e", "y"} {
		if strings.HasSuffix(w, suf) && len(w)-len(suf) >= 3 {
			return strings.TrimSuffix(w, suf)
		}
	}
	return w
}

// bm25 is a small in-memory Okapi BM25 index (k1 = 1.2, b = 0.75; Robertson &
// Zaragoza, "The Probabilistic Relevance Framework", 2009).
type bm25 struct {
	tf    []map[string]int
	size  []int
	df    map[string]int
	total int
}

func (x *bm25) add(doc []string) {
	if x.df == nil {
		x.df = map[string]int{}
	}
	tf := map[string]int{}
	for _, w := range doc {
		tf[w]++
	}
	for w := range tf {
		x.df[w]++
	}
	x.tf = append(x.tf, tf)
	x.size = append(x.size, len(doc))
	x.total += len(doc)
}

func (x *bm25) search(query []string, n int) []int {
	const k1, b = 1.2, 0.75
	type hit struct {
		i     int
		score float64
	}
	var hits []hit
	docs := float64(len(x.tf))
	for i, tf := range x.tf {
		var score float64
		for _, w := range query {
			f := float64(tf[w])
			if f == 0 {
				continue
			}
			df := float64(x.df[w])
			idf := math.Log(1 + (docs-df+0.5)/(df+0.5))
			norm := k1 * (1 - b + b*float64(x.size[i])*docs/float64(x.total))
			score += idf * f * (k1 + 1) / (f + norm)
		}
		if score > 0 {
			hits = append(hits, hit{i, score})
		}
	}
	slices.SortStableFunc(hits, func(p, q hit) int {
		switch {
		case p.score > q.score:
			return -1
		case p.score < q.score:
			return 1
		}
		return p.i - q.i
	})
	var out []int
	for _, h := range hits[:min(n, len(hits))] {
		out = append(out, h.i)
	}
	return out
}
