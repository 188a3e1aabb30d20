package turn

import (
	"context"
	"slices"
	"strings"

	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/autonomy/session"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/injection"
	"hob/platform/text/promptfence"
)

// guardianMark is the mark that a guardian model sets.
const guardianMark = "guardian"

// ingestUntrusted is the single entry of untrusted text into the conversation: it scans, marks and
// fences the text. call is the id of the call that returned it, "" for none. The marks do not
// affect any decision.
func (r *turnRun) ingestUntrusted(ctx context.Context, p *llm.Part, call string) {
	text, hint := p.Text, ""
	if p.Result != nil {
		n := min(p.Fenced, len(p.Result.Text))
		text, hint = p.Result.Text[:n], p.Result.Text[n:]
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	if marks := r.scanMarks(ctx, text); len(marks) > 0 {
		p.Origins = withMarks(p.Origins, marks)
		r.auditMarks(p, call, marks)
		if r.o.Block {
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

// scanMarks returns the marks of a text: those of the scanner and of the guardian model, if
// configured. The model can only add a mark.
func (r *turnRun) scanMarks(ctx context.Context, text string) []string {
	marks := injection.Scan(text)
	if r.o.Guardian == nil {
		return marks
	}
	bad, err := r.o.Guardian(ctx, llm.Account{Session: r.t.Event.Session, Event: r.t.Event.ID, Unattended: !r.t.Attended}, text)
	if err != nil {
		r.o.Log.WarnContext(ctx, "guardian check of untrusted text failed", "event", r.t.Event.ID, "err", err)
	}
	if bad {
		marks = append(marks, guardianMark)
	}
	return marks
}

// withMarks notes the marks with the origins of the text in which they were seen.
func withMarks(list []provenance.Origin, marks []string) []provenance.Origin {
	if len(list) == 0 {
		list = []provenance.Origin{{Kind: "tool"}}
	}
	out := slices.Clone(list)
	for i, o := range out {
		if o.Kind != "more" {
			out[i].Marks = marks
			break // the nearest one
		}
	}
	return provenance.Join(out)
}

// auditMarks writes down that a text was marked, in the transaction that stores
// it.
func (r *turnRun) auditMarks(p *llm.Part, call string, marks []string) {
	rec := guard.Record{
		Actor: "hob", Action: "mark", Event: r.t.Event.ID, Session: r.t.Event.Session, Origin: r.t.Origin, Call: call,
		Verdict: strings.Join(marks, "+"), Rule: "marks only, decides nothing", Tainted: true, Outcome: "marked",
	}
	if r.o.Block {
		rec.Outcome = "withheld"
	}
	if p.Result != nil {
		rec.Tool = p.Result.Name
	}
	r.pending = append(r.pending, func(tx *store.Tx) error { return r.o.Guard.AuditTx(tx, rec) })
}

// shownTo returns the messages in the form for the model. The built-in brain parses results
// itself and shows them unchanged.
func (r *turnRun) shownTo() []llm.Message {
	msgs := session.MergeSummary(r.msgs)
	if r.model.Info().Provider == offlineBrain {
		return msgs
	}
	return llm.FenceUntrusted(msgs)
}
