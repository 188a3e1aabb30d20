package desktop

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/prop"

	"hob/platform/host/desktop/desktoptest"
)

func TestFocus(t *testing.T) {
	for name, tc := range map[string]struct {
		props prop.Map
		gnome string
		want  Focus
	}{
		"Plasma, on":    {prop.Map{notesName: {"Inhibited": {Value: true}}}, "", FocusOn},
		"Plasma, off":   {prop.Map{notesName: {"Inhibited": {Value: false}}}, "", FocusOff},
		"dunst, paused": {prop.Map{"org.dunstproject.cmd0": {"paused": {Value: true}}}, "", FocusOn},
		"GNOME, on":     {nil, "false", FocusOn},
		"GNOME, off":    {nil, "true", FocusOff},
		"no source":     {nil, "", FocusUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			bus, dir := desktoptest.NewBus(t), t.TempDir()
			env := map[string]string{"PATH": dir}
			if tc.props != nil {
				conn := bus.Conn(t)
				if _, err := prop.Export(conn, dbus.ObjectPath(notesPath), tc.props); err != nil {
					t.Fatal(err)
				}
				if _, err := conn.RequestName(notesName, 0); err != nil {
					t.Fatal(err)
				}
			}
			if tc.gnome != "" {
				env["XDG_CURRENT_DESKTOP"] = "ubuntu:GNOME"
				if err := os.WriteFile(filepath.Join(dir, "gsettings"), []byte("#!/bin/sh\necho "+tc.gnome+"\n"), 0o700); err != nil { //nolint:gosec // the file must be executable
					t.Fatal(err)
				}
			}
			got, _, err := ReadFocusMode(t.Context(), Options{Getenv: bus.Environ(env)})
			if got != tc.want || (err != nil) != (got == FocusUnknown) {
				t.Errorf("ReadFocusMode = %s, %v", got, err)
			}
		})
	}
	if got, _, err := ReadFocusMode(t.Context(), Options{Getenv: func(string) string { return "" }}); got != FocusUnknown || err == nil {
		t.Errorf("without a session: %s, %v", got, err)
	}
}

func TestFocus_OtherDesktops(t *testing.T) {
	for in, want := range map[string]Focus{
		`{"data":[{"storeAssertionRecords":[{"assertionDetails":{"assertionDetailsModeIdentifier":"com.apple.donotdisturb.mode.default"}}]}]}`: FocusOn,
		`{"data":[{"storeInvalidationRecords":[]}]}`: FocusOff, `{}`: FocusUnknown, ``: FocusUnknown, `[1]`: FocusUnknown,
	} {
		if got, _, err := readAssertions([]byte(in)); got != want || (err != nil) != (want == FocusUnknown) {
			t.Errorf("%s: readAssertions = %s, %v", in, got, err)
		}
	}
	for state, want := range map[int]Focus{1: FocusUnknown, 2: FocusOn, 4: FocusOn, 5: FocusUnknown, 6: FocusOn} {
		if got, _, _ := focusState(state); got != want {
			t.Errorf("%d: focusState = %s", state, got)
		}
	}
}
