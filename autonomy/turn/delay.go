package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// delayedCall replaces a call that reaches other people with a stored row, so that the user can
// cancel the call before it runs. autonomy/delayed runs it when the delay is over. delayedCall
// implements tools.TxTool: the row is stored in the transaction that records the call.
type delayedCall struct {
	tools.Delayer
	x *toolExecutor
	s *callStep
}

// delayOf returns the tool that delays an allowed call, or nil if the call runs at once. Calls that
// reach only the user are never delayed.
func (x *toolExecutor) delayOf(s *callStep) tools.TxTool {
	d, ok := s.tool.(tools.Delayer)
	if !ok || x.o.SendDelay <= 0 || d.Waiting(s.args) == "" || !tools.ReachesOthers(s.tool.Spec(), s.dec.Judgment) {
		return nil
	}
	s.delayed = true
	return delayedCall{d, x, s}
}

// Prepare implements tools.Preparer.
func (d delayedCall) Prepare(ctx context.Context, c tools.Call) (any, error) { return d.Freeze(ctx, c) }

// CallTx implements tools.TxTool.
func (d delayedCall) CallTx(_ context.Context, tx *store.Tx, c tools.Call) (tools.Result, error) {
	frozen, _ := c.Prepared.(json.RawMessage)
	what, source := d.describeSend()
	at := c.Now.Add(d.x.o.SendDelay)
	err := d.x.o.Bus.Scheduled.AddTx(tx, bus.ScheduledSend{
		Call: c.ID, Event: c.Event, Session: c.Session, Report: c.Report, Agent: c.Agent, Realm: c.Realm, Tool: d.Spec().Name, Effects: cmp.Or(d.s.dec.Judgment.Effects, d.Spec().Effects).String(),
		Args: c.Args, Frozen: frozen, Exact: c.Exact, What: what, Provenance: provenance.Worst(source, c.Provenance), Zone: c.Now.Location().String(), At: at, CreatedAt: c.Now,
	})
	if err != nil {
		return tools.Result{}, err
	}
	waits := ""
	if !d.x.o.Sends {
		waits = " if Hob is running then (start it with hob start)"
	}
	text := strings.ToUpper(what[:1]) + what[1:] + " will be sent at " + at.Format("15:04:05") + waits + "; to cancel it: hob undo " + c.ID
	return tools.Result{Source: source, Text: text, Undo: tools.NewUndo("cancel "+what, bus.ScheduledUndo(c.ID)), Data: delayedOut{c.ID, at}}, nil
}

// delayedOut is the Data of a delayed call.
type delayedOut struct {
	ID string    `json:"id"`
	At time.Time `json:"at"`
}

// maxRecipientsNamed is the maximum number of recipients named in the description of a send.
const maxRecipientsNamed = 5

// describeSend describes the send and its recipients. A recipient that is not among the arguments
// comes from an email, an event or an address book, so it is untrusted text.
func (d delayedCall) describeSend() (string, provenance.Source) {
	to := slices.DeleteFunc(slices.Clone(d.s.dec.Judgment.To), func(a string) bool { return a == tools.Owner })
	source, args := provenance.Tool, strings.ToLower(string(d.s.args))
	if slices.ContainsFunc(to, func(a string) bool { return !strings.Contains(args, strings.ToLower(a)) }) {
		source = provenance.Outside
	}
	what := d.Waiting(d.s.args)
	if len(to) > maxRecipientsNamed {
		to = append(to[:maxRecipientsNamed], "others")
	}
	if len(to) > 0 {
		what += " to " + strings.Join(to, ", ")
	}
	return what, source
}
