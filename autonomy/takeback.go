package autonomy

import (
	"context"
	_ "embed" // the phrases
	"fmt"
	"slices"
	"strings"

	"hob/autonomy/bus"
	"hob/autonomy/llm"
	"hob/autonomy/payload"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

//go:embed takeback.txt
var takebackText string

// longestTakeBack is the maximum size in bytes of a message that only asks for an undo.
const longestTakeBack = 80

// takesBack reports whether a message says nothing but "undo that", in one of the languages of
// takeback.txt.
func takesBack(text string) bool {
	if len(text) > longestTakeBack {
		return false
	}
	said := " " + strings.Join(textnorm.FoldedWords(text), " ") + " "
	var phrases []string
	for line := range strings.Lines(takebackText) {
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

// trimWords takes the given words from both ends of a text.
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

// takeBack handles "undo that" without a model if the meaning is unambiguous: the last answer
// of this conversation, or notices in it since, did something that can be undone. It undoes all
// of it together. The owner's own words suffice as authority, even with untrusted text in the
// conversation.
func (l *Loop) takeBack(ctx context.Context, ev bus.Event, m payload.Message) (result, bool, error) {
	if ev.Provenance != provenance.Owner || len(m.Outside) > 0 || len(m.Images) > 0 || !takesBack(ev.Text) {
		return result{}, false, nil
	}
	l.undoing.Lock()
	defer l.undoing.Unlock()
	done, list, err := l.findActionsToUndo(ctx, ev)
	if err != nil || len(done)+len(list) == 0 {
		return result{}, false, err
	}
	res := result{how: "undo", kind: channels.Reply, said: true, session: ev.Session, channel: ev.Channel, chat: ev.Chat}
	res.Source = provenance.Tool
	if len(list) > 0 {
		r, err := l.undoAll(ctx, UndoRequest{Turn: true, By: ev.ID, Origin: ev.Channel}, list)
		res.Answer, res.Source = r.Text, r.Source
		if err != nil {
			res.Answer, res.Source = "Sorry: "+err.Error(), provenance.Worst(provenance.Tool, tools.SourceOf(err))
		}
	}
	for _, e := range done { // before a crash
		res.Answer = strings.TrimSpace(res.Answer + fmt.Sprintf("\nTaken back as well: %s.", e.UndoLabel))
		res.Source = provenance.Worst(res.Source, e.Source)
	}
	res.Messages = []llm.Message{
		{Role: llm.User, Parts: []llm.Part{{Text: ev.Text, Source: provenance.Owner}}},
		{Role: llm.Assistant, Parts: []llm.Part{{Text: res.Answer, Source: res.Source}}},
	}
	return res, true, nil
}

// findActionsToUndo finds the actions to undo: those the message has undone already (before a crash), and
// the rest.
func (l *Loop) findActionsToUndo(ctx context.Context, ev bus.Event) (done, list []bus.Entry, err error) {
	if done, err = l.o.Bus.UndoneBy(ctx, ev.ID); err != nil {
		return nil, nil, err
	}
	if len(done) > 0 {
		list, err = l.o.Bus.UndoableOf(ctx, done[0].Event)
		return done, list, err
	}
	if list, err = l.o.Bus.UndoableIn(ctx, ev.Session, 1); err != nil || len(list) == 0 {
		return nil, nil, err
	}
	event := list[0].Event
	if since, err := l.o.Bus.AnsweredSince(ctx, ev.Session, event, ev.ID); err != nil || since {
		return nil, nil, err // the conversation moved on to something else
	}
	list, err = l.o.Bus.UndoableOf(ctx, event)
	return nil, list, err
}
