package usage

import (
	"context"
	"fmt"
	"time"

	"hob/knowledge/store"
)

// scope is what one agent, or all together, took of the present day and month.
type scope struct {
	day, month         string
	dayMoney, mthMoney Micros
	dayTokens          int
	heldMoney          Micros // reserved by calls under way
	heldTokens         int
}

// scope returns the sums of an agent as of now. b.mu is held. They are kept in
// memory and read from the store when the day or month is another one: after a
// start, at midnight, and when somebody set the clock or moved to another zone.
func (b *Books) scope(ctx context.Context, agent string, now time.Time) (*scope, error) {
	zone := b.o.Zone()
	day, dayFrom := dayOf(now, zone)
	month, monthFrom := monthOf(now, zone)
	s := b.scopes[agent]
	if s == nil {
		s = &scope{}
	}
	if s.day == day && s.month == month {
		return s, nil
	}
	fresh := scope{day: day, month: month, heldMoney: s.heldMoney, heldTokens: s.heldTokens}
	if err := b.read(ctx, agent, monthFrom, dayFrom, &fresh); err != nil {
		return nil, err
	}
	for _, c := range b.pending {
		if agent == "" || c.Account.Agent == agent {
			fresh.add(c, dayFrom, monthFrom)
		}
	}
	*s = fresh
	b.scopes[agent] = s
	return s, nil
}

// read sums up what is stored. What waits in memory may be stored meanwhile, so
// the caller holds b.mu, and rows that wait are left out here.
func (b *Books) read(ctx context.Context, agent string, month, day time.Time, s *scope) error {
	waits := map[string]bool{}
	for _, c := range b.pending {
		waits[c.ID] = true
	}
	rows, err := b.db.Read().QueryContext(ctx, `SELECT id, at, counted, CASE local WHEN 0 THEN input + output ELSE 0 END FROM model_calls WHERE at >= ? AND (? = '' OR agent = ?)`,
		store.Millis(month), agent, agent)
	if err != nil {
		return fmt.Errorf("usage: what was spent so far cannot be read: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var at, counted int64
		var tokens int
		if err := rows.Scan(&id, &at, &counted, &tokens); err != nil {
			return fmt.Errorf("usage: what was spent so far cannot be read: %w", err)
		}
		if waits[id] {
			continue
		}
		s.mthMoney += Micros(counted)
		if at >= store.Millis(day) {
			s.dayMoney += Micros(counted)
			s.dayTokens += tokens
		}
	}
	return rows.Err()
}

// add takes a call into the sums.
func (s *scope) add(c *Call, day, month time.Time) {
	if !c.At.Before(month) {
		s.mthMoney += c.Counted
	}
	if !c.At.Before(day) {
		s.dayMoney += c.Counted
		s.dayTokens += c.tokens()
	}
}
