package tools

import (
	"context"
	"encoding/json"
)

// CallAssessor assesses what one call would do with its arguments, while a Spec only declares what
// its tool may do: "ls" and "rm" are both run_command. The guard relies on the result, so it must
// come from Hob's own code and syntax tree, never from a model's text. Foreign tools are not
// assessed.
//
// A CallAssessor reads (files, programs on the path) and changes nothing, returns soon, and fails
// closed: for everything unknown, the declaration of the Spec applies.
type CallAssessor interface {
	Judge(ctx context.Context, args json.RawMessage) CallAssessment
}

// Owner represents the owner in CallAssessment.To. It cannot be mistaken for an address: those
// contain a colon, an "@" or a "+".
const Owner = "owner"

// CallAssessment assesses one call. The zero value keeps the declarations of the Spec.
type CallAssessment struct {
	// Effects of this call, in place of the Spec's; 0 keeps those.
	Effects Effects
	// Refused denies the call even if the owner would approve it: a protected folder, an
	// address inside the owner's network. Its code and remedy reach the model.
	Refused error
	// Why briefly tells the owner the reason for the effects: "curl contacts evil.example".
	// Optional.
	Why string
	// URLs are the addresses that an egress would fetch, as requested; Get is true if only
	// the address itself is sent.
	URLs []string
	Get  bool
	// Query is the text that an egress sends to a configured service, such as the words for
	// a search engine.
	Query string
	// To lists the people and services that a send reaches, normalized: an address in lower
	// case, a number in E.164, "channel:chat"; Owner for a chat of the owner.
	To []string
	// Inert is true if the call only creates files of inert types in the drop folder
	// ([files] drop).
	Inert bool
	// Listed is true if the call runs only programs and arguments from the read-only list.
	// Its effects still include Exec.
	Listed bool
	// Private is true if the call reads data of the owner that was not meant for Hob, such
	// as the screen, or acts there. While the owner is away, reading needs approval and
	// acting is denied.
	Private bool
	// Items is the number of items that a batch changes or reaches; 0 counts as 1.
	Items int
	// Pattern describes similar calls that a grant would cover: "git status *", "host:example.org";
	// "" if only identical arguments may be granted.
	Pattern string
	// Exact names what would really run or be sent beyond the arguments: the resolved
	// program, its digest, digests of files read at run time. An approval is bound to it,
	// and Call.Exact passes it to the tool, which refuses everything else.
	Exact string
}

type askingKey struct{}

// WithAsking stores the event whose turn an assessment is for.
func WithAsking(ctx context.Context, event string) context.Context {
	return context.WithValue(ctx, askingKey{}, event)
}

// Asking returns the event whose turn an assessment is for, "" if unknown.
func Asking(ctx context.Context) string {
	event, _ := ctx.Value(askingKey{}).(string)
	return event
}

type askedKey struct{}

// WithAsked stores how to find the binding of the approval request for this call, as the
// owner saw it.
func WithAsked(ctx context.Context, exact func() string) context.Context {
	return context.WithValue(ctx, askedKey{}, exact)
}

// ApprovedForm returns the Exact of the approval request for this call, as it was shown; "" if
// there was none. So a call is judged by the same binding before and after the answer. Its
// content is checked again anyway.
func ApprovedForm(ctx context.Context) string {
	if exact, ok := ctx.Value(askedKey{}).(func() string); ok {
		return exact()
	}
	return ""
}

// JudgmentOf asks the tool for its judgment, unless the tool is foreign.
func JudgmentOf(ctx context.Context, t Tool, args json.RawMessage) CallAssessment {
	j, ok := t.(CallAssessor)
	if !ok || t.Spec().Foreign {
		return CallAssessment{}
	}
	return j.Judge(ctx, args)
}
