package undo

import (
	"context"
	_ "embed" // embeds the phrases
	"fmt"
	"slices"
	"strings"

	"hob/autonomy/bus"
	"hob/autonomy/payload"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

//go:embed phrases.txt
var phrasesText string

// maxRequestLength is the maximum size in bytes of a message that only asks for an undo.
const maxRequestLength = 80

// IsRequest reports whether a message only says "undo that", in one of the languages of
// phrases.txt.
func IsRequest(text string) bool {
	if len(text) > maxRequestLength {
		return false
	}
	said := " " + strings.Join(textnorm.FoldedWords(text), " ") + " "
	var phrases []string
	for line := range strings.Lines(phrasesText) {
		kind, list, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch kind {
		case "#", "":
		case "polite":
			said = trimWords(said, strings.Split(list, "|"))
		default:
			phrases = append(phrases, strings.Split(list, "|")...)
		}
	}
	return slices.Contains(phrases, strings.TrimSpace(said))
}

// IsOwnerRequest reports whether a message event is the owner's request to undo the last action.
func IsOwnerRequest(ev bus.Event) bool {
	return ev.Kind == bus.Message && ev.Provenance == provenance.Owner && IsRequest(ev.Text)
}

// trimWords removes the given words from both ends of said.
func trimWords(said string, words []string) string {
	for again := true; again; {
		again = false
		for _, w := range words {
			if rest, ok := strings.CutPrefix(said, " "+w+" "); ok {
				said, again = " "+rest, true
			}
			if rest, ok := strings.CutSuffix(said, " "+w+" "); ok {
				said, again = rest+" ", true
			}
		}
	}
	return said
}

// Reply is the answer to a message that requests an undo of the last answer's actions.
type Reply struct {
	Text   string
	Source provenance.Source
}

// UndoByMessage handles "undo that" without a model if the meaning is unambiguous: the last answer
// in this conversation, or a later notice in it, did something that can be undone. It undoes all
// these actions together. In all other cases the bool result is false. The owner's own words
// suffice as authority, even with untrusted text in the conversation.
func (rv *Reverter) UndoByMessage(ctx context.Context, ev bus.Event, m payload.Message) (Reply, bool, error) {
	if !IsOwnerRequest(ev) || len(m.Outside) > 0 || len(m.Images) > 0 {
		return Reply{}, false, nil
	}
	done, list, err := rv.findActionsToUndo(ctx, ev)
	if err != nil || len(done)+len(list) == 0 {
		return Reply{}, false, err
	}
	out := Reply{Source: provenance.Tool}
	if len(list) > 0 {
		r, err := rv.undoAll(ctx, tools.UndoRequest{Turn: true, By: ev.ID, Origin: ev.Channel}, list, func() ([]bus.Entry, error) {
			_, again, err := rv.findActionsToUndo(ctx, ev)
			return again, err
		})
		out.Text, out.Source = r.Text, r.Source
		if err != nil {
			out.Text, out.Source = "Sorry: "+err.Error(), provenance.Worst(provenance.Tool, tools.SourceOf(err))
		}
	}
	for _, e := range done { // undone before a crash
		out.Text = strings.TrimSpace(out.Text + fmt.Sprintf("\nAlso undone: %s.", e.UndoLabel))
		out.Source = provenance.Worst(out.Source, e.Source)
	}
	return out, true, nil
}

// findActionsToUndo finds the actions to undo. done holds the actions that the message already
// undid before a crash, and list the rest.
func (rv *Reverter) findActionsToUndo(ctx context.Context, ev bus.Event) (done, list []bus.Entry, err error) {
	if done, err = rv.o.Bus.Ledger.UndoneBy(ctx, ev.ID); err != nil {
		return nil, nil, err
	}
	if len(done) > 0 {
		list, err = rv.o.Bus.Ledger.UndoableOf(ctx, done[0].Event)
		return done, list, err
	}
	s, err := rv.selectLast(ctx, tools.UndoRequest{Turn: true}, ev.Session)
	if err != nil || len(s.list) == 0 || s.ask {
		return nil, nil, err
	}
	if since, err := rv.o.Bus.Ledger.AnsweredSince(ctx, ev.Session, s.list[0], ev.ID); err != nil || since {
		return nil, nil, err // a later message changed the subject
	}
	return nil, s.list, nil
}
