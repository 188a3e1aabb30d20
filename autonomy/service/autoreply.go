package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hob/autonomy/guard"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// ReplyPolicy checks each automatic reply against the policy. The user approved the rule that causes
// the reply, so a reply that would need approval is sent; one that the policy denies is not.
type ReplyPolicy struct {
	Guard *guard.Guard
	Store *store.Store
	// Tool returns the tool that sends mail; nil means that no mail may be sent.
	Tool func() tools.Tool
}

// Allowed returns why a reply is denied, or nil. It writes the decision to the audit log.
func (p ReplyPolicy) Allowed(ctx context.Context, to, subject, text string) error {
	t := p.Tool()
	if t == nil {
		return errors.New("no tool sends mail")
	}
	args, err := json.Marshal(map[string]any{"to": []string{to}, "subject": subject, "text": text})
	if err != nil {
		return fmt.Errorf("encode an automatic reply: %w", err)
	}
	d, err := p.Guard.Decide(ctx, guard.Request{Tool: t, Args: args, Tainted: true, Person: "owner", Source: "set_auto_reply", Origin: "auto_reply"})
	if err != nil {
		return err
	}
	rec := guard.Record{
		Actor: "hob", Action: "call", Origin: "auto_reply", Tool: t.Spec().Name, Effects: tools.Send.String(), Verdict: guard.Allow.String(), Rule: "set_auto_reply, approved by you",
		Tainted: true, Outcome: "started", Args: args, Origins: []provenance.Origin{{Kind: "mail", Label: to}},
	}
	if d.Verdict == guard.Deny {
		rec.Verdict, rec.Rule, rec.Outcome = d.Verdict.String(), d.Rule, string(tools.PolicyDenied)
	}
	if err := p.Store.Write(ctx, func(tx *store.Tx) error { return p.Guard.AuditTx(tx, rec) }); err != nil {
		return err
	}
	if d.Verdict == guard.Deny {
		return errors.New(d.Reason)
	}
	return nil
}
