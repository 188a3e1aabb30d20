package calendar

import (
	"context"
	"errors"
	"sync"

	"hob/platform/pim"
	"hob/platform/pim/caldav"
	"hob/platform/pim/ics"
)

// readFreeBusy asks the calendar servers of the accounts when people are busy (RFC 6638). known
// contains the people whose busy times a server reported, by address; why contains the reasons for
// the others.
func (d Deps) readFreeBusy(ctx context.Context, accounts []pim.Account, people []pim.Person, s ics.Span) (known map[string][]pim.TimeRange, why map[string]string) {
	found := make([]map[string]caldav.Availability, len(accounts))
	failed := make([]error, len(accounts))
	var wg sync.WaitGroup
	for i, a := range accounts {
		if a.Address == "" {
			continue
		}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, d.readTimeout())
			defer cancel()
			c, err := caldav.Open(ctx, a)
			if err != nil {
				failed[i] = err
				return
			}
			defer c.Close()
			found[i], failed[i] = c.FreeBusy(ctx, people, s)
		})
	}
	wg.Wait()
	known, why = map[string][]pim.TimeRange{}, map[string]string{}
	for i := range accounts {
		for _, p := range people {
			a, told := found[i][p.Address]
			switch {
			case told && a.Err == nil:
				known[p.Address] = append(known[p.Address], a.Busy...)
			case told:
				why[p.Address] = pim.SanitizeLine(a.Err.Error(), 200)
			case failed[i] != nil && !errors.Is(failed[i], pim.ErrNoServer):
				why[p.Address] = pim.SanitizeLine(failed[i].Error(), 200)
			}
		}
	}
	return known, why
}
