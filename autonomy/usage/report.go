package usage

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/llm"
	"hob/platform/store"
)

// Day is the usage of one model on one day.
type Day struct {
	Day   string // YYYY-MM-DD in the user's time zone
	Model string // in the form provider/model
	Turns int    // number of turns that called the model
	Calls int
	Usage llm.Usage
	// Cost is the cost of the priced calls; nil if none has a price.
	Cost *Micros
	// Unpriced is the number of calls without a price, and Estimated the number of calls without a
	// token count from the provider.
	Unpriced, Estimated int
	Local               bool
	// Purposes divides the calls by purpose, in the order of the newest call.
	Purposes []Purpose
}

// Purpose is the part of a day's usage that was for one purpose.
type Purpose struct {
	Name          llm.Purpose
	Calls, Tokens int     // Tokens is the sum of input and output
	Cost          *Micros // as in Day
}

// Days returns the usage per day and model, newest day first, in at most n rows.
func (b *Tracker) Days(ctx context.Context, n int) ([]Day, error) {
	if err := b.flushPending(ctx); err != nil {
		return nil, err
	}
	rows, err := b.db.Read().QueryContext(ctx, `SELECT at, provider, model, event, purpose, input, output, cache_read, cache_write, known, cost, local FROM model_calls ORDER BY at DESC, id DESC`)
	if err != nil {
		return nil, fmt.Errorf("usage: read model calls: %w", err)
	}
	defer rows.Close()
	var out []Day
	zone := b.o.Zone()
	place := map[[2]string]int{}
	events := map[[3]string]bool{}
	for rows.Next() {
		var c Call
		var at int64
		if err := rows.Scan(&at, &c.Provider, &c.Model, &c.Account.Event, &c.Account.Purpose, &c.Usage.Input, &c.Usage.Output, &c.Usage.CacheRead, &c.Usage.CacheWrite, &c.Usage.Known, &c.Cost, &c.Local); err != nil {
			return nil, fmt.Errorf("usage: read model calls: %w", err)
		}
		day, _ := dayOf(store.Time(at), zone)
		key := [2]string{day, c.modelName()}
		i, ok := place[key]
		if !ok {
			if len(out) == n {
				break
			}
			i = len(out)
			place[key] = i
			out = append(out, Day{Day: day, Model: c.modelName(), Local: c.Local})
		}
		out[i].addCall(&c)
		if e := [3]string{day, c.modelName(), c.Account.Event}; c.Account.Event != "" && !events[e] {
			events[e] = true
			out[i].Turns++
		}
	}
	return out, rows.Err()
}

func (d *Day) addCall(c *Call) {
	d.Calls++
	d.Usage = d.Usage.Add(c.Usage)
	d.Cost = addCost(d.Cost, c.Cost)
	if c.Cost == nil {
		d.Unpriced++
	}
	if !c.Usage.Known {
		d.Estimated++
	}
	i := slices.IndexFunc(d.Purposes, func(p Purpose) bool { return p.Name == c.Account.Purpose })
	if i < 0 {
		i = len(d.Purposes)
		d.Purposes = append(d.Purposes, Purpose{Name: c.Account.Purpose})
	}
	p := &d.Purposes[i]
	p.Calls, p.Tokens, p.Cost = p.Calls+1, p.Tokens+c.Usage.Input+c.Usage.Output, addCost(p.Cost, c.Cost)
}

// addCost adds a cost to a sum. nil means that the cost is unknown.
func addCost(sum, cost *Micros) *Micros {
	switch {
	case cost == nil:
		return sum
	case sum == nil:
		return new(*cost)
	}
	return new(*sum + *cost)
}

// flushPending flushes waiting rows, so that the store contains all calls.
func (b *Tracker) flushPending(ctx context.Context) error {
	b.mu.Lock()
	n := len(b.pending)
	b.mu.Unlock()
	if n == 0 {
		return nil
	}
	return b.db.Write(ctx, b.FlushTx)
}

// Period is the usage of the current day or month.
type Period struct {
	Name     string // "day" or "month"
	Which    string // for example 2026-03-29 or 2026-03
	From     time.Time
	Cost     Micros // cost of the calls with a price
	Counted  Micros // amount that counts toward the cap
	Unpriced int    // number of calls without a price
	Calls    int
	Tokens   int // tokens used by models that do not run on this machine
	Cap      Micros
	CapToken int
}

// Periods returns the usage of the current day and month, with the caps.
func (b *Tracker) Periods(ctx context.Context) ([]Period, error) {
	if err := b.flushPending(ctx); err != nil {
		return nil, err
	}
	now, zone, caps := time.Now(), b.o.Zone(), b.o.Caps("")
	day, dayFrom := dayOf(now, zone)
	month, monthFrom := monthOf(now, zone)
	out := []Period{
		{Name: "day", Which: day, From: dayFrom, Cap: caps.Daily, CapToken: caps.DailyTokens},
		{Name: "month", Which: month, From: monthFrom, Cap: caps.Monthly},
	}
	for i := range out {
		p := &out[i]
		err := b.db.Read().QueryRowContext(ctx, `SELECT coalesce(sum(cost),0), coalesce(sum(counted),0), count(*) - count(cost), count(*), coalesce(sum(CASE local WHEN 0 THEN input + output ELSE 0 END),0)
			FROM model_calls WHERE at >= ?`, store.Millis(p.From)).Scan(&p.Cost, &p.Counted, &p.Unpriced, &p.Calls, &p.Tokens)
		if err != nil {
			return nil, fmt.Errorf("usage: sum the calls of a period: %w", err)
		}
	}
	return out, nil
}

// Of returns the number of model calls for an event, and their cost. cost is nil if there are no
// calls or the price of a call is unknown.
func (b *Tracker) Of(ctx context.Context, event string) (calls int, cost *Micros, err error) {
	if err := b.flushPending(ctx); err != nil {
		return 0, nil, err
	}
	var sum sql.NullInt64
	err = b.db.Read().QueryRowContext(ctx, `SELECT count(*), CASE WHEN count(cost) = count(*) THEN sum(cost) END FROM model_calls WHERE event = ?`, event).Scan(&calls, &sum)
	if err != nil {
		return 0, nil, fmt.Errorf("usage: sum the calls of an event: %w", err)
	}
	if sum.Valid {
		m := Micros(sum.Int64)
		cost = &m
	}
	return calls, cost, nil
}

// Total is the number of model calls and their cost.
type Total struct {
	Calls, Unpriced int // Unpriced is the number of calls without a known price
	Cost            Micros
}

// Total sums the model calls of all providers except one.
func (b *Tracker) Total(ctx context.Context, except string) (t Total, err error) {
	days, err := b.Days(ctx, 1_000_000)
	for _, x := range days {
		if provider, _, _ := strings.Cut(x.Model, "/"); provider == except {
			continue
		}
		t.Calls, t.Unpriced = t.Calls+x.Calls, t.Unpriced+x.Unpriced
		if x.Cost != nil {
			t.Cost += *x.Cost
		}
	}
	return t, err
}
