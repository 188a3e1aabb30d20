package tools

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
)

// ErrAmbiguous is wrapped by the error of Pick if several items match.
var ErrAmbiguous = errors.New("several match")

// listed is the maximum number of candidates in an error of Pick.
const listed = 6

// Pick finds the item that the owner or a model names: by its id, four or more characters at the
// start of its id, its title, or words of its title. noun is the term for an item ("open task").
// key returns the id and title of an item. If no item matches, the error is NotFound and names
// similar titles. If several items match, the error is InvalidArguments, lists the items and wraps
// ErrAmbiguous.
func Pick[T any](noun, query string, list []T, key func(T) (id, title string)) (T, error) {
	var zero T
	query = strings.TrimSpace(query)
	if query == "" {
		return zero, Errorf(InvalidArguments, "name the %s by its id or by words of its text", Clean(noun))
	}
	if len(list) == 0 {
		return zero, Errorf(NotFound, "there is no %s", Clean(noun))
	}
	for _, match := range []func(id, title string) bool{
		func(id, _ string) bool { return id == query },
		func(id, _ string) bool { return len(query) >= 4 && strings.HasPrefix(id, strings.ToLower(query)) },
		func(_, title string) bool { return textnorm.EqualFolded(title, query) },
		wordMatch(noun, query),
	} {
		var found []T
		for _, it := range list {
			if match(key(it)) {
				found = append(found, it)
			}
		}
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return zero, ambiguousError(noun, query, found, key)
		}
	}
	return zero, notFoundError(noun, query, list, key)
}

// wordMatch returns a predicate for titles that contain every significant word of the query.
func wordMatch(noun, query string) func(id, title string) bool {
	skip := textnorm.FoldedWords(noun)
	var want []string
	for _, w := range textnorm.FoldedWords(query) {
		if !small[w] && !slices.Contains(skip, w) {
			want = append(want, w)
		}
	}
	return func(_, title string) bool {
		have := textnorm.FoldedWords(title)
		for _, w := range want {
			if !slices.ContainsFunc(have, func(h string) bool { return sameWord(h, w) }) {
				return false
			}
		}
		return len(want) > 0
	}
}

// words that are too common to identify an item
var small = map[string]bool{
	"the": true, "a": true, "an": true, "my": true, "our": true, "to": true, "about": true, "for": true, "of": true, "on": true,
	"in": true, "at": true, "with": true, "and": true, "that": true, "this": true, "it": true, "is": true, "me": true, "one": true,
}

func sameWord(have, want string) bool {
	return have == want || (len(want) >= 3 && strings.HasPrefix(have, want)) || stemEnglish(have) == stemEnglish(want)
}

func ambiguousError[T any](noun, query string, found []T, key func(T) (id, title string)) error {
	var b strings.Builder
	for i, it := range found {
		if i == listed {
			fmt.Fprintf(&b, "\n- and %d more", len(found)-listed)
			break
		}
		id, title := key(it)
		fmt.Fprintf(&b, "\n- %s (%s)", textnorm.Ellipsize(title, 80), id)
	}
	return Errorf(InvalidArguments, "%w: %d %ss match %q; name one by its id or by more words:%s",
		CleanErr(ErrAmbiguous), len(found), Clean(noun), Clean(query), Clean(b.String()))
}

func notFoundError[T any](noun, query string, list []T, key func(T) (id, title string)) error {
	type rated struct {
		title string
		score float64
	}
	var near []rated
	for _, it := range list {
		_, title := key(it)
		if s := textnorm.Similar(title, query); s > 0.15 {
			near = append(near, rated{textnorm.Ellipsize(title, 80), s})
		}
	}
	sorting.StableByFunc(near, func(p, q rated) int {
		switch {
		case p.score > q.score:
			return -1
		case p.score < q.score:
			return 1
		}
		return 0
	})
	var names []string
	for _, n := range near[:min(3, len(near))] {
		names = append(names, `"`+n.title+`"`)
	}
	if len(names) == 0 {
		return Errorf(NotFound, "no %s matches %q", Clean(noun), Clean(query))
	}
	return Errorf(NotFound, "no %s matches %q; the closest: %s", Clean(noun), Clean(query), Clean(strings.Join(names, ", ")))
}
