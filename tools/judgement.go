package tools

import (
	"context"
	"encoding/json"
)

// Judge says what one call would really do with its arguments, where a Spec can
// only say what its tool may do: "ls" and "rm" are both run_command. The guard
// decides by it, so it must be Hob's own code reading Hob's own syntax tree,
// never a text of a model; a Foreign tool's word is not heard.
//
// It looks (files, programs on the path) and changes nothing, returns soon, and
// fails closed: what it cannot tell it leaves as the Spec declares it.
type Judge interface {
	Judge(ctx context.Context, args json.RawMessage) Judgement
}

// Owner stands in Judgement.To for the owner. It is no address: those of people
// hold a colon, an "@" or a "+".
const Owner = "owner"

// Judgement of one call. The zero value leaves everything to the Spec.
type Judgement struct {
	// Effects of this call, in place of the Spec's; 0 leaves those.
	Effects Effects
	// Refused denies the call whatever the owner would say: a protected place,
	// an address inside the owner's network. Its code and remedy reach the model.
	Refused error
	// Why says in a few words for the owner what made the effects what they are:
	// "curl contacts evil.example". Optional.
	Why string
	// URLs are what an egress would fetch, as they would be requested; Get says
	// that nothing but the address itself is sent.
	URLs []string
	Get  bool
	// Query is the text that an egress sends to a service the owner configured,
	// such as the words for a search engine.
	Query string
	// To are the people and services that a send reaches, normalised: an address
	// in lower case, a number in E.164, "channel:chat"; Owner for one of the
	// owner's own chats.
	To []string
	// Inert: it only makes new files of inert types in the folder that was set
	// aside for that ([files] drop).
	Inert bool
	// Listed: it runs nothing but programs that are known to look only, with
	// arguments that are known to let them. Its effects are Exec all the same.
	Listed bool
	// Private: it looks at what is the owner's own and was not meant for Hob, such
	// as his screen, or acts there: the one not while he is away unless he says so, the
	// other never then.
	Private bool
	// Items is how many things a batch changes or reaches; 0 counts as 1.
	Items int
	// Pattern is what a grant for calls like this one would cover, "" when only
	// the very same arguments may be granted: "git status *", "host:example.org".
	Pattern string
	// Exact names what would really run or be sent beyond the arguments: resolved
	// program, its digest, digests of files that are read at run time. An approval
	// is bound to it, and Call.Exact hands it to the tool, which refuses to do
	// anything else.
	Exact string
}

type askingKey struct{}

// WithAsking notes which event's turn a judgement is for.
func WithAsking(ctx context.Context, event string) context.Context {
	return context.WithValue(ctx, askingKey{}, event)
}

// Asking is the event whose turn a judgement is for, "" when none is known.
func Asking(ctx context.Context) string {
	event, _ := ctx.Value(askingKey{}).(string)
	return event
}

type askedKey struct{}

// WithAsked says how to find what the question about this very call was bound to, as
// its owner was shown it.
func WithAsked(ctx context.Context, exact func() string) context.Context {
	return context.WithValue(ctx, askedKey{}, exact)
}

// Asked is the Exact of the question that was put about this very call, as it was
// shown, "" when none was: so a call is judged by the same thing before the answer and
// behind it. What it holds is looked at again all the same.
func Asked(ctx context.Context) string {
	if exact, ok := ctx.Value(askedKey{}).(func() string); ok {
		return exact()
	}
	return ""
}

// JudgementOf asks the tool, unless somebody else wrote it.
func JudgementOf(ctx context.Context, t Tool, args json.RawMessage) Judgement {
	j, ok := t.(Judge)
	if !ok || t.Spec().Foreign {
		return Judgement{}
	}
	return j.Judge(ctx, args)
}
