package app

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/config"
	"hob/cmd/hob/internal/channel"
	"hob/cmd/hob/internal/doctor"
	"hob/platform/host/osrun"
	"hob/platform/host/system"
	"hob/platform/host/vault"
	"hob/templates"
	"hob/tools/files/containertool"
	"hob/tools/shell"
)

// DoctorEnv returns the environment of the checks without a daemon: for the command `hob
// doctor`, and for some checks in setup. An invalid configuration is not an error.
func DoctorEnv(p system.Paths, version string) (doctor.Env, error) {
	e := doctor.Env{Paths: p, Version: version, Tables: Migrations(), Secrets: vault.SecretsFor(p), Now: time.Now(), Desktop: true, Starts: true}
	var err error
	e.Load = func() (*config.Config, error) { return config.Load(p.ConfigFile()) }
	if e.Config, e.ConfigErr = e.Load(); e.ConfigErr != nil {
		if e.Config, err = config.Default(); err != nil {
			return e, err
		}
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		e.Scripts = osrun.NewScripts(osrun.Options{})
	}
	if exe, err := os.Executable(); err == nil { // otherwise the autostart check reports it
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
	e.TestChannel = doctor.ChannelTester(e)
	return e, nil
}

// addSandboxProbes adds the probes of the sandboxes for agents and commands.
func addSandboxProbes(e *doctor.Env) {
	e.Agents, e.Confined = nil, nil
	for _, m := range e.Config.Members {
		if box, _, err := containertool.OpenBox(e.Paths, e.Config, m); err != nil {
			e.Agents = append(e.Agents, doctor.Agent{Name: m.Name, Check: func(context.Context) error { return err }})
		} else if box != nil {
			e.Agents = append(e.Agents, doctor.Agent{Name: m.Name, Check: box.Check})
		}
	}
	if cmds, err := shell.Open(shell.OpenOptions{Config: e.Config, Protected: protectedPaths(e.Paths, e.Config)}); err == nil { // other checks report errors of the configuration
		e.Confined = func(ctx context.Context) (kind, missing string) {
			box := cmds.Runner.Sandbox(ctx)
			return box.Kind(), box.Missing()
		}
	}
}

// doctorEnv returns the environment of the checks in the daemon: the current configuration
// file, and the daemon's internal state.
func (d *App) doctorEnv() (doctor.Env, error) {
	e, err := DoctorEnv(d.opt.Paths, d.opt.Version)
	if err != nil {
		return e, err
	}
	if e.ConfigErr != nil {
		e.Config = d.opt.Config // the other checks use the configuration Hob runs with
		addSandboxProbes(&e)
	}
	e.Stale = !e.Config.SameText(d.opt.Config)
	e.Secrets, e.HTTP = *d.secrets, d.opt.HTTP
	e.Scripts = d.scripts
	e.Desktop, e.Starts = d.opt.Screen, d.opt.Screen
	if d.opt.InProcess {
		return e, nil
	}
	e.Daemon, e.Tray = os.Getpid(), d.tray != nil
	e.Browses = func() bool { return d.browser != nil && d.browser.Running() }
	e.Memory = func(ctx context.Context) (out []doctor.Derived, err error) {
		list, err := d.service.DerivedStats(ctx)
		for _, x := range list {
			out = append(out, doctor.Derived{Name: x.Name, State: x.State, Cause: x.Cause, Behind: x.Behind})
		}
		return out, err
	}
	e.Documents = func(ctx context.Context) (out []doctor.Document, err error) {
		list, err := d.documents.Documents(ctx, api.Query{State: "failed", Limit: 1000})
		for _, x := range list {
			out = append(out, doctor.Document{Source: x.Source, Error: x.Error})
		}
		return out, err
	}
	e.Erasures = func(ctx context.Context) (out []doctor.Erasure, err error) {
		list, err := d.erasing.List(ctx, 1000)
		for _, x := range list {
			out = append(out, doctor.Erasure{State: x.State, Trouble: x.Trouble, BegunAt: x.BegunAt})
		}
		return out, err
	}
	e.TestChannel = func(ctx context.Context, c *config.Config, name string) (string, error) {
		return channel.Test(ctx, c, d.channelDrivers(), name, d.trialDeps(c, name))
	}
	e.Channels = func() (out []doctor.Channel) {
		for _, h := range d.channels.Status() {
			out = append(out, doctor.Channel{Name: h.Name, State: h.State, Error: h.Error})
		}
		return out
	}
	e.Reindex = func(ctx context.Context) error {
		if err := os.RemoveAll(filepath.Join(d.opt.Paths.Index(), "damaged")); err != nil {
			return err
		}
		return d.service.MemoryReindex(ctx, func(api.MemoryProgress) {})
	}
	return e, nil
}
