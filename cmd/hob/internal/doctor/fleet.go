package doctor

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
)

// checkFleet checks the database that several instances share. Without a daemon there is nothing to
// measure.
func checkFleet(ctx context.Context, e Env) []Check {
	if e.Fleet == nil {
		return nil
	}
	h, shared, err := e.Fleet(ctx)
	switch {
	case err != nil:
		return failCheck("fleet", fmt.Sprintf("read the shared database: %v", err), "check the server, the network and [store] url; Hob goes on by itself when the database is back")
	case !shared:
		return nil
	case h.Damage != nil:
		cause, remedy, _ := strings.Cut(h.Damage.Error(), "; ")
		return failCheck("fleet", cause, cmp.Or(remedy, "check the database server"))
	case len(h.Vacant) > 0:
		return warnCheck("fleet", "no live instance does this work: "+strings.Join(h.Vacant, ", "), "check the logs of the instances; one of them takes it within 5 s")
	case h.ClockOffset.Abs() > 5*time.Second:
		return warnCheck("fleet", fmt.Sprintf("the clock of the database server differs by %s", h.ClockOffset.Round(time.Second)), "enable NTP on both machines")
	case h.Lag > h.Lease/2:
		return warnCheck("fleet", fmt.Sprintf("the lease of %s was last renewed %s ago", h.Lease, h.Lag.Round(time.Millisecond)), "check the load of the database server, or set a longer [store] lease")
	case h.Latency > 100*time.Millisecond:
		return warnCheck("fleet", fmt.Sprintf("the database answers in %s", h.Latency.Round(time.Millisecond)), "move the instances closer to the database server")
	}
	return okCheck("fleet", fmt.Sprintf("PostgreSQL %s, %d live instances, answers in %s, clocks differ by %s, lease renewed %s ago, %d connections in use, %d reads waited",
		h.Server, h.Instances, h.Latency.Round(time.Microsecond), h.ClockOffset.Abs().Round(time.Millisecond), h.Lag.Round(time.Millisecond), h.InUse, h.Waits))
}
