package main

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"hob/cmd/hob/internal/app"
	"hob/platform/host/desktop/desktoptest"
	"hob/platform/host/system"
	"hob/platform/store"
	"hob/platform/store/upgrade"
)

// If a service manager starts the daemon, the user sees a failed upgrade on the desktop and in `hob
// status`, not only in the log.
func TestUpgrade_ShowsFailure(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOB_HOME", dir)
	p, err := system.DefaultPaths()
	if err != nil {
		t.Fatal(err)
	}
	older := app.Migrations()
	older[0].Steps = older[0].Steps[:1]
	st, err := store.Open(t.Context(), p.Database(), older[:1], store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	bus := desktoptest.NewBus(t)
	shown := desktoptest.NewServer(t, bus, "body", "persistence")
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", bus.Getenv("DBUS_SESSION_BUS_ADDRESS"))
	o := engineOptions{Paths: p, Version: "v9.9.9", Log: slog.New(slog.DiscardHandler)}
	up := newUpgrade(o)
	st, err = store.Open(t.Context(), p.Database(), app.Migrations(), store.Options{BeforeMigration: up.Prepare})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if err := up.Finish(t.Context(), errors.New("the web server does not start")); err == nil {
		t.Error("Finish = nil")
	}
	n := shown.Last(t, 1)
	if n.Title != "Hob could not be upgraded" || !strings.Contains(n.Body, "v9.9.9") || !strings.Contains(n.Body, "hob update --rollback") {
		t.Errorf("shown %+v", n)
	}
	if _, found := upgrade.LastFailure(p); !found {
		t.Error("no failure is recorded")
	}
	var a cli
	_, err = a.connectDaemon(t.Context())
	if f, ok := failureIn(err); !ok || f.code != exitNotRunning || !strings.Contains(f.cause, time.Now().Format("2006-01-02")) || !strings.Contains(f.cause, "upgrade to v9.9.9 failed") || !strings.Contains(f.remedy, "hob update --rollback") {
		t.Errorf("hob status: %+v", err)
	}
}
