// Package power reads the battery (ReadBattery) and reports when the machine is suspended and
// resumed (WatchSleep). Callers must not rely on WatchSleep alone: they must also compare the wall
// clock, because not every system reports every suspend.
package power

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/lazyregexp"
)

// State is the charging state of the battery.
type State string

// The states.
const (
	Charging    State = "charging"
	Discharging State = "discharging"
	Full        State = "full"
	Held        State = "not charging" // on mains power, not charging
	Unknown     State = "unknown"
)

// Battery is the state of the machine's battery.
type Battery struct {
	// Present reports whether there is a battery. If there is none, as in a desktop computer, only
	// Mains is set.
	Present bool  `json:"present"`
	Percent int   `json:"percent"`
	State   State `json:"state,omitempty"`
	// Left is the time until the battery is empty or full; 0 if unknown.
	Left time.Duration `json:"left_ns,omitempty"`
	// Mains is true if the machine is plugged in.
	Mains bool `json:"mains"`
}

// Options of the functions; the zero value is useful.
type Options struct {
	// Getenv is os.Getenv unless a test replaces it.
	Getenv func(string) string
	// Sys is the path of sysfs; "" is "/sys".
	Sys string
	// Wait is the timeout of a query (default 5 s).
	Wait time.Duration
}

func (o Options) withDefaults() Options {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Sys == "" {
		o.Sys = "/sys"
	}
	if o.Wait <= 0 {
		o.Wait = 5 * time.Second
	}
	return o
}

// ErrUnseen means that the battery state cannot be read. It does not mean that there is no battery.
var ErrUnseen = errors.New("battery state is not available")

// ReadBattery reads the battery.
func ReadBattery(ctx context.Context, o Options) (Battery, error) {
	o = o.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, o.Wait)
	defer cancel()
	b, err := readBattery(ctx, o)
	if err != nil {
		return b, fmt.Errorf("read the battery: %w", err)
	}
	b.Percent = max(0, min(100, b.Percent))
	if b.Left < 0 || b.Left > 7*24*time.Hour {
		b.Left = 0
	}
	return b, nil
}

var pmsetLine = lazyregexp.New(`\t(\d{1,3})%; ([a-zA-Z ]+)(?:;[^\n0-9]*(\d+:\d\d)?)?`)

// readPmset parses the output of "pmset -g batt", which is not localized.
func readPmset(out string) (Battery, error) {
	if !strings.Contains(out, "Now drawing from") {
		return Battery{}, fmt.Errorf("%w: unexpected output of pmset %.80q", ErrUnseen, out)
	}
	b := Battery{Mains: strings.Contains(out, "'AC Power'")}
	for line := range strings.Lines(out) {
		m := pmsetLine.FindStringSubmatch(line)
		if m == nil || !strings.Contains(line, "InternalBattery") { // skip the batteries of mice and power supplies
			continue
		}
		n, err := strconv.Atoi(m[1])
		if err != nil {
			continue
		}
		b.Present, b.Percent, b.State, b.Left = true, n, pmsetState(m[2]), parseHours(m[3])
	}
	return b, nil
}

func pmsetState(s string) State {
	switch strings.TrimSpace(s) {
	case "charging", "finishing charge":
		return Charging
	case "discharging":
		return Discharging
	case "charged":
		return Full
	case "AC attached":
		return Held
	}
	return Unknown
}

// parseHours parses a duration such as "3:10".
func parseHours(s string) time.Duration {
	h, m, ok := strings.Cut(s, ":")
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(h + "h" + m + "m")
	if err != nil {
		return 0
	}
	return d
}

// systemPower is SYSTEM_POWER_STATUS of Windows (winbase.h).
type systemPower struct {
	ACLine      byte
	BatteryFlag byte
	Percent     byte
	SystemFlag  byte
	Seconds     uint32
	FullSeconds uint32
}

// batteryState decodes the values of Windows. 255 and a value with all bits set mean unknown; flag
// 128 means that there is no battery.
func (s systemPower) batteryState() (Battery, error) {
	b := Battery{Mains: s.ACLine == 1}
	if s.BatteryFlag == 255 || s.BatteryFlag&128 == 0 && s.Percent > 100 {
		return b, fmt.Errorf("%w: Windows does not report it", ErrUnseen)
	}
	if s.BatteryFlag&128 != 0 {
		return b, nil
	}
	b.Present, b.Percent, b.State = true, int(s.Percent), Held
	switch {
	case s.BatteryFlag&8 != 0:
		b.State = Charging
	case s.Percent == 100 && b.Mains:
		b.State = Full
	case !b.Mains:
		b.State = Discharging
	}
	if b.State == Discharging && s.Seconds != 1<<32-1 {
		b.Left = time.Duration(s.Seconds) * time.Second
	}
	return b, nil
}

// Event is a change of the machine's sleep state.
type Event bool

// The events.
const (
	Sleeps Event = true
	Wakes  Event = false
)

// WatchSleep calls on for each suspend and each resume until ctx ends, and then returns nil. If the
// system does not report them, it returns an error, which is only meant for the log, because
// callers also compare the wall clock. on is called from one goroutine at a time and must return
// immediately.
func WatchSleep(ctx context.Context, o Options, on func(Event)) error {
	return watchSleep(ctx, o.withDefaults(), on)
}

// FollowWakes calls onWake each time the machine resumes, until ctx ends. On a system that does not
// report this, it only waits. onWake must return immediately.
func FollowWakes(ctx context.Context, o Options, log *slog.Logger, onWake func()) error {
	err := WatchSleep(ctx, o, func(e Event) {
		if e == Wakes {
			log.Info("machine woke from sleep")
			onWake()
		}
	})
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		log.Debug("no wake notifications on this system", "err", err)
	}
	<-ctx.Done()
	return nil
}
