package offline

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

//go:embed grammar/*.txt
var grammarFiles embed.FS

// intent is one thing the owner can want, with the ways to say it.
type intent struct {
	name     string
	patterns []pattern
	examples []string
	// rank orders readings before their score does; 0 is usual, below it are
	// intents that take what no other understood.
	rank int
	// timed: a time may stand in front of the sentence.
	timed bool
	// dated: a time may stand in front and at the end, for any pattern.
	dated bool
	// verbatim: the words are kept as they are said, so a following sentence is
	// a wish of its own only when it clearly is one.
	verbatim bool
	// again is put before what follows "and" when that is no wish by itself:
	// "spent 5 on tea and 3 on cake".
	again string
	// againWith, when not empty, lists the words such a piece begins with.
	againWith []string
}

// pattern is one way to say an intent.
type pattern struct {
	node
	firsts firsts
}

// grammar is the compiled form of grammar/*.txt, with the builders.
type grammar struct {
	name     string // what the assistant is called
	lex      *lexicon
	intents  []*intent
	build    map[string]builder
	vocab    map[string]bool
	starters map[string]bool // first words of usual wishes
	before   []node          // politeness and names in front
	after    []node          // politeness at the end
	asking   []node          // politeness at the end of what began politely
	edges    []*intent       // what may stand at the ends of a free text
}

// reading is one way to understand a sentence.
type reading struct {
	intent *intent
	score  int
	caps   []capture
	lead   []*span
	s      *sentence
}

// loadGrammar compiles the embedded files; name is how the owner calls Hob.
func loadGrammar(name string) (*grammar, error) {
	lex, err := newLexicon(wordsText)
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(grammarFiles, "grammar/*.txt")
	if err != nil {
		return nil, err
	}
	l := loader{g: &grammar{name: name, lex: lex, build: builders(), vocab: map[string]bool{}, starters: map[string]bool{}}}
	l.c = newCompiler(map[string]string{"hob": callNames(name)}, l.g.vocab)
	for _, step := range []func(string) error{l.macros, l.intents} {
		for _, file := range names {
			if strings.HasSuffix(file, "words.txt") {
				continue
			}
			text, err := fs.ReadFile(grammarFiles, file)
			if err != nil {
				return nil, err
			}
			if err := step(string(text)); err != nil {
				return nil, fmt.Errorf("%s:%w", file, err)
			}
		}
	}
	return l.g, l.check()
}

// check finds intents without a builder, and the reverse.
func (l *loader) check() error {
	named := map[string]bool{}
	for _, in := range l.g.intents {
		named[in.name] = true
		if l.g.build[in.name] == nil {
			return fmt.Errorf("intent %s has no builder", in.name)
		}
	}
	for name := range l.g.build {
		if !named[name] {
			return fmt.Errorf("builder %s has no intent", name)
		}
	}
	return nil
}

// callNames are the words by which the owner may address Hob.
func callNames(name string) string {
	var plain []string
	for _, w := range strings.Fields(strings.ToLower(name)) {
		if !strings.ContainsAny(w, "|()[]{}@=#") {
			plain = append(plain, w)
		}
	}
	if len(plain) == 0 || len(plain) == 1 && plain[0] == "hob" {
		return "hob"
	}
	return "hob|" + strings.Join(plain, " ")
}

// loader reads grammar files. Their names sort macros first.
type loader struct {
	g   *grammar
	c   *compiler
	now *intent
}

// macros takes the lines "@name = alternatives".
func (l *loader) macros(text string) error {
	for line := range strings.Lines(text) {
		if name, body, ok := strings.Cut(line, "="); ok && strings.HasPrefix(name, "@") {
			l.c.macros[strings.TrimSpace(name[1:])] = strings.TrimSpace(body)
		}
	}
	return nil
}

func (l *loader) intents(text string) error {
	l.now = nil
	for n, line := range strings.Split(text, "\n") {
		if i := strings.IndexByte(line, '#'); i >= 0 {
			line = line[:i]
		}
		indented := strings.HasPrefix(line, " ")
		line = strings.TrimSpace(line)
		var err error
		switch {
		case line == "", strings.HasPrefix(line, "@") && !indented:
		case indented:
			err = l.inside(line)
		default:
			err = l.head(line)
		}
		if err != nil {
			return fmt.Errorf("%d: %w", n+1, err)
		}
	}
	return nil
}

func (l *loader) head(line string) error {
	fields := strings.Fields(line)
	if fields[0] != "intent" || len(fields) < 2 {
		return fmt.Errorf("%q is neither a macro nor an intent", line)
	}
	l.now = &intent{name: fields[1]}
	for _, f := range fields[2:] {
		switch f {
		case "timed":
			l.now.timed = true
		case "dated":
			l.now.timed, l.now.dated = true, true
		case "verbatim":
			l.now.verbatim = true
		case "weak":
			l.now.rank = -1
		case "last":
			l.now.rank = -2
		default:
			return fmt.Errorf("unknown flag %q", f)
		}
	}
	switch {
	case strings.HasPrefix(l.now.name, "suffix."), strings.HasPrefix(l.now.name, "prefix."):
		l.g.edges = append(l.g.edges, l.now)
	case !strings.HasPrefix(l.now.name, "polite."):
		l.g.intents = append(l.g.intents, l.now)
	}
	return nil
}

func (l *loader) inside(line string) error {
	if l.now == nil {
		return fmt.Errorf("%q stands outside an intent", line)
	}
	if ex, ok := strings.CutPrefix(line, "> "); ok {
		l.now.examples = append(l.now.examples, ex)
		return nil
	}
	if again, ok := strings.CutPrefix(line, "again "); ok {
		lead, with, _ := strings.Cut(strings.TrimPrefix(again, `"`), `"`)
		l.now.again, l.now.againWith = lead, strings.Fields(with)
		return nil
	}
	n, err := l.c.compile(line)
	if err != nil {
		return err
	}
	switch l.now.name {
	case "polite.before":
		l.g.before = append(l.g.before, n)
	case "polite.after":
		l.g.after = append(l.g.after, n)
	case "polite.asking":
		l.g.asking = append(l.g.asking, n)
	default:
		p := pattern{n, firstsOf(n)}
		l.now.patterns = append(l.now.patterns, p)
		if l.now.rank == 0 {
			maps.Copy(l.g.starters, p.firsts.words)
		}
	}
	return nil
}

// readings lists every intent that accounts for the whole sentence, best first.
func (g *grammar) readings(s *sentence, loose bool) []reading {
	var out []reading
	lead, after := s.lead()
	first, second := s.firstWord(0), s.firstWord(after)
	for _, in := range g.intents {
		var best *reading
		for _, p := range in.patterns {
			if loose || p.firsts.allows(first) {
				best = g.better(best, in, p, s, 0, nil, loose)
			}
			if in.timed && len(lead) > 0 && (loose || p.firsts.allows(second)) {
				best = g.better(best, in, p, s, after, lead, loose)
			}
		}
		if in.dated {
			best = g.undated(best, in, s, loose)
		}
		if best != nil {
			out = append(out, *best)
		}
	}
	slices.SortStableFunc(out, func(a, b reading) int {
		return cmp.Or(cmp.Compare(b.intent.rank, a.intent.rank), cmp.Compare(b.score, a.score))
	})
	return out
}

// undated reads a sentence without the time at its end.
func (g *grammar) undated(best *reading, in *intent, s *sentence, loose bool) *reading {
	from, to, times := s.lift(0, len(s.tokens))
	if len(times) == 0 || from >= to {
		return best
	}
	part := *s
	part.tokens = s.tokens[:to]
	first := part.firstWord(from)
	for _, p := range in.patterns {
		if !loose && !p.firsts.allows(first) {
			continue
		}
		best = g.better(best, in, p, &part, from, times, loose)
	}
	return best
}

func (g *grammar) better(best *reading, in *intent, p pattern, s *sentence, from int, lead []*span, loose bool) *reading {
	r := run{s: s, vocab: g.vocab, loose: loose}
	if !r.try(p.node, from) {
		return best
	}
	score := r.score + 2*len(lead)
	if best != nil && best.score >= score {
		return best
	}
	return &reading{intent: in, score: score, caps: slices.Clone(r.caps), lead: lead, s: s}
}

// peel drops politeness from both ends of a sentence. What only goes with a
// request ("for me", "if you can") is dropped after one, and kept otherwise.
func (g *grammar) peel(s *sentence) {
	g.peelEnd(s, g.after)
	if g.peelFront(s) {
		g.peelEnd(s, g.asking)
		g.peelEnd(s, g.after)
	}
}

func (g *grammar) peelFront(s *sentence) bool {
	polite := false
	for again := true; again; {
		again = false
		for _, p := range g.before {
			r := run{s: s, vocab: g.vocab}
			end := 0
			p.match(&r, 0, func(i int) bool { end = s.skip(i); return end < len(s.tokens) })
			if end > 0 && end < len(s.tokens) {
				s.tokens = s.tokens[end:]
				again, polite = true, true
			}
		}
	}
	return polite
}

func (g *grammar) peelEnd(s *sentence, ends []node) {
	for again := true; again; {
		again = false
		for n := len(s.tokens) - 1; n > 0 && n >= len(s.tokens)-8 && !again; n-- {
			for _, p := range ends {
				if r := (run{s: s, vocab: g.vocab}); s.tokens[n].kind == word && r.try(p, n) {
					s.tokens = s.tokens[:n]
					again = true
					break
				}
			}
		}
	}
}
