package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/text/textnorm"
)

// AuditLine is one line of the audit log with its context: the actor, the authority, the untrusted
// text and the call.
type AuditLine struct {
	guard.Record
	// Approval is the approval request that decided the call, if any.
	Approval *guard.Approval `json:"approval,omitempty"`
	// Texts lists the stored origins of the untrusted text in context.
	Texts []provenance.Origin `json:"texts,omitempty"`
	// What describes the call, if the call is still stored.
	What string `json:"what,omitempty"`
	Text string `json:"text"` // the complete explanation as text
}

// AuditLine returns one line of the audit log, or bus.ErrNotFound if it does not exist.
func (x *Explainer) AuditLine(ctx context.Context, seq int64) (AuditLine, error) {
	var out AuditLine
	rows, err := x.o.Guard.AuditLines(ctx, guard.AuditQuery{Before: seq + 1, Limit: 1})
	if err != nil {
		return out, err
	}
	if len(rows) == 0 || rows[0].Seq != seq || seq < 1 {
		return out, fmt.Errorf("line %d of the audit log: %w", seq, bus.ErrNotFound)
	}
	out.Record = rows[0]
	if out.Call != "" {
		if e, err := x.o.Bus.Ledger.Call(ctx, out.Call); err == nil {
			out.What = textnorm.FirstLine(e.Result)
		}
		if out.Texts, err = origins.Of(x.o.Store.Reader(ctx), origins.Call, out.Call); err != nil {
			return out, err
		}
	}
	asked, err := x.o.Guard.Approvals(ctx, "", "", out.Event, 100)
	if err != nil {
		return out, err
	}
	if i := slices.IndexFunc(asked, func(a guard.Approval) bool { return a.Call == out.Call && out.Call != "" }); i >= 0 {
		out.Approval = &asked[i]
	}
	out.Text = out.formatText(x.o.Zone())
	return out, nil
}

func (a AuditLine) formatText(zone *time.Location) string {
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	row("line", "%d of %s", a.Seq, a.At.In(zone).Format("2006-01-02 15:04:05 MST"))
	row("who", "%s, through %s", a.Actor, a.Origin)
	what := a.Action
	if a.Tool != "" {
		what += " of " + a.Tool
	}
	if a.Effects != "" {
		what += " (" + a.Effects + ")"
	}
	row("what", "%s: %s", what, a.Outcome)
	if a.What != "" {
		row("", "%s", a.What)
	}
	row("authority", "%s by %s", a.Verdict, a.Rule)
	if q := a.Approval; q != nil {
		row("", "approval request: %s; %s by %s", q.Summary, q.State, q.DecidedBy)
	}
	switch {
	case len(a.Texts) > 0:
		row("from", "%s", provenance.Told(a.Texts, 12))
	case a.From != "":
		row("from", "untrusted text: %s", a.From)
	case a.Tainted:
		row("from", "untrusted text")
	default:
		row("from", "no untrusted text")
	}
	row("event", "%s in %s; `hob why %s` shows more", a.Event, a.Session, a.Event)
	row("hash", "%s", a.Hash)
	return strings.TrimSuffix(b.String(), "\n")
}
