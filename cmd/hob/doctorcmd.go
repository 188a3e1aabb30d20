package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/autonomy/config"
	"hob/channels/web/apiclient"
	"hob/cmd/hob/internal/app"
	"hob/cmd/hob/internal/doctor"
	"hob/platform/host/system"
	"hob/platform/host/vault"
	"hob/platform/text/sorting"
)

// doctorOptions holds the arguments of `hob doctor`.
type doctorOptions struct {
	names []string
	fix   bool
	only  func(doctor.Probe) bool // nil means all checks
}

func (a *cli) doctorCmd() *cobra.Command {
	var list, fix bool
	cmd := a.addJSONFlag(&cobra.Command{
		Use: "doctor [NAME...]", Short: "Check the installation and fix common problems", Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var out []string
			for _, p := range doctor.Probes() {
				out = append(out, p.Name)
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			if list {
				return a.listProbes()
			}
			return a.runDoctor(c.Context(), doctorOptions{names: args, fix: fix})
		}),
	})
	cmd.Flags().BoolVar(&fix, "fix", false, "apply the fixes that lose no data")
	cmd.Flags().BoolVar(&list, "list", false, "only list the checks and their purpose")
	return cmd
}

// checkDrivers runs the part of the configuration check that needs the drivers.
func checkDrivers(ctx context.Context, c *config.Config) error {
	p, err := system.DefaultPaths()
	if err != nil {
		return err
	}
	return doctor.ConfigChecker(vault.SecretsFor(p))(ctx, c)
}

// listProbes prints the list of checks.
func (a *cli) listProbes() error {
	type row struct {
		Name  string `json:"name"`
		Means string `json:"means"`
	}
	var rows []row
	for _, p := range doctor.Probes() {
		rows = append(rows, row{p.Name, p.Means})
	}
	if a.asJSON {
		return a.printJSON(rows)
	}
	for _, r := range rows {
		fmt.Fprintln(a.out, a.wrapAfter(fmt.Sprintf("%-11s ", r.Name), 12, r.Means))
	}
	return nil
}

// runDoctor runs the checks and prints the findings. If a daemon runs, the checks run in the
// daemon.
func (a *cli) runDoctor(ctx context.Context, x doctorOptions) error {
	p, err := system.DefaultPaths()
	if err != nil {
		return err
	}
	e, err := doctor.OfflineEnv(p, a.version, app.Migrations())
	if err != nil {
		return err
	}
	e.Release = a.release
	c, running, err := a.dialDaemon(ctx, p)
	switch {
	case running && err != nil:
		e.DaemonErr = err
	case running:
		e.Daemon = c.pid
	}
	if err = ctx.Err(); err != nil { // the checks report other errors
		return err
	}
	if x.fix && e.DaemonErr != nil {
		x.fix = false
		fmt.Fprintln(a.err, a.colorize(a.err, amber, "warning: ")+"cannot apply fixes while an unresponsive daemon is running; stop it first: hob stop")
	}
	live := a.liveReporter()
	var list []doctor.Check
	by := "Hob is not running: this command ran the checks."
	if e.Daemon != 0 {
		by = fmt.Sprintf("The running Hob (pid %d) ran all checks except: %s.", e.Daemon, strings.Join(ownChecks(), ", "))
		if list, err = a.runInDaemon(ctx, c, x, live); errors.Is(err, errOlder) {
			by = fmt.Sprintf("The running Hob (pid %d) is a different version and cannot run the checks, so this command ran them.", e.Daemon)
			list, err = nil, nil
			if x.fix { // the daemon holds the home's lock and does not know about the fixes
				x.fix = false
				fmt.Fprintln(a.err, a.colorize(a.err, amber, "warning: ")+"cannot apply fixes while another version of Hob is running; restart it: hob stop, then hob start, then check again")
			}
		} else if err == nil {
			x.only = func(p doctor.Probe) bool { return p.Here }
		}
	}
	if err == nil {
		var here []doctor.Check
		here, err = doctor.Run(ctx, e, doctor.Options{Names: x.names, Only: x.only, Fix: x.fix, Alone: a.lockHome(p, e.Daemon), In: "command", Each: live})
		list = append(list, here...)
	}
	if errors.Is(err, doctor.ErrUnknown) {
		return usageErrorf("%v", err)
	}
	if err != nil {
		return err
	}
	sorting.StableByFunc(list, func(a, b doctor.Check) int { return cmp.Compare(doctor.Order(a), doctor.Order(b)) })
	if err := a.printChecks(list, by); err != nil {
		return err
	}
	if doctor.Failed(list) {
		return &failure{code: exitFailed, cause: "some checks failed", remedy: "fix the first line that says fail, then check again"}
	}
	return nil
}

// lockHome locks out other commands and the daemon while fixes run. If the lock file cannot be
// created, the fixes run without a lock. If a daemon runs, no lock is needed: the daemon applies
// the fixes and already holds the lock.
func (a *cli) lockHome(p system.Paths, daemon int) func(context.Context) (func() error, error) {
	if daemon != 0 {
		return nil
	}
	return func(ctx context.Context) (func() error, error) {
		lock, err := system.Acquire(ctx, p.LockFile(), system.RoleCLI)
		if _, held := errors.AsType[*system.HeldError](err); held {
			return nil, err
		}
		if err != nil {
			return func() error { return nil }, nil //nolint:nilerr // the lock file cannot be written, which the fix may repair
		}
		return lock.Release, nil
	}
}

// errOlder means that the daemon's version does not support the doctor.
var errOlder = errors.New("the daemon is a different version")

// ownChecks names the checks that run in the process of the command.
func ownChecks() (names []string) {
	for _, p := range doctor.Probes() {
		if p.Here {
			names = append(names, p.Name)
		}
	}
	return names
}

// runInDaemon runs the checks in the daemon and passes each finding to each as it arrives.
func (a *cli) runInDaemon(ctx context.Context, c *client, x doctorOptions, each func(doctor.Check)) ([]doctor.Check, error) {
	var out []doctor.Check
	err := c.Examine(ctx, x.names, x.fix, func(f api.Finding) {
		if slices.Contains(ownChecks(), f.Name) { // this command runs them itself
			return
		}
		check := doctor.Check{
			Name: f.Name, State: doctor.State(f.State), Cause: f.Cause, Remedy: f.Remedy, Link: f.Link, Fixable: f.Fixable, Fixed: f.Fixed, In: f.In,
		}
		out = append(out, check)
		if each != nil {
			each(check)
		}
	})
	if e, ok := errors.AsType[*apiclient.ResponseError](err); ok {
		switch e.Status {
		case http.StatusNotFound, http.StatusMethodNotAllowed:
			return nil, errOlder
		case http.StatusBadRequest:
			return nil, usageErrorf("%v", err)
		}
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// liveReporter returns a function that shows findings as they arrive. It shows them only on a
// terminal.
func (a *cli) liveReporter() func(doctor.Check) {
	if _, tty := terminalFD(a.out); !tty || a.asJSON {
		return nil
	}
	return func(c doctor.Check) {
		fmt.Fprintln(a.out, a.wrapAfter(fmt.Sprintf("%s %-11s ", a.stateLabel(c.State), c.Name), 20, oneLine(sanitizePrintable(c.Cause))))
	}
}

func (a *cli) stateLabel(s doctor.State) string {
	color := map[doctor.State]string{doctor.OK: green, doctor.Warn: amber, doctor.Fail: red, doctor.Skip: dim}
	return a.colorize(a.out, color[s], fmt.Sprintf("%-7s", s))
}

// printChecks prints the findings as a table, and which process ran the checks. A terminal already
// showed each finding, so printChecks repeats there only the findings with a problem.
func (a *cli) printChecks(checks []doctor.Check, by string) error {
	if a.asJSON {
		return a.printJSON(append([]doctor.Check{}, checks...))
	}
	_, tty := terminalFD(a.out)
	if tty {
		fmt.Fprintln(a.out)
	}
	good := 0
	for _, c := range checks {
		if c.State == doctor.OK && c.Fixed == "" {
			good++
			if tty {
				continue
			}
		}
		fmt.Fprintln(a.out, a.wrapAfter(fmt.Sprintf("%s %-11s ", a.stateLabel(c.State), c.Name), 20, sanitizePrintable(c.Cause)))
		for _, more := range []string{prefixNonEmpty("-> ", c.Remedy), prefixNonEmpty("-> open ", c.Link), prefixNonEmpty("fixed: ", c.Fixed)} {
			if more != "" {
				fmt.Fprintln(a.out, a.colorize(a.out, dim, a.wrapToWindow(sanitizePrintable(more), strings.Repeat(" ", 20))))
			}
		}
	}
	if tty {
		by = fmt.Sprintf("%d of %d checks are OK. ", good, len(checks)) + by
	}
	fmt.Fprintln(a.out, a.colorize(a.out, dim, a.wrapToWindow(by, "")))
	return nil
}

func prefixNonEmpty(prefix, s string) string {
	if s == "" || strings.TrimSpace(s) == "" {
		return ""
	}
	return prefix + s
}
