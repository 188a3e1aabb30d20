package usage

import (
	"context"
	"fmt"
	"time"

	"hob/platform/store"
)

// scope is the usage of one agent, or of all agents, in the current day and month.
type scope struct {
	day, month         string
	dayMoney, mthMoney Micros
	dayTokens          int
	heldMoney          Micros // reserved by running calls
	heldTokens         int
}

// currentScope returns the current sums of an agent. The caller holds b.mu. The sums are cached.
// They are reloaded from the store when the day or month changes: after a start, at midnight, and
// after a change to the clock or the zone; always if other instances spend as well.
func (b *Tracker) currentScope(ctx context.Context, agent string, now time.Time) (*scope, error) {
	zone := b.o.Zone()
	day, dayFrom := dayOf(now, zone)
	month, monthFrom := monthOf(now, zone)
	s := b.scopes[agent]
	if s == nil {
		s = &scope{}
	}
	if s.day == day && s.month == month && !b.db.IsShared() {
		return s, nil
	}
	fresh := scope{day: day, month: month, heldMoney: s.heldMoney, heldTokens: s.heldTokens}
	if err := b.readSums(ctx, agent, monthFrom, dayFrom, &fresh); err != nil {
		return nil, err
	}
	for _, c := range b.pending {
		if agent == "" || c.Account.Agent == agent {
			fresh.addCall(c, dayFrom, monthFrom)
		}
	}
	*s = fresh
	b.scopes[agent] = s
	return s, nil
}

// readSums sums the stored rows and skips the waiting ones. The caller holds b.mu, because another
// goroutine could store waiting rows at the same time.
func (b *Tracker) readSums(ctx context.Context, agent string, month, day time.Time, s *scope) error {
	waits := map[string]bool{}
	for _, c := range b.pending {
		waits[c.ID] = true
	}
	rows, err := b.db.Read().QueryContext(ctx, `SELECT id, at, counted, CASE local WHEN 0 THEN input + output ELSE 0 END FROM model_calls WHERE at >= ? AND (? = '' OR agent = ?)`,
		store.Millis(month), agent, agent)
	if err != nil {
		return fmt.Errorf("usage: read past usage: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var at, counted int64
		var tokens int
		if err := rows.Scan(&id, &at, &counted, &tokens); err != nil {
			return fmt.Errorf("usage: read past usage: %w", err)
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

// addCall adds a call to the sums.
func (s *scope) addCall(c *Call, day, month time.Time) {
	if !c.At.Before(month) {
		s.mthMoney += c.Counted
	}
	if !c.At.Before(day) {
		s.dayMoney += c.Counted
		s.dayTokens += c.countedTokens()
	}
}
