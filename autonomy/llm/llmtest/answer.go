package llmtest

import (
	"net/http"
	"time"

	"hob/autonomy/llm"
)

// Answer is one scripted answer from a model: its condition, content and fault.
type Answer struct {
	Match  string // regular expression for the last user text; answers without one are used in order
	Result string // regular expression for the text of the last tool result
	Times  int    // number of uses: 0 and 1 mean once, a negative value means unlimited

	Reasoning string
	Signature string // signature of the reasoning (Anthropic), or of the first call (Gemini)
	Text      string
	Images    []llm.Image // output of image models (OpenAI in OpenRouter's format, Gemini)
	Calls     []Call
	Stop      string    // the finish reason as sent; empty derives the right one; "length" and "refusal" are converted to the API's name
	Usage     llm.Usage // zero means bytes / 4 of the request and the answer

	Pieces int           // number of deltas per text or call arguments; 0 means 3
	Delay  time.Duration // wait before the first byte
	Gap    time.Duration // wait before each further delta

	Fault Fault
	After int // number of deltas (pieces of reasoning, text or arguments) sent before Fault applies

	Status int               // if not 0, an error response is sent, with Body as its body
	Header map[string]string // additional response headers
	Body   string            // body of an error response, a stream error or garbage; generated if empty
}

// Call is a tool call in an Answer. Args is sent verbatim, even if it is not JSON. If ID is empty,
// a unique one is generated.
type Call struct {
	ID, Name, Args string
}

// Fault is one kind of server misbehavior.
type Fault string

// Values of Fault. Those marked "cut" apply after Answer.After deltas.
const (
	Reset       Fault = "reset"        // cut: the connection breaks
	EOF         Fault = "eof"          // cut: the response ends properly, but the stream does not
	Stall       Fault = "stall"        // cut: sends nothing until the client disconnects
	Pings       Fault = "pings"        // cut: sends pings or comments, but no events, until the client disconnects
	HalfJSON    Fault = "half-json"    // cut: an event ends in the middle of its JSON, and then the response ends
	Garbage     Fault = "garbage"      // cut: sends an event that is not JSON (Body)
	StreamError Fault = "stream-error" // cut: sends an error object in the stream (Body)

	CutArgs     Fault = "cut-args"     // the last call's arguments end halfway; Stop is "length"
	SameIDs     Fault = "same-ids"     // every call has the id of the first call
	NoIDs       Fault = "no-ids"       // calls have no id
	NoIndex     Fault = "no-index"     // OpenAI: deltas of calls have no index
	SameIndex   Fault = "same-index"   // OpenAI: every call has index 0
	OneChunk    Fault = "one-chunk"    // OpenAI: all calls are complete in one chunk
	ObjectArgs  Fault = "object-args"  // OpenAI: arguments are an object, not a string
	JSON        Fault = "json"         // responds with JSON although a stream was requested
	HTML        Fault = "html"         // responds with a web page and status 200
	NoBody      Fault = "no-body"      // responds with status 200 and an empty body
	NoDone      Fault = "no-done"      // OpenAI: sends no [DONE] after the last chunk
	NoUsage     Fault = "no-usage"     // sends no token counts
	UsageInLast Fault = "usage-inline" // OpenAI: usage is in the chunk with the finish reason
	Odd         Fault = "odd"          // sends unusual but legal streams: CRLF, comments, data on several lines
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

// wireCalls returns the calls to send, with ids and the fault applied. id generates unique ids.
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

// splitRunes splits s at rune boundaries into at most n pieces. An empty s has no pieces.
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
