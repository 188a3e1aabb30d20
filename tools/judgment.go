package tools

import (
	"context"
	"encoding/json"
)

// CallAssessor assesses what one call would do with its arguments, while a Spec only declares what
// its tool may do: "ls" and "rm" are both run_command. The guard relies on the result, so it must
// be computed by Hob's own code, for example from a command's syntax tree, and never come from a
// model's text. Foreign tools are not assessed.
//
// A CallAssessor only reads (files, programs on the path), returns quickly, and fails closed: if it
// cannot assess a call, the declaration of the Spec applies.
type CallAssessor interface {
	Judge(ctx context.Context, args json.RawMessage) CallAssessment
}

// Owner represents the owner in CallAssessment.To. It cannot be mistaken for an address, because
// addresses contain a colon, an "@" or a "+".
const Owner = "owner"

// CallAssessment assesses one call. The zero value keeps the declarations of the Spec.
type CallAssessment struct {
	// Effects replaces the Spec's effects for this call; 0 keeps them.
	Effects Effects
	// Refused denies the call even if the owner would approve it, for example because it accesses a
	// protected folder or an address inside the owner's network. Its code and remedy reach the
	// model.
	Refused error
	// Summary replaces the tool's summary in an approval request if the arguments alone do not say
	// what the call would do. Optional.
	Summary string
	// Why briefly tells the owner the reason for the effects: "curl contacts evil.example".
	// Optional.
	Why string
	// URLs are the addresses that a call with the effect Egress would fetch, as requested; Get is
	// true if only the address itself is sent.
	URLs []string
	Get  bool
	// Query is the text that a call with the effect Egress sends to a configured service, such as
	// the words for a search engine.
	Query string
	// To lists the people and services that a message would reach, normalized: an address in lower
	// case, a number in E.164, "channel:chat"; Owner for a chat of the owner.
	To []string
	// Inert is true if the call only creates files of inert types in the drop folder
	// ([files] drop).
	Inert bool
	// Listed is true if the call runs only programs and arguments from the read-only list.
	// Its effects still include Exec.
	Listed bool
	// Private is true if the call reads or controls something that was not meant for Hob, such as
	// the owner's screen. While the owner is away, reading needs approval and controlling is
	// denied.
	Private bool
	// Items is the number of items that a batch changes or reaches; 0 counts as 1.
	Items int
	// Pattern describes similar calls that a grant would cover: "git status *", "host:example.org";
	// "" if only identical arguments may be granted.
	Pattern string
	// Exact describes what the call would run or send beyond the arguments: the resolved program,
	// its digest, and digests of files read at run time. An approval is bound to it, and Call.Exact
	// passes it to the tool, which refuses any other binding.
	Exact string
}

type askingKey struct{}

// WithAsking returns a context that carries the event whose turn needs an assessment.
func WithAsking(ctx context.Context, event string) context.Context {
	return context.WithValue(ctx, askingKey{}, event)
}

// Asking returns the event whose turn needs the assessment, or "" if it is unknown.
func Asking(ctx context.Context) string {
	event, _ := ctx.Value(askingKey{}).(string)
	return event
}

type askedKey struct{}

// WithAsked returns a context that carries exact, which returns the Exact of the approval request
// for this call, as the owner saw it.
func WithAsked(ctx context.Context, exact func() string) context.Context {
	return context.WithValue(ctx, askedKey{}, exact)
}

// ApprovedForm returns the Exact of the approval request for this call, as the owner saw it, or ""
// if there was none. The call is thus assessed with the same binding before and after the answer.
// The content of the call is checked again in any case.
func ApprovedForm(ctx context.Context) string {
	if exact, ok := ctx.Value(askedKey{}).(func() string); ok {
		return exact()
	}
	return ""
}

// JudgmentOf returns the tool's assessment of a call. It returns the zero value if the tool is
// foreign or is not a CallAssessor.
func JudgmentOf(ctx context.Context, t Tool, args json.RawMessage) CallAssessment {
	j, ok := t.(CallAssessor)
	if !ok || t.Spec().Foreign {
		return CallAssessment{}
	}
	return j.Judge(ctx, args)
}
