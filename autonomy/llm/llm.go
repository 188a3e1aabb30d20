// Package llm is the contract between the engine and its brains: what is asked
// of a model (Request), what comes back as it is produced (Event), and which
// kinds of failure a caller can act on (Error). Drivers live in the folders
// below; decorators such as Retry wrap any Model.
package llm

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"hob/platform/provenance"
)

// Model is one brain. Stream may be called concurrently. It yields events in
// order and ends with exactly one Done event, or with one error and nothing
// after it; errors are *Error. Breaking out of the loop or cancelling ctx
// closes the connection. A model never executes anything.
type Model interface {
	Info() Info
	Stream(ctx context.Context, r Request) iter.Seq2[Event, error]
}

// Info names a model and says what it can do.
type Info struct {
	Provider string // the section name in [providers], or "offline"
	Model    string // the provider's own model name
	Context  int    // context window in tokens, 0 when unknown
	Tools    bool
	Vision   bool
	// Structured: Request.Format is honoured. Elsewhere it is left out, and the
	// answer is free text.
	Structured bool
	Local      bool // costs nothing and stays on this machine
	// Acts: it does things by itself, beyond the tools it is offered, and asks at
	// Request.Desk before it does.
	Acts bool
}

// Name is "provider/model", or "offline".
func (i Info) Name() string {
	if i.Model == "" || i.Model == i.Provider {
		return i.Provider
	}
	return i.Provider + "/" + i.Model
}

// Request is one model call. System and the earlier messages are stable from
// turn to turn, so that providers can cache their prefix.
type Request struct {
	System    string
	Messages  []Message
	Tools     []Tool
	NoTools   bool // the tools are listed but must not be called
	MaxTokens int  // output limit, 0 for the driver's default; see Limit
	// Format asks for an answer that is one JSON value of a schema; nil is free
	// text. What comes must still be checked: a cut-off or refused answer fits no
	// schema, and some servers only try.
	Format *Format
	// Session is the conversation that this call belongs to, for brains which keep
	// one of their own; "" is none. Wire models do not send it.
	Session string
	// Desk is where a brain that acts by itself asks and reports; nil when nobody
	// can be asked. Other brains do not look at it.
	Desk Desk
	// Now is the owner's time in the owner's zone, for brains that compute with
	// it; wire models read the time in the current message.
	Now time.Time
	// Account says on whose behalf the call is made. It is never sent.
	Account Account
}

// Account is what a model call is booked under.
type Account struct {
	Purpose Purpose // "" = ForTurn
	Agent   string  // "" = the main agent
	Session string
	Event   string
	// Unattended: nobody waits for the answer; such calls are bounded by the minute.
	Unattended bool
}

// Purpose says what a model is asked for.
type Purpose string

// The purposes of model calls.
const (
	ForTurn     Purpose = "turn"
	ForSummary  Purpose = "summary" // of an older part of a conversation
	ForLesson   Purpose = "lesson"  // what is to be learnt from a turn
	ForSubAgent Purpose = "sub-agent"
	ForGuardian Purpose = "guardian" // whether a text from outside is an attack
	ForCheck    Purpose = "check"    // whether a provider can be reached
	ForVectors  Purpose = "vectors"  // of what is remembered, and of a question to it
	ForUrgency  Purpose = "urgency"  // how urgent a notice is
	ForMemory   Purpose = "memory"   // whether what was found answers a question, and in which order
)

// Tool is a tool as offered to a model.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// Format is the form of a structured answer. Schema is a JSON Schema whose top
// is an object; only what all providers know works everywhere (type, properties,
// required, items, enum, description, additionalProperties).
type Format struct {
	Name   string // letters, digits, _ and -, at most 64
	Schema json.RawMessage
}

// Embedder turns texts into vectors. Embed may be called concurrently; it
// returns one vector for each text, in their order and all of one length, or an
// *Error and no vectors: nothing is left out in silence. An empty list costs no
// call. A driver splits lists which are longer than its server takes. Vectors of
// different models must not be compared. A call that ctx ends closes the
// connection.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, Usage, error)
}

// Role says who speaks.
type Role string

// The roles of a conversation.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool" // carries only Result parts
)

// Message is one entry of the history.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// Part is one piece of a message: exactly one of Text, Image, Call, Result and
// Reasoning is set.
type Part struct {
	Text      string            `json:"text,omitempty"`
	Image     *Image            `json:"image,omitempty"`
	Call      *ToolCall         `json:"call,omitempty"`
	Result    *ToolResult       `json:"result,omitempty"`
	Reasoning *Reasoning        `json:"reasoning,omitempty"`
	Source    provenance.Source `json:"source,omitempty"`
	// Origins say from where the outside text in it came, where it is not a
	// repetition of what other parts of the conversation hold.
	Origins []provenance.Origin `json:"origins,omitempty"`
	// Fence is the border that was drawn for it, when it came from outside (see
	// Fenced).
	Fence string `json:"fence,omitempty"`
	// Fenced is how many bytes of a result stand within it, 0 for all: what Hob
	// itself added stands behind.
	Fenced int `json:"fenced,omitempty"`
	// Signature is what an API wants back with this part, unchanged (Gemini's
	// thoughtSignature). It means nothing to another API.
	Signature string `json:"signature,omitempty"`
	// Context marks text that Hob added to a message (time, recalled memory,
	// hints): models read it, brains that parse the owner's words skip it.
	Context bool `json:"context,omitempty"`
}

// Image is a picture in a message.
type Image struct {
	MIME string `json:"mime"` // image/png, image/jpeg, image/gif, image/webp
	Data []byte `json:"data"`
}

// ToolCall is a model's wish to use a tool. Args is one JSON object; a driver
// never yields a call whose arguments were cut off (see Truncated).
type ToolCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
	// Truncated: the arguments ended early or are not a JSON object. Args then
	// holds what came, as a JSON string. The call must not be executed.
	Truncated bool `json:"truncated,omitempty"`
}

// ToolResult answers the call with the same ID.
type ToolResult struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Text  string `json:"text"`
	Error bool   `json:"error,omitempty"`
}

// Reasoning is a thinking block which some APIs want back unchanged.
type Reasoning struct {
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"redacted,omitempty"`
	// Details is what OpenAI-style servers want back with the calls of an answer
	// (OpenRouter's reasoning_details).
	Details json.RawMessage `json:"details,omitempty"`
}

// Kind tells what an Event carries.
type Kind uint8

// The kinds of events.
const (
	TextDelta      Kind = iota + 1 // Text; Signature ends a text part and may come with no Text
	ReasoningDelta                 // Text
	CallStart                      // Call.ID, Call.Name
	CallDelta                      // Call.ID, Text: a piece of the arguments
	CallDone                       // Call, complete (or Truncated); Signature
	ReasoningDone                  // Reasoning, complete
	ImageDone                      // Image, a finished picture; Signature
	Done                           // Stop, Usage, Model
)

// Event is one step of a stream.
type Event struct {
	Kind      Kind
	Text      string
	Call      ToolCall
	Reasoning Reasoning
	Image     Image
	Signature string // see Part.Signature
	Stop      Stop
	Usage     Usage
	// Model, on Done, names the model that answered when several were asked
	// (see Fallback); empty means the one that was called.
	Model string
	// Source is Outside when the brain took in text that Hob has not seen, so that
	// what it says may carry somebody else's orders. Empty: its words are as clean
	// as the request.
	Source provenance.Source
}

// Stop says why a model ended.
type Stop string

// The reasons to stop.
const (
	EndTurn   Stop = "end_turn"
	ToolUse   Stop = "tool_use"
	MaxTokens Stop = "max_tokens"
	Refused   Stop = "refused"
)

// Usage counts tokens. Known is false when the provider did not say.
type Usage struct {
	Input      int  `json:"input"` // all input tokens, cached ones included
	Output     int  `json:"output"`
	CacheRead  int  `json:"cache_read"`
	CacheWrite int  `json:"cache_write"`
	Known      bool `json:"known"`
}

// Add sums two counts.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite, u.Known || v.Known}
}

// Response is a whole answer, assembled from the events.
type Response struct {
	Parts []Part
	Stop  Stop
	Usage Usage
	Model string // see Event.Model
	// Source is Outside when one of the events was, and else empty.
	Source provenance.Source
}

// Text joins the text parts.
func (r *Response) Text() string {
	var s string
	for _, p := range r.Parts {
		s += p.Text
	}
	return s
}

// Calls lists the tool calls in order.
func (r *Response) Calls() []ToolCall {
	var out []ToolCall
	for _, p := range r.Parts {
		if p.Call != nil {
			out = append(out, *p.Call)
		}
	}
	return out
}

// Images lists the pictures in order.
func (r *Response) Images() []Image {
	var out []Image
	for _, p := range r.Parts {
		if p.Image != nil {
			out = append(out, *p.Image)
		}
	}
	return out
}

// Add takes the next event into the response.
func (r *Response) Add(e Event) {
	if e.Source == provenance.Outside {
		r.Source = e.Source
	}
	switch e.Kind {
	case TextDelta:
		if n := len(r.Parts); n > 0 && r.Parts[n-1].open() {
			r.Parts[n-1].Text += e.Text
			r.Parts[n-1].Signature = e.Signature
			return
		}
		r.Parts = append(r.Parts, Part{Text: e.Text, Signature: e.Signature})
	case CallDone:
		c := e.Call
		r.Parts = append(r.Parts, Part{Call: &c, Signature: e.Signature})
	case ImageDone:
		i := e.Image
		r.Parts = append(r.Parts, Part{Image: &i, Signature: e.Signature})
	case ReasoningDone:
		x := e.Reasoning
		r.Parts = append(r.Parts, Part{Reasoning: &x})
	case Done:
		r.Stop, r.Usage, r.Model = e.Stop, e.Usage, e.Model
	}
}

// open reports whether more text may be added to the part: it is text, and not
// signed.
func (p *Part) open() bool {
	return p.Call == nil && p.Reasoning == nil && p.Image == nil && p.Result == nil && p.Signature == ""
}

// Collect runs a stream to its end.
func Collect(seq iter.Seq2[Event, error]) (Response, error) {
	var r Response
	for e, err := range seq {
		if err != nil {
			return r, err
		}
		r.Add(e)
	}
	return r, nil
}
