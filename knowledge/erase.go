package knowledge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/platform/store"
	"hob/platform/store/erase"
	"hob/platform/text/textnorm"
)

// Aliases for the types of package erase. Every package that stores text has an Eraser.
type (
	// Erasure lists the data to erase.
	Erasure = erase.Erasure
	// Erased counts the removed data.
	Erased = erase.Erased
	// Eraser removes the data of an Erasure from one package.
	Eraser = erase.Eraser
	// Scrubber redacts phrases in text.
	Scrubber = erase.Scrubber
)

// Errors of erasure requests.
var (
	ErrTooCommon     = errors.New("too many rows match")
	ErrQueryTooLong  = errors.New("the text to forget is too long")
	ErrNoErasure     = errors.New("no such erasure")
	ErrOneOf         = errors.New("give exactly one of id, query and source")
	ErrNothingToGo   = errors.New("no stored data matches")
	ErrSourceUnknown = errors.New(`unknown source: use "event:ID", "session:ID", "mail:ID", "file:PATH", "url:URL", "import:NAME" or "browser:all"`)
)

// ForgetRequest is an erasure request. Exactly one of ID, Query and Source is set.
type ForgetRequest struct {
	// ID is the id of one fact, note, task or other complete row.
	ID string `json:"id,omitempty"`
	// Query erases the facts that contain the query or all of its content words. In all other data
	// the exact text of the query is redacted, unless it is a single ordinary word.
	Query string `json:"query,omitempty"`
	// Everything also redacts a query that is a single ordinary word.
	Everything bool `json:"everything,omitempty"`
	// Source erases everything from one source; see Doc.Source. "session:ID" selects a complete
	// conversation.
	Source string `json:"source,omitempty"`
	// Realm limits the request to one agent's memory and to shared data. The main agent ("") acts
	// for the user and has EveryRealm.
	Realm      string `json:"-"`
	EveryRealm bool   `json:"-"`
	// Asking is the event of the turn that made the request.
	Asking string `json:"-"`
}

// isRealmBound reports whether the request is limited to one realm.
func (f ForgetRequest) isRealmBound() bool { return f.Realm != "" && !f.EveryRealm }

// mayErase reports whether the request may erase rows of a kind in a realm.
func (f ForgetRequest) mayErase(kind, realm string) bool {
	return !f.isRealmBound() || realm == f.Realm || realm == "" && !slices.Contains(privateKinds, kind)
}

// ErasurePlan is a preview of an erasure.
type ErasurePlan struct {
	Erasure Erasure `json:"-"`
	Facts   []Fact  `json:"facts,omitempty"` // facts to remove, including the facts that they replaced
	Docs    []Doc   `json:"docs,omitempty"`  // other rows that are removed completely
	// Within is the number of rows of docs, by kind, that are redacted but not removed.
	Within map[string]int `json:"within,omitempty"`
	// Made lists rows created by turns that had read the source. They are kept unless the request
	// names them.
	Made []Doc `json:"made,omitempty"`
	// Turns and Calls count the removed parts of conversations.
	Turns int `json:"turns,omitempty"`
	Calls int `json:"calls,omitempty"`

	asking string
	own    []string // calls of the erased events and of the turn that made the request
	here   bool     // the turn that made the request is itself erased
}

// Items returns the number of items to remove or change.
func (g ErasurePlan) Items() int {
	n := len(g.Facts) + len(g.Docs) + g.Turns + g.Calls
	for _, k := range g.Within {
		n += k
	}
	return n
}

// Digest identifies exactly the erased rows, so that an approval is valid only for this plan.
// Messages are identified by their events and conversations. The digest omits rows that the
// requesting turn and its approval add; otherwise no approval would ever match.
func (g ErasurePlan) Digest() string {
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
	return digestStrings(ids)
}

// PlanErasure determines what a request would erase. It changes nothing. It returns ErrTooCommon if
// the request matches too much, and ErrQueryTooLong if the query is too long; both errors contain a
// remedy.
func (b *Base) PlanErasure(q store.Querier, f ForgetRequest) (g ErasurePlan, err error) {
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
		err = b.planByID(q, f, id, &g)
	case text != "":
		err = b.planByQuery(q, f, text, &g)
	default:
		err = b.planBySource(q, f, source, &g)
	}
	if err != nil {
		return g, err
	}
	return g, b.completePlan(q, f, &g)
}

// PlanCommitted runs PlanErasure on the committed data.
func (b *Base) PlanCommitted(ctx context.Context, f ForgetRequest) (ErasurePlan, error) {
	return b.PlanErasure(b.st.Reader(ctx), f)
}

// Reader returns a Querier for the committed data.
func (b *Base) Reader(ctx context.Context) store.Querier { return b.st.Reader(ctx) }

// Found reports whether the erasure would remove or change anything.
func (g ErasurePlan) Found() bool { return g.Items() > 0 }

func (b *Base) planByID(q store.Querier, f ForgetRequest, id string, g *ErasurePlan) error {
	one, err := factByID(q, id)
	switch {
	case err == nil && f.mayErase(KindFact, one.Realm):
		return b.withOlder(q, one, g, true)
	case err == nil:
		return fmt.Errorf("%w: %s", ErrNotFound, textnorm.Ellipsize(id, 40))
	case !errors.Is(err, ErrNotFound):
		return err
	}
	rows, rerr := queryChanges(q, `SELECT 0, d.n, 0, `+docOrEmpty+` FROM docs d WHERE d.ref = ? AND d.kind <> ? LIMIT 10`, id, KindTurn)
	if rerr != nil {
		return fmt.Errorf("knowledge: erase data: %w", rerr)
	}
	for _, c := range rows {
		if f.mayErase(c.Doc.Kind, c.Doc.Realm) {
			g.Docs = append(g.Docs, c.Doc)
		}
	}
	if len(g.Docs) == 0 {
		return err
	}
	return nil
}

// withOlder adds a fact and all facts that it replaced. Without merged, it omits the duplicates that
// were merged into them, because these were stated elsewhere.
func (b *Base) withOlder(q store.Querier, f Fact, g *ErasurePlan, merged bool) error {
	for queue := []Fact{f}; len(queue) > 0; queue = queue[1:] {
		if slices.ContainsFunc(g.Facts, func(o Fact) bool { return o.ID == queue[0].ID }) {
			continue
		}
		g.Facts = append(g.Facts, queue[0])
		if by, err := summaryOf(q, queue[0]); err != nil {
			return err
		} else if by != nil { // its text comes from the fact; the other conclusions become valid again
			if err := b.withOlder(q, *by, g, false); err != nil {
				return err
			}
		}
		old, err := queryFacts(q, `SELECT `+factColumns+` FROM facts WHERE retired_by = ? AND (merged = 0 OR ?)`, queue[0].ID, merged)
		if err != nil {
			return fmt.Errorf("knowledge: erase data: %w", err)
		}
		queue = append(queue, old...)
	}
	return nil
}

// Length limits of a query. A shorter query would match too much text. A longer one is rejected
// because the whole query must match as a phrase.
const (
	leastQuery = 3
	mostQuery  = 1000
)

func (b *Base) planByQuery(q store.Querier, f ForgetRequest, text string, g *ErasurePlan) error {
	words := contentWords(text)
	n := len([]rune(strings.Join(words, "")))
	switch {
	case len([]rune(text)) > mostQuery:
		return fmt.Errorf("%w: more than %d characters; forget it by id or by source", ErrQueryTooLong, mostQuery)
	case n < leastQuery || !slices.ContainsFunc(words, func(w string) bool { return !loadVagueWords()[textnorm.Fold(w)] }):
		return fmt.Errorf("%w: %q is too common; use rarer words, or forget by id", ErrTooCommon, textnorm.Ellipsize(text, 40))
	}
	if f.Everything || len(words) > 1 || isDistinctive(text) {
		g.Erasure.Phrases = []string{text}
	}
	s := erase.NewScrubber(text)
	all, err := queryFacts(q, `SELECT `+factColumns+` FROM facts ORDER BY n DESC`)
	if err != nil {
		return fmt.Errorf("knowledge: erase data: %w", err)
	}
	for _, one := range all {
		if !f.mayErase(KindFact, one.Realm) || !s.Has(one.Text) && !hasAllWords(one.Text, words) {
			continue
		}
		if err := b.withOlder(q, one, g, one.Source != SummarySource); err != nil { // the conclusions of a summary match by themselves
			return err
		}
	}
	return nil
}

// hasAllWords reports whether text contains all of the words.
func hasAllWords(text string, words []string) bool {
	have := textnorm.FoldedWords(text)
	for _, w := range words {
		if parts := textnorm.FoldedWords(w); !slices.ContainsFunc(parts, func(p string) bool {
			return slices.ContainsFunc(have, func(h string) bool { return isSameWordForm(h, p) })
		}) {
			return false
		}
	}
	return len(words) > 0
}

// isSameWordForm reports whether a and b are forms of the same word, such as "password" and "passwords".
func isSameWordForm(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return a == b || len(a) >= 4 && len(b)-len(a) <= 2 && strings.HasPrefix(b, a)
}

// completePlan adds the phrases of the erased rows to the plan, because they are redacted in other
// data. It also counts the rows.
func (b *Base) completePlan(q store.Querier, f ForgetRequest, g *ErasurePlan) error {
	e := &g.Erasure
	for _, one := range g.Facts {
		e.Facts = append(e.Facts, one.ID)
	}
	for _, d := range g.Docs {
		e.Docs = append(e.Docs, erase.Doc{Kind: d.Kind, Ref: d.Ref})
	}
	if err := b.collectPhrases(q, f, g); err != nil {
		return err
	}
	g.Turns, g.Calls = len(e.Events)+len(e.Sessions), len(e.Calls)
	return b.countRedactedRows(q, g)
}

// countRedactedRows counts the rows to redact. It fails if there are too many.
func (b *Base) countRedactedRows(q store.Querier, g *ErasurePlan) error {
	s := g.Erasure.Scrubber()
	g.Within = map[string]int{}
	total := 0
	for after := int64(0); ; {
		rows, err := b.RowsAfter(q, after, 500)
		if err != nil {
			return err
		}
		for _, c := range rows {
			after = c.N
			d := c.Doc
			if g.includesDoc(d) {
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
		return fmt.Errorf("%w: %d rows match and at most %d can be erased at once; use rarer words, forget by id or by source, or raise [knowledge] forget_most",
			ErrTooCommon, total+len(g.Facts), most)
	}
	return nil
}

func (g *ErasurePlan) includesDoc(d Doc) bool {
	switch d.Kind {
	case KindFact, KindRetired:
		return slices.Contains(g.Erasure.Facts, d.Ref)
	}
	return slices.Contains(g.Erasure.Docs, erase.Doc{Kind: d.Kind, Ref: d.Ref})
}

// defaultForgetMost is the default limit of facts and rows that one request may change.
const defaultForgetMost = 500
