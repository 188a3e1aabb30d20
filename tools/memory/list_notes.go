package memory

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/knowledge"
	"hob/knowledge/store"
	"hob/platform/phrase"
	"hob/platform/when"
	"hob/tools"
)

type listNotesIn struct {
	Query string `json:"query,omitempty"`
	Limit int    `json:"limit,omitempty"`
}

// listNotesOut is the Data of list_notes.
type listNotesOut struct {
	Notes []Note `json:"notes"`
}

func (d Deps) listNotes() tools.Tool {
	return tools.New(tools.Def[listNotesIn]{
		Spec: tools.Spec{
			Name: "list_notes", Category: "memory", Effects: tools.Read,
			Description: "List or search notes, newest first; shows their text.",
			Keywords:    "show notes read note find",
		},
		Summary: func(listNotesIn) string { return "List notes" },
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in listNotesIn) (tools.Result, error) {
			limit, err := limitOr(in.Limit, 20)
			if err != nil {
				return tools.Result{}, err
			}
			found, err := d.findNotes(tx, strings.TrimSpace(in.Query), limit)
			if err != nil {
				return tools.Result{}, err
			}
			var total int
			if err := tx.QueryRow("SELECT count(*) FROM notes").Scan(&total); err != nil {
				return tools.Result{}, fmt.Errorf("notes: %w", err)
			}
			return tools.Result{
				Text: notesText(in.Query, found, total, c.Now), Data: listNotesOut{Notes: found},
				Source: sourceOf(found, noteSource),
			}, nil
		},
	})
}

func (d Deps) findNotes(tx *store.Tx, query string, limit int) ([]Note, error) {
	if query == "" {
		return notes(tx, "ORDER BY updated_at DESC, n DESC LIMIT ?", limit)
	}
	hits, err := d.Knowledge.Search(tx, query, knowledge.SearchOptions{Limit: limit, Kinds: []string{kindNote}})
	if err != nil {
		return nil, err
	}
	out := []Note{}
	for _, h := range hits {
		n, ok, err := note(tx, h.Ref)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, n)
		}
	}
	return out, nil
}

// notesText shows one note whole and several by their beginnings.
func notesText(query string, list []Note, total int, now time.Time) string {
	switch {
	case total == 0:
		return "There are no notes."
	case len(list) == 0:
		return fmt.Sprintf("No note is about %s.", quoted(phrase.Cut(query, 100)))
	case len(list) == 1:
		n := list[0]
		if strings.TrimSpace(n.Text) == n.Title {
			return fmt.Sprintf("Note (%s): %s", when.FormatDay(n.UpdatedAt, now), n.Text)
		}
		return fmt.Sprintf("Note %s (%s):\n%s", quoted(n.Title), when.FormatDay(n.UpdatedAt, now), n.Text)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d notes:", len(list))
	for _, n := range list {
		fmt.Fprintf(&b, "\n- %s (%s)", n.Title, when.FormatDay(n.UpdatedAt, now))
		if body := strings.TrimSpace(strings.TrimPrefix(n.Text, n.Title)); body != "" {
			b.WriteString(": " + snippet(body, query))
		}
	}
	if strings.TrimSpace(query) == "" && total > len(list) {
		fmt.Fprintf(&b, "\n(%d more; raise limit or search.)", total-len(list))
	}
	return b.String()
}
