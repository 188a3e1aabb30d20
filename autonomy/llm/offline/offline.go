// Package offline is the brain Hob has without a language model. It reads plain
// English by a fixed grammar, resolves times with package when, and drives the
// same tools through the same loop as any other llm.Model: a message of the
// owner becomes tool calls, their results become the answer.
//
// It is deterministic, uses no network and never invents. What it does not
// understand it quotes, together with the nearest thing it can do; what is
// missing or has two meanings it asks. It takes orders from the owner's words
// only: never from outside text, nor from tool results.
//
// The grammar lies in grammar/*.txt: macros, intents with their patterns and
// examples, and word lists. A build_*.go file turns the readings of one area
// into calls. docs/offline.md describes what it understands. The engine calls
// it like any model; nothing else does.
package offline

import (
	"cmp"
	"context"
	"iter"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"hob/autonomy/llm"
)

// Options sets up a Brain. The zero value is useful.
type Options struct {
	// Name is what the assistant is called, and may be called by; "Hob" when
	// empty.
	Name string
}

// Brain is the built-in model. It may be used concurrently.
type Brain struct {
	grammar func() *grammar
}

var _ llm.Model = (*Brain)(nil)

// New makes the brain. The grammar is compiled when the first message comes.
func New(o Options) *Brain {
	name := cmp.Or(strings.TrimSpace(o.Name), "Hob")
	return &Brain{grammar: sync.OnceValue(func() *grammar {
		g, err := loadGrammar(name)
		if err != nil { // the files are embedded: a test would have found it
			panic("offline: " + err.Error())
		}
		return g
	})}
}

// Provider is the name of the brain among the providers.
const Provider = "offline"

// Understands reports whether the brain would do something when it is asked this,
// without another question.
func (b *Brain) Understands(text string, now time.Time) bool {
	p := b.grammar().plan(text, now, 0)
	return p.outcome == act && len(p.calls) > 0 && p.question == nil
}

// Info says that the brain is local and calls tools.
func (b *Brain) Info() llm.Info { return llm.Info{Provider: Provider, Tools: true, Local: true} }

// Stream answers a request. Its only error is llm.Interrupted, when ctx ends.
func (b *Brain) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(llm.Event{}, interrupted(err))
			return
		}
		t := b.grammar().turn(r)
		say, calls := t.step()
		stop := llm.EndTurn
		if cut := clipTokens(say, r.MaxTokens); cut != say {
			say, stop = cut, llm.MaxTokens
		}
		if len(calls) > 0 {
			stop = llm.ToolUse
		}
		for e := range events(say, calls, stop) {
			if err := ctx.Err(); err != nil {
				yield(llm.Event{}, interrupted(err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// events words an answer as the stream of a model: text by lines, then calls.
func events(say string, calls []llm.ToolCall, stop llm.Stop) iter.Seq[llm.Event] {
	return func(yield func(llm.Event) bool) {
		for line := range strings.Lines(say) {
			if !yield(llm.Event{Kind: llm.TextDelta, Text: line}) {
				return
			}
		}
		for _, c := range calls {
			head := llm.ToolCall{ID: c.ID, Name: c.Name}
			if !yield(llm.Event{Kind: llm.CallStart, Call: head}) ||
				!yield(llm.Event{Kind: llm.CallDelta, Call: head, Text: string(c.Args)}) ||
				!yield(llm.Event{Kind: llm.CallDone, Call: c}) {
				return
			}
		}
		yield(llm.Event{Kind: llm.Done, Stop: stop, Usage: llm.Usage{Known: true}})
	}
}

func interrupted(err error) *llm.Error {
	return &llm.Error{Kind: llm.Interrupted, Provider: "offline", Message: "stopped before the answer was complete", Err: err}
}

// clipTokens keeps an answer inside a limit, at four bytes a token.
func clipTokens(s string, tokens int) string {
	if tokens <= 0 || tokens >= (len(s)+3)/4 {
		return s
	}
	limit := 4 * tokens
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
