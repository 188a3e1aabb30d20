package llmtest

import (
	"net/http"
	"time"

	"hob/autonomy/llm"
)

// Answer is one scripted answer of a model: its condition, its content, and its fault.
type Answer struct {
	Match  string // regular expression on the last user text; empty applies in order
	Result string // regular expression on the text of the last tool result
	Times  int    // number of uses: 0 and 1 once, negative unlimited

	Reasoning string
	Signature string // of the reasoning (Anthropic), or of the first call (Gemini)
	Text      string
	Images    []llm.Image // of image models (OpenAI in the form of OpenRouter, Gemini)
	Calls     []Call
	Stop      string    // the finish reason as sent; empty derives the right one; "length" and "refusal" are converted to the API's name
	Usage     llm.Usage // zero counts bytes / 4 of the request and the answer

	Pieces int           // number of deltas of a text or of a call's arguments, 0 = 3
	Delay  time.Duration // before the first byte
	Gap    time.Duration // before each further delta

	Fault Fault
	After int // deltas (pieces of reasoning, text or arguments) sent before Fault strikes

	Status int               // when not 0: an error response, and Body its body
	Header map[string]string // further response headers
	Body   string            // of an error response, a stream error or garbage; empty generates one
}

// Call is a tool call of an Answer. Args are sent verbatim, even if they are not JSON. An empty
// ID gets a unique one.
type Call struct {
	ID, Name, Args string
}

// Fault is one kind of misbehavior of a server.
type Fault string

// Values of Fault. Those marked "cut" apply after Answer.After deltas.
const (
	Reset       Fault = "reset"        // cut: the connection breaks
	EOF         Fault = "eof"          // cut: the response ends properly, the stream does not
	Stall       Fault = "stall"        // cut: silence until the client disconnects
	Pings       Fault = "pings"        // cut: pings or comments, but no events, until the client disconnects
	HalfJSON    Fault = "half-json"    // cut: an event ends in the middle of its JSON, then the response ends
	Garbage     Fault = "garbage"      // cut: an event that is not JSON (Body)
	StreamError Fault = "stream-error" // cut: an error object in the stream (Body)

	CutArgs     Fault = "cut-args"     // the last call's arguments end halfway; Stop is "length"
	SameIDs     Fault = "same-ids"     // every call has the id of the first
	NoIDs       Fault = "no-ids"       // calls come without an id
	NoIndex     Fault = "no-index"     // OpenAI: deltas of calls come without an index
	SameIndex   Fault = "same-index"   // OpenAI: every call has index 0
	OneChunk    Fault = "one-chunk"    // OpenAI: all calls, complete, in one chunk
	ObjectArgs  Fault = "object-args"  // OpenAI: arguments are an object, not a string
	JSON        Fault = "json"         // a JSON answer although a stream was requested
	HTML        Fault = "html"         // a web page with status 200
	NoBody      Fault = "no-body"      // status 200 and an empty body
	NoDone      Fault = "no-done"      // OpenAI: no [DONE] after the last chunk
	NoUsage     Fault = "no-usage"     // tokens are not counted
	UsageInLast Fault = "usage-inline" // OpenAI: usage comes in the chunk with the finish reason
	Odd         Fault = "odd"          // legal oddities: CRLF, comments, data over several lines
)

func (a *Answer) isEndless() bool { return a.Times < 0 }

func (a *Answer) pieceCount() int {
	if a.Pieces > 0 {
		return a.Pieces
	}
	return 3
}

// isCut reports whether the fault applies in the middle of a stream.
func (f Fault) isCut() bool {
	switch f {
	case Reset, EOF, Stall, Pings, HalfJSON, Garbage, StreamError:
		return true
	}
	return false
}

// wireCalls returns the calls to send, with ids and the fault applied; id generates unique ids.
func (a *Answer) wireCalls(id func() string) []Call {
	out := make([]Call, len(a.Calls))
	for i, c := range a.Calls {
		if c.ID == "" {
			c.ID = id()
		}
		switch {
		case a.Fault == NoIDs:
			c.ID = ""
		case a.Fault == SameIDs && i > 0:
			c.ID = out[0].ID
		case a.Fault == CutArgs && i == len(a.Calls)-1:
			c.Args = c.Args[:len(c.Args)/2]
		}
		out[i] = c
	}
	return out
}

// splitRunes cuts s at rune boundaries into at most n pieces; an empty s has none.
func splitRunes(s string, n int) []string {
	var out []string
	size := max(1, (len(s)+n-1)/n)
	for len(s) > 0 {
		end := min(size, len(s))
		for end < len(s) && s[end]&0xC0 == 0x80 {
			end++
		}
		out = append(out, s[:end])
		s = s[end:]
	}
	return out
}

func (a *Answer) usageFor(requestBytes int) llm.Usage {
	if a.Fault == NoUsage {
		return llm.Usage{}
	}
	if a.Usage != (llm.Usage{}) {
		u := a.Usage
		u.Known = true
		return u
	}
	n := len(a.Text) + len(a.Reasoning)
	for _, c := range a.Calls {
		n += len(c.Name) + len(c.Args)
	}
	return llm.Usage{Input: requestBytes/4 + 1, Output: n/4 + 1, Known: true}
}

func (a *Answer) writeHeader(h http.Header) {
	for k, v := range a.Header {
		h.Set(k, v)
	}
}
