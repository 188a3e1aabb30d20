// Package offline is the built-in brain, which works without a language model. It parses plain
// English with a fixed grammar, resolves times with package dateparse, and uses the same tools in
// the same loop as any other llm.Model: it converts a message from the user to tool calls, and
// their results to the answer.
//
// It is deterministic, uses no network and never invents facts. If it does not understand text, it
// quotes the text together with the most similar request that it supports. If information is
// missing or ambiguous, it asks. It follows only instructions in the user's words, never in
// untrusted text or tool results.
//
// The grammar is in grammar/*.txt: macros, intents with their patterns and examples, and word
// lists. Each build_*.go file converts the readings in one area to calls. docs/offline.md describes
// the supported requests. Only the engine calls the package, like any model.
package offline

import (
	"cmp"
	"context"
	_ "embed"
	"iter"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"hob/autonomy/llm"
	"hob/channels"
	"hob/watchers"
)

// Options holds the settings of a Model. The zero value is valid.
type Options struct {
	// Name is the name that the user may call the assistant; "" means "Hob".
	Name string
	// Channels and Watchers list the kinds that requests may name. Requests for other kinds of
	// watchers are not understood.
	Channels []channels.Description
	Watchers []watchers.Description
	// Setup holds the present values of what only the user may change, for example of "quiet hours".
	Setup map[string]string
}

// Model is the built-in model. It may be used concurrently.
type Model struct {
	grammar func() *grammar
}

var _ llm.Model = (*Model)(nil)

// New creates the model. The grammar is compiled at the first message.
func New(o Options) *Model {
	o.Name = cmp.Or(strings.TrimSpace(o.Name), "Hob")
	return &Model{grammar: sync.OnceValue(func() *grammar {
		g, err := loadGrammar(o)
		if err != nil { // the files are embedded, so a test would have found the error
			panic("offline: " + err.Error())
		}
		return g
	})}
}

// Understands reports whether the model would execute the request in text without asking a
// question.
func (b *Model) Understands(text string, now time.Time) bool {
	p := b.grammar().planRequests(text, now, 0)
	return p.outcome == act && len(p.calls) > 0 && p.question == nil
}

// Info returns a description of the model: it is local and supports tool calls.
func (b *Model) Info() llm.Info {
	return llm.Info{Provider: llm.Offline, Tools: true, Local: true, Unfenced: true}
}

// Stream answers a request. Its only error is llm.Interrupted, which it returns if ctx ends.
func (b *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(llm.Event{}, interruptedError(err))
			return
		}
		t := b.grammar().newTurn(r)
		say, calls := t.nextStep()
		stop := llm.EndTurn
		if cut := clipTokens(say, r.MaxTokens); cut != say {
			say, stop = cut, llm.MaxTokens
		}
		if len(calls) > 0 {
			stop = llm.ToolUse
		}
		for e := range answerEvents(say, calls, stop) {
			if err := ctx.Err(); err != nil {
				yield(llm.Event{}, interruptedError(err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// answerEvents converts an answer to a model stream: first the text, line by line, then the calls.
func answerEvents(say string, calls []llm.ToolCall, stop llm.StopReason) iter.Seq[llm.Event] {
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

func interruptedError(err error) *llm.Error {
	return &llm.Error{Kind: llm.Interrupted, Provider: llm.Offline, Message: "stopped before the answer was complete", Err: err}
}

// clipTokens shortens an answer to a token limit, at 4 bytes per token.
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

//go:embed texts/help.md
var helpText string

//go:embed texts/replies.md
var repliesText string

// replyText returns the reply called title in the folder texts. It replaces {name} and the given
// pairs.
func (g *grammar) replyText(title string, pairs ...string) string {
	body, texts := helpText, cmp.Or(g.texts, repliesText)
	if title != "help" || g.texts != "" {
		_, after, _ := strings.Cut("\n"+texts, "\n# "+title+"\n")
		body, _, _ = strings.Cut(after, "\n# ")
	}
	return strings.NewReplacer(append(pairs, "{name}", g.name)...).Replace(strings.TrimSpace(body))
}

// quoteText returns s in typographic quotes, shortened to one line.
func quoteText(s string) string { return "“" + oneLine(s, 160) + "”" }

// oneLine collapses white space and truncates s at a rune boundary.
func oneLine(s string, limit int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	n := 0
	for i := range s {
		if n == limit {
			return strings.TrimSpace(s[:i]) + "…"
		}
		n++
	}
	return s
}
