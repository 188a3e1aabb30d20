package turn

import (
	"context"

	"hob/autonomy/llm"
	"hob/platform/provenance"
	"hob/platform/store"
)

// SteerMessage is a message of the owner to a running turn.
type SteerMessage struct {
	Text   string
	Source provenance.Source
	// TakenTx ends the message's event in the transaction that records its words as part of the
	// turn; reply goes to the sender.
	TakenTx func(tx *store.Tx, reply string) error
}

// receiveSteering reads the messages sent to the turn meanwhile. They follow the results of the last
// calls as a separate message, so that every call keeps its result and nothing sent before
// changes.
func (r *turnRun) receiveSteering(ctx context.Context) error {
	if r.t.Said == nil || r.model.Info().Provider == offlineBrain { // that one answers the last words it reads
		return nil
	}
	said := r.t.Said()
	if len(said) == 0 {
		return nil
	}
	m := llm.Message{Role: llm.User}
	for _, s := range said {
		m.Parts = append(m.Parts, llm.Part{Text: r.redactSecrets(s.Text, s.Source), Source: s.Source})
		r.words = append(r.words, s.Text)
		r.pending = append(r.pending, func(tx *store.Tx) error { return s.TakenTx(tx, renderText("taken", nil)) })
	}
	r.msgs = append(r.msgs, m)
	return r.saveSteps(ctx) // reply now, not at the end of the turn
}
