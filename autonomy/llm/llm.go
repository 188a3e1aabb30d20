// Package llm is the contract between the engine and language models: the request (Request), the
// streamed answer (Event), and the kinds of failures that callers can handle (Error). The drivers
// are in subfolders. Decorators such as Retry wrap any Model.
package llm

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"hob/platform/provenance"
)

// Model is one language model. Stream may be called concurrently. It yields events in order and
// ends with exactly one Done event, or with one error and nothing after it. Errors are *Error.
// Breaking out of the loop or canceling ctx closes the connection. A model never executes tools.
type Model interface {
	Info() Info
	Stream(ctx context.Context, r Request) iter.Seq2[Event, error]
}

// Offline is the provider name of the built-in brain, and the value of agent.model that selects it.
const Offline = "offline"

// Info names a model and describes its capabilities.
type Info struct {
	Provider string // name of the section in [providers], or Offline
	Model    string // the provider's own model name
	Context  int    // context window in tokens; 0 if unknown
	Tools    bool
	Vision   bool
	// Structured reports whether the model supports Request.Format. Other models ignore the format
	// and answer with free text.
	Structured bool
	Local      bool // whether the model is free of charge and runs on this machine
	// Acts marks an external agent: it runs actions other than the offered tools, and requests
	// permission for them from Request.Broker.
	Acts bool
	// Unfenced reports that the model receives messages as recorded, without FenceUntrusted.
	Unfenced bool
}

// Name returns "provider/model", or "offline".
func (i Info) Name() string {
	if i.Model == "" || i.Model == i.Provider {
		return i.Provider
	}
	return i.Provider + "/" + i.Model
}

// Request is one model call. System and the earlier messages stay the same from turn to turn,
// so that providers can cache their prefix.
type Request struct {
	System    string
	Messages  []Message
	Tools     []Tool
	NoTools   bool // whether the tools are listed but must not be called
	MaxTokens int  // output limit in tokens; 0 means the driver's default; see Limit
	// Format requests an answer that is one JSON value that matches a schema. Nil means free text.
	// Callers must validate the answer: a truncated or refused answer matches no schema, and some
	// servers do not enforce it.
	Format *Format
	// Session is the conversation of this call, for external agents that store conversations, or ""
	// if there is none. HTTP drivers do not send it.
	Session string
	// Broker authorizes and records the actions of external agents. It is nil if no user can be
	// asked. Other models ignore it.
	Broker PermissionBroker
	// Now is the current time in the user's time zone, for models that calculate with it. HTTP
	// models read the time in the current message.
	Now time.Time
	// StandIn allows the built-in brain to answer if no model can be reached.
	StandIn bool
	// TakenOver tells the built-in brain that another model began the turn. The built-in brain then
	// reports the results so far and makes no further call.
	TakenOver bool
	// Account identifies the purpose and the caller of the call. It is never sent.
	Account Account
}

// Account identifies the purpose and the caller of a model call for usage tracking.
type Account struct {
	Purpose Purpose // "" means ForTurn
	Agent   string  // "" means the main agent
	Session string
	Event   string
	// Unattended reports that no user is waiting for the answer. Such calls are limited per minute.
	Unattended bool
}

// Purpose is the purpose of a model call.
type Purpose string

// Values of Purpose.
const (
	ForTurn     Purpose = "turn"
	ForSummary  Purpose = "summary" // summarizes an older part of a conversation
	ForLesson   Purpose = "lesson"  // extracts the lessons from a turn
	ForSubAgent Purpose = "sub-agent"
	ForGuardian Purpose = "guardian" // detects attacks in untrusted text
	ForCheck    Purpose = "check"    // tests whether a provider is reachable
	ForVectors  Purpose = "vectors"  // computes vectors for memory and queries
	ForUrgency  Purpose = "urgency"  // rates the urgency of a notice
	ForMemory   Purpose = "memory"   // reranks search results
)

// Tool describes a tool to a model.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// Format describes a structured answer. Schema is a JSON Schema whose top level is an object. Use
// only keywords that all providers support (type, properties, required, items, enum, description,
// additionalProperties).
type Format struct {
	Name   string // letters, digits, _ and -, at most 64 characters
	Schema json.RawMessage
}

// Embedder computes vectors for strings. Embed may be called concurrently. It returns one vector
// per string, in order and all with the same length, or an *Error and no vectors. It never silently
// omits a string. An empty list makes no call. Drivers split lists that exceed the server's limit.
// Vectors from different models must not be compared. Canceling ctx closes the connection.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, Usage, error)
}

// Role is the author of a message.
type Role string

// Values of Role.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool" // contains only Result parts
)

// Message is one entry in the history.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
	// At is the time at which the message was stored, to the millisecond. It is zero for a message of
	// the running turn. It is never sent or stored with the message; the built-in brain needs it to
	// forget old questions.
	At time.Time `json:"-"`
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
	// Origins lists the origins of the untrusted text in the part, unless the text repeats other
	// parts of the conversation.
	Origins []provenance.Origin `json:"origins,omitempty"`
	// Fence is the delimiter for untrusted text (see FenceUntrusted).
	Fence string `json:"fence,omitempty"`
	// Fenced is the number of leading bytes of a result that are inside the fence (0 means all).
	// The rest is text that Hob added.
	Fenced int `json:"fenced,omitempty"`
	// Signature must be returned unchanged to the API that sent it (Gemini's thoughtSignature).
	// Other APIs ignore it.
	Signature string `json:"signature,omitempty"`
	// Context marks text that Hob added to a message (time, recalled memory, hints). Models read
	// it; parsers of the user's text skip it.
	Context bool `json:"context,omitempty"`
	// Skill is the name of the skill whose instructions Hob added with this part. The skill is in
	// force for the rest of the turn.
	Skill string `json:"skill,omitempty"`
}

// Image is a picture in a message.
type Image struct {
	MIME string `json:"mime"` // image/png, image/jpeg, image/gif or image/webp
	Data []byte `json:"data"`
}

// ToolCall is a model's request to use a tool. Args is one JSON object. Drivers mark calls with
// incomplete arguments as Truncated.
type ToolCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
	// Truncated reports that the arguments ended early or are not a JSON object. Args then holds
	// the received text as a JSON string. The call must not be executed.
	Truncated bool `json:"truncated,omitempty"`
}

// WaitingResult is the prefix of the result of a call whose turn is waiting for the user's approval
// while another turn of the conversation runs.
const WaitingResult = "waiting: "

// ToolResult answers the call with the same ID.
type ToolResult struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Text  string `json:"text"`
	Error bool   `json:"error,omitempty"`
}

// Reasoning is a thinking block. Some APIs require it to be sent back unchanged.
type Reasoning struct {
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"redacted,omitempty"`
	// Details must be sent back together with the calls in an answer, for OpenAI-style servers
	// (OpenRouter's reasoning_details).
	Details json.RawMessage `json:"details,omitempty"`
}

// EventKind identifies the content of an Event.
type EventKind uint8

// Values of Kind. The comments list the fields that are set.
const (
	TextDelta      EventKind = iota + 1 // Text; Signature ends a text part, possibly without Text
	ReasoningDelta                      // sets Text
	CallStart                           // sets Call.ID and Call.Name
	CallDelta                           // sets Call.ID, and Text to a piece of the arguments
	CallDone                            // sets Call, which is complete or Truncated, and Signature
	ReasoningDone                       // sets Reasoning, which is complete
	ImageDone                           // sets Image, which is complete, and Signature
	Done                                // sets Stop, Usage and Model
)

// Event is one event in a stream.
type Event struct {
	Kind      EventKind
	Text      string
	Call      ToolCall
	Reasoning Reasoning
	Image     Image
	Signature string // see Part.Signature
	Stop      StopReason
	Usage     Usage
	// Model is set on a Done event and names the model that answered if several were called (see
	// Fallback). Empty means the model that was called.
	Model string
	// Source is Outside if the model read text that Hob has not seen, so that its output may
	// contain another person's instructions. Empty means that the output is as trusted as the
	// request.
	Source provenance.Source
}

// StopReason is the reason why a model stopped.
type StopReason string

// Values of Stop.
const (
	EndTurn   StopReason = "end_turn"
	ToolUse   StopReason = "tool_use"
	MaxTokens StopReason = "max_tokens"
	Refused   StopReason = "refused"
)

// Usage holds token counts. Known is false if the provider sent no counts.
type Usage struct {
	Input      int  `json:"input"` // all input tokens, including cached ones
	Output     int  `json:"output"`
	CacheRead  int  `json:"cache_read"`
	CacheWrite int  `json:"cache_write"`
	Known      bool `json:"known"`
}

// Add returns the sum of two counts.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite, u.Known || v.Known}
}

// Response is a complete answer that was assembled from events.
type Response struct {
	Parts []Part
	Stop  StopReason
	Usage Usage
	Model string // see Event.Model
	// Source is Outside if it was set in any event, otherwise empty.
	Source provenance.Source
}

// Text returns the joined text parts.
func (r *Response) Text() string {
	var s string
	for _, p := range r.Parts {
		s += p.Text
	}
	return s
}

// Calls returns the tool calls in order.
func (r *Response) Calls() []ToolCall {
	var out []ToolCall
	for _, p := range r.Parts {
		if p.Call != nil {
			out = append(out, *p.Call)
		}
	}
	return out
}

// Images returns the images in order.
func (r *Response) Images() []Image {
	var out []Image
	for _, p := range r.Parts {
		if p.Image != nil {
			out = append(out, *p.Image)
		}
	}
	return out
}

// Add adds the next event to the response.
func (r *Response) Add(e Event) {
	if e.Source == provenance.Outside {
		r.Source = e.Source
	}
	switch e.Kind {
	case TextDelta:
		if n := len(r.Parts); n > 0 && r.Parts[n-1].isOpenText() {
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

// isOpenText reports whether more text may be appended to the part, which must be text without a
// signature.
func (p *Part) isOpenText() bool {
	return p.Call == nil && p.Reasoning == nil && p.Image == nil && p.Result == nil && p.Signature == ""
}

// Collect reads a stream to its end and returns the complete answer.
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
