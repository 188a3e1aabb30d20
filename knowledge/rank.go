package knowledge

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
)

// inverseDocFrequency returns the inverse document frequency of BM25 (https://doi.org/10.1561/1500000019).
func inverseDocFrequency(rows, with int) float64 {
	n, df := float64(max(rows, with, 1)), float64(with)
	return math.Log(1 + (n-df+0.5)/(df+0.5))
}

// row is a candidate row with the features that determine its score.
type row struct {
	n        int64
	doc      Doc
	length   float64 // number of content words
	own      []float64
	lead     float64 // weight of the words that occur in the first leadWords words
	has      uint64  // bits from the index; see TermMatch.Has
	question bool
	timed    bool
	numbered bool
	rule     bool // a standing instruction of the user
	graph    float64
	hops     int // distance in the graph; 0 if the row was not found through the graph
	meaning  float64
	place    int  // rank among the rows nearest in meaning, starting at 1
	meant    bool // found only by its meaning

	score, matched float64
	share          float64   // weighted share of the question's words that occur in the row or its neighbors
	dated          bool      // the row is from the time that the question names
	until          time.Time // for a message, the time at which its statement became invalid
	parts          []Part
}

func (r *row) addScore(name string, v float64) {
	if v != 0 {
		r.score += v
		r.parts = append(r.parts, Part{name, v})
	}
}

// readAll computes the text features of all rows in parallel, because this step takes a large part
// of the search time.
func readAll(rows []*row, k *parsedQuestion, form float64) {
	const least = 64 // minimum number of rows for which several goroutines are used
	workers := min(runtime.GOMAXPROCS(0), maxReaders, 1+len(rows)/least)
	var wg sync.WaitGroup
	for part := range slices.Chunk(rows, max(1, (len(rows)+workers-1)/workers)) {
		wg.Go(func() {
			var scratch []string
			for _, r := range part {
				scratch = r.countTerms(k, form, scratch)
			}
		})
	}
	wg.Wait()
}

// maxReaders limits the number of goroutines.
const maxReaders = 4

// countTerms computes the text features of the row. scratch is reused.
func (r *row) countTerms(k *parsedQuestion, form float64, scratch []string) []string {
	l := loadQuestionWords()
	r.own = make([]float64, len(k.terms))
	var lead uint64 // bits of the terms among the first leadWords words
	count := func(text string, times float64) {
		scratch = appendTokens(scratch[:0], truncateText(text))
		for at, w := range scratch {
			marks := l.marks[w]
			if marks&tellsNothing == 0 {
				r.length++
			}
			r.timed = r.timed || marks&tellsTime != 0 || len(w) == 4 && (w[:2] == "19" || w[:2] == "20") && isNumber(w)
			r.numbered = r.numbered || marks&tellsNumber != 0 || w[0] >= '0' && w[0] <= '9'
			for i := range k.terms {
				if v := k.terms[i].matchWeight(w, form); v > 0 {
					r.own[i] += v * times
					if at < leadWords {
						lead |= 1 << i
					}
				}
			}
		}
	}
	count(r.doc.Text, 1)
	r.rule = r.doc.Speaker == speakerUser && len(scratch) > 0 && l.marks[scratch[0]]&tellsRule != 0
	if r.doc.Title != "" {
		count(r.doc.Title, 2)
	}
	for i := range k.terms {
		if lead&(1<<i) != 0 {
			r.lead += k.terms[i].weight
		}
	}
	for i, t := range k.terms {
		switch {
		case r.own[i] > 0:
		case t.dense:
			r.own[i] = float64(strings.Count(textnorm.Fold(r.doc.Text), t.text))
		case t.bit&r.has != 0: // the index matched another form of the word, the word in another language, or the complete name
			r.own[i] = 1
		}
	}
	r.question = endsWithQuestion(r.doc.Text)
	if r.question && r.length <= shortQuestion { // a short question repeats the words of the request, and the next row has the answer
		r.lead = 0
	}
	return scratch
}

// Reserved speakers of rows; see autonomy/session.
const (
	speakerUser = "owner"
	speakerHob  = "hob"
)

// maxRanked limits the text of a row that is ranked, in bytes. It bounds the time of a search.
const maxRanked = 6000

func truncateText(text string) string {
	if len(text) <= maxRanked {
		return text
	}
	end := maxRanked
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// leadWords is the length of the beginning of a row in words. Long messages state their subject first.
const leadWords = 60

// shortQuestion is the maximum number of content words in a question that itself gives no
// information.
const shortQuestion = 6

// endsWithQuestion reports whether a text ends with a question. It ignores a final remark in
// brackets, such as "[a photo]".
func endsWithQuestion(text string) bool {
	text = strings.TrimSpace(text)
	if strings.HasSuffix(text, "]") {
		if i := strings.LastIndexByte(text, '['); i > 0 {
			text = strings.TrimSpace(text[:i])
		}
	}
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？")
}

// ranking scores rows for one question.
type ranking struct {
	k      *parsedQuestion
	t      Tuning
	rows   []*row
	groups map[string][]*row // sorted by position
	half   time.Duration
}

// groupPosition is the position of a row in its group.
type groupPosition struct {
	group []*row
	at    int
}

// rowAtDistance returns the row at the given distance, or nil.
func (p groupPosition) rowAtDistance(by int) *row {
	i := p.at + by
	if by < 0 {
		i = max(i, -1)
	}
	if i < 0 || i >= len(p.group) || p.group[i].doc.Pos-p.group[p.at].doc.Pos != by {
		return nil
	}
	return p.group[i]
}

// scoreRows computes the score of each row and returns the rows, best first. It drops rows that
// have nothing in common with the question.
func (g *ranking) scoreRows() []*row {
	g.normalizeCounts()
	newest := time.Time{}
	for _, r := range g.rows {
		if r.doc.At.After(newest) {
			newest = r.doc.At
		}
	}
	for name, rows := range g.groups {
		session := g.sharedGroupWeight(rows)
		for i, r := range rows {
			p := groupPosition{rows, i}
			if name == "" { // facts and notes have no neighbors
				p = groupPosition{rows[i : i+1], 0}
				session = g.sharedGroupWeight(p.group)
			}
			g.byWords(p)
			r.addScore("session", g.t.Session*session)
			g.byFeatures(r, newest)
		}
	}
	out := slices.DeleteFunc(slices.Clone(g.rows), func(r *row) bool { return r.matched == 0 })
	sortRows(out)
	return out
}

func sortRows(rows []*row) {
	sorting.ByFunc(rows, func(a, b *row) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.n, a.n)) })
}

// normalizeCounts normalizes the counts by the length of the rows.
func (g *ranking) normalizeCounts() {
	avg := 1.0
	for _, r := range g.rows {
		avg += r.length
	}
	avg /= float64(max(len(g.rows), 1))
	g.groups = map[string][]*row{}
	for _, r := range g.rows {
		for i := range r.own {
			r.own[i] /= 1 - g.t.B + g.t.B*r.length/avg
		}
		g.groups[r.doc.Group] = append(g.groups[r.doc.Group], r)
	}
	for _, rows := range g.groups {
		sorting.ByFunc(rows, func(a, b *row) int { return cmp.Or(cmp.Compare(a.doc.Pos, b.doc.Pos), cmp.Compare(a.n, b.n)) })
	}
}

// sharedGroupWeight returns the weight of the words of the question that the rows of a group
// contain together.
func (g *ranking) sharedGroupWeight(rows []*row) (sum float64) {
	for i := range g.k.terms {
		n := 0.0
		for _, r := range rows {
			n += min(r.own[i], 1)
		}
		sum += g.k.terms[i].weight * n / (n + 2)
	}
	return sum
}

// byWords scores a row by the words in the row and in its neighbors, because an answer rarely
// repeats the words of the question.
func (g *ranking) byWords(p groupPosition) {
	r := p.group[p.at]
	weights := []struct {
		row *row
		w   float64
	}{{p.rowAtDistance(-1), g.t.Before}, {p.rowAtDistance(1), g.t.After}, {p.rowAtDistance(-2), g.t.Near}, {p.rowAtDistance(2), g.t.Near}}
	if b := weights[0].row; b != nil && b.question {
		weights[0].w = g.t.Answer
	}
	if r.question {
		weights[1].w = g.t.Reply
	}
	next := weights[1].row
	answered := next != nil && next.doc.Speaker == speakerHob && r.doc.Speaker != speakerHob
	own, beside, window, spread, exchange := 0.0, 0.0, 0.0, 0.0, 0.0
	for i := range g.k.terms {
		x := r.own[i]
		saturated := func(x float64) float64 { return g.k.terms[i].weight * x * (g.t.K1 + 1) / (x + g.t.K1) }
		first := saturated(x)
		for _, n := range weights {
			if n.row != nil {
				x += n.w * n.row.own[i]
			}
		}
		own, beside = own+first, beside+saturated(x)-first
		if answered {
			exchange += saturated(next.own[i])
		}
		if x > 0 {
			spread += g.k.terms[i].weight
		}
		best := 0.0
		for by := -g.t.Neighbors; by <= g.t.Neighbors; by++ {
			if n := p.rowAtDistance(by); n != nil {
				best = max(best, min(1, n.own[i]))
			}
		}
		window += g.k.terms[i].weight * best
	}
	r.matched = own + beside + window
	r.share = spread / g.k.totalWeight()
	r.addScore("words", own)
	r.addScore("beside", beside)
	r.addScore("window", g.t.Window*window)
	r.addScore("lead", g.t.Lead*r.lead)
	r.addScore("exchange", g.t.Exchange*exchange)
	if g.k.overview && r.doc.Group != "" {
		r.addScore("opening", g.t.Opening*(own+beside)*math.Exp(-float64(r.doc.Pos)/20))
	}
	if r.rule {
		r.addScore("rule", g.t.Rule*(own+beside))
	}
}

// totalWeight returns the weight of all words.
func (k *parsedQuestion) totalWeight() float64 {
	sum := 1e-9
	for _, t := range k.terms {
		sum += t.weight
	}
	return sum
}

// byFeatures scores the properties of a row other than its words.
func (g *ranking) byFeatures(r *row, newest time.Time) {
	k := g.k
	if len(k.speakers) == 1 && strings.EqualFold(k.speakers[0], r.doc.Speaker) {
		r.addScore("speaker", g.t.Speaker*k.total)
	}
	if r.question {
		r.addScore("question", -g.t.Question*k.total)
	}
	if k.time && r.timed {
		r.addScore("time", g.t.Time*k.total)
	}
	if k.number && r.numbered {
		r.addScore("number", g.t.Number*k.total)
	}
	if r.doc.Kind == KindFact {
		r.addScore("fact", g.t.Fact*k.total)
	}
	date := 0.0
	for _, s := range k.spans {
		date = max(date, s.timeProximity(r.doc.At, g.t.Later))
	}
	r.addScore("date", g.t.Date*max(k.total, 1)*date)
	r.matched += date
	r.dated = date > 0
	if r.graph > 0 {
		name, w := "graph", g.t.Graph
		if r.hops == 0 {
			name, w = "entity", g.t.Entity
		}
		r.addScore(name, w*max(k.total, 1)*r.graph)
		r.matched += r.graph
	}
	r.matched += r.meaning
	r.addScore("recent", g.t.Recent*k.total*math.Exp2(-float64(newest.Sub(r.doc.At))/float64(g.half)))
}
