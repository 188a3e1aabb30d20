package page

import (
	"context"
	"fmt"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

// The bounds of a page in which a part is looked for. Some selectors look at all
// that stands before an element, and those of several words at all rows of
// elements around it.
const (
	maxElements = 50_000
	maxDepth    = 128
)

// finder looks for elements in a page that may be made to cost time.
type finder struct {
	want  cascadia.SelectorGroup
	seen  int
	depth int
}

// in adds the elements in n that are wanted; not those that lie in one of them.
func (f *finder) in(ctx context.Context, n *html.Node, found []*html.Node) (_ []*html.Node, err error) {
	if f.depth++; f.depth > maxDepth {
		return nil, fmt.Errorf("the page has elements that lie in each other more than %d deep, too deep to look for a part in it", maxDepth)
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
			return nil, fmt.Errorf("the page has more than %d elements, too many to look for a part in it", maxElements)
		}
		if f.want.Match(c) {
			found = append(found, c)
		} else if found, err = f.in(ctx, c, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}
