package agent

import (
	"context"

	"hob/autonomy/llm"
	"hob/knowledge/store"
	"hob/platform/provenance"
)

// Said is what the owner says to a turn that runs.
type Said struct {
	Text   string
	Source provenance.Source
	// TakenTx ends the event it came with, in the transaction that records the
	// words as part of the turn; reply is what its sender is told.
	TakenTx func(tx *store.Tx, reply string) error
}

// listen takes up what was said meanwhile: it stands behind the results of the
// last calls, as a message of its own, so that every call keeps its result and
// nothing that was sent before changes.
func (r *run) listen(ctx context.Context) error {
	if r.t.Said == nil || r.model.Info().Provider == offlineBrain { // that one answers the last words it reads
		return nil
	}
	said := r.t.Said()
	if len(said) == 0 {
		return nil
	}
	m := llm.Message{Role: llm.User}
	for _, s := range said {
		m.Parts = append(m.Parts, llm.Part{Text: r.clean(s.Text, s.Source), Source: s.Source})
		r.words = append(r.words, s.Text)
		r.pending = append(r.pending, func(tx *store.Tx) error { return s.TakenTx(tx, worded("taken", nil)) })
	}
	r.msgs = append(r.msgs, m)
	return r.save(ctx) // whoever said it is answered now, not at the end of the turn
}
