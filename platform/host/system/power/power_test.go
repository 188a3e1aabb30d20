package power

import (
	"errors"
	"testing"
	"time"
	"unsafe"
)

// TestReadPmset uses the output of "pmset -g batt" of macOS 12 to 15.
func TestReadPmset(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want Battery
		bad  bool
	}{
		"discharging":    {"Now drawing from 'Battery Power'\n -InternalBattery-0 (id=4653155)\t85%; discharging; 3:10 remaining present: true\n", Battery{true, 85, Discharging, 190 * time.Minute, false}, false},
		"charging":       {"Now drawing from 'AC Power'\n -InternalBattery-0 (id=1)\t40%; charging; 1:05 remaining present: true\n", Battery{true, 40, Charging, 65 * time.Minute, true}, false},
		"no estimate":    {"Now drawing from 'Battery Power'\n -InternalBattery-0 (id=1)\t99%; discharging; (no estimate) present: true\n", Battery{true, 99, Discharging, 0, false}, false},
		"full":           {"Now drawing from 'AC Power'\n -InternalBattery-0 (id=1)\t100%; charged; 0:00 remaining present: true\n", Battery{true, 100, Full, 0, true}, false},
		"held":           {"Now drawing from 'AC Power'\n -InternalBattery-0 (id=1)\t80%; AC attached; not charging present: true\n", Battery{true, 80, Held, 0, true}, false},
		"a Mac mini":     {"Now drawing from 'AC Power'\n", Battery{Mains: true}, false},
		"a power supply": {"Now drawing from 'AC Power'\n -UPS Back-UPS (id=1)\t70%; charging; 0:20 remaining present: true\n", Battery{Mains: true}, false},
		"nothing":        {"", Battery{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readPmset(tc.in)
			if got != tc.want || (err != nil) != tc.bad || tc.bad && !errors.Is(err, ErrUnseen) {
				t.Errorf("readPmset = %+v, %v", got, err)
			}
		})
	}
}

// The values are from learn.microsoft.com, "SYSTEM_POWER_STATUS structure".
func TestWindowsStatus(t *testing.T) {
	if unsafe.Sizeof(systemPower{}) != 12 {
		t.Errorf("SYSTEM_POWER_STATUS has %d bytes", unsafe.Sizeof(systemPower{}))
	}
	none := uint32(1<<32 - 1)
	for name, tc := range map[string]struct {
		in   systemPower
		want Battery
		bad  bool
	}{
		"discharging": {systemPower{0, 1, 60, 0, 5400, none}, Battery{true, 60, Discharging, 90 * time.Minute, false}, false},
		"charging":    {systemPower{1, 8, 60, 0, none, none}, Battery{true, 60, Charging, 0, true}, false},
		"full":        {systemPower{1, 1, 100, 0, none, none}, Battery{true, 100, Full, 0, true}, false},
		"none":        {systemPower{1, 128, 255, 0, none, none}, Battery{Mains: true}, false},
		"unknown":     {systemPower{255, 255, 255, 0, none, none}, Battery{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.in.batteryState()
			if got != tc.want || (err != nil) != tc.bad {
				t.Errorf("batteryState = %+v, %v", got, err)
			}
		})
	}
}
