package usage

import (
	"context"
	"fmt"
	"time"

	"hob/autonomy/llm"
)

const (
	// typicalOutput is reserved for an answer without a length limit, in tokens.
	typicalOutput = 8192
	// leastOutput is the shortest useful answer, in tokens.
	leastOutput = 1024
)

// bid is the estimate of a call, checked against the budget.
type bid struct {
	info    llm.Info
	account llm.Account
	price   Price
	priced  bool
	input   int // tokens, estimated
	output  int // requested tokens
}

// hold is the reservation of a call.
type hold struct {
	scopes []*scope
	money  Micros
	tokens int
}

// limit is the current state of one cap.
type limit struct {
	key   string // budget.daily_usd
	agent string
	per   string // "a day", "a month"
	until string // when it resets: "tomorrow", "next month"
	name  string // name of the day or month

	money               bool
	cap, spent, held    int64
	firstNeed, wantNeed int64 // cost of the call with the shortest answer, and with the full one
}

// admit reserves the maximum of a call from every cap. It returns the limit for the answer in
// tokens, 0 for none. It waits if only reservations of running calls exceed a cap; above a cap
// the error is an llm.Budget.
func (b *Books) admit(ctx context.Context, q bid) (*hold, int, error) {
	if q.account.Unattended {
		if err := b.unattended(ctx, q); err != nil {
			return nil, 0, err
		}
	}
	for {
		h, output, wait, err := b.reserve(ctx, q)
		if wait == nil {
			return h, output, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, 0, stopped(ctx, q.info)
		}
	}
}

func (b *Books) unattended(ctx context.Context, q bid) error {
	if b.rate.max < 0 {
		return &llm.Error{
			Kind: llm.Budget, Provider: q.info.Provider, Message: "unattended model calls are switched off",
			Remedy: "allow some: hob config set autonomy.calls_per_minute 10",
		}
	}
	if b.rate.wait(ctx) != nil {
		return stopped(ctx, q.info)
	}
	return nil
}

func stopped(ctx context.Context, info llm.Info) error {
	return &llm.Error{Kind: llm.Interrupted, Provider: info.Provider, Message: "the model call was cancelled", Err: context.Cause(ctx)}
}

// reserve checks the caps once; if wait is not nil, check again when it is closed.
func (b *Books) reserve(ctx context.Context, q bid) (h *hold, output int, wait chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	limits, scopes, err := b.limits(ctx, q, now)
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
			return nil, 0, nil, l.refusal(q)
		case left-l.held < l.firstNeed:
			return nil, 0, b.freed, nil
		case left-l.held < l.wantNeed:
			output = min(output, l.affords(left-l.held, q))
		}
	}
	h = &hold{scopes: scopes, money: q.price.most(q.input, output), tokens: q.input + output}
	for _, s := range scopes {
		s.heldMoney += h.money
		s.heldTokens += h.tokens
	}
	if output == q.output {
		output = 0
	}
	return h, output, nil, nil
}

// limits lists the caps that apply to a call, with their state.
func (b *Books) limits(ctx context.Context, q bid, now time.Time) (out []limit, scopes []*scope, err error) {
	agents := []string{""}
	if q.account.Agent != "" {
		agents = append(agents, q.account.Agent)
	}
	for _, agent := range agents {
		caps := b.o.Caps(agent)
		if caps.none() {
			continue
		}
		s, err := b.scope(ctx, agent, now)
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
			l.needs(q)
			out = append(out, l)
		}
	}
	return out, scopes, nil
}

func (l *limit) needs(q bid) {
	least := min(q.output, leastOutput)
	l.firstNeed, l.wantNeed = int64(q.input+least), int64(q.input+q.output)
	if l.money {
		l.firstNeed, l.wantNeed = int64(q.price.most(q.input, least)), int64(q.price.most(q.input, q.output))
	}
}

// affords returns how many tokens of an answer fit into the rest.
func (l *limit) affords(left int64, q bid) int {
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

func (l *limit) refusal(q bid) *llm.Error {
	return &llm.Error{
		Kind: llm.Budget, Provider: q.info.Provider,
		Message: fmt.Sprintf("%s is reached (%s so far, and this call may take %s)", l.title(), l.amount(l.spent), l.amount(l.firstNeed)),
		Remedy:  "raise it: " + l.remedy(),
	}
}

// title formats "the cap of $1.00 a day".
func (l *limit) title() string {
	of := ""
	if l.agent != "" {
		of = " for " + l.agent
	}
	return fmt.Sprintf("the cap of %s %s%s", l.amount(l.cap), l.per, of)
}

func (l *limit) amount(n int64) string {
	if l.money {
		return Micros(n).String()
	}
	return fmt.Sprintf("%d tokens", n)
}

// remedy returns the command that doubles the cap, or removes an agent's share of it.
func (l *limit) remedy() string {
	switch {
	case l.agent != "":
		return "hob config set agents." + l.agent + ".budget_share 1"
	case l.money:
		return fmt.Sprintf("hob config set budget.%s %.2f", l.key, max(0.01, Micros(2*l.cap).USD()))
	}
	return fmt.Sprintf("hob config set budget.%s %d", l.key, 2*l.cap)
}

// once returns the key of a message about a cap: it differs in the next period and for another
// cap.
func (l *limit) once(what string) string {
	return fmt.Sprintf("budget:%s:%s:%s:%s:%d", what, l.agent, l.key, l.name, l.cap)
}

func (b *Books) sayReached(l limit, q bid) {
	b.say(l.once("reached"), fmt.Sprintf("The cap of %s %s is reached (%s so far, and the next call to %s may take %s): until %s I continue with the built-in brain, or raise it with `%s`.",
		l.amount(l.cap), l.per, l.amount(l.spent), q.info.Name(), l.amount(l.firstNeed), l.until, l.remedy()))
}

func (b *Books) sayWarning(l limit, share float64) {
	b.say(l.once("warned"), fmt.Sprintf("%.0f %% of the cap of %s %s is used (%s); when it is reached I continue with the built-in brain, unless you raise it with `%s`.",
		share*100, l.amount(l.cap), l.per, l.amount(l.spent), l.remedy()))
}

func (b *Books) sayUnknown(q bid) {
	u := b.o.Prices().Unknown()
	b.say("budget:unknown:"+q.info.Name(), fmt.Sprintf("I do not know the price of %s, so it counts toward your cap at a high price ($%g and $%g per million tokens in and out) until you set its price: `hob config set 'prices.\"%s\".input' 1` and the same with output.",
		q.info.Name(), u.Input, u.Output, q.info.Name()))
}

// settle records an ended call and releases its reservation.
func (b *Books) settle(ctx context.Context, h *hold, c *Call) {
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
			s.add(c, day, month)
		}
		if c.Account.Agent == "" {
			break
		}
	}
	b.pending = append(b.pending, c)
	b.warn(ctx, c)
	if c.Outcome == "ok" {
		wake(b.kick)
		return
	}
	wake(b.now) // no step of a turn follows that would store it
}

// warn warns once when a cap is nearly reached.
func (b *Books) warn(ctx context.Context, c *Call) {
	if c.Local {
		return
	}
	limits, _, err := b.limits(ctx, bid{info: llm.Info{Provider: c.Provider, Model: c.Model}, account: c.Account}, time.Now())
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
