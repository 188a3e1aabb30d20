//go:build unix

package fleet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// An instance on which the secret of a channel is missing leaves the sending to one that has it.
func TestFleet_SendsWhereTheSecretIs(t *testing.T) {
	f := newFleet(t, 2, 1, leaseTime, "b")
	for n := 0; ; n++ {
		event, err := f.instances[1].Send(t.Context(), "webhook:s", fmt.Sprintf("say s0-%d", n))
		check(t, err)
		f.await(t.Context(), "the reply", f.receiver.Count, func() bool { return !f.receiver.Replied(event).IsZero() })
		if slices.Contains(f.claimers(t.Context(), event), "b") {
			break
		}
	}
}

// A command that works without a daemon does not appear as an instance, and a database that is away is
// reported with what to do.
func TestFleet_StatusWithoutDaemon(t *testing.T) {
	f := newFleet(t, 2, 1, leaseTime)
	f.instances[1].Stop()
	var out string
	var err error
	for range 2 { // the first command has ended when the second one lists the instances
		out, err = f.instances[1].Run("fleet", "status")
		check(t, err)
	}
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 3 || !strings.Contains(lines[1], " live ") || !strings.Contains(lines[2], " ended ") {
		t.Errorf("fleet status without a daemon lists %q, want the live instance a and the ended instance b", out)
	}
	check(t, f.server.Stop("QUIT"))
	f.instances[1].proxy.refuse()
	out, err = f.instances[1].Run("task", "list")
	if err == nil || !strings.Contains(out, "cannot be reached") || !strings.Contains(out, "start the database server") {
		t.Errorf("task list while the database is away: %v, %q; want the cause and the remedy", err, out)
	}
}
