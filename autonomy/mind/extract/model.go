package extract

import (
	"context"
	_ "embed" // embeds the prompt texts
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/autonomy/llm"
	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/textnorm"
	say "hob/platform/text/triples"
)

//go:embed extract.md
var systemText string

//go:embed extract.json
var schema []byte

// Limits for the request to a model and for its answer.
const (
	patience  = 60 * time.Second
	maxAnswer = 1500 // maximum tokens
	maxItems  = 24
	maxItem   = 200 // maximum bytes per text
	maxTries  = 4
	again     = 10 * time.Minute
)

// errAnswer means that the answer has the wrong form.
var errAnswer = errors.New("the answer is not the requested JSON object")

// foundItem is one fact or relation that a model found.
type foundItem struct {
	Turn     int    `json:"turn"`
	Quote    string `json:"quote"`
	Text     string `json:"text"`
	Kind     string `json:"kind"`
	From     string `json:"from"`
	Relation string `json:"relation"`
	To       string `json:"to"`
}

// askModel passes turns to the model and stores its results. A failed call is retried later, but
// only a limited number of times.
func (x *Extractor) askModel(ctx context.Context, list []pendingTurn) error {
	m, err := x.o.Model(ctx)
	if err != nil {
		return x.postponeTurns(ctx, list, err)
	}
	if m == nil || m.Info().Provider == "offline" || m.Info().Acts {
		return x.dropTurns(ctx, list)
	}
	mark, err := knowledge.ErasureMark(x.o.Store.Reader(ctx))
	if err != nil {
		return err
	}
	for i := range list {
		if err := x.fillWords(ctx, &list[i]); err != nil {
			return err
		}
	}
	read := slices.DeleteFunc(slices.Clone(list), func(t pendingTurn) bool { return t.words == "" })
	if len(read) == 0 {
		return x.dropTurns(ctx, list)
	}
	resp, err := x.callModel(ctx, m, read)
	if err != nil {
		return x.postponeTurns(ctx, list, err)
	}
	items, err := Parse(resp)
	if err != nil {
		return x.postponeTurns(ctx, list, err)
	}
	return x.o.Store.Write(ctx, func(tx *store.Tx) error { return x.keepTx(tx, mark, list, read, items) })
}

// callModel calls the model once. The request contains only the owner's words.
func (x *Extractor) callModel(ctx context.Context, m llm.Model, list []pendingTurn) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	type message struct {
		Turn int    `json:"turn"`
		On   string `json:"on"`
		Text string `json:"text"`
	}
	var said []message
	for i, t := range list {
		said = append(said, message{i + 1, t.at.In(x.o.Zone()).Format("Monday, 2 January 2006"), t.words})
	}
	text, err := json.Marshal(said)
	if err != nil {
		return "", fmt.Errorf("extract: encode the request: %w", err)
	}
	resp, err := llm.Collect(m.Stream(ctx, llm.Request{
		System: strings.TrimSpace(systemText), MaxTokens: maxAnswer, NoTools: true, Format: &llm.Format{Name: "items", Schema: schema},
		Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: string(text), Source: provenance.Owner}}}},
		Account:  llm.Account{Purpose: llm.ForLesson, Event: list[len(list)-1].event, Unattended: true},
	}))
	if err != nil {
		return "", fmt.Errorf("extract: call the model: %w", err)
	}
	return resp.Text(), nil
}

// Parse parses a model's answer, which is one JSON object that may be surrounded by text.
func Parse(answer string) ([]foundItem, error) {
	from, to := strings.IndexByte(answer, '{'), strings.LastIndexByte(answer, '}')
	if from < 0 || to < from {
		return nil, errAnswer
	}
	var out struct {
		Items *[]foundItem `json:"items"`
	}
	if err := json.Unmarshal([]byte(answer[from:to+1]), &out); err != nil {
		return nil, fmt.Errorf("%w: %w", errAnswer, err)
	}
	if out.Items == nil {
		return nil, errAnswer
	}
	return (*out.Items)[:min(len(*out.Items), maxItems)], nil
}

// keepTx stores the results, unless data was erased since mark was set, because the model's input
// may have contained it. In that case the turns are read again.
func (x *Extractor) keepTx(tx *store.Tx, mark string, list, read []pendingTurn, items []foundItem) error {
	if now, err := knowledge.ErasureMark(tx); err != nil || now != mark {
		return err
	}
	gone := make([]bool, len(read))
	for i, t := range read {
		var there int
		if err := tx.QueryRow(`SELECT count(*) FROM extractions WHERE event = ?`, t.event).Scan(&there); err != nil {
			return fmt.Errorf("extract: find a pending turn: %w", err)
		}
		gone[i] = there == 0 // erased in the meantime
	}
	for _, it := range items {
		if it.Turn < 1 || it.Turn > len(read) || gone[it.Turn-1] {
			continue
		}
		if err := x.itemTx(tx, read[it.Turn-1], it); err != nil {
			return err
		}
	}
	return dropTx(tx, list)
}

func (x *Extractor) itemTx(tx *store.Tx, t pendingTurn, it foundItem) error {
	f, ok := checkItem(t, it)
	if !ok {
		return nil
	}
	f.CreatedAt, f.Realm, f.Event, f.Source = t.at.In(x.o.Zone()), t.realm, t.event, "event:"+t.event
	r, err := x.o.Base.RememberInferredTx(tx, f)
	if err != nil || r.Fact.ID == "" { // the fact was not stored
		return err
	}
	if x.o.Linker == nil || f.Kind == knowledge.KindObservation || it.From == "" || it.To == "" || !isAllowedRelation(it.Relation) || !isMentioned(t.words, it.From) || !isMentioned(t.words, it.To) {
		return nil
	}
	_, err = x.o.Linker.LinkTx(tx, knowledge.Link{
		From: it.From, Relation: it.Relation, To: it.To, Realm: t.realm, Provenance: provenance.Owner, Source: f.Source, Fact: r.Fact.ID, At: t.at,
	})
	if errors.Is(err, knowledge.ErrAmbiguous) || errors.Is(err, knowledge.ErrSame) || errors.Is(err, knowledge.ErrNoEntity) {
		return nil
	}
	return err
}

// checkItem converts an item to a fact if its quote occurs in the owner's words. If the text of the
// fact contains words that the owner did not use, the quote becomes the text, so that the model's
// additions are not attributed to the owner. An observation is attributed to Hob and may contain
// some other words.
func checkItem(t pendingTurn, it foundItem) (knowledge.Fact, bool) {
	quote := textnorm.FoldedWords(it.Quote)
	if len(quote) < 2 || len(it.Quote) > 400 || !containsSequence(textnorm.FoldedWords(t.words), quote) || isForeign(t.words, it.Quote) {
		return knowledge.Fact{}, false
	}
	text := strings.Join(strings.Fields(strings.ToValidUTF8(it.Text, " ")), " ")
	if text == "" || len(text) > maxItem || slices.ContainsFunc(append(textnorm.FoldedWords(text), quote...), say.IsSecretWord) {
		return knowledge.Fact{}, false
	}
	f := knowledge.Fact{Text: text, Provenance: provenance.Owner}
	share, all := ownShare(t.words, text)
	switch {
	case it.Kind == knowledge.KindObservation:
		f.Kind, f.Provenance = knowledge.KindObservation, provenance.Hob
		return f, !t.tainted && share >= 0.75
	case all:
	default:
		if f.Text = strings.Trim(it.Quote, " \t\n.,;"); len(quote) < 3 || len(f.Text) > maxItem {
			return knowledge.Fact{}, false
		}
	}
	if it.Kind != knowledge.KindFact && slices.Contains(knowledge.FactKinds(), it.Kind) { // otherwise the rules choose
		f.Kind = it.Kind
	}
	return f, true
}

// containsSequence reports whether text contains words consecutively.
func containsSequence(text, words []string) bool {
	return strings.Contains(" "+strings.Join(text, " ")+" ", " "+strings.Join(words, " ")+" ")
}

// isForeign reports whether the sentence that contains the quote is another person's statement, or
// a question.
func isForeign(words, quote string) bool {
	for _, s := range sentence.FindAllString(words, -1) {
		if containsSequence(textnorm.FoldedWords(s), textnorm.FoldedWords(quote)) {
			return say.Reported(s)
		}
	}
	return say.Reported(quote)
}

// ownShare returns the share of words in text that the owner used. all reports whether the
// remaining words are only function words.
func ownShare(words, text string) (share float64, all bool) {
	said := textnorm.FoldedWords(words)
	n, his := 0, 0
	list := textnorm.FoldedWords(text)
	slices.Sort(list)
	for _, w := range slices.Compact(list) { // count each word once
		if slices.Contains(functionWords(), w) {
			continue
		}
		n++
		if slices.Contains(said, w) {
			his++
		}
	}
	if n == 0 {
		return 0, false
	}
	return float64(his) / float64(n), his == n
}

// isMentioned reports whether name occurs in the owner's words or refers to the owner.
func isMentioned(words, name string) bool {
	w := textnorm.FoldedWords(name)
	return len(w) > 0 && (len(w) == 1 && (w[0] == "me" || w[0] == "owner") || containsSequence(textnorm.FoldedWords(words), w))
}

// isAllowedRelation reports whether a model may add a relation with this name.
func isAllowedRelation(name string) bool {
	return slices.Contains([]string{
		"works_at", "lives_in", "sibling_of", "married_to", "engaged_to", "partner_of", "parent_of", "child_of", "friend_of", "works_with", "manager_of", "reports_to",
		"neighbour_of", "member_of", "studies_at", "owns", "cousin_of", "knows", "client_of",
	}, name)
}

// dropTurns removes turns from the pending turns, because they need no model.
func (x *Extractor) dropTurns(ctx context.Context, list []pendingTurn) error {
	return x.o.Store.Write(ctx, func(tx *store.Tx) error { return dropTx(tx, list) })
}

func dropTx(tx *store.Tx, list []pendingTurn) error {
	for _, t := range list {
		if _, err := tx.Exec(`DELETE FROM extractions WHERE event = ?`, t.event); err != nil {
			return fmt.Errorf("extract: remove a pending turn: %w", err)
		}
	}
	return nil
}

// postponeTurns postpones turns and drops those that have failed too often.
func (x *Extractor) postponeTurns(ctx context.Context, list []pendingTurn, cause error) error {
	if ctx.Err() != nil { // the turns are retried after the next start
		return ctx.Err()
	}
	x.o.Log.Info("model call for fact extraction failed; retrying later", "err", cause)
	return x.o.Store.Write(ctx, func(tx *store.Tx) error {
		for _, t := range list {
			wait := again * time.Duration(1<<t.tries)
			if _, err := tx.Exec(`UPDATE extractions SET tries = tries + 1, not_before = ? WHERE event = ?`, time.Now().Add(wait).UnixMilli(), t.event); err != nil {
				return fmt.Errorf("extract: postpone a turn: %w", err)
			}
		}
		_, err := tx.Exec(`DELETE FROM extractions WHERE tries >= ?`, maxTries)
		return err
	})
}

var sentence = lazyregexp.New(`[^.!?\n]+[.!?]*`)

// functionWords lists the words that ownShare ignores: function words, and words that are common in
// a model's answer.
var functionWords = sync.OnceValue(func() []string {
	return strings.Fields(`the a an of in on at to for and or is are was were be been has have had do does with by from as that this i my me we our he she they his her their it its s not no
	owner lives live works work likes like prefers prefer called named since until`)
})
