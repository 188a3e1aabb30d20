package page

import (
	"context"
	"fmt"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

// Limits of the search for a part of a page. Some selectors check all elements before an element,
// and descendant selectors check all its ancestors.
const (
	maxElements = 50_000
	maxDepth    = 128
)

// finder finds elements in an untrusted page, which its author may have made slow to search.
type finder struct {
	want  cascadia.SelectorGroup
	seen  int
	depth int
}

// findIn appends the matching elements in n to found, except elements inside another match.
func (f *finder) findIn(ctx context.Context, n *html.Node, found []*html.Node) (_ []*html.Node, err error) {
	if f.depth++; f.depth > maxDepth {
		return nil, fmt.Errorf("find part of the page: elements are nested more than %d deep", maxDepth)
	}
	defer func() { f.depth-- }()
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if f.seen++; f.seen > maxElements {
			return nil, fmt.Errorf("find part of the page: the page has more than %d elements", maxElements)
		}
		if f.want.Match(c) {
			found = append(found, c)
		} else if found, err = f.findIn(ctx, c, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}
