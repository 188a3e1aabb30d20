package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy"
	"hob/autonomy/agents"
	"hob/autonomy/guard"
	"hob/autonomy/usage"
	"hob/channels"
	"hob/channels/web"
	"hob/watchers"
)

// listHandlers maps every read-only list of the API to its function.
func (b *backend) listHandlers() map[string]func(context.Context, web.Query) (any, error) {
	return map[string]func(context.Context, web.Query) (any, error){
		"sessions":    b.listSessions,
		"messages":    b.listMessages,
		"deliveries":  b.listDeliveries,
		"approvals":   b.listApprovals,
		"grants":      b.listGrants,
		"channels":    b.listChannels,
		"watchers":    b.listWatchers,
		"schedules":   b.listSchedules,
		"reminders":   b.listReminders,
		"triggers":    b.listTriggers,
		"tools":       b.listTools,
		"usage":       b.listUsage,
		"budget":      b.listBudget,
		"undo":        b.listUndo,
		"inbox":       b.listInbox,
		"tasks":       b.listTasks,
		"notes":       b.listNotes,
		"documents":   b.listDocuments,
		"goals":       b.listGoals,
		"plan":        b.listPlan,
		"notices":     b.listNotices,
		"permissions": listPermissions,

		"agents":      b.listAgents,
		"delegations": b.listDelegations,

		"memory/lessons":  b.listLessons,
		"memory/forget":   b.listForget,
		"memory/erasures": b.listErasures,
		"memory/user":     b.listUser,
	}
}

// List implements web.Backend.
func (b *backend) List(ctx context.Context, name string, q web.Query) (any, error) {
	f, ok := b.listHandlers()[name]
	if !ok {
		return nil, fmt.Errorf("list %q: %w", name, web.ErrNotFound)
	}
	if q.Limit <= 0 {
		q.Limit = 1000
	}
	rows, err := f(ctx, q)
	return rows, classifyError(err)
}

func (b *backend) listSessions(ctx context.Context, q web.Query) (any, error) {
	return b.d.sessions.List(ctx, q.Limit)
}

// chatLine is one line of a conversation as people see it.
type chatLine struct {
	ID    string    `json:"id"`
	Event string    `json:"event"`
	From  string    `json:"from"` // "owner", "hob", or the sender
	Kind  string    `json:"kind"` // message, reply, notice, question, status
	Text  string    `json:"text"`
	State string    `json:"state"`
	At    time.Time `json:"at"`
	// Attached names the untrusted texts that came with a message of the user.
	Attached []string `json:"attached,omitempty"`
}

// listMessages merges the received and the sent messages of a conversation.
func (b *backend) listMessages(ctx context.Context, q web.Query) (any, error) {
	heard, err := b.d.bus.List(ctx, q.Of, "", q.Limit)
	if err != nil {
		return nil, err
	}
	said, err := b.d.bus.Deliveries(ctx, q.Of, "", "", q.Limit)
	if err != nil {
		return nil, err
	}
	out, err := b.forkedLines(ctx, q.Of)
	if err != nil {
		return nil, err
	}
	out = append([]chatLine{}, out...)
	for _, e := range heard {
		from := "owner"
		if e.Provenance.Tainted() || agents.IsTaskEvent(e) { // another agent handed it on
			from = e.Sender
		}
		out = append(out, chatLine{ID: e.ID, Event: e.ID, From: from, Kind: "message", Text: e.Text, State: string(e.State), At: e.ReceivedAt, Attached: autonomy.Attachments(e)})
	}
	for _, d := range said {
		out = append(out, chatLine{ID: d.ID, Event: d.Event, From: "hob", Kind: string(d.Kind), Text: d.Text, State: string(d.State), At: d.CreatedAt})
	}
	slices.SortStableFunc(out, func(x, y chatLine) int { return y.At.Compare(x.At) })
	if q.Before != "" {
		if i := slices.IndexFunc(out, func(l chatLine) bool { return l.ID == q.Before }); i >= 0 {
			out = out[i+1:]
		}
	}
	return out[:min(len(out), q.Limit)], nil
}

func (b *backend) listDeliveries(ctx context.Context, q web.Query) (any, error) {
	if err := oneOf(q.State, channels.Queued, channels.Sending, channels.Sent, channels.Failed, channels.Dead, channels.Cancelled); err != nil {
		return nil, err
	}
	return b.d.bus.Deliveries(ctx, q.Of, q.State, q.Before, q.Limit)
}

func (b *backend) listApprovals(ctx context.Context, q web.Query) (any, error) {
	if err := oneOf(q.State, guard.Pending, guard.Approved, guard.Denied, guard.TimedOut, guard.Cancelled); err != nil {
		return nil, err
	}
	return b.d.guard.Approvals(ctx, guard.ApprovalState(q.State), q.Of, "", q.Limit)
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
	return fmt.Errorf("%w: unknown state %q; the states are %s", web.ErrInvalid, state, strings.Join(names, ", "))
}

func (b *backend) listUndo(ctx context.Context, q web.Query) (any, error) {
	return b.d.bus.Undoable(ctx, q.Limit)
}

func (b *backend) listInbox(ctx context.Context, q web.Query) (any, error) {
	return b.d.bus.List(ctx, q.Of, q.Before, q.Limit)
}

// watcherRow is a watcher as lists show it.
type watcherRow struct {
	watchers.Spec
	Describe string `json:"description"`
	// When is only the time, for time-based items.
	When string `json:"when,omitempty"`
	// Coming are the next three times of it, in the owner's zone.
	Coming []time.Time `json:"coming,omitempty"`
	// Path is set for file watchers, Cron or Every for schedules.
	Path  string `json:"path,omitempty"`
	Cron  string `json:"cron,omitempty"`
	Every string `json:"every,omitempty"`
}

func (b *backend) watcherRows(ctx context.Context, q web.Query, keep func(watchers.Spec) bool) (any, error) {
	all, err := b.d.watchers.List(ctx, watchers.Filter{})
	if err != nil {
		return nil, err
	}
	out := []watcherRow{}
	for _, s := range all {
		if !keep(s) || (!q.All && s.State == watchers.Done) {
			continue
		}
		r := watcherRow{Spec: s, Describe: b.d.watchers.Describe(s)}
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
	slices.SortStableFunc(out, func(x, y watcherRow) int { return y.CreatedAt.Compare(x.CreatedAt) })
	return out[:min(len(out), q.Limit)], nil
}

func isTimed(s watchers.Spec) bool { return watchers.IsTimed(s.Kind) }

func (b *backend) listWatchers(ctx context.Context, q web.Query) (any, error) {
	return b.watcherRows(ctx, q, func(s watchers.Spec) bool { return !isTimed(s) })
}

func (b *backend) listSchedules(ctx context.Context, q web.Query) (any, error) {
	return b.watcherRows(ctx, q, func(s watchers.Spec) bool { return isTimed(s) && s.Mode != watchers.Remind })
}

func (b *backend) listReminders(ctx context.Context, q web.Query) (any, error) {
	return b.watcherRows(ctx, q, func(s watchers.Spec) bool { return s.Mode == watchers.Remind })
}

func (b *backend) listTriggers(context.Context, web.Query) (any, error) {
	type row struct {
		ID      string `json:"id"`
		Action  string `json:"action"`
		Session string `json:"session"`
		Signed  bool   `json:"signed"`
	}
	out := []row{}
	for _, t := range b.d.opt.Config.Triggers {
		out = append(out, row{t.Name, t.Action, t.Session, t.Secret != ""})
	}
	return out, nil
}

func (b *backend) listTools(_ context.Context, q web.Query) (any, error) {
	type row struct {
		Name        string          `json:"name"`
		Category    string          `json:"category"`
		Description string          `json:"description"`
		Effects     []string        `json:"effects"`
		Platforms   []string        `json:"platforms"`
		Own         bool            `json:"own"`
		Core        bool            `json:"core"`
		Schema      json.RawMessage `json:"schema"`
	}
	out := []row{}
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
		out = append(out, row{s.Name, s.Category, s.Description, s.All().Names(), p, s.Own, s.Core, s.Schema.Raw()})
	}
	return out, nil
}

// listUsage sums model calls by day and model, newest first.
func (b *backend) listUsage(ctx context.Context, q web.Query) (any, error) {
	type row struct {
		Day        string   `json:"day"`
		Model      string   `json:"model"`
		Turns      int      `json:"turns"`
		ModelCalls int      `json:"model_calls"`
		Input      int      `json:"input"`
		Output     int      `json:"output"`
		CacheRead  int      `json:"cache_read"`
		CacheWrite int      `json:"cache_write"`
		CostUSD    *float64 `json:"cost_usd"` // null: no price is known
		Unpriced   int      `json:"unpriced_calls"`
		Estimated  int      `json:"estimated_calls"`
		Local      bool     `json:"local"`
	}
	days, err := b.d.books.Days(ctx, q.Limit)
	if err != nil {
		return nil, err
	}
	out := []row{}
	for _, u := range days {
		out = append(out, row{
			u.Day, u.Model, u.Turns, u.Calls, u.Usage.Input, u.Usage.Output, u.Usage.CacheRead, u.Usage.CacheWrite, microsToUSD(u.Cost),
			u.Unpriced, u.Estimated, u.Local,
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

// listBudget returns the cost of today and this month with their limits.
func (b *backend) listBudget(ctx context.Context, _ web.Query) (any, error) {
	type row struct {
		Period     string    `json:"period"` // day, month
		Which      string    `json:"which"`  // 2026-03-29, 2026-03
		From       time.Time `json:"from"`
		CostUSD    float64   `json:"cost_usd"`    // of calls with a known price
		CountedUSD float64   `json:"counted_usd"` // toward the cap
		CapUSD     *float64  `json:"cap_usd"`     // null: no cap
		Tokens     int       `json:"tokens"`
		CapTokens  *int      `json:"cap_tokens"`
		Calls      int       `json:"model_calls"`
		Unpriced   int       `json:"unpriced_calls"`
		PricesAsOf string    `json:"prices_as_of"`
	}
	periods, err := b.d.books.Periods(ctx)
	if err != nil {
		return nil, err
	}
	out := []row{}
	for _, p := range periods {
		r := row{
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
