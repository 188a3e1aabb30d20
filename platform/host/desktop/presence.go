package desktop

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/lazyregexp"
)

// Presence describes whether the user is at this machine.
type Presence struct {
	// Idle is the time since the last keyboard or mouse input. It is valid only if IdleKnown is
	// set.
	Idle      time.Duration
	IdleKnown bool
	// Locked is true if the screen is locked. It is valid only if LockKnown is set.
	Locked, LockKnown bool
	// By is the source of the report, for log messages.
	By string
}

// ErrUnseen means that presence cannot be determined.
var ErrUnseen = errors.New("cannot determine whether the user is at the machine")

// DetectPresence reports whether the user is at the machine. An error wraps ErrUnseen if this is
// unknown, as on a server; an error never means that the user is away.
func DetectPresence(ctx context.Context, o Options) (Presence, error) {
	o = o.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, o.Wait)
	defer cancel()
	return detectPresence(ctx, o)
}

// maxIdle is the longest plausible idle time. A longer one means that the unit is wrong.
const maxIdle = 400 * 24 * time.Hour

// Patterns for the relevant lines of ioreg. Only the keys are parsed, because the tree around
// them differs between versions.
var (
	ioregIdle   = lazyregexp.New(`"HIDIdleTime" = ([0-9]+)`)
	ioregLocked = lazyregexp.New(`"?CGSSessionScreenIsLocked"?\s*(?:=|</key>)\s*(Yes|No|<true/>|<false/>)`)
)

// readIdle parses the idle time in nanoseconds from the output of `ioreg -c IOHIDSystem -d 4 -r`.
// There may be several devices; it returns the shortest time.
func readIdle(out []byte) (time.Duration, error) {
	best := time.Duration(-1)
	for _, m := range ioregIdle.FindAllSubmatch(out, -1) {
		n, err := strconv.ParseInt(string(m[1]), 10, 64)
		if err != nil || n < 0 || time.Duration(n) > maxIdle {
			continue
		}
		if d := time.Duration(n); best < 0 || d < best {
			best = d
		}
	}
	if best < 0 {
		return 0, fmt.Errorf("desktop: %w: ioreg reports no HIDIdleTime", ErrUnseen)
	}
	return best, nil
}

// readLocked determines from the output of `ioreg -n Root -d1 -a` whether the screen is locked. The
// key exists only while the screen is locked; the list of users always exists.
func readLocked(out []byte) (locked, known bool) {
	if m := ioregLocked.FindSubmatch(out); m != nil {
		word := string(m[1])
		return word == "Yes" || word == "<true/>", true
	}
	return false, strings.Contains(string(out), "IOConsoleUsers")
}
