package knowledge

import (
	"cmp"
	"context"
	_ "embed" // embeds the word list
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/platform/store"
	"hob/platform/text/credential"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	say "hob/platform/text/triples"
)

// RecollectRequest is the input of Recollect.
type RecollectRequest struct {
	Text  string
	Realm string
	// Now is the current time in the user's zone.
	Now    time.Time
	Viewer credential.Viewer
	// Seen reports whether the context already contains a row. It may be nil.
	Seen func(Hit) bool
	// Rows and Edges limit the result (default 5 and 6).
	Rows, Edges int
}

// Recollection contains the rows and relations that help with a message.
type Recollection struct {
	Hits  []Hit
	Edges []Edge
	// Topics are the content words of the message, for excerpts.
	Topics []string
}

const recollected = 20 // hits of each search to evaluate

// relevance contains the minimum shares of a message's content words, by weight, that a row must
// contain to be shown without a request.
type relevance struct {
	fact, row, outside float64
	// unknown is the weight of a word that no row contains, relative to a word in one row. Such a
	// word is a sign that the message is about something else.
	unknown float64
	// named contains the bits of the words that name known people and organisations.
	named uint64
	// order is true if the message asks no question.
	order bool
}

// relevanceLimits returns the relevance that a row needs: own for messages about the user's own
// affairs or about known people, and other for all other messages. Instructions and general
// questions share words with rows by chance.
func relevanceLimits() (own, other relevance) {
	return relevance{fact: 0.3, row: 0.45, outside: 0.5, unknown: 0.4}, relevance{fact: 0.55, row: 0.5, outside: 0.65, unknown: 0.7}
}

// never is a share that no row reaches.
const never = 2

// rareWord is the minimum weight at which a single matching word suffices, relative to a word that
// no row contains. A memory with fewer rows than fewestRows is weighed as if it had fewestRows.
const (
	rareWord   = 0.5
	fewestRows = 1000
)

// Recollect returns the rows of all kinds and the relations that help with a message, best first,
// so that they can be shown without a request. It is stricter than Retrieve, because it is better
// to show nothing than an unrelated row. An untrusted row taints the request that includes it.
// Therefore, an untrusted row needs two matching words, and an untrusted relation needs a word that
// asks for it. Do not call it in a transaction.
func (b *Base) Recollect(ctx context.Context, q store.Querier, r RecollectRequest) (out Recollection, err error) {
	if r.Rows <= 0 {
		r.Rows = 5
	}
	if r.Edges <= 0 {
		r.Edges = 6
	}
	out.Topics = TopicWords(r.Text)
	out.Topics = out.Topics[:min(len(out.Topics), maxSubjects)]
	if len(out.Topics) == 0 {
		return out, nil
	}
	if b.opt.Graph != nil {
		if err := b.opt.Graph.Refresh(ctx, b); err != nil {
			return out, err
		}
	}
	if out.Hits, err = b.recollectRows(ctx, q, r, out.Topics); err != nil {
		return out, err
	}
	defer func() { b.uses.noteFound(out.Hits, out.Edges) }()
	if b.opt.Graph == nil {
		return out, nil
	}
	w := EdgeQuery{Text: r.Text, Realms: []string{r.Realm}, Now: r.Now, Limit: r.Edges, Around: true}
	for _, h := range out.Hits {
		w.Except = append(w.Except, h.Ref)
	}
	if out.Edges, err = b.opt.Graph.Edges(q, w); err != nil {
		return out, err
	}
	out.Edges = slices.DeleteFunc(out.Edges, func(e Edge) bool {
		return r.Viewer.Hides("", e.Text) || e.Provenance.Tainted() && !e.Asked
	})
	return out, nil
}

// relevanceOf returns how much of a message a row must contain. A message is about the user's own
// affairs if it contains a word such as "my" or names a known person or organisation.
func (b *Base) relevanceOf(q store.Querier, r RecollectRequest, a WordAnswer) (need relevance, err error) {
	own, other := relevanceLimits()
	need = other
	words := textnorm.FoldedWords(r.Text[:min(len(r.Text), maxAsked)])
	if asks := loadQuestionWords().asks; !endsWithQuestion(r.Text) && !slices.ContainsFunc(words, func(w string) bool { return asks[w] }) {
		own.order, need.order = true, true
		own.outside, need.outside = never, never // untrusted text would taint the calls of an instruction
	}
	for _, w := range words {
		if say.Mine(w) || slices.Contains(firstPersons, w) {
			need = own
		}
	}
	if b.opt.Graph == nil {
		return need, nil
	}
	list, err := b.opt.Graph.Named(q, []string{r.Realm}, r.Text)
	for _, e := range list {
		if e.Kind != Person && e.Kind != Company || e.Provenance.Tainted() {
			continue
		}
		if need.named == 0 {
			need = own
		}
		names := textnorm.FoldedWords(strings.Join(append([]string{e.Name}, e.Aliases...), " "))
		for i, w := range a.Words {
			if slices.Contains(names, textnorm.Fold(w.Text)) {
				need.named |= 1 << i
			}
		}
	}
	return need, err
}

// firstPersons lists folded pronouns of the first person.
var firstPersons = []string{"i", "we", "us", "ich", "wir", "uns", "je", "j", "nous", "yo", "nosotros", "io", "noi"}

// recollectRows returns the rows that help with a message.
func (b *Base) recollectRows(ctx context.Context, q store.Querier, r RecollectRequest, topics []string) (out []Hit, err error) {
	req := Request{Text: r.Text, Realm: r.Realm, Limit: recollected + spareRows, Now: r.Now, Zone: r.Now.Location(), alone: true}
	scope, err := b.resolveScope(q, req)
	if err != nil || len(scope) == 0 {
		return nil, err
	}
	words, err := b.lookupWords(q, scope, TermQuery{Text: strings.Join(topics, " "), Limit: matched})
	if err != nil {
		return nil, fmt.Errorf("knowledge: recollect: %w", err)
	}
	if len(words.Matches) == 0 {
		return nil, nil
	}
	need, err := b.relevanceOf(q, r, words)
	if err != nil {
		return nil, err
	}
	has, may := map[int64]uint64{}, false
	for _, m := range words.Matches {
		has[m.N] |= m.Has
		may = may || need.mayMatch(words, has[m.N])
	}
	if !may { // most messages end here, before any row is read
		return nil, nil
	}
	req.looked = &wordLookup{words: topics, scope: scope, limit: matched, answer: words}
	a, err := b.runRetrieval(ctx, q, req)
	if err != nil {
		return nil, err
	}
	direct, err := b.directHits(q, r, words, need, a.Hits)
	if err != nil {
		return nil, err
	}
	a.Hits = append(a.Hits, direct...)
	share := map[int64]float64{}
	var facts []Hit // also those that the context contains
	for _, h := range a.Hits {
		same := func(x Hit) bool { return x.Text == h.Text && x.Title == h.Title }
		if part, ok := h.mayRecollect(words, has[h.N], need); ok && !(need.order && h.isSameOrder(topics)) && !slices.ContainsFunc(out, same) {
			if h.Kind == KindFact {
				facts = append(facts, h)
			}
			if r.Seen != nil && r.Seen(h) {
				continue
			}
			share[h.N] = part
			out = append(out, h)
		}
	}
	named := func(h Hit) int { return bits.OnesCount64(has[h.N] & need.named) }
	sorting.StableByFunc(out, func(x, y Hit) int {
		return cmp.Or(cmp.Compare(named(y), named(x)), cmp.Compare(share[y.N], share[x.N]))
	})
	out = slices.DeleteFunc(out, func(h Hit) bool { // drop the message that stated one of the facts
		return h.Kind == KindTurn && slices.ContainsFunc(facts, func(f Hit) bool { return strings.Contains(h.Text, f.Text) })
	})
	out, _ = readableHits(r.Viewer, out, r.Rows)
	return out, addOrigins(q, out)
}

// directHits returns rows that contain most of the words and that are not among the hits.
func (b *Base) directHits(q store.Querier, r RecollectRequest, a WordAnswer, need relevance, hits []Hit) ([]Hit, error) {
	var list []TermMatch
	for _, m := range a.Matches {
		share, _ := need.shareOf(a, m.Has)
		if share >= need.fact && len(list) < recollected && !slices.ContainsFunc(hits, func(h Hit) bool { return h.N == m.N }) {
			list = append(list, m)
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	return b.readMatches(q, list, searchCondition(SearchOptions{Realm: r.Realm}), recollected)
}

// mayMatch reports whether a row with these words could be shown, whatever its kind.
func (need relevance) mayMatch(a WordAnswer, has uint64) bool {
	share, rare := need.shareOf(a, has)
	return has != 0 && share >= min(need.fact, need.row) && (rare || bits.OnesCount64(has) >= 2 || has&need.named != 0)
}

// shareOf returns the share of the words, by weight, whose bits are set in has, and whether one of
// these words is rare.
func (need relevance) shareOf(a WordAnswer, has uint64) (share float64, rare bool) {
	var sum, got float64
	n := max(a.Rows, fewestRows)
	for i, w := range a.Words {
		weight := inverseDocFrequency(n, w.Rows)
		if w.Rows == 0 {
			weight *= need.unknown
		}
		sum += weight
		if has>>i&1 != 0 {
			got += weight
			rare = rare || weight >= rareWord*inverseDocFrequency(n, 0)
		}
	}
	return got / max(sum, 1e-9), rare
}

// mayRecollect reports whether a hit shares enough words with a message to be shown without a
// request. has contains the bits of the words in the hit.
func (h Hit) mayRecollect(a WordAnswer, has uint64, need relevance) (share float64, ok bool) {
	if h.Kind == KindTurn && h.Speaker == ByOwner && endsWithQuestion(h.Text) {
		return 0, false // an earlier question contains no answer
	}
	share, rare := need.shareOf(a, has)
	n := bits.OnesCount64(has)
	switch {
	case n == 0:
		return share, false
	case h.Provenance.Tainted():
		return share, n >= 2 && share >= need.outside
	case h.Kind == KindFact:
		return share, share >= need.fact && (rare || n >= 2)
	}
	if need.named != 0 && has&need.named == need.named && share >= need.fact {
		return share, true // the row contains all named people and organisations
	}
	return share, share >= need.row && (n >= 2 || len(a.Words) == 1 && rare)
}

// repeatedShare is the share of the words of an earlier message of the user that an order contains if
// it only repeats that message.
const repeatedShare = 0.75

// isSameOrder reports whether a hit is an earlier message of the user that says almost the same as an
// order with these words.
func (h Hit) isSameOrder(topics []string) bool {
	words := TopicWords(h.Text)
	if h.Kind != KindTurn || h.Speaker != ByOwner || len(words) == 0 {
		return false
	}
	n := 0
	for _, w := range words {
		if slices.ContainsFunc(topics, func(t string) bool { return stemPrefix(textnorm.Fold(t)) == stemPrefix(textnorm.Fold(w)) }) {
			n++
		}
	}
	return float64(n) >= repeatedShare*float64(len(words))
}

// ExcerptAround returns at most size bytes of a text, on one line: the part that contains the most
// of the words.
func ExcerptAround(text string, words []string, size int) string {
	fields := strings.Fields(strings.ToValidUTF8(text, "\uFFFD"))
	if one := strings.Join(fields, " "); len(one) <= size {
		return one
	}
	want := map[string]bool{}
	for _, w := range words {
		want[stemPrefix(textnorm.Fold(w))] = true
	}
	best, bestFrom, bestTo := -1, 0, 0
	for from := 0; from < len(fields); from++ {
		n, length, to := 0, 0, from
		found := map[string]bool{}
		for ; to < len(fields) && length+len(fields[to])+1 <= size-6; to++ {
			length += len(fields[to]) + 1
			for _, f := range textnorm.FoldedWords(fields[to]) {
				if s := stemPrefix(f); want[s] && !found[s] {
					found[s] = true
					n++
				}
			}
		}
		if n > best {
			best, bestFrom, bestTo = n, from, to
		}
		if to == len(fields) {
			break
		}
	}
	s := strings.Join(fields[bestFrom:bestTo], " ")
	if bestFrom > 0 {
		s = "…" + s
	}
	if bestTo < len(fields) {
		s += "…"
	}
	return s
}

// stemPrefix cuts a word to its beginning, so that its forms compare equal.
func stemPrefix(w string) string {
	if r := []rune(w); len(r) > 5 {
		return string(r[:5])
	}
	return w
}

//go:embed quiet.txt
var quietText string

// loadQuietWords returns the folded words that never cause a row to be shown.
var loadQuietWords = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for line := range strings.Lines(quietText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, w := range strings.Fields(line) {
			m[w] = true
		}
	}
	return m
})

// maxSubjects limits the number of words that are used from one text.
const maxSubjects = 12

// TopicWords returns the content words of text without duplicates. Recollect uses them.
func TopicWords(text string) []string {
	var out, seen []string
	if len(text) > maxAsked {
		text = strings.ToValidUTF8(text[:max(strings.LastIndexAny(text[:maxAsked], " \n"), maxAsked/2)], "")
	}
	for _, w := range textnorm.Words(text) {
		f := textnorm.Fold(w)
		if len(out) == maxTerms {
			break
		}
		if len([]rune(w)) < 2 || loadVagueWords()[f] || loadQuietWords()[f] || slices.Contains(seen, f) {
			continue
		}
		seen = append(seen, f)
		out = append(out, w)
	}
	return out
}
