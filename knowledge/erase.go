package knowledge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/knowledge/store"
	"hob/platform/erase"
	"hob/platform/phrase"
)

// Forgetting is made of the types of package erase. Every package that keeps
// text has an Eraser.
type (
	// Erasure is what is to go.
	Erasure = erase.Erasure
	// Erased counts what went.
	Erased = erase.Erased
	// Eraser takes it out of what one package keeps.
	Eraser = erase.Eraser
	// Scrubber blots phrases out of texts.
	Scrubber = erase.Scrubber
)

// Errors of forgetting.
var (
	ErrTooCommon     = errors.New("too many rows match")
	ErrNoErasure     = errors.New("no such erasure")
	ErrOneOf         = errors.New("give exactly one of id, query and source")
	ErrNothingToGo   = errors.New("nothing matches")
	ErrSourceUnknown = errors.New(`a source is "event:ID", "session:ID", "mail:ID", "file:PATH", "url:URL", "import:NAME" or "browser:all"`)
)

// Forget says what is to be forgotten: exactly one of ID, Query and Source.
type Forget struct {
	// ID names one fact, note, task or other row as a whole.
	ID string `json:"id,omitempty"`
	// Query: facts that hold it, or all of its telling words, go. The text as it
	// stands is replaced wherever else it is kept, unless it is a lone plain word.
	Query string `json:"query,omitempty"`
	// Everything replaces a lone plain word as well.
	Everything bool `json:"everything,omitempty"`
	// Source: everything that came from there, see Doc.Source; besides those
	// "session:ID" is a whole conversation.
	Source string `json:"source,omitempty"`
	// Realm narrows what goes to the memory of one agent and to what is nobody's;
	// the main agent ("") acts for the owner, whose view is EveryRealm.
	Realm      string `json:"-"`
	EveryRealm bool   `json:"-"`
	// Asking is the event whose turn asks.
	Asking string `json:"-"`
}

// narrow reports whether no other memory may be reached.
func (f Forget) narrow() bool { return f.Realm != "" && !f.EveryRealm }

// reaches reports whether a row of a memory may go.
func (f Forget) reaches(kind, realm string) bool {
	return !f.narrow() || realm == f.Realm || realm == "" && !slices.Contains(private, kind)
}

// Going is what an erasure would take, for showing it.
type Going struct {
	Erasure Erasure `json:"-"`
	Facts   []Fact  `json:"facts,omitempty"` // with those that they had replaced
	Docs    []Doc   `json:"docs,omitempty"`  // other rows that go as a whole
	// Within counts the rows of docs, by their kind, in which a phrase is
	// replaced and which stay.
	Within map[string]int `json:"within,omitempty"`
	// Made are rows that were made with the source in view. They stay until they
	// are named.
	Made []Doc `json:"made,omitempty"`
	// Turns and Calls count what goes of conversations.
	Turns int `json:"turns,omitempty"`
	Calls int `json:"calls,omitempty"`

	asking string
	own    []string // calls of the events that go, and those of the turn that asks
	here   bool     // the turn that asks is among what goes
}

// Items is how many things go or change.
func (g Going) Items() int {
	n := len(g.Facts) + len(g.Docs) + g.Turns + g.Calls
	for _, k := range g.Within {
		n += k
	}
	return n
}

// Digest names exactly what goes, so that a yes is bound to it. What was said
// stands for by its events and conversations. What the turn that asks, and the
// yes to it, add to their own conversation is left out: the yes would never fit.
func (g Going) Digest() string {
	e := g.Erasure
	var ids []string
	add := func(kind string, list ...string) {
		for _, id := range list {
			ids = append(ids, kind+":"+id)
		}
	}
	for _, f := range g.Facts {
		add("fact", f.ID)
	}
	for _, d := range g.Docs {
		if d.Kind != KindTurn || !strings.HasPrefix(d.Source, "event:") {
			add(d.Kind, d.Ref)
		}
	}
	add("session", e.Sessions...)
	if !g.here || len(e.Sessions) == 0 {
		add("event", e.Events...)
	}
	add("call", slices.DeleteFunc(slices.Clone(e.Calls), func(c string) bool { return slices.Contains(g.own, c) })...)
	add("phrase", e.Phrases...)
	add("source", e.Sources...)
	slices.Sort(ids)
	return digest(ids)
}

// Going works out what would be forgotten. It changes nothing. ErrTooCommon
// when too much would go, with the remedy.
func (b *Base) Going(q store.Querier, f Forget) (g Going, err error) {
	id, text, source := strings.TrimSpace(f.ID), strings.TrimSpace(f.Query), strings.TrimSpace(f.Source)
	g.asking = f.Asking
	given := 0
	for _, s := range []string{id, text, source} {
		if s != "" {
			given++
		}
	}
	if given != 1 {
		return g, ErrOneOf
	}
	switch {
	case id != "":
		err = b.goingByID(q, f, id, &g)
	case text != "":
		err = b.goingByQuery(q, f, text, &g)
	default:
		err = b.goingBySource(q, f, source, &g)
	}
	if err != nil {
		return g, err
	}
	return g, b.complete(q, f, &g)
}

// Plan is Going as things stand.
func (b *Base) Plan(ctx context.Context, f Forget) (Going, error) {
	return b.Going(b.st.Reader(ctx), f)
}

// Reader reads what is committed.
func (b *Base) Reader(ctx context.Context) store.Querier { return b.st.Reader(ctx) }

// Found reports whether something that is kept would go or change.
func (g Going) Found() bool { return g.Items() > 0 }

func (b *Base) goingByID(q store.Querier, f Forget, id string, g *Going) error {
	one, err := fact(q, id)
	switch {
	case err == nil && f.reaches(KindFact, one.Realm):
		return b.withOlder(q, one, g)
	case err == nil:
		return fmt.Errorf("%w: %s", ErrNotFound, phrase.Cut(id, 40))
	case !errors.Is(err, ErrNotFound):
		return err
	}
	rows, rerr := changes(q, `SELECT 0, d.n, 0, `+docOrEmpty+` FROM docs d WHERE d.ref = ? AND d.kind <> ? LIMIT 10`, id, KindTurn)
	if rerr != nil {
		return fmt.Errorf("knowledge: forget: %w", rerr)
	}
	for _, c := range rows {
		if f.reaches(c.Doc.Kind, c.Doc.Realm) {
			g.Docs = append(g.Docs, c.Doc)
		}
	}
	if len(g.Docs) == 0 {
		return err
	}
	return nil
}

// withOlder adds a fact with everything that it had replaced.
func (b *Base) withOlder(q store.Querier, f Fact, g *Going) error {
	for queue := []Fact{f}; len(queue) > 0; queue = queue[1:] {
		if slices.ContainsFunc(g.Facts, func(o Fact) bool { return o.ID == queue[0].ID }) {
			continue
		}
		g.Facts = append(g.Facts, queue[0])
		old, err := query(q, `SELECT `+factColumns+` FROM facts WHERE retired_by = ?`, queue[0].ID)
		if err != nil {
			return fmt.Errorf("knowledge: forget: %w", err)
		}
		queue = append(queue, old...)
	}
	return nil
}

// Bounds of a query: a shorter one stands in too many places, and phrase as a
// whole is looked for.
const (
	leastQuery = 3
	mostQuery  = 1000
)

func (b *Base) goingByQuery(q store.Querier, f Forget, text string, g *Going) error {
	words := telling(text)
	n := len([]rune(strings.Join(words, "")))
	switch {
	case len([]rune(text)) > mostQuery:
		return fmt.Errorf("%w: the text has more than %d characters; forget it by id or by source", ErrTooCommon, mostQuery)
	case n < leastQuery || !slices.ContainsFunc(words, func(w string) bool { return !vague()[phrase.Fold(w)] }):
		return fmt.Errorf("%w: %q is too common; use a rarer text, or forget by id", ErrTooCommon, phrase.Cut(text, 40))
	}
	if f.Everything || len(words) > 1 || distinctive(text) {
		g.Erasure.Phrases = []string{text}
	}
	s := erase.NewScrubber(text)
	all, err := query(q, `SELECT `+factColumns+` FROM facts ORDER BY n DESC`)
	if err != nil {
		return fmt.Errorf("knowledge: forget: %w", err)
	}
	for _, one := range all {
		if !f.reaches(KindFact, one.Realm) || !s.Has(one.Text) && !holds(one.Text, words) {
			continue
		}
		if err := b.withOlder(q, one, g); err != nil {
			return err
		}
	}
	return nil
}

// holds reports whether a text has every one of the words.
func holds(text string, words []string) bool {
	have := phrase.Split(text)
	for _, w := range words {
		if parts := phrase.Split(w); !slices.ContainsFunc(parts, func(p string) bool { return slices.ContainsFunc(have, func(h string) bool { return alike(h, p) }) }) {
			return false
		}
	}
	return len(words) > 0
}

// alike takes forms of one word together: "password" and "passwords".
func alike(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return a == b || len(a) >= 4 && len(b)-len(a) <= 2 && strings.HasPrefix(b, a)
}

// complete adds what the rows that go say, for what is kept of it elsewhere,
// and counts.
func (b *Base) complete(q store.Querier, f Forget, g *Going) error {
	e := &g.Erasure
	for _, one := range g.Facts {
		e.Facts = append(e.Facts, one.ID)
	}
	for _, d := range g.Docs {
		e.Docs = append(e.Docs, erase.Doc{Kind: d.Kind, Ref: d.Ref})
	}
	if err := b.phrases(q, f, g); err != nil {
		return err
	}
	g.Turns, g.Calls = len(e.Events)+len(e.Sessions), len(e.Calls)
	return b.within(q, g)
}

// within counts the rows in which something is replaced, and refuses too many.
func (b *Base) within(q store.Querier, g *Going) error {
	s := g.Erasure.Scrubber()
	g.Within = map[string]int{}
	total := 0
	for after := int64(0); ; {
		rows, err := b.All(q, after, 500)
		if err != nil {
			return err
		}
		for _, c := range rows {
			after = c.N
			d := c.Doc
			if g.goes(d) {
				continue
			}
			if s.Has(d.Title) || s.Has(d.Text) {
				g.Within[d.Kind]++
				total++
			}
		}
		if len(rows) < 500 {
			break
		}
	}
	if most := cmp.Or(b.opt.ForgetMost, defaultForgetMost); total+len(g.Facts) > most {
		return fmt.Errorf("%w: %d rows match and at most %d can be erased at once; use a rarer text, forget by id or by source, or raise [knowledge] forget_most",
			ErrTooCommon, total+len(g.Facts), most)
	}
	return nil
}

func (g *Going) goes(d Doc) bool {
	switch d.Kind {
	case KindFact, KindRetired:
		return slices.Contains(g.Erasure.Facts, d.Ref)
	}
	return slices.Contains(g.Erasure.Docs, erase.Doc{Kind: d.Kind, Ref: d.Ref})
}

// defaultForgetMost is how many facts and rows one request may change.
const defaultForgetMost = 500
