package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/llm"
	"hob/channels/terminal/chatui"
	"hob/platform/retry"
)

// Times for the status bar: the interval of regular updates, and the minimum pause between two
// updates.
const (
	statusEvery = 15 * time.Second
	statusPause = 300 * time.Millisecond
)

// decisionTimeout is the timeout for an answer to an approval request.
const decisionTimeout = 30 * time.Second

// changeStatus changes the status and shows it.
func (ch *chat) changeStatus(change func(s *chatui.Status)) {
	ch.mu.Lock()
	change(&ch.status)
	s := ch.status
	ch.mu.Unlock()
	ch.screen.SetStatus(s)
}

// requestStatus makes followStatus update the status soon.
func (ch *chat) requestStatus() {
	select {
	case ch.refresh <- struct{}{}:
	default:
	}
}

// noteModel records which model answered.
func (ch *chat) noteModel(name string) {
	if name != "" {
		ch.changeStatus(func(s *chatui.Status) { s.Model = modelLabel(name) })
	}
	ch.requestStatus()
}

// modelLabel returns the name of a model for the status bar. "offline" alone would read as a lost
// connection, and which model "auto" means is known after its first answer.
func modelLabel(name string) string {
	switch name {
	case llm.Offline:
		return "built-in brain"
	case "auto":
		return ""
	}
	return name
}

// followStatus updates the status bar until ctx ends.
func (ch *chat) followStatus(ctx context.Context) {
	for {
		ch.loadStatus(ctx)
		if retry.Sleep(ctx, statusPause) != nil {
			return
		}
		wait := time.NewTimer(statusEvery)
		select {
		case <-ch.refresh:
		case <-wait.C:
		case <-ctx.Done():
		}
		wait.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// loadStatus reads the status from the daemon. Fields that cannot be read keep their values: the feed
// reports a lost connection.
func (ch *chat) loadStatus(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, decisionTimeout)
	defer cancel()
	c, asOf := ch.daemonClient(), time.Now()
	zone := ch.app.userZone()
	var changes []func(s *chatui.Status)
	if rows, err := c.Budget(ctx); err == nil {
		changes = append(changes, func(s *chatui.Status) { s.Budget = budgetText(rows) })
	}
	if q, err := c.SetQuiet(ctx, ""); err == nil {
		changes = append(changes, func(s *chatui.Status) { s.Quiet = quietText(q, zone) })
	}
	if n, err := c.Metrics(ctx); err == nil {
		changes = append(changes, func(s *chatui.Status) {
			s.Queue = max(0, int(n["hob_events_pending"]-n["hob_questions_pending"]))
		})
	}
	if pending, err := c.Approvals(ctx, api.Query{State: "pending"}); err == nil {
		ids := []string{}
		for _, q := range pending {
			ids = append(ids, q.ID)
		}
		changes = append(changes, func(s *chatui.Status) { s.Pending, s.AsOf = ids, asOf })
	}
	ch.mu.Lock()
	unknown := ch.status.Model == ""
	ch.mu.Unlock()
	if unknown {
		if agents, err := c.Agents(ctx, api.Query{}); err == nil {
			if i := slices.IndexFunc(agents, func(a api.Agent) bool { return a.Default }); i >= 0 {
				changes = append(changes, func(s *chatui.Status) { s.Model = modelLabel(agents[i].Model) })
			}
		}
	}
	ch.changeStatus(func(s *chatui.Status) {
		for _, change := range changes {
			change(s)
		}
	})
}

// budgetText describes the costs of today.
func budgetText(rows []api.BudgetRow) string {
	i := slices.IndexFunc(rows, func(r api.BudgetRow) bool { return r.Period == "day" })
	if i < 0 {
		return ""
	}
	r := rows[i]
	switch {
	case r.CapUSD != nil && *r.CapUSD > 0:
		return fmt.Sprintf("$%.2f of $%.2f", r.CountedUSD, *r.CapUSD)
	case r.CapTokens != nil && *r.CapTokens > 0:
		return fmt.Sprintf("%d of %d tokens today", r.Tokens, *r.CapTokens)
	}
	return fmt.Sprintf("$%.2f today", r.CostUSD)
}

// quietText describes until when notifications are deferred, or returns "" if they are not.
func quietText(q api.Quiet, zone *time.Location) string {
	switch {
	case !q.Quiet:
		return ""
	case q.Until.IsZero():
		return "now"
	case time.Until(q.Until) < 20*time.Hour:
		return "until " + q.Until.In(zone).Format("15:04")
	}
	return "until " + q.Until.In(zone).Format("Mon 15:04")
}

// maxRecalled is the number of inbox events in which earlier messages are found.
const maxRecalled = 200

// loadHistory returns the messages that the user typed in earlier chats, oldest first. They come from
// the inbox, so that a message that was forgotten is not kept elsewhere.
func (ch *chat) loadHistory(ctx context.Context) (out []string) {
	events, err := ch.daemonClient().Inbox(ctx, api.Query{Limit: maxRecalled})
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, context.Canceled) {
			ch.screen.Note(chatui.Failure, "Cannot load your earlier messages: "+err.Error())
		}
		return nil
	}
	for _, e := range slices.Backward(events) {
		if e.Kind == "message" && e.Channel == "terminal" && e.Sender == "owner" && e.Text != "" && !e.Provenance.Tainted() {
			out = append(out, e.Text)
		}
	}
	return out
}
