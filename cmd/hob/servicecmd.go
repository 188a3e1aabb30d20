package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"hob/platform/host/system"
	"hob/platform/host/system/autostart"
)

func (a *cli) serviceCmd() *cobra.Command {
	var only bool
	install := &cobra.Command{
		Use: "install", Short: "Start Hob when you log in", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			if only {
				return a.printService(c)
			}
			return a.installService(c.Context(), kindOf(c))
		}),
	}
	install.Flags().BoolVar(&only, "print", false, "only print the entry and its path")
	uninstall := &cobra.Command{
		Use: "uninstall", Short: "Do not start Hob when you log in", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error { return a.uninstallService(c.Context(), kindOf(c)) }),
	}
	status := a.addJSONFlag(&cobra.Command{
		Use: "status", Short: "Show whether Hob starts when you log in", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error { return a.serviceStatus(c.Context(), kindOf(c)) }),
	})
	for _, c := range []*cobra.Command{install, uninstall, status} {
		c.Flags().String("kind", "", "systemd or xdg, on Linux (default: detected)")
	}
	return a.commandGroup(&cobra.Command{Use: "service", Short: "Manage whether Hob starts when you log in", SuggestFor: []string{"autostart", "daemon"}}, install, status, uninstall)
}

func kindOf(c *cobra.Command) string { return c.Flag("kind").Value.String() }

// findService determines how Hob starts with the session, and which files this requires.
func (a *cli) findService(ctx context.Context, kind string) (*autostart.Manager, autostart.Entry, error) {
	var e autostart.Entry
	switch {
	case kind != "" && kind != string(autostart.Systemd) && kind != string(autostart.XDG):
		return nil, e, usageErrorf("--kind must be systemd or xdg")
	case kind != "" && runtime.GOOS != "linux":
		return nil, e, usageErrorf("--kind works only on Linux")
	}
	p, err := system.DefaultPaths()
	if err != nil {
		return nil, e, err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, e, fmt.Errorf("locate the hob program: %w", err)
	}
	e = autostart.Self(exe, p.Home, p.LogFile(), os.Getenv)
	m, err := autostart.New(ctx, autostart.Options{Kind: autostart.Kind(kind)})
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, e, &failure{code: exitFailed, cause: "starting at login is not supported on this system", remedy: "configure your system to run this at login: hob start"}
	}
	return m, e, err
}

func (a *cli) printService(c *cobra.Command) error {
	m, e, err := a.findService(c.Context(), kindOf(c))
	if err != nil {
		return err
	}
	place, text, err := m.Text(e)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.err, "%s:\n", place)
	fmt.Fprint(a.out, text)
	return nil
}

func (a *cli) installService(ctx context.Context, kind string) error {
	m, e, err := a.findService(ctx, kind)
	if err != nil {
		return err
	}
	p, _, err := a.loadHome() // report an invalid configuration here instead of in a log
	if err != nil {
		return err
	}
	if err := p.Ensure(); err != nil {
		return err
	}
	h, held, err := system.Probe(p.LockFile())
	if err != nil {
		return err
	}
	running := held && h.Role == system.RoleDaemon
	if err := m.Install(ctx, e, !running); err != nil {
		return err
	}
	place, _, err := m.Text(e)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "Hob starts when you log in (%s: %s).\n", m.Kind(), place)
	s, err := m.Status(ctx, e)
	switch {
	case err != nil:
		return err
	case running && !s.Running:
		fmt.Fprintln(a.out, "Hob is already running because you started it manually. From your next login on, it starts automatically.")
	case !running && !s.Running:
		fmt.Fprintln(a.out, "To start it now: hob start")
	}
	return nil
}

func (a *cli) uninstallService(ctx context.Context, kind string) error {
	some := false
	for { // if no kind is given, remove every installed entry
		m, _, err := a.findService(ctx, kind)
		if err != nil {
			return err
		}
		was, err := m.Uninstall(ctx)
		if err != nil {
			return err
		}
		if !was {
			break
		}
		some = true
	}
	if !some {
		fmt.Fprintln(a.out, "Hob was not set to start at login; nothing was changed.")
		return nil
	}
	fmt.Fprintln(a.out, "Hob no longer starts when you log in. Hob keeps running until you run: hob stop")
	return nil
}

func (a *cli) serviceStatus(ctx context.Context, kind string) error {
	m, e, err := a.findService(ctx, kind)
	if err != nil {
		return err
	}
	s, err := m.Status(ctx, e)
	if err != nil {
		return err
	}
	if a.asJSON {
		return a.printJSON(s)
	}
	if !s.Installed {
		fmt.Fprintf(a.out, "Not installed (%s). To start Hob at login, run: hob service install\n", s.Kind)
		if s.Note != "" {
			fmt.Fprintln(a.out, "Note: "+sanitizePrintable(s.Note))
		}
		return nil
	}
	fmt.Fprintf(a.out, "Installed: %s, %s\n", s.Kind, s.Place)
	fmt.Fprintf(a.out, "Starts: %s\n", sanitizePrintable(s.Program))
	switch {
	case s.Program != e.Program:
		fmt.Fprintf(a.out, "The current program is %s. Update the entry with: hob service install\n", e.Program)
	case !s.Current:
		fmt.Fprintln(a.out, "The entry is outdated. Update it with: hob service install")
	}
	if !s.Enabled {
		fmt.Fprintln(a.out, "The entry is disabled, so Hob will not start at login.")
	}
	if s.Running {
		fmt.Fprintln(a.out, "The service is running.")
	}
	if s.Note != "" {
		fmt.Fprintln(a.out, "Note: "+sanitizePrintable(s.Note))
	}
	return nil
}

// setAutostart applies the setup answer "autostart".
func (a *cli) setAutostart(ctx context.Context, on bool) error {
	if on {
		return a.installService(ctx, "")
	}
	m, e, err := a.findService(ctx, "")
	if err != nil {
		return nil //nolint:nilerr // without a service manager no entry exists
	}
	if s, err := m.Status(ctx, e); err != nil || !s.Same { // do not change the entry of another program or home
		return err
	}
	return a.uninstallService(ctx, "")
}
