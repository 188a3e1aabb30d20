package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/internal/app"
	"hob/platform/host/system"
	"hob/platform/host/system/autostart"
	"hob/platform/host/vault"
	"hob/platform/net/release"
	"hob/platform/retry"
	"hob/platform/store"
	"hob/platform/store/snapshot"
	"hob/platform/store/upgrade"
)

func (a *cli) updateCmd() *cobra.Command {
	var check, rollback bool
	c := a.addJSONFlag(&cobra.Command{
		Use: "update", Short: "Install a newer version", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			switch {
			case rollback:
				return a.rollbackUpdate(c.Context())
			case check:
				return a.checkUpdate(c.Context())
			}
			return a.installUpdate(c.Context())
		}),
	})
	c.Flags().BoolVar(&check, "check", false, "only report whether there is a newer version")
	c.Flags().BoolVar(&rollback, "rollback", false, "go back to the version before the last update")
	c.MarkFlagsMutuallyExclusive("check", "rollback")
	return c
}

// findUpdate queries the newest version. The returned Fetcher can also download it.
func (a *cli) findUpdate(ctx context.Context) (r release.Result, n release.Fetcher, err error) {
	p, cfg, err := a.loadHome()
	if err != nil {
		return r, nil, err
	}
	if n, err = cfg.Network.Client(ctx, vault.SecretsFor(p)); err != nil {
		return r, nil, err
	}
	r, err = release.Checker{
		Built: a.release, Configured: release.Source{URL: cfg.Update.URL, Key: cfg.Update.Key}, Network: n, File: p.UpdateFile(), Version: a.version,
	}.Check(ctx, time.Now())
	switch {
	case errors.Is(err, release.ErrNoSource):
		err = &failure{code: exitFailed, cause: err.Error(), remedy: "see docs/packaging.md, or configure both: hob config set update.url https://… and hob config set update.key RW…"}
	case release.Refused(err):
		err = &failure{code: exitFailed, cause: err.Error(), remedy: "do not install that version; if the error persists for days, report it to the project"}
	case err != nil:
		err = &failure{code: exitFailed, cause: err.Error(), remedy: "try again later"}
	}
	return r, n, err
}

func (a *cli) checkUpdate(ctx context.Context) error {
	r, _, err := a.findUpdate(ctx)
	if err != nil {
		return err
	}
	if a.asJSON {
		err = a.printJSON(r)
	} else {
		a.showUpdate(r)
	}
	if err == nil && (r.Newer || !r.Known) {
		return errNewer
	}
	return err
}

// updateResult is the result of an update or a rollback.
type updateResult struct {
	Version   string `json:"version"`            // version that is now installed
	Previous  string `json:"previous"`           // version that --rollback restores
	Restarted bool   `json:"restarted"`          // whether a running daemon was restarted
	Snapshot  string `json:"snapshot,omitempty"` // snapshot to restore, because the installed version cannot open the database
}

// installUpdate replaces this program with the newest version and restarts the daemon.
func (a *cli) installUpdate(ctx context.Context) error {
	r, n, err := a.findUpdate(ctx)
	switch {
	case err != nil:
		return err
	case !r.Known:
		return &failure{code: exitFailed, cause: fmt.Sprintf("this program, %s, is not a release and cannot be compared with %s", sanitizePrintable(r.Current), r.Latest), remedy: "see how to get that version with: hob update --check"}
	case !r.Newer:
		if a.asJSON {
			return a.printJSON(updateResult{Version: r.Current})
		}
		a.showUpdate(r)
		return nil
	}
	program, err := a.replaceableProgram(r.Steps)
	if err != nil {
		return err
	}
	a.reportStep("Downloading Hob %s (%d MB)", r.Latest, max(1, r.File.Size>>20))
	staged, err := program.Download(ctx, n, *r.File, r.Latest)
	if errors.Is(err, release.ErrDownload) {
		return &failure{code: exitFailed, cause: err.Error(), remedy: "nothing was changed; try again later, and report it to the project if the error persists", err: err}
	}
	if err != nil {
		return err
	}
	done := updateResult{Version: r.Latest, Previous: r.Current}
	if done.Restarted, err = a.swapProgram(ctx, program, staged, r.Latest); err != nil {
		return err
	}
	return a.printUpdate(done, fmt.Sprintf("Updated Hob from %s to %s. Go back with: hob update --rollback", sanitizePrintable(r.Current), r.Latest))
}

// replaceableProgram returns the installed program, or an error that says why it cannot be
// replaced. The error suggests steps, which are the commands of the package manager.
func (a *cli) replaceableProgram(steps []string) (release.Program, error) {
	program, err := release.Installed()
	if err != nil {
		return program, err
	}
	err = program.CheckReplaceable()
	if errors.Is(err, release.ErrManaged) {
		remedy := "use the package manager to install the version you want"
		if len(steps) > 0 {
			remedy = "update it with: " + strings.Join(steps, "; ")
		}
		err = &failure{code: exitFailed, cause: err.Error(), remedy: remedy, err: err}
	}
	return program, err
}

// swapProgram replaces the program with the file from, which is a program of this version, and restarts
// a running daemon. If that version does not start, swapProgram restores the current one. It reports
// whether the daemon was restarted.
func (a *cli) swapProgram(ctx context.Context, program release.Program, from, version string) (restarted bool, err error) {
	p, err := system.DefaultPaths()
	if err != nil {
		return false, err
	}
	h, held, err := system.Probe(p.LockFile())
	if err != nil {
		return false, err
	}
	if !held || h.Role != system.RoleDaemon {
		return false, program.Swap(from)
	}
	start := a.programStarter(ctx, p, program)
	u := pendingUpdate{Version: version, Program: program.Path, From: from, Requested: time.Now()}
	if err := a.requestUpdate(ctx, p, h.PID, u); err != nil {
		return false, err
	}
	ctx = context.WithoutCancel(ctx) // an interrupt must not leave Hob stopped
	failed, err := a.awaitUpdate(ctx, p, h.PID, version)
	switch {
	case failed != "":
		return false, &failure{code: exitFailed, cause: failed, remedy: "see " + p.LogFile()}
	case err == nil:
		return true, nil
	case errors.Is(err, errDaemonGone): // this command finishes the update
	case isInstalled(ctx, program, version):
		dropPendingUpdate(p)
		return false, a.putBack(ctx, p, program, start, err)
	default:
		return false, &failure{code: exitFailed, cause: fmt.Sprintf("the daemon (pid %d) did not stop within %s; nothing was replaced", h.PID, updateStopWait), remedy: fmt.Sprintf("the daemon may be busy; when it has stopped, it continues as %s; stop it with: %s", version, system.KillCommand(h.PID))}
	}
	dropPendingUpdate(p)
	if err := finishReplacement(ctx, program, u); err != nil {
		return false, errors.Join(err, start(ctx))
	}
	if err := start(ctx); err != nil {
		return false, a.putBack(ctx, p, program, start, err)
	}
	return true, nil
}

// stopForUpdate stops the daemon. If it fails, the program has not been replaced.
func (a *cli) stopForUpdate(ctx context.Context) error {
	a.reportStep("Stopping Hob")
	err := a.stopDaemon(ctx, updateStopWait)
	if f, ok := errors.AsType[*failure](err); ok && f.code == exitFailed {
		f.cause, f.remedy = f.cause+"; nothing was replaced", f.remedy+"; when it has stopped, start it again with: hob start"
	}
	return err
}

// putBack reinstalls and starts this program after the other version failed to start. failed is the
// error of that start. If that version migrated the database, putBack also restores the earlier
// data.
func (a *cli) putBack(ctx context.Context, p system.Paths, program release.Program, start func(context.Context) error, failed error) error {
	_, err := a.stopIfRunning(ctx, p)
	if err = errors.Join(err, program.Swap(program.Previous())); err != nil {
		return &failure{code: exitFailed, err: errors.Join(failed, err), cause: fmt.Sprintf("the other version did not start: %v; the current version was not restored either: %v", failed, err), remedy: "go back with: hob update --rollback, then run: hob start"}
	}
	text, err := a.restoreMigrated(ctx, p)
	if err == nil {
		err = start(ctx)
	}
	if err != nil {
		return &failure{code: exitFailed, err: errors.Join(failed, err), cause: fmt.Sprintf("the other version did not start, so the current version was restored: %v; Hob is stopped%s: %v", failed, text, err), remedy: "see " + p.LogFile()}
	}
	return &failure{code: exitFailed, err: failed, cause: fmt.Sprintf("the other version did not start, so the current version was restored and runs again%s: %v", text, failed), remedy: "see " + p.LogFile()}
}

// restoreMigrated restores the snapshot that was created before the last upgrade, if this program
// cannot open the database. It returns a clause that reports this. If that upgrade is not confirmed,
// the next start restores the snapshot.
func (a *cli) restoreMigrated(ctx context.Context, p system.Paths) (string, error) {
	own := store.Versions(app.Migrations())
	have, err := store.SchemaOf(ctx, p.Database())
	if err != nil || store.Supports(own, have) || upgrade.IsUnconfirmed(p) {
		return "", nil //nolint:nilerr // the start reports or repairs a database that cannot be read
	}
	s, found, err := upgrade.FittingSnapshot(ctx, p, own)
	if err == nil && (!found || s.Manifest.Reason != snapshot.Upgrade) {
		err = errors.New("the other version migrated the database, and no snapshot from before the update exists; go back to that version with: hob update --rollback")
	}
	if err != nil {
		return "", err
	}
	r, err := a.restoreAlone(ctx, p, s)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(" with the data from before the update (later changes are in the snapshot %s; decide about messages on hold with: hob restore --pending)", r.Before), nil
}

// programStarter returns a function that starts the daemon of the installed program as the running
// daemon was started: with the service manager, or detached.
func (a *cli) programStarter(ctx context.Context, p system.Paths, program release.Program) func(context.Context) error {
	m, e, err := a.findService(ctx, "")
	if err == nil {
		var s autostart.Status
		if s, err = m.Status(ctx, e); err == nil && !(s.Same && s.Running) {
			err = errors.ErrUnsupported
		}
	}
	return func(ctx context.Context) error {
		if err == nil && m.Start(ctx) == nil {
			for end := time.Now().Add(serviceWait); time.Now().Before(end); {
				if h, held, err := system.Probe(p.LockFile()); err != nil || held && h.Role == system.RoleDaemon || retry.Sleep(ctx, 50*time.Millisecond) != nil {
					break
				}
			}
		}
		return startProgram(ctx, program) // startProgram waits until the daemon is ready
	}
}

// serviceWait is the time in which a daemon that the service manager starts locks the home.
const serviceWait = 10 * time.Second

// startProgram starts the daemon of the installed program, unless one runs, and waits until it is
// ready.
func startProgram(ctx context.Context, program release.Program) error {
	out, err := exec.CommandContext(ctx, program.Path, "start").CombinedOutput()
	if err != nil {
		return fmt.Errorf("start Hob: %w: %s", err, sanitizePrintable(strings.TrimSpace(string(out))))
	}
	return nil
}

// rollbackUpdate goes back to the program that the last update replaced. It does not change a
// database that is too new for that program; the result then names the snapshot to restore.
func (a *cli) rollbackUpdate(ctx context.Context) error {
	p, err := system.DefaultPaths()
	if err != nil {
		return err
	}
	program, err := a.replaceableProgram(nil)
	if err != nil {
		return err
	}
	previous, err := program.CheckPrevious(ctx)
	if errors.Is(err, release.ErrNoPrevious) {
		return &failure{code: exitFailed, cause: err.Error(), remedy: "install the version you want manually", err: err}
	}
	if err != nil {
		return err
	}
	have, err := store.SchemaOf(ctx, p.Database())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	done := updateResult{Version: previous.Version, Previous: a.version}
	text := fmt.Sprintf("Rolled back Hob from %s to %s.", sanitizePrintable(a.version), sanitizePrintable(previous.Version))
	if previous.Schema == nil || store.Supports(previous.Schema, have) {
		done.Restarted, err = a.swapProgram(ctx, program, program.Previous(), previous.Version)
	} else {
		start := a.programStarter(ctx, p, program)
		stopped, err := a.stopIfRunning(ctx, p)
		if err != nil {
			return err
		}
		if err := program.Swap(program.Previous()); err != nil {
			if stopped {
				err = errors.Join(err, start(context.WithoutCancel(ctx)))
			}
			return err
		}
		s, found, serr := upgrade.FittingSnapshot(ctx, p, previous.Schema)
		text += " This version cannot open the database, which the newer version has migrated, so Hob was not started."
		switch {
		case serr != nil:
			return serr
		case found:
			done.Snapshot = s.Name
			text += fmt.Sprintf("\nRestore the snapshot from %s, which discards later changes: hob restore %s\nOr undo this rollback: hob update --rollback", s.Manifest.Created.Format("2006-01-02 15:04 UTC"), s.Name)
		default:
			text += "\nNo snapshot fits this version. Undo this rollback with: hob update --rollback"
		}
	}
	if err != nil {
		return err
	}
	return a.printUpdate(done, text)
}

// stopIfRunning stops the daemon and reports whether there was one.
func (a *cli) stopIfRunning(ctx context.Context, p system.Paths) (bool, error) {
	h, held, err := system.Probe(p.LockFile())
	if err != nil || !held || h.Role != system.RoleDaemon {
		return false, err
	}
	return true, a.stopForUpdate(ctx)
}

func (a *cli) reportStep(format string, args ...any) {
	if !a.asJSON {
		fmt.Fprintf(a.out, format+" ...\n", args...)
	}
}

func (a *cli) printUpdate(r updateResult, text string) error {
	if a.asJSON {
		return a.printJSON(r)
	}
	if r.Restarted {
		text += "\nHob runs again."
	}
	fmt.Fprintln(a.out, text)
	return nil
}

// errNewer makes the command exit with code exitNewer. The command has already printed the result.
var errNewer = errors.New("a newer version is available")

func (a *cli) showUpdate(r release.Result) {
	switch {
	case r.Newer:
		fmt.Fprintf(a.out, "Hob %s is available (%s); this is %s.\n", r.Latest, r.Released.Format(time.DateOnly), sanitizePrintable(r.Current))
	case !r.Known:
		fmt.Fprintf(a.out, "The newest version is %s (%s). This program, %s, is not a release and cannot be compared.\n", r.Latest, r.Released.Format(time.DateOnly), sanitizePrintable(r.Current))
	default:
		fmt.Fprintf(a.out, "Hob %s is the newest version.\n", r.Latest)
		return
	}
	if r.Notes != "" {
		fmt.Fprintf(a.out, "\n  %s\n", strings.ReplaceAll(r.Notes, "\n", "\n  "))
	}
	if r.Page != "" {
		fmt.Fprintf(a.out, "\nMore: %s\n", r.Page)
	}
	if r.Kind == release.Archive && r.Newer {
		fmt.Fprintln(a.out, "\nInstall it with: hob update\nOr manually:")
	} else {
		fmt.Fprintf(a.out, "\nTo install it (installation type: %s):\n", r.Kind)
	}
	for _, s := range r.Steps {
		fmt.Fprintf(a.out, "  %s\n", s)
	}
}
