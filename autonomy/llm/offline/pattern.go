package offline

import (
	"fmt"
	"slices"
	"strings"

	"hob/platform/text/sorting"
)

// A pattern is a line in grammar/*.txt:
//
// 	word            the word itself
// 	(a|b c|d)       one of these
// 	[a|b]           one of these, or nothing
// 	@name           the alternatives defined by "@name = ..."
// 	{title}         free text, as short as possible; {title+} as long as possible
// 	{priority=a|b}  one of these, stored under the name
// 	{few_x}         free text with at most four words
// 	{time} {path} {amount} {number} {word} {quote} {link} {repo} {site}
// 	                a time, a file or folder, money, a number, one word, quoted
// 	                text, a web address, a repository, an address or the bare
// 	                name of a site; a name may follow: {path_to}
// 	{clock} {date}  in other languages: a time of day, a date in digits
// 	{of_unit}       one word of the list "unit" in the words
//
// A pattern must match the whole sentence. Punctuation between its pieces is skipped.

// node is one piece of a compiled pattern. It matches tokens starting at i and calls next with each
// possible end, until next accepts.
type node interface {
	matchAt(r *run, i int, next func(int) bool) bool
}

type (
	literal string
	oneOf   []node
	series  []node
	maybe   struct{ node }
	named   struct {
		name string
		node node
	}
	slot struct {
		name   string
		kind   slotKind
		greedy bool
	}
)

type slotKind uint8

const (
	slotText slotKind = iota
	slotFew
	slotTime
	slotPath
	slotAmount
	slotNumber
	slotWord
	slotQuote
	slotLink
	slotRepo
	slotSite
	slotClock
	slotDate
	slotOf
)

func kindOf(name string) slotKind {
	head, _, _ := strings.Cut(name, "_")
	switch head {
	case "few":
		return slotFew
	case "time":
		return slotTime
	case "path":
		return slotPath
	case "amount":
		return slotAmount
	case "number":
		return slotNumber
	case "word":
		return slotWord
	case "quote":
		return slotQuote
	case "link":
		return slotLink
	case "repo":
		return slotRepo
	case "site":
		return slotSite
	case "clock":
		return slotClock
	case "date":
		return slotDate
	case "of":
		return slotOf
	}
	return slotText
}

// addLiterals adds the literals of a pattern to a set.
func addLiterals(n node, set map[string]bool) {
	var inside []node
	switch n := n.(type) {
	case literal:
		set[string(n)] = true
	case oneOf:
		inside = n
	case series:
		inside = n
	case maybe:
		inside = []node{n.node}
	case named:
		inside = []node{n.node}
	}
	for _, part := range inside {
		addLiterals(part, set)
	}
}

// hasLiteral reports whether a pattern contains a literal.
func hasLiteral(n node, text string) bool {
	switch n := n.(type) {
	case literal:
		return string(n) == text
	case oneOf:
		return slices.ContainsFunc(n, func(part node) bool { return hasLiteral(part, text) })
	case series:
		return slices.ContainsFunc(n, func(part node) bool { return hasLiteral(part, text) })
	case maybe:
		return hasLiteral(n.node, text)
	case named:
		return hasLiteral(n.node, text)
	}
	return false
}

// compiler converts pattern text to nodes. A macro is compiled once and shared.
type compiler struct {
	macros map[string]string
	shared map[string]node
	vocab  map[string]bool     // every literal in the patterns, for typo tolerance
	fold   func(string) string // see lexicon.fold
	src    string
	pos    int
	depth  int
}

func newCompiler(macros map[string]string, vocab map[string]bool) *compiler {
	return &compiler{macros: macros, shared: map[string]node{}, vocab: vocab}
}

// compilePattern compiles one pattern.
func (c *compiler) compilePattern(src string) (node, error) {
	outer, at := c.src, c.pos
	c.src, c.pos = src, 0
	defer func() { c.src, c.pos = outer, at }()
	n, err := c.compileAlternatives()
	if err != nil {
		return nil, err
	}
	if c.pos < len(c.src) {
		return nil, fmt.Errorf("unexpected %q at %d in %q", c.src[c.pos], c.pos, c.src)
	}
	return n, nil
}

// compileMacro compiles a reference of the form "@name".
func (c *compiler) compileMacro() (node, error) {
	rest := c.src[c.pos+1:]
	end := strings.IndexFunc(rest, func(r rune) bool { return r < 'a' || r > 'z' })
	if end < 0 {
		end = len(rest)
	}
	name := rest[:end]
	c.pos += 1 + end
	if n, ok := c.shared[name]; ok {
		return n, nil
	}
	body, ok := c.macros[name]
	if !ok {
		return nil, fmt.Errorf("unknown macro @%s", name)
	}
	if c.depth++; c.depth > 8 {
		return nil, fmt.Errorf("macro @%s contains itself", name)
	}
	n, err := c.compilePattern(body)
	c.depth--
	if err == nil {
		c.shared[name] = n
	}
	return n, err
}

func (c *compiler) compileAlternatives() (node, error) {
	var all oneOf
	for {
		s, err := c.compileSequence()
		if err != nil {
			return nil, err
		}
		all = append(all, s)
		if c.pos >= len(c.src) || c.src[c.pos] != '|' {
			break
		}
		c.pos++
	}
	if len(all) == 1 {
		return all[0], nil
	}
	// The first alternative with which the pattern matches is used. Longer alternatives come first,
	// so that "with the text" is not matched as "with".
	sorting.StableByFunc(all, func(a, b node) int { return countPieces(b) - countPieces(a) })
	return all, nil
}

// countPieces counts the pieces of an alternative.
func countPieces(n node) int {
	if s, ok := n.(series); ok {
		return len(s)
	}
	return 1
}

func (c *compiler) compileSequence() (node, error) {
	var seq series
	for c.pos < len(c.src) {
		switch ch := c.src[c.pos]; ch {
		case ' ':
			c.pos++
		case '|', ')', ']', '}':
			return seq, nil
		case '@':
			n, err := c.compileMacro()
			if err != nil {
				return nil, err
			}
			seq = append(seq, n)
		case '(', '[', '{':
			n, err := c.compileBracket(ch)
			if err != nil {
				return nil, err
			}
			seq = append(seq, n)
		default:
			end := len(c.src)
			if i := strings.IndexAny(c.src[c.pos:], " |()[]{}@"); i >= 0 {
				end = c.pos + i
			}
			w := c.src[c.pos:end]
			if c.fold != nil {
				w = c.fold(w)
			}
			c.vocab[w] = true
			seq = append(seq, literal(w))
			c.pos = end
		}
	}
	return seq, nil
}

func (c *compiler) compileBracket(open byte) (node, error) {
	c.pos++
	if open == '{' {
		return c.compileSlot()
	}
	n, err := c.compileAlternatives()
	if err != nil {
		return nil, err
	}
	if err := c.expectClose(map[byte]byte{'(': ')', '[': ']'}[open]); err != nil {
		return nil, err
	}
	if open == '[' {
		return maybe{n}, nil
	}
	return n, nil
}

func (c *compiler) compileSlot() (node, error) {
	end := strings.IndexAny(c.src[c.pos:], "=}")
	if end < 0 {
		return nil, fmt.Errorf("a slot is not closed in %q", c.src)
	}
	name := c.src[c.pos : c.pos+end]
	c.pos += end
	if c.src[c.pos] == '=' {
		c.pos++
		n, err := c.compileAlternatives()
		if err != nil {
			return nil, err
		}
		return named{name, n}, c.expectClose('}')
	}
	plain := strings.TrimSuffix(name, "+")
	return slot{plain, kindOf(plain), plain != name}, c.expectClose('}')
}

func (c *compiler) expectClose(want byte) error {
	if c.pos >= len(c.src) || c.src[c.pos] != want {
		return fmt.Errorf("%q is missing at %d in %q", want, c.pos, c.src)
	}
	c.pos++
	return nil
}
