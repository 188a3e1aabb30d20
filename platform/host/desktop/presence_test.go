package desktop

import (
	"errors"
	"testing"
	"time"
)

// Output of ioreg. The keys other than those that are read differ between versions.
const (
	ioregIdleOut = `+-o IOHIDSystem  <class IOHIDSystem, id 0x100000397, registered, matched, active, busy 0 (0 ms), retain 27>
    {
      "HIDServiceSupport" = Yes
      "HIDIdleTime" = 4217083125
      "HIDParameters" = {"HIDIdleTime" = 99217083125}
    }
`
	ioregLockedOut = `<dict><key>IOConsoleUsers</key><array><dict><key>CGSSessionScreenIsLocked</key>
	<true/><key>kCGSSessionOnConsoleKey</key><true/></dict></array></dict>`
	ioregOpenOut = `<dict><key>IOConsoleUsers</key><array><dict><key>kCGSSessionOnConsoleKey</key><true/></dict></array></dict>`
)

func TestIoreg(t *testing.T) {
	if d, err := readIdle([]byte(ioregIdleOut)); err != nil || d != 4217083125*time.Nanosecond {
		t.Errorf("idle %v, %v", d, err)
	}
	for _, out := range []string{"", `"HIDIdleTime" = 99999999999999999999`, `"HIDIdleTime" = x`, `"HIDIdleTime" = 9223372036854775807`} {
		if d, err := readIdle([]byte(out)); !errors.Is(err, ErrUnseen) {
			t.Errorf("%q: %v, %v; want ErrUnseen", out, d, err)
		}
	}
	for out, want := range map[string][2]bool{
		ioregLockedOut:                      {true, true},
		ioregOpenOut:                        {false, true},
		"":                                  {false, false},
		`"CGSSessionScreenIsLocked" = Yes`:  {true, true},
		`"CGSSessionScreenIsLocked"=No`:     {false, true},
		"CGSSessionScreenIsLocked = Maybe;": {false, false},
	} {
		if locked, known := readLocked([]byte(out)); locked != want[0] || known != want[1] {
			t.Errorf("%.60q: %v %v, want %v", out, locked, known, want)
		}
	}
}
