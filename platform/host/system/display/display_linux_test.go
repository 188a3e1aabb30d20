package display

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/godbus/dbus/v5"

	"hob/platform/host/desktop/desktoptest"
)

func TestBacklight(t *testing.T) {
	bus := desktoptest.NewBus(t)
	login := desktoptest.NewLogin(t, bus, -1, 0)
	sys := t.TempDir()
	d := New(Options{Getenv: bus.Environ(nil), Sys: sys})
	if _, err := d.Brightness(t.Context()); !errors.Is(err, ErrNoBacklight) {
		t.Errorf("Brightness without a backlight = %v", err)
	}
	for dev, kind := range map[string]string{"intel_backlight": "raw", "acpi_video0": "firmware"} {
		dir := filepath.Join(sys, "class", "backlight", dev)
		failOnError(t, os.MkdirAll(dir, 0o700))
		for k, v := range map[string]string{"type": kind, "brightness": "15", "max_brightness": "20"} {
			failOnError(t, os.WriteFile(filepath.Join(dir, k), []byte(v+"\n"), 0o600))
		}
	}
	if n, err := d.Brightness(t.Context()); err != nil || n != 75 {
		t.Errorf("Brightness = %d, %v", n, err)
	}
	for percent, want := range map[int]uint32{50: 10, 0: 1, 100: 20} {
		before := len(login.Bright())
		if _, err := d.SetBrightness(t.Context(), percent); err != nil {
			t.Errorf("%d: SetBrightness = %v, want nil", percent, err)
		}
		if all := login.Bright(); len(all) != before+1 || all[before] != want {
			t.Errorf("%d %%: set %v", percent, all)
		}
	}
}

type settings struct {
	new  bool
	dark uint32
}

func (s settings) ReadOne(_, _ string) (dbus.Variant, *dbus.Error) {
	if !s.new {
		return dbus.Variant{}, dbus.NewError("org.freedesktop.DBus.Error.UnknownMethod", nil)
	}
	return dbus.MakeVariant(s.dark), nil
}

func (s settings) Read(_, _ string) (dbus.Variant, *dbus.Error) {
	return dbus.MakeVariant(dbus.MakeVariant(s.dark)), nil
}

func TestDark(t *testing.T) {
	bus := desktoptest.NewBus(t)
	dir := t.TempDir() // contains the programs
	env := bus.Environ(map[string]string{"PATH": dir})
	d := New(Options{Getenv: env})
	if _, err := d.Dark(t.Context()); !errors.Is(err, ErrUnsaid) {
		t.Errorf("Dark without a reported appearance = %v", err)
	}
	conn := bus.Conn(t)
	_, err := conn.RequestName(portal, 0)
	failOnError(t, err)
	for _, s := range []settings{{true, 1}, {false, 1}, {true, 2}} {
		failOnError(t, conn.Export(s, portalPath, "org.freedesktop.portal.Settings"))
		if on, err := d.Dark(t.Context()); err != nil || on != (s.dark == 1) {
			t.Errorf("%+v: %v, %v", s, on, err)
		}
	}
	file := filepath.Join(dir, "set")
	failOnError(t, os.WriteFile(filepath.Join(dir, "gsettings"), []byte("#!/bin/sh\necho \"$@\" >"+file+"\n"), 0o700)) //nolint:gosec // it must be executable
	if _, err := d.SetDark(t.Context(), true); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "set org.gnome.desktop.interface color-scheme prefer-dark\n" {
		t.Errorf("ReadFile = %q, %v", b, err)
	}
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
