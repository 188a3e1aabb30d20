package turn

import (
	"context"
	"slices"
	"strings"
	"time"

	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/autonomy/turn/prompt"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/injection"
	"hob/platform/text/promptfence"
)

// contextBuilder builds the conversation's input from sources other than the model: the prompt
// context, the message to answer, and untrusted text.
type contextBuilder struct {
	o    *Options
	t    *Turn
	conv *conversation
	rec  *stepRecorder
}

// beginPrompt selects the system block of the conversation and the context of the current message.
// For a tool call by the owner it returns nothing, because no model is called.
func (b *contextBuilder) beginPrompt(ctx context.Context, before, recorded []llm.Message) ([]llm.Part, error) {
	if b.t.Call != nil {
		return nil, nil
	}
	info, _, err := b.o.Sessions.Get(ctx, b.t.Event.Session)
	if err != nil {
		return nil, err
	}
	begun, err := b.o.Prompt.Begin(ctx, prompt.TurnContext{
		Session: b.t.Event.Session, Event: b.t.Event.ID, Before: before, Recorded: recorded, Text: b.t.Text, Source: b.t.Source,
		Attended: b.t.Attended, Guest: b.t.Guest, Realm: b.o.Realm, Now: time.Now().In(b.o.Zone()), Told: b.t.Told, Turns: info.Turns, OwnerWords: b.conv.ownerWords(),
	})
	if err != nil {
		return nil, err
	}
	b.conv.system = begun.System
	if begun.RecordTx != nil {
		b.rec.queueWrite(func(tx *store.Tx) error { return begun.RecordTx(tx, b.conv.msgs[0]) })
	}
	return begun.Context, nil
}

// currentMessage returns the current message: context first, then untrusted text, then the message
// to answer.
func (b *contextBuilder) currentMessage(ctx context.Context, added []llm.Part) llm.Message {
	m := llm.Message{Role: llm.User, Parts: added}
	for i := range m.Parts {
		if m.Parts[i].Source.Tainted() {
			b.ingestUntrusted(ctx, &m.Parts[i], "")
		}
	}
	for i, o := range b.t.Outside {
		p := llm.Part{Text: b.o.Redact.Text(o), Source: provenance.Outside, Origins: b.t.Origins}
		if i < len(b.t.OutsideFrom) {
			p.Origins = []provenance.Origin{b.t.OutsideFrom[i]}
		}
		b.ingestUntrusted(ctx, &p, "")
		m.Parts = append(m.Parts, p)
	}
	seen := b.t.Source
	if len(b.t.Outside) > 0 { // an image in a forwarded email is not from the owner
		seen = provenance.Outside
	}
	for i := range b.t.Images {
		m.Parts = append(m.Parts, llm.Part{Image: &b.t.Images[i], Source: seen, Origins: b.conv.messageOrigins(seen)})
	}
	if b.t.Text == "" && len(b.t.Outside) > 0 { // only untrusted text: the added sentence is from Hob, not from the owner
		m.Parts = append(m.Parts, llm.Part{Text: renderText("unasked", nil), Source: provenance.Hob, Context: true})
	} else if b.t.Text != "" || len(b.t.Images) == 0 {
		p := llm.Part{Text: b.redactSecrets(b.t.Text, b.t.Source), Source: b.t.Source, Origins: b.conv.messageOrigins(b.t.Source)}
		if p.Source.Tainted() { // the message to answer is scanned but not fenced
			if marks := b.scanMarks(ctx, p.Text); len(marks) > 0 {
				p.Origins = withMarks(p.Origins, marks)
				b.auditMarks(&p, "", marks)
			}
		}
		m.Parts = append(m.Parts, p)
	}
	return m
}

// redactSecrets returns text as the model may see it. In text from the owner, it removes only Hob's
// own secrets; in untrusted text, it removes everything that looks like a secret.
func (b *contextBuilder) redactSecrets(text string, src provenance.Source) string {
	if src.Tainted() {
		return b.o.Redact.Text(text)
	}
	return b.o.Redact.Known(text)
}

// guardianMark is the mark added when the guardian model reports an attack.
const guardianMark = "guardian"

// ingestUntrusted is the only way untrusted text enters the conversation: it scans, marks and
// fences the text. call is the id of the call that returned the text, or "". The marks do not
// affect any decision.
func (b *contextBuilder) ingestUntrusted(ctx context.Context, p *llm.Part, call string) {
	text, hint := p.Text, ""
	if p.Result != nil {
		n := min(p.Fenced, len(p.Result.Text))
		text, hint = p.Result.Text[:n], p.Result.Text[n:]
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	if marks := b.scanMarks(ctx, text); len(marks) > 0 {
		p.Origins = withMarks(p.Origins, marks)
		b.auditMarks(p, call, marks)
		if b.o.Block {
			text = "[withheld: untrusted text that looks like a prompt injection (" + strings.Join(marks, ", ") + "); the user configured this with [guard] block]"
			if p.Result != nil {
				p.Result.Text, p.Fenced = text+hint, len(text)
			} else {
				p.Text = text
			}
		}
	}
	p.Fence = promptfence.New(text)
	if hint == "" {
		p.Fenced = 0
	}
}

// scanMarks returns the marks that the scanner and, if configured, the guardian model set on text.
// The guardian can only add a mark.
func (b *contextBuilder) scanMarks(ctx context.Context, text string) []string {
	marks := injection.Scan(text)
	if b.o.Guardian == nil {
		return marks
	}
	bad, err := b.o.Guardian.IsHostile(ctx, llm.Account{Session: b.t.Event.Session, Event: b.t.Event.ID, Unattended: !b.t.Attended}, text)
	if err != nil {
		b.o.Log.WarnContext(ctx, "guardian check of untrusted text failed", "event", b.t.Event.ID, "err", err)
	}
	if bad {
		marks = append(marks, guardianMark)
	}
	return marks
}

// withMarks adds the injection marks to the origin of the marked text.
func withMarks(list []provenance.Origin, marks []string) []provenance.Origin {
	if len(list) == 0 {
		list = []provenance.Origin{{Kind: "tool"}}
	}
	out := slices.Clone(list)
	for i, o := range out {
		if o.Kind != "more" {
			out[i].Marks = marks
			break // the first origin is the marked text itself
		}
	}
	return provenance.Join(out)
}

// auditMarks records the marks of p in the audit log, in the transaction that stores the text.
func (b *contextBuilder) auditMarks(p *llm.Part, call string, marks []string) {
	rec := guard.Record{
		Actor: "hob", Action: "mark", Event: b.t.Event.ID, Session: b.t.Event.Session, Origin: b.t.Origin, Call: call,
		Verdict: strings.Join(marks, "+"), Rule: "marks only, decides nothing", Tainted: true, Outcome: "marked",
	}
	if b.o.Block {
		rec.Outcome = "withheld"
	}
	if p.Result != nil {
		rec.Tool = p.Result.Name
	}
	b.rec.queueWrite(func(tx *store.Tx) error { return b.o.Guard.AuditTx(tx, rec) })
}
