package knowledge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/shortid"
	"hob/platform/text/textnorm"
	say "hob/platform/text/triples"
)

// Operations of a summary: a new conclusion, and one that it replaces.
const (
	AddSummary = "summary"
	Summarize  = "summarize"
)

// SummarySource is the Source of a conclusion that replaces several others.
const SummarySource = "summary:conclusions"

// ConclusionSet holds conclusions of Hob in one realm. It is valid while no erasure begins or ends.
type ConclusionSet struct {
	Facts []Fact
	mark  string
}

// Summary is a text that replaces the conclusions with the given positions in a ConclusionSet.
type Summary struct {
	Text string
	Of   []int
}

// ConclusionSets returns the conclusions of each realm in which Hob drew at least least of them
// after since: the newest ones, at most most per realm. It omits pinned and temporary ones.
func (b *Base) ConclusionSets(q store.Querier, since time.Time, least, most int) (out []ConclusionSet, err error) {
	mark, err := ErasureMark(q)
	if err != nil {
		return nil, err
	}
	list, err := queryFacts(q, `SELECT `+factColumns+` FROM facts WHERE retired_at = 0 AND kind = ? AND provenance = ? AND pinned = 0 AND valid_until = 0 ORDER BY realm, n DESC`,
		KindObservation, string(provenance.Hob))
	if err != nil {
		return nil, fmt.Errorf("knowledge: read conclusions: %w", err)
	}
	for len(list) > 0 {
		n := slices.IndexFunc(list, func(f Fact) bool { return f.Realm != list[0].Realm })
		if n < 0 {
			n = len(list)
		}
		fresh := 0
		for _, f := range list[:n] {
			if f.CreatedAt.After(since) {
				fresh++
			}
		}
		if fresh >= least {
			out = append(out, ConclusionSet{Facts: list[:min(n, most)], mark: mark})
		}
		list = list[n:]
	}
	return out, nil
}

// SummarizeTx stores summaries of a set and retires the conclusions that they replace. It skips a
// summary that is not one sentence about them: a question, a part of a sentence, a text with many
// other words, or one whose conclusions were changed since. It returns ErrErased as ConsolidateTx
// does.
func (b *Base) SummarizeTx(tx *store.Tx, set ConclusionSet, list []Summary, now time.Time) (done []FactChange, err error) {
	if mark, err := ErasureMark(tx); err != nil || mark != set.mark {
		return nil, cmp.Or(err, ErrErased)
	}
	used := map[int]bool{}
	for _, s := range list {
		s.Text = strings.Join(strings.Fields(strings.ToValidUTF8(s.Text, " ")), " ")
		of, err := summarizedFacts(tx, set, s, used)
		if err != nil {
			return nil, err
		}
		if len(of) == 0 {
			continue
		}
		changes, err := b.summarizeOneTx(tx, s.Text, of, now)
		if err != nil {
			return nil, fmt.Errorf("knowledge: summarize conclusions: %w", err)
		}
		done = append(done, changes...)
	}
	return done, nil
}

// maxSummary is the maximum length of a summary in bytes.
const maxSummary = 300

// summarizedFacts returns the conclusions that an acceptable summary replaces, or none.
func summarizedFacts(tx *store.Tx, set ConclusionSet, s Summary, used map[int]bool) (of []*Fact, err error) {
	if len(s.Of) < 2 || len(s.Text) > maxSummary || IsQuestion(s.Text) || isFragment(s.Text) {
		return nil, nil
	}
	words := map[string]bool{}
	for _, i := range s.Of {
		if i < 0 || i >= len(set.Facts) || used[i] {
			return nil, nil
		}
		used[i] = true
		f, err := changeableFact(tx, set.Facts[i].ID, true)
		if f == nil || err != nil {
			return nil, err
		}
		of = append(of, f)
		for _, w := range textnorm.FoldedWords(f.Text) {
			words[stemEnglish(w)] = true
		}
	}
	said := strings.Fields(duplicateKey(s.Text))
	foreign := 0
	for _, w := range said {
		if say.IsSecretWord(w) {
			return nil, nil
		}
		if !words[stemEnglish(w)] {
			foreign++
		}
	}
	if 4*foreign > len(said) { // the model added something
		return nil, nil
	}
	return of, nil
}

func (b *Base) summarizeOneTx(tx *store.Tx, text string, of []*Fact, now time.Time) ([]FactChange, error) {
	f := Fact{ID: shortid.New("f"), Text: text, Provenance: provenance.Hob, Realm: of[0].Realm, Kind: KindObservation, Source: SummarySource, CreatedAt: store.Time(store.Millis(now))}
	if err := b.insertTx(tx, f, say.Read(text, now)); err != nil {
		return nil, err
	}
	done := []FactChange{{Op: AddSummary, Fact: f.ID, At: store.Millis(now)}}
	for _, o := range of {
		if err := b.retireTx(tx, o, f.ID, f.CreatedAt); err != nil {
			return nil, err
		}
		if _, err := tx.Exec(`UPDATE facts SET merged = 1 WHERE id = ?`, o.ID); err != nil {
			return nil, err
		}
		done = append(done, FactChange{Op: Summarize, Fact: o.ID, By: f.ID, At: store.Millis(now)})
	}
	return done, nil
}

// removeSummaryTx removes a summary whose conclusions were all restored.
func (b *Base) removeSummaryTx(tx *store.Tx, id string) error {
	var n int
	if err := tx.QueryRow(`SELECT count(*) FROM facts WHERE retired_by = ?`, id).Scan(&n); err != nil || n > 0 {
		return err
	}
	return b.removeTx(tx, id)
}

// summaryOf returns the summary that replaced a fact, or nil.
func summaryOf(q store.Querier, f Fact) (*Fact, error) {
	if f.RetiredBy == "" {
		return nil, nil
	}
	list, err := queryFacts(q, `SELECT `+factColumns+` FROM facts WHERE id = ? AND source = ?`, f.RetiredBy, SummarySource)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}
