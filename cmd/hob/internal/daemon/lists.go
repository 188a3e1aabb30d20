package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hob/autonomy"
	"hob/autonomy/agents"
	"hob/autonomy/api"
	"hob/autonomy/guard"
	"hob/autonomy/usage"
	"hob/channels"
	"hob/watchers"
)

// Sessions implements api.Sessions.
func (b *backend) Sessions(ctx context.Context, q api.Query) ([]api.Session, error) {
	list, err := b.d.sessions.List(ctx, q.Limit)
	return mapEach(list, apiSession), classifyError(err)
}

// Messages implements api.Sessions: it merges the received and the sent messages.
func (b *backend) Messages(ctx context.Context, q api.Query) ([]api.ChatLine, error) {
	heard, err := b.d.bus.List(ctx, q.Of, "", q.Limit)
	if err != nil {
		return nil, classifyError(err)
	}
	said, err := b.d.bus.Deliveries(ctx, q.Of, "", "", q.Limit)
	if err != nil {
		return nil, classifyError(err)
	}
	out, err := b.forkedLines(ctx, q.Of)
	if err != nil {
		return nil, classifyError(err)
	}
	out = append([]api.ChatLine{}, out...)
	for _, e := range heard {
		from := "owner"
		if e.Provenance.Tainted() || agents.IsTaskEvent(e) { // another agent handed it on
			from = e.Sender
		}
		out = append(out, api.ChatLine{ID: e.ID, Event: e.ID, From: from, Kind: "message", Text: e.Text, State: string(e.State), At: e.ReceivedAt, Attached: autonomy.Attachments(e)})
	}
	for _, d := range said {
		out = append(out, api.ChatLine{ID: d.ID, Event: d.Event, From: "hob", Kind: string(d.Kind), Text: d.Text, State: string(d.State), At: d.CreatedAt})
	}
	slices.SortStableFunc(out, func(x, y api.ChatLine) int { return y.At.Compare(x.At) })
	if q.Before != "" {
		if i := slices.IndexFunc(out, func(l api.ChatLine) bool { return l.ID == q.Before }); i >= 0 {
			out = out[i+1:]
		}
	}
	return out[:min(len(out), q.Limit)], nil
}

// Deliveries implements api.Deliveries.
func (b *backend) Deliveries(ctx context.Context, q api.Query) ([]api.Delivery, error) {
	if err := oneOf(q.State, channels.Queued, channels.Sending, channels.Sent, channels.Failed, channels.Dead, channels.Cancelled); err != nil {
		return nil, err
	}
	list, err := b.d.bus.Deliveries(ctx, q.Of, q.State, q.Before, q.Limit)
	return mapEach(list, apiDelivery), classifyError(err)
}

// Approvals implements api.Approvals.
func (b *backend) Approvals(ctx context.Context, q api.Query) ([]api.Approval, error) {
	if err := oneOf(q.State, guard.Pending, guard.Approved, guard.Denied, guard.TimedOut, guard.Cancelled); err != nil {
		return nil, err
	}
	list, err := b.d.guard.Approvals(ctx, guard.ApprovalState(q.State), q.Of, "", q.Limit)
	return mapEach(list, apiApproval), classifyError(err)
}

// oneOf refuses a state that does not exist, for which a list would be empty.
func oneOf[S ~string](state string, known ...S) error {
	if state == "" || slices.Contains(known, S(state)) {
		return nil
	}
	var names []string
	for _, k := range known {
		names = append(names, string(k))
	}
	return fmt.Errorf("%w: unknown state %q; the states are %s", api.ErrInvalid, state, strings.Join(names, ", "))
}

// Undoable implements api.Undo.
func (b *backend) Undoable(ctx context.Context, q api.Query) ([]api.LedgerEntry, error) {
	list, err := b.d.bus.Undoable(ctx, q.Limit)
	return mapEach(list, apiLedgerEntry), classifyError(err)
}

// Inbox implements api.Turns.
func (b *backend) Inbox(ctx context.Context, q api.Query) ([]api.Event, error) {
	list, err := b.d.bus.List(ctx, q.Of, q.Before, q.Limit)
	return mapEach(list, apiEvent), classifyError(err)
}

func (b *backend) watcherRows(ctx context.Context, q api.Query, keep func(watchers.Spec) bool) ([]api.Watcher, error) {
	all, err := b.d.watchers.List(ctx, watchers.Filter{})
	if err != nil {
		return nil, classifyError(err)
	}
	out := []api.Watcher{}
	for _, s := range all {
		if !keep(s) || (!q.All && s.State == watchers.Done) {
			continue
		}
		r := api.Watcher{WatcherSpec: apiWatcherSpec(s), Describe: b.d.watchers.Describe(s)}
		if isTimed(s) {
			bare := s
			bare.Action = ""
			r.When, r.Coming = b.d.watchers.Describe(bare), b.d.watchers.Coming(s, 3)
		}
		var c struct{ Path, Cron, Interval string }
		if json.Unmarshal(s.Config, &c) == nil {
			r.Path, r.Cron, r.Every = c.Path, c.Cron, c.Interval
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(x, y api.Watcher) int { return y.CreatedAt.Compare(x.CreatedAt) })
	return out[:min(len(out), q.Limit)], nil
}

func isTimed(s watchers.Spec) bool { return s.Kind == "cron" || s.Kind == "oneshot" }

// Watchers implements api.Watchers.
func (b *backend) Watchers(ctx context.Context, q api.Query) ([]api.Watcher, error) {
	return b.watcherRows(ctx, q, func(s watchers.Spec) bool { return !isTimed(s) })
}

// Schedules implements api.Watchers.
func (b *backend) Schedules(ctx context.Context, q api.Query) ([]api.Watcher, error) {
	return b.watcherRows(ctx, q, func(s watchers.Spec) bool { return isTimed(s) && s.Mode != watchers.Remind })
}

// Reminders implements api.Watchers.
func (b *backend) Reminders(ctx context.Context, q api.Query) ([]api.Watcher, error) {
	return b.watcherRows(ctx, q, func(s watchers.Spec) bool { return s.Mode == watchers.Remind })
}

// Triggers implements api.Triggers.
func (b *backend) Triggers(context.Context) ([]api.Trigger, error) {
	out := []api.Trigger{}
	for _, t := range b.d.opt.Config.Triggers {
		out = append(out, api.Trigger{ID: t.Name, Action: t.Action, Session: t.Session, Signed: t.Secret != ""})
	}
	return out, nil
}

// Tools implements api.Tools.
func (b *backend) Tools(_ context.Context, q api.Query) ([]api.Tool, error) {
	out := []api.Tool{}
	all := b.d.catalogue.All()
	if q.Text != "" {
		all = b.d.catalogue.Search(q.Text, q.Limit)
	}
	for _, t := range all[:min(len(all), q.Limit)] {
		s := t.Spec()
		p := s.Platforms
		if len(p) == 0 {
			p = []string{"darwin", "linux", "windows"}
		}
		out = append(out, api.Tool{
			Name: s.Name, Category: s.Category, Description: s.Description, Effects: s.All().Names(), Platforms: p, Own: s.Own, Core: s.Core, Schema: s.Schema.Raw(),
		})
	}
	return out, nil
}

// Usage implements api.Usage.
func (b *backend) Usage(ctx context.Context, q api.Query) ([]api.UsageRow, error) {
	days, err := b.d.books.Days(ctx, q.Limit)
	if err != nil {
		return nil, classifyError(err)
	}
	out := []api.UsageRow{}
	for _, u := range days {
		out = append(out, api.UsageRow{
			Day: u.Day, Model: u.Model, Turns: u.Turns, ModelCalls: u.Calls, Input: u.Usage.Input, Output: u.Usage.Output,
			CacheRead: u.Usage.CacheRead, CacheWrite: u.Usage.CacheWrite, CostUSD: microsToUSD(u.Cost),
			Unpriced: u.Unpriced, Estimated: u.Estimated, Local: u.Local,
		})
	}
	return out, nil
}

func microsToUSD(m *usage.Micros) *float64 {
	if m == nil {
		return nil
	}
	usd := m.USD()
	return &usd
}

// Budget implements api.Usage.
func (b *backend) Budget(ctx context.Context) ([]api.BudgetRow, error) {
	periods, err := b.d.books.Periods(ctx)
	if err != nil {
		return nil, classifyError(err)
	}
	out := []api.BudgetRow{}
	for _, p := range periods {
		r := api.BudgetRow{
			Period: p.Name, Which: p.Which, From: p.From, CostUSD: p.Cost.USD(), CountedUSD: p.Counted.USD(), Tokens: p.Tokens, Calls: p.Calls,
			Unpriced: p.Unpriced, PricesAsOf: b.d.spending.currentPrices().AsOf(),
		}
		if p.Cap > 0 {
			r.CapUSD = microsToUSD(&p.Cap)
		}
		if p.CapToken > 0 {
			r.CapTokens = &p.CapToken
		}
		out = append(out, r)
	}
	return out, nil
}
