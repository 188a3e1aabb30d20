package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/explain"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/channels"
	"hob/platform/text/sorting"
	"hob/tools"
)

// replayed is the key prefix of a replayed event.
const replayed = "replayed:"

// journalDay holds the recorded events and tool calls of the replayed day.
type journalDay struct {
	mu     sync.Mutex
	days   []journal
	ledger map[string][]bus.Entry // keyed by tool
}

func (p *journalDay) loadJournals(list []journal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.days, p.ledger = list, map[string][]bus.Entry{}
	for _, j := range list {
		for _, c := range j.Calls {
			p.ledger[c.Tool] = append(p.ledger[c.Tool], c)
		}
	}
}

// recordedCall returns the recorded result for a call with the same arguments.
func (p *journalDay) recordedCall(tool string, args json.RawMessage) (bus.Entry, bool) {
	if p == nil {
		return bus.Entry{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.ledger[tool] {
		if guard.HashArguments(tool, c.Args) == guard.HashArguments(tool, args) && (c.State == bus.CallDone || c.Code != "") {
			return c, true
		}
	}
	return bus.Entry{}, false
}

// recordedTool is a tool that returns the results recorded on the replayed day.
type recordedTool struct {
	dryRunTool
	past *journalDay
}

// ownToo reports whether a tool reads Hob's own data in addition to accounts, apps and folders.
// Without a recorded result, such a tool runs. Its accounts are simulated, and it does not use apps
// and folders.
func ownToo(name string) bool {
	return name == "list_reminders" || name == "list_notes" || name == "read_note"
}

// Call implements tools.Tool.
func (r recordedTool) Call(ctx context.Context, c tools.Call) (tools.Result, error) {
	e, ok := r.past.recordedCall(r.Spec().Name, c.Args)
	switch {
	case !ok && ownToo(r.Spec().Name):
		return r.Tool.Call(ctx, c)
	case !ok:
		return r.dryRunTool.Call(ctx, c)
	case e.State != bus.CallDone:
		return tools.Result{}, &tools.Error{Code: tools.Code(e.Code), Message: e.Result, Source: e.Source}
	}
	return tools.Result{Text: e.Result, Source: e.Source}, nil
}

// recordedTurn is a recorded turn whose answers can be requested again.
type recordedTurn struct {
	question []byte // in its encoded form, as contained in a request
	answers  []answer
}

// recordedAnswers returns the models' answers on that day, by turn.
func recordedAnswers(list []journal) (out []*recordedTurn) {
	for _, j := range list {
		a := &recordedTurn{}
		for _, m := range j.Messages {
			switch m.Role {
			case llm.User:
				if text := ownWords(m); len(a.question) == 0 && text != "" {
					b, _ := json.Marshal(text) // a string can always be encoded
					a.question = bytes.Trim(b, `"`)
				}
			case llm.Assistant:
				a.answers = append(a.answers, messageAnswer(m))
			}
		}
		if len(a.question) > 0 && len(a.answers) > 0 {
			out = append(out, a)
		}
	}
	return out
}

// ownWords returns up to 200 characters of the first text in a message that Hob did not add.
func ownWords(m llm.Message) string {
	for _, part := range m.Parts {
		if text := strings.TrimSpace(part.Text); text != "" && !part.Context {
			r := []rune(text)
			return string(r[:min(len(r), 200)])
		}
	}
	return ""
}

func messageAnswer(m llm.Message) (a answer) {
	for _, part := range m.Parts {
		switch {
		case part.Call != nil:
			a.calls = append(a.calls, toolCall{part.Call.Name, part.Call.Args})
		case part.Reasoning == nil:
			a.text += part.Text
		}
	}
	return a
}

// nextRecorded returns the next recorded answer of the turn whose question occurs last in the
// request.
func nextRecorded(list []*recordedTurn, body []byte) (answer, bool) {
	best, at := -1, -1
	for i, a := range list {
		if len(a.answers) == 0 {
			continue
		}
		if n := bytes.LastIndex(body, a.question); n > at {
			best, at = i, n
		}
	}
	if best < 0 {
		return answer{}, false
	}
	a := list[best].answers[0]
	list[best].answers = list[best].answers[1:]
	return a, true
}

// replayDay replays the inputs of the day, each at its original time, with the user's answers.
func (p *play) replayDay(ctx context.Context) error {
	type move struct {
		at time.Time
		do func() error
	}
	var moves []move
	p.past.mu.Lock()
	list := p.past.days
	p.past.mu.Unlock()
	for _, j := range list {
		ev := j.Event
		moves = append(moves, move{ev.ReceivedAt, func() error {
			_, err := p.d.Parts().Bus.Inbox.Put(ctx, reissueEvent(ev))
			return err
		}})
		for _, a := range j.Approvals {
			yes := a.State == guard.Approved
			if a.DecidedBy == "" || !yes && a.State != guard.Denied {
				continue // no answer was recorded
			}
			in := Input{Kind: Reply, To: map[bool]string{true: "yes", false: "no"}[yes], More: a.Tool, Body: a.Note}
			moves = append(moves, move{a.DecidedAt, func() error { return p.answerQuestion(ctx, in) }})
		}
	}
	sorting.StableByFunc(moves, func(a, b move) int { return a.at.Compare(b.at) })
	for _, m := range moves {
		if !m.at.Before(p.end) { // input after the end, such as an answer on the next day, is not replayed
			break
		}
		if err := p.waitUntil(m.at); err != nil {
			return err
		}
		p.line.inputs++
		if err := m.do(); err != nil {
			p.line.addEntry(Entry{At: time.Now(), Kind: Problem, Text: err.Error()})
		}
		waitIdle()
	}
	return nil
}

// reissueEvent returns a copy of an event with a new key.
func reissueEvent(e bus.Event) bus.Event {
	return bus.Event{
		Kind: e.Kind, Source: e.Source, Session: e.Session, Lane: e.Lane, Channel: e.Channel, Chat: e.Chat, Sender: e.Sender, Text: e.Text,
		Payload: e.Payload, Provenance: e.Provenance, Key: replayed + e.ID,
	}
}

// compareReplies adds the replies that differ from the recorded replies.
func (p *play) compareReplies(id string, w explain.Why) bool {
	old, ok := strings.CutPrefix(w.Event.Key, replayed)
	if p.past == nil || !ok {
		return false
	}
	for _, j := range p.past.days {
		if j.Event.ID != old {
			continue
		}
		was, now := deliveredText(j.Deliveries), deliveredText(w.Deliveries)
		if was == now {
			return false
		}
		p.line.addEntry(Entry{At: w.Event.ReceivedAt, Kind: Differs, Event: id, Session: w.Event.Session, Text: fmt.Sprintf("then: %s; now: %s", quotedOrNothing(was), quotedOrNothing(now))})
		return true
	}
	return false
}

func deliveredText(list []bus.Delivery) string {
	var out []string
	for _, d := range list {
		if d.Kind == channels.Reply || d.Kind == channels.Notice {
			out = append(out, d.Text)
		}
	}
	return strings.Join(out, " / ")
}

func quotedOrNothing(s string) string {
	if s == "" {
		return "no reply"
	}
	return fmt.Sprintf("%q", s)
}
