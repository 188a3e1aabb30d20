package tools

import (
	"cmp"
	"slices"
	"strings"

	"hob/platform/text/sorting"
)

// Category is a group of tools. Its name is the name of its folder.
type Category struct {
	Name  string
	Tools []Tool // sorted by name
}

// Categories returns all categories, sorted by name.
func (c *Catalog) Categories() []Category {
	var out []Category
	for _, t := range c.All() {
		name := t.Spec().Category
		i, ok := slices.BinarySearchFunc(out, name, func(c Category, name string) int { return strings.Compare(c.Name, name) })
		if !ok {
			out = slices.Insert(out, i, Category{Name: name})
		}
		out[i].Tools = append(out[i].Tools, t)
	}
	return out
}

// asking lists words that occur in requests for a list of tools but do not name a category.
const asking = " all list show every which everything available category categories overview possible capabilities able use "

// MatchCategory returns the category that the complete request is about, as in "what can you do
// with files?". It returns all categories if the request names none ("what can you do?"), and none
// if the request contains other words.
func (c *Catalog) MatchCategory(query string) []Category {
	var left []string
	for _, w := range splitWords(query) {
		if !strings.Contains(asking, " "+w+" ") && !defaultSynonyms().isStopWord(w) {
			left = append(left, stemEnglish(w))
		}
	}
	if len(left) > 1 {
		return nil
	}
	if len(left) == 0 {
		if len(splitWords(query)) == 0 {
			return nil // the request contains an unknown word
		}
		return c.Categories()
	}
	for _, k := range c.Categories() {
		if stemEnglish(k.Name) == left[0] {
			return []Category{k}
		}
	}
	return nil
}

// Nearest returns all categories, the most similar first. It compares the names of their tools with
// the words of a request that matches no tool.
func (c *Catalog) Nearest(query string) []Category {
	out := c.Categories()
	asked := letterPairs(query)
	near := map[string]int{}
	for _, k := range out {
		have := letterPairs(k.Name)
		for _, t := range k.Tools {
			for p := range letterPairs(t.Spec().Name) {
				have[p] = true
			}
		}
		for p := range asked {
			if have[p] {
				near[k.Name]++
			}
		}
	}
	sorting.StableByFunc(out, func(a, b Category) int { return cmp.Compare(near[b.Name], near[a.Name]) })
	return out
}

// letterPairs returns the pairs of adjacent letters in the words of s.
func letterPairs(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range splitWords(s) {
		r := []rune(w)
		for i := range len(r) - 1 {
			out[string(r[i:i+2])] = true
		}
	}
	return out
}
