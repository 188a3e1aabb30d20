package consolidate

import (
	"context"
	_ "embed" // embeds the prompt texts
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/llm"
	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
)

//go:embed summarize.md
var systemText string

//go:embed summarize.json
var schema []byte

// Limits of the request to the model.
const (
	leastNew  = 12 // new conclusions in a realm before the model is asked
	mostShown = 60
	patience  = 60 * time.Second
	maxAnswer = 1500 // maximum tokens
)

// errAnswer means that the answer has the wrong form.
var errAnswer = errors.New("the answer is not the requested JSON object")

// summarizeConclusions lets the model replace several conclusions of Hob by one that says the same.
// Each conclusion is shown at most once while it is new, so that a night costs nothing without new
// ones. The usage counts toward the budget of unattended calls.
func (c *Consolidator) summarizeConclusions(ctx context.Context, event string) error {
	if c.o.Model == nil {
		return nil
	}
	var asked int64
	if err := c.o.Store.Reader(ctx).QueryRow(`SELECT coalesce(max(asked), 0) FROM consolidations`).Scan(&asked); err != nil {
		return fmt.Errorf("consolidate: read the last summary: %w", err)
	}
	now := time.Now()
	sets, err := c.o.Base.ConclusionSets(c.o.Store.Reader(ctx), store.Time(asked), leastNew, mostShown)
	if err != nil || len(sets) == 0 {
		return err
	}
	m, err := c.o.Model(ctx)
	if err != nil || m == nil || m.Info().Provider == llm.Offline || m.Info().Acts {
		return err
	}
	for _, set := range sets {
		list, err := askForSummaries(ctx, m, event, set)
		if err != nil {
			return err
		}
		err = c.o.Store.Write(ctx, func(tx *store.Tx) error {
			done, err := c.o.Base.SummarizeTx(tx, set, list, now)
			if err != nil || len(done) == 0 {
				return err
			}
			return c.journalTx(tx, event, done)
		})
		if err != nil {
			return err
		}
	}
	return c.o.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE consolidations SET asked = ? WHERE event = ?`, store.Millis(now), event)
		return err
	})
}

// askForSummaries asks the model once. The request contains only Hob's own conclusions.
func askForSummaries(ctx context.Context, m llm.Model, event string, set knowledge.ConclusionSet) (out []knowledge.Summary, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	type conclusion struct {
		Number int    `json:"number"`
		Text   string `json:"text"`
	}
	var shown []conclusion
	for i, f := range set.Facts {
		shown = append(shown, conclusion{i + 1, f.Text})
	}
	text, err := json.Marshal(shown)
	if err != nil {
		return nil, fmt.Errorf("consolidate: %w", err)
	}
	resp, err := llm.Collect(m.Stream(ctx, llm.Request{
		System: strings.TrimSpace(systemText), MaxTokens: maxAnswer, NoTools: true, Format: &llm.Format{Name: "summaries", Schema: schema},
		Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: string(text), Source: provenance.Hob}}}},
		Account:  llm.Account{Purpose: llm.ForMemory, Event: event, Unattended: true},
	}))
	if err != nil {
		return nil, fmt.Errorf("consolidate: summarize conclusions: %w", err)
	}
	return parseSummaries(resp.Text())
}

// parseSummaries parses a model's answer, which is one JSON object that may be surrounded by text.
func parseSummaries(answer string) (out []knowledge.Summary, err error) {
	from, to := strings.IndexByte(answer, '{'), strings.LastIndexByte(answer, '}')
	if from < 0 || to < from {
		return nil, errAnswer
	}
	var said struct {
		Summaries *[]struct {
			Of   []int  `json:"of"`
			Text string `json:"text"`
		} `json:"summaries"`
	}
	if err := json.Unmarshal([]byte(answer[from:to+1]), &said); err != nil {
		return nil, fmt.Errorf("%w: %w", errAnswer, err)
	}
	if said.Summaries == nil {
		return nil, errAnswer
	}
	for _, s := range *said.Summaries {
		for i := range s.Of {
			s.Of[i]--
		}
		out = append(out, knowledge.Summary{Text: s.Text, Of: s.Of})
	}
	return out, nil
}
