package doctor

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/config"
	"hob/autonomy/service"
	"hob/channels"
	channelsall "hob/channels/all"
	"hob/cmd/hob/internal/channel"
	"hob/knowledge"
	"hob/knowledge/ingest"
	"hob/platform/host/osrun"
	"hob/platform/host/system"
	"hob/platform/host/vault"
	"hob/platform/net/release"
	"hob/platform/store"
	"hob/templates"
	"hob/tools/files/containertool"
	"hob/tools/shell"
)

// OfflineEnv returns the environment for checks without a daemon: for the command `hob doctor`, and
// for some checks in setup. An invalid configuration is not an error.
func OfflineEnv(p system.Paths, version string, tables []store.MigrationSet) (Env, error) {
	e := Env{Paths: p, Version: version, Tables: tables, Secrets: vault.SecretsFor(p), Now: time.Now(), Desktop: true, Starts: true}
	var err error
	e.Load = func() (*config.Config, error) {
		return config.Revisions{Path: p.ConfigFile(), Dir: p.ConfigUndoDir()}.Load()
	}
	if e.Config, e.ConfigErr = e.Load(); e.ConfigErr != nil {
		if e.Config, err = config.Default(); err != nil {
			return e, err
		}
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		e.Scripts = osrun.NewScripts(osrun.Options{})
	}
	if exe, err := os.Executable(); err == nil { // if this fails, the autostart check reports it
		e.Program = exe
	}
	e.Template = func() (string, bool, error) {
		pending, err := templates.Unfinished(p.TemplateState())
		if err != nil {
			return "", false, err
		}
		s, err := templates.InUse(p.TemplateState())
		return s.Name, pending, err
	}
	addSandboxProbes(&e)
	e.TestChannel = ChannelTester(e)
	return e, nil
}

// addSandboxProbes adds the probes for the sandboxes of agents and commands.
func addSandboxProbes(e *Env) {
	e.Agents, e.Confined = nil, nil
	for _, m := range e.Config.Members {
		if box, _, err := containertool.OpenBox(e.Paths, e.Config, m); err != nil {
			e.Agents = append(e.Agents, Agent{Name: m.Name, Check: func(context.Context) error { return err }})
		} else if box != nil {
			e.Agents = append(e.Agents, Agent{Name: m.Name, Check: box.Check})
		}
	}
	if cmds, err := shell.Open(shell.OpenOptions{Config: e.Config, Protected: channelsall.ProtectedPaths(e.Paths, e.Config)}); err == nil { // other checks report errors in the configuration
		e.Confined = func(ctx context.Context) (kind, missing string) {
			box := cmds.Runner.Sandbox(ctx)
			return box.Kind(), box.Missing()
		}
	}
}

// Engine reports the memory's state and rebuilds its index. *service.Service implements it.
type Engine interface {
	DerivedStats(ctx context.Context) ([]api.DerivedStats, error)
	MemoryReindex(ctx context.Context, progress func(api.MemoryProgress)) error
	// FleetHealth measures a database that instances share; shared is false if there is none.
	FleetHealth(ctx context.Context) (h service.FleetHealth, shared bool, err error)
}

// DaemonOptions describes the process that runs the checks in itself.
type DaemonOptions struct {
	Paths   system.Paths
	Version string
	Tables  []store.MigrationSet
	Config  *config.Config // the configuration that Hob uses
	Secrets system.Secrets
	HTTP    *http.Client
	Scripts osrun.Runner
	Release release.Source
	// Screen allows the checks to use the desktop and to start programs.
	Screen bool
	// InProcess is true if a command uses the engine without a daemon. The fields below are then
	// not used.
	InProcess bool
	Tray      bool
	Browses   func() bool
	Engine    Engine
	Documents *ingest.Library
	Erasing   *knowledge.ErasureService
	Channels  *channels.Manager
	// Drivers and TrialDeps are used to test a channel.
	Drivers   []channels.Driver
	TrialDeps func(c *config.Config, name string) channels.Deps
}

// DaemonEnv returns the environment for checks in the daemon: the current configuration file, and
// the daemon's internal state.
func DaemonEnv(o DaemonOptions) (Env, error) {
	e, err := OfflineEnv(o.Paths, o.Version, o.Tables)
	if err != nil {
		return e, err
	}
	if e.ConfigErr != nil {
		e.Config = o.Config // the other checks use the configuration that Hob runs with
		addSandboxProbes(&e)
	}
	e.Stale = o.Config.NeedsRestart(e.Config)
	e.Secrets, e.HTTP, e.Scripts, e.Release = o.Secrets, o.HTTP, o.Scripts, o.Release
	e.Desktop, e.Starts = o.Screen, o.Screen
	if o.InProcess {
		return e, nil
	}
	e.Daemon, e.Tray, e.Browses = os.Getpid(), o.Tray, o.Browses
	e.Memory = func(ctx context.Context) (out []Derived, err error) {
		list, err := o.Engine.DerivedStats(ctx)
		for _, x := range list {
			out = append(out, Derived{Name: x.Name, State: x.State, Cause: x.Cause, Behind: x.Behind})
		}
		return out, err
	}
	e.Fleet = o.Engine.FleetHealth
	e.Documents = func(ctx context.Context) (out []Document, err error) {
		list, err := o.Documents.Documents(ctx, api.Query{State: "failed", Limit: 1000})
		for _, x := range list {
			out = append(out, Document{Source: x.Source, Error: x.Error})
		}
		return out, err
	}
	e.Erasures = func(ctx context.Context) (out []Erasure, err error) {
		list, err := o.Erasing.List(ctx, 1000)
		for _, x := range list {
			out = append(out, Erasure{State: x.State, Trouble: x.Trouble, BegunAt: x.BegunAt})
		}
		return out, err
	}
	e.TestChannel = func(ctx context.Context, c *config.Config, name string) (string, error) {
		return channel.Test(ctx, c, o.Drivers, name, o.TrialDeps(c, name))
	}
	e.Channels = func() (out []Channel) {
		for _, h := range o.Channels.Status() {
			out = append(out, Channel{Name: h.Name, State: h.State, Error: h.Error})
		}
		return out
	}
	e.Reindex = func(ctx context.Context) error {
		if err := os.RemoveAll(filepath.Join(o.Paths.Index(), "damaged")); err != nil {
			return err
		}
		return o.Engine.MemoryReindex(ctx, func(api.MemoryProgress) {})
	}
	return e, nil
}
