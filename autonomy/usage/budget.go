package usage

import (
	"context"
	"fmt"
	"time"

	"hob/autonomy/llm"
)

const (
	// typicalOutput is the number of tokens reserved for an answer without a length limit.
	typicalOutput = 8192
	// leastOutput is the shortest useful answer, in tokens.
	leastOutput = 1024
)

// callEstimate is the estimated usage of a call, which is checked against the budget.
type callEstimate struct {
	info    llm.Info
	account llm.Account
	price   Price
	priced  bool
	input   int // estimated number of tokens
	output  int // requested number of tokens
}

// reservation holds the amounts reserved for a call.
type reservation struct {
	scopes []*scope
	money  Micros
	tokens int
}

// limit is the current state of one cap.
type limit struct {
	key   string // key in the configuration, such as budget.daily_usd
	agent string
	per   string // "a day", "a month"
	until string // when it resets: "tomorrow", "next month"
	name  string // name of the day or month

	money               bool
	cap, spent, held    int64
	firstNeed, wantNeed int64 // cost of the call with the shortest answer, and with the full answer
}

// admitCall reserves the maximum cost of a call against every cap. It returns the maximum length of
// the answer in tokens, or 0 for no limit. It waits if a cap is exceeded only because of
// reservations for running calls. If a cap is reached, the error has the kind llm.Budget.
func (b *Tracker) admitCall(ctx context.Context, q callEstimate) (*reservation, int, error) {
	if q.account.Unattended {
		if err := b.checkUnattended(ctx, q); err != nil {
			return nil, 0, err
		}
	}
	for {
		h, output, wait, err := b.tryReserve(ctx, q)
		if wait == nil {
			return h, output, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, 0, stoppedError(ctx, q.info)
		}
	}
}

func (b *Tracker) checkUnattended(ctx context.Context, q callEstimate) error {
	if b.rate.max < 0 {
		return &llm.Error{
			Kind: llm.Budget, Provider: q.info.Provider, Message: "unattended model calls are switched off",
			Remedy: "allow some: hob config set autonomy.calls_per_minute 10",
		}
	}
	err := b.rate.waitForSlot(ctx)
	if err != nil && ctx.Err() != nil {
		return stoppedError(ctx, q.info)
	}
	return err
}

func stoppedError(ctx context.Context, info llm.Info) error {
	return &llm.Error{Kind: llm.Interrupted, Provider: info.Provider, Message: "the model call was canceled", Err: context.Cause(ctx)}
}

// tryReserve checks the caps once. If wait is not nil, the caller checks again when wait is closed.
func (b *Tracker) tryReserve(ctx context.Context, q callEstimate) (h *reservation, output int, wait chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	limits, scopes, err := b.applicableLimits(ctx, q, now)
	if err != nil {
		return nil, 0, nil, &llm.Error{Kind: llm.Budget, Provider: q.info.Provider, Message: err.Error(), Remedy: "see: hob doctor", Err: err}
	}
	output = q.output
	for _, l := range limits {
		if l.money && !q.priced {
			b.sayUnknown(q)
		}
		switch left := l.cap - l.spent; {
		case left < l.firstNeed:
			b.sayReached(l, q)
			return nil, 0, nil, l.refusalError(q)
		case left-l.held < l.firstNeed:
			return nil, 0, b.freed, nil
		case left-l.held < l.wantNeed:
			output = min(output, l.affordableTokens(left-l.held, q))
		}
	}
	h = &reservation{scopes: scopes, money: q.price.maxCost(q.input, output), tokens: q.input + output}
	for _, s := range scopes {
		s.heldMoney += h.money
		s.heldTokens += h.tokens
	}
	if output == q.output {
		output = 0
	}
	return h, output, nil, nil
}

// applicableLimits lists the caps that apply to a call, with their current state.
func (b *Tracker) applicableLimits(ctx context.Context, q callEstimate, now time.Time) (out []limit, scopes []*scope, err error) {
	agents := []string{""}
	if q.account.Agent != "" {
		agents = append(agents, q.account.Agent)
	}
	for _, agent := range agents {
		caps := b.o.Caps(agent)
		if caps.isUnlimited() {
			continue
		}
		s, err := b.currentScope(ctx, agent, now)
		if err != nil {
			return nil, nil, err
		}
		scopes = append(scopes, s)
		all := []limit{
			{key: "daily_usd", per: "a day", until: "tomorrow", name: s.day, money: true, cap: int64(caps.Daily), spent: int64(s.dayMoney), held: int64(s.heldMoney)},
			{key: "monthly_usd", per: "a month", until: "next month", name: s.month, money: true, cap: int64(caps.Monthly), spent: int64(s.mthMoney), held: int64(s.heldMoney)},
			{key: "daily_tokens", per: "a day", until: "tomorrow", name: s.day, cap: int64(caps.DailyTokens), spent: int64(s.dayTokens), held: int64(s.heldTokens)},
		}
		for _, l := range all {
			if l.cap <= 0 || l.money && q.priced && q.price == (Price{}) {
				continue
			}
			l.agent = agent
			l.computeNeeds(q)
			out = append(out, l)
		}
	}
	return out, scopes, nil
}

func (l *limit) computeNeeds(q callEstimate) {
	least := min(q.output, leastOutput)
	l.firstNeed, l.wantNeed = int64(q.input+least), int64(q.input+q.output)
	if l.money {
		l.firstNeed, l.wantNeed = int64(q.price.maxCost(q.input, least)), int64(q.price.maxCost(q.input, q.output))
	}
}

// affordableTokens returns how many answer tokens the remaining amount left allows.
func (l *limit) affordableTokens(left int64, q callEstimate) int {
	if !l.money {
		return int(left) - q.input
	}
	least := min(q.output, leastOutput)
	if q.price.Output <= 0 {
		return q.output
	}
	price := q.price.Output
	if q.price.Long != nil && q.input > q.price.Over {
		price = q.price.Long.Output
	}
	return least + int(float64(left-l.firstNeed)/price)
}

func (l *limit) refusalError(q callEstimate) *llm.Error {
	return &llm.Error{
		Kind: llm.Budget, Provider: q.info.Provider,
		Message: fmt.Sprintf("%s is reached (%s used so far; this call may need %s)", l.capTitle(), l.formatAmount(l.spent), l.formatAmount(l.firstNeed)),
		Remedy:  "raise it: " + l.remedyCommand(),
	}
}

// capTitle returns a title such as "the cap of $1.00 a day".
func (l *limit) capTitle() string {
	of := ""
	if l.agent != "" {
		of = " for " + l.agent
	}
	return fmt.Sprintf("the cap of %s %s%s", l.formatAmount(l.cap), l.per, of)
}

func (l *limit) formatAmount(n int64) string {
	if l.money {
		return Micros(n).String()
	}
	return fmt.Sprintf("%d tokens", n)
}

// remedyCommand returns the command that doubles the cap, or that removes an agent's share of it.
func (l *limit) remedyCommand() string {
	switch {
	case l.agent != "":
		return "hob config set agents." + l.agent + ".budget_share 1"
	case l.money:
		return fmt.Sprintf("hob config set budget.%s %.2f", l.key, max(0.01, Micros(2*l.cap).USD()))
	}
	return fmt.Sprintf("hob config set budget.%s %d", l.key, 2*l.cap)
}

// messageKey returns the key of a message about a cap. Each period and each cap has a different
// key.
func (l *limit) messageKey(what string) string {
	return fmt.Sprintf("budget:%s:%s:%s:%s:%d", what, l.agent, l.key, l.name, l.cap)
}

func (b *Tracker) sayReached(l limit, q callEstimate) {
	b.queueMessage(l.messageKey("reached"), fmt.Sprintf("The cap of %s %s is reached: %s used so far, and the next call to %s may need %s. Until %s I will use the built-in brain. To raise the cap: `%s`.",
		l.formatAmount(l.cap), l.per, l.formatAmount(l.spent), q.info.Name(), l.formatAmount(l.firstNeed), l.until, l.remedyCommand()))
}

func (b *Tracker) sayWarning(l limit, share float64) {
	b.queueMessage(l.messageKey("warned"), fmt.Sprintf("%.0f %% of the cap of %s %s is used (%s). When the cap is reached, I will use the built-in brain. To raise the cap: `%s`.",
		share*100, l.formatAmount(l.cap), l.per, l.formatAmount(l.spent), l.remedyCommand()))
}

func (b *Tracker) sayUnknown(q callEstimate) {
	u := b.o.Prices().Unknown()
	b.queueMessage("budget:unknown:"+q.info.Name(), fmt.Sprintf("I do not know the price of %s, so I count its calls toward your cap at a high price ($%g per million input tokens, $%g per million output tokens) until you set its prices: `hob config set 'prices.\"%s\".input' 1` and the same with output.",
		q.info.Name(), u.Input, u.Output, q.info.Name()))
}

// commitReservation records a completed call and releases its reservation.
func (b *Tracker) commitReservation(ctx context.Context, h *reservation, c *Call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h != nil {
		for _, s := range h.scopes {
			s.heldMoney -= h.money
			s.heldTokens -= h.tokens
		}
		close(b.freed)
		b.freed = make(chan struct{})
	}
	if c == nil {
		return
	}
	zone := b.o.Zone()
	_, day := dayOf(time.Now(), zone)
	_, month := monthOf(time.Now(), zone)
	for _, agent := range []string{"", c.Account.Agent} {
		if s := b.scopes[agent]; s != nil {
			s.addCall(c, day, month)
		}
		if c.Account.Agent == "" {
			break
		}
	}
	b.pending = append(b.pending, c)
	b.warnNearCap(ctx, c)
	if c.Outcome == "ok" {
		signalChannel(b.kick)
		return
	}
	signalChannel(b.now) // no later turn step would store the row
}

// warnNearCap warns once when a cap is nearly reached.
func (b *Tracker) warnNearCap(ctx context.Context, c *Call) {
	if c.Local {
		return
	}
	limits, _, err := b.applicableLimits(ctx, callEstimate{info: llm.Info{Provider: c.Provider, Model: c.Model}, account: c.Account}, time.Now())
	if err != nil {
		return // the next call repeats the check
	}
	for _, l := range limits {
		at := b.o.Caps(l.agent).WarnAt
		if share := float64(l.spent) / float64(l.cap); at > 0 && share >= at && share < 1 {
			b.sayWarning(l, share)
		}
	}
}
