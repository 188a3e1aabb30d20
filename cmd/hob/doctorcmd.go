package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"hob/autonomy/config"
	"hob/cmd/hob/internal/daemon"
	"hob/cmd/hob/internal/doctor"
	"hob/platform/system"
	"hob/platform/vault"
)

func (a *app) doctorCmd() *cobra.Command {
	return a.listing(&cobra.Command{
		Use: "doctor", Short: "Look whether everything is well", Args: cobra.NoArgs,
		RunE: a.run(func(c *cobra.Command, _ []string) error { return a.doctor(c.Context()) }),
	})
}

// checkDrivers is the part of the check that needs the drivers.
func checkDrivers(ctx context.Context, c *config.Config) error {
	p, err := system.DefaultPaths()
	if err != nil {
		return err
	}
	if errs := doctor.Drivers(ctx, c, vault.For(p)); len(errs) > 0 {
		return errs
	}
	return nil
}

func (a *app) doctor(ctx context.Context) error {
	p, err := system.DefaultPaths()
	if err != nil {
		return err
	}
	e := doctor.Env{Paths: p, Tables: daemon.Migrations(), Now: time.Now(), Secrets: vault.For(p)}
	if e.Config, e.ConfigErr = config.Load(p.ConfigFile()); e.ConfigErr != nil {
		if e.Config, err = config.Default(); err != nil {
			return err
		}
	}
	e.Template = func() (string, bool, error) {
		h, err := a.templateHome(p)
		if err != nil {
			return "", false, err
		}
		pending, err := h.Pending()
		if err != nil {
			return "", false, err
		}
		s, err := h.State()
		return s.Name, pending, err
	}
	c, running, err := a.dial(ctx, p)
	switch {
	case running && err != nil:
		e.DaemonErr = err
	case running:
		e.Daemon = c.pid
		e.Memory = func(ctx context.Context) ([]doctor.Derived, error) {
			var n struct {
				Derived []doctor.Derived `json:"derived"`
			}
			err := c.get(ctx, memoryPath+"/stats", nil, &n)
			return n.Derived, err
		}
		e.Documents = func(ctx context.Context) (list []doctor.Document, err error) {
			return list, c.get(ctx, "/api/v1/documents", url.Values{"state": {"failed"}, "limit": {"1000"}}, &list)
		}
		e.Erasures = func(ctx context.Context) (list []doctor.Erasure, err error) {
			return list, c.get(ctx, memoryPath+"/erasures", nil, &list)
		}
	}
	for _, m := range e.Config.Members {
		if box, _, err := daemon.NewBox(p, e.Config, m); err != nil {
			e.Agents = append(e.Agents, doctor.Agent{Name: m.Name, Check: func(context.Context) error { return err }})
		} else if box != nil {
			e.Agents = append(e.Agents, doctor.Agent{Name: m.Name, Check: box.Check})
		}
	}
	if cmds, err := daemon.NewCommands(p, e.Config, "", nil); err == nil { // what is wrong with the configuration is said above
		e.Confined = func(ctx context.Context) (kind, missing string) {
			box := cmds.Runner.Sandbox(ctx)
			return box.Kind(), box.Missing()
		}
	}
	checks := doctor.Run(ctx, e)
	if err := a.report(checks); err != nil {
		return err
	}
	if doctor.Failed(checks) {
		return &failure{code: exitFailed, cause: "something does not work", remedy: "mend the first line that says fail, then look again"}
	}
	return nil
}

func (a *app) report(checks []doctor.Check) error {
	if a.asJSON {
		return a.printJSON(checks)
	}
	colour := map[doctor.State]string{doctor.OK: green, doctor.Warn: amber, doctor.Fail: red}
	for _, c := range checks {
		state := fmt.Sprintf("%-5s", c.State)
		fmt.Fprintf(a.out, "%s %-10s %s\n", a.paint(a.out, colour[c.State], state), c.Name, printable(c.Cause))
		if c.Remedy != "" {
			fmt.Fprintf(a.out, "%-16s %s\n", "", a.paint(a.out, dim, "-> "+c.Remedy))
		}
	}
	return nil
}
