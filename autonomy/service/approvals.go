package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"hob/autonomy/api"
	"hob/autonomy/approvals"
	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/channels"
	"hob/platform/store"
	"hob/platform/text/textnorm"
)

// Approvals implements api.Approvals.
func (sv *Service) Approvals(ctx context.Context, q api.Query) ([]api.Approval, error) {
	if err := oneOf(q.State, guard.Pending, guard.Approved, guard.Denied, guard.TimedOut, guard.Cancelled); err != nil {
		return nil, err
	}
	list, err := sv.o.Guard.ApprovalsBefore(ctx, guard.ApprovalState(q.State), q.Of, "", q.Before, q.Limit)
	return ConvertEach(list, guard.Approval.API), Classify(err)
}

// oneOf returns an error for an unknown state, because an empty list for such a state would hide
// the mistake.
func oneOf[S ~string](state string, known ...S) error {
	if state == "" || slices.Contains(known, S(state)) {
		return nil
	}
	var names []string
	for _, k := range known {
		names = append(names, string(k))
	}
	return fmt.Errorf("%w: unknown state %q; use one of %s", api.ErrInvalid, state, strings.Join(names, ", "))
}

// Answer implements api.Approvals.
func (sv *Service) Answer(ctx context.Context, approval string, a api.Answer) (api.Decision, error) {
	ans := guard.Answer{Approved: a.Approved, Scope: a.Scope, Note: a.Note, Uses: a.Uses, By: a.By, Beforehand: a.Beforehand}
	if a.Expires != "" {
		d, err := approvals.ParseGrantDuration(a.Expires)
		if err != nil {
			return api.Decision{}, fmt.Errorf("%w: expires: %w", api.ErrInvalid, err)
		}
		ans.For = d
	}
	rows, err := sv.o.Approvals.Answer(ctx, approval, ans)
	if err != nil {
		return api.Decision{}, Classify(err)
	}
	return api.Decision{Batch: guard.IsBatch(approval), Approvals: ConvertEach(rows, guard.Approval.API)}, nil
}

// Grants implements api.Approvals.
func (sv *Service) Grants(ctx context.Context, q api.Query) ([]api.Grant, error) {
	list, err := sv.o.Guard.Grants(ctx, q.All, q.Of, q.Limit)
	return ConvertEach(list, apiGrant), Classify(err)
}

// Grant implements api.Approvals.
func (sv *Service) Grant(ctx context.Context, n api.NewGrant) (api.Grant, error) {
	t, ok := sv.o.Catalog.Get(n.Tool)
	if !ok {
		return api.Grant{}, fmt.Errorf("tool %q: %w; list the tools with: hob tool list", n.Tool, api.ErrNotFound)
	}
	g := guard.NewGrant{Tool: t, Pattern: n.Pattern, Args: n.Arguments, Session: n.Session, Name: n.Name, Outside: n.Outside, Uses: n.Uses, By: n.By}
	if n.Expires != "" {
		d, err := approvals.ParseGrantDuration(n.Expires)
		if err != nil {
			return api.Grant{}, fmt.Errorf("%w: expires: %w", api.ErrInvalid, err)
		}
		g.For = d
	}
	row, err := sv.o.Approvals.Grant(ctx, g)
	return apiGrant(row), Classify(err)
}

// Revoke implements api.Approvals.
func (sv *Service) Revoke(ctx context.Context, grant, by string) (api.Grant, error) {
	row, err := sv.o.Approvals.Revoke(ctx, grant, by)
	return apiGrant(row), Classify(err)
}

// Shown implements api.Deliveries.
func (sv *Service) Shown(ctx context.Context, client string, d api.Display) error {
	what := bus.Display{Delivery: d.Delivery, Event: d.Event, Approvals: d.Approvals}
	if d.Withdrawn {
		return Classify(sv.o.Bus.Outbox.RemoveDisplay(ctx, client, what))
	}
	return Classify(sv.o.Bus.Outbox.MarkShown(ctx, client, what))
}

// Deliveries implements api.Deliveries.
func (sv *Service) Deliveries(ctx context.Context, q api.Query) ([]api.Delivery, error) {
	if err := oneOf(q.State, channels.Queued, channels.Sending, channels.Sent, channels.Failed, channels.Dead, channels.Cancelled); err != nil {
		return nil, err
	}
	list, err := sv.o.Bus.Outbox.Deliveries(ctx, q.Of, q.State, q.Before, q.Limit)
	return ConvertEach(list, apiDelivery), Classify(err)
}

// Audit implements api.Audit.
func (sv *Service) Audit(ctx context.Context, q api.AuditQuery) ([]api.AuditRecord, error) {
	list, err := sv.o.Guard.AuditLines(ctx, guard.AuditQuery(q))
	return ConvertEach(list, apiAuditRecord), err
}

// AuditLine implements api.Audit.
func (sv *Service) AuditLine(ctx context.Context, seq int64) (api.AuditLine, error) {
	l, err := sv.o.Explain.AuditLine(ctx, seq)
	return apiAuditLine(l), Classify(err)
}

// AuditVerify implements api.Audit.
func (sv *Service) AuditVerify(ctx context.Context) (api.AuditHead, error) {
	h, err := sv.o.Guard.VerifyAll(ctx)
	if _, altered := errors.AsType[*guard.TamperError](err); altered {
		return api.AuditHead{}, fmt.Errorf("%w: %w", api.ErrConflict, err)
	}
	return api.AuditHead(h), Classify(err)
}

// maxTrusted is the number of items in one api.TrustRecord.
const maxTrusted = 100

// RecordTrust implements api.Audit.
func (sv *Service) RecordTrust(ctx context.Context, t api.TrustRecord) (api.TrustRecord, error) {
	if err := oneOf(t.Kind, "hook", "skill"); err != nil {
		return t, err
	}
	if len(t.Items) > maxTrusted {
		return t, fmt.Errorf("%w: more than %d items; record them in parts", api.ErrInvalid, maxTrusted)
	}
	if (t.Added || t.Untrusted) && t.Kind != "skill" || t.Untrusted && !t.Added {
		return t, fmt.Errorf("%w: added and untrusted describe skills that were just added", api.ErrInvalid)
	}
	event := bus.NewID()
	err := sv.o.Store.Write(ctx, func(tx *store.Tx) error {
		for i, x := range t.Items {
			if t.Added {
				if err := sv.journalSkillTx(tx, event, i+1, x, t.Untrusted); err != nil {
					return err
				}
			}
			if t.Untrusted {
				continue
			}
			rec := guard.Record{Actor: "owner", Action: "trust", Origin: "cli", Verdict: "allow", Rule: t.Kind + " " + graphicText(x.Name, 300), Outcome: "trusted " + graphicText(x.Digest, 80)}
			if err := sv.o.Guard.AuditTx(tx, rec); err != nil {
				return err
			}
		}
		return nil
	})
	return t, Classify(err)
}

// graphicText removes the invisible characters from a text and shortens it to n characters.
func graphicText(s string, n int) string {
	return textnorm.Ellipsize(strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return -1
		}
		return r
	}, s), n)
}

// AuditExport implements api.Audit.
func (sv *Service) AuditExport(ctx context.Context, w io.Writer, format string, since, until time.Time) error {
	_, err := sv.o.Guard.Export(ctx, w, format, since, until)
	if errors.Is(err, guard.ErrNoFormat) {
		return fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	return Classify(err)
}
