package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/autonomy/recovery"
	"hob/cmd/hob/internal/app"
	"hob/platform/host/system"
	"hob/platform/store/snapshot"
	"hob/tools/files"
)

func (a *cli) backupCmd() *cobra.Command {
	var list, verify bool
	cmd := a.addJSONFlag(&cobra.Command{
		Use: "backup [SNAPSHOT]", Short: "Back up the database and the configuration", Args: cobra.MaximumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			switch {
			case list && verify:
				return &failure{code: exitUsage, cause: "--verify and --list cannot be combined"}
			case len(args) > 0 && !verify:
				return &failure{code: exitUsage, cause: fmt.Sprintf("unexpected argument %q", args[0]), remedy: "a snapshot name requires --verify"}
			case list:
				return a.listSnapshots()
			case verify:
				return a.verifySnapshot(c.Context(), firstOf(args))
			}
			return a.withClient(c.Context(), func(cl *client) error {
				out, err := cl.Backup(c.Context())
				if err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(out)
				}
				fmt.Fprintln(a.out, out.Path)
				return nil
			})
		}),
	})
	cmd.Flags().BoolVar(&list, "list", false, "list the snapshots")
	cmd.Flags().BoolVar(&verify, "verify", false, "verify the named snapshot, or the newest one")
	return cmd
}

func firstOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// snapshotRow describes a snapshot in lists.
type snapshotRow struct {
	Name    string    `json:"name"`
	Path    string    `json:"path"`
	Reason  string    `json:"reason"` // manual, upgrade or restore; "database" marks a copy of the database alone
	Created time.Time `json:"created"`
	Version string    `json:"version,omitempty"`
	Bytes   int64     `json:"bytes"`
	Files   int       `json:"files"`
	Rows    int64     `json:"rows,omitempty"`
}

func describeSnapshot(s snapshot.Snapshot) snapshotRow {
	r := snapshotRow{Name: s.Name, Path: s.Path, Reason: s.Manifest.Reason, Created: s.Manifest.Created, Version: s.Manifest.Version, Files: len(s.Manifest.Files)}
	for _, f := range s.Manifest.Files {
		r.Bytes += f.Size
	}
	for _, n := range s.Manifest.Rows {
		r.Rows += n
	}
	if s.Dated {
		r.Reason, r.Files = "database", 1
		if fi, err := os.Stat(s.Path); err == nil {
			r.Bytes = fi.Size()
		}
	}
	return r
}

func (a *cli) listSnapshots() error {
	p, err := system.DefaultPaths()
	if err != nil {
		return err
	}
	list, err := snapshot.List(p.Backups())
	if err != nil {
		return err
	}
	rows := []snapshotRow{}
	for _, s := range list {
		rows = append(rows, describeSnapshot(s))
	}
	return printList(a, rows, "No snapshot yet. Create one with: hob backup", "NAME|CREATED|REASON|VERSION|BYTES", func(r snapshotRow) []any {
		return []any{r.Name, r.Created, r.Reason, r.Version, r.Bytes}
	})
}

// verifySnapshot checks the digests, the integrity and the row counts, and that the database can be
// opened for reading.
func (a *cli) verifySnapshot(ctx context.Context, name string) error {
	p, err := system.DefaultPaths()
	if err != nil {
		return err
	}
	s, err := findSnapshot(p, name)
	if err != nil {
		return err
	}
	if err := s.Verify(ctx); err != nil {
		return err
	}
	r := describeSnapshot(s)
	if a.asJSON {
		return a.printJSON(struct {
			snapshotRow
			Verified bool `json:"verified"`
		}{r, true})
	}
	if s.Dated {
		fmt.Fprintf(a.out, "%s is intact: a copy of the database, %d bytes. It has no checksums.\n", r.Name, r.Bytes)
		return nil
	}
	fmt.Fprintf(a.out, "%s is intact: %s, %d bytes, %s in the database.\n", r.Name, countText(r.Files, "file", "files"), r.Bytes, countText(int(r.Rows), "row", "rows"))
	return nil
}

func findSnapshot(p system.Paths, name string) (snapshot.Snapshot, error) {
	s, err := recovery.Find(p.Backups(), name)
	if errors.Is(err, fs.ErrNotExist) && name != "" {
		return s, &failure{code: exitFailed, err: err, cause: fmt.Sprintf("snapshot %q not found in %s", name, p.Backups()), remedy: "list the snapshots with: hob backup --list"}
	}
	return s, err
}

func (a *cli) restoreCmd() *cobra.Command {
	var yes, pending bool
	var release, drop string
	cmd := a.addJSONFlag(&cobra.Command{
		Use: "restore [SNAPSHOT]", Short: "Restore a backup, or decide about items on hold", Args: cobra.MaximumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			deciding := pending || release != "" || drop != ""
			switch {
			case deciding && len(args) > 0, release != "" && drop != "":
				return &failure{code: exitUsage, cause: "name a snapshot, or use one of --pending, --release and --drop"}
			case release != "":
				return a.decideHold(c.Context(), release, true)
			case drop != "":
				return a.decideHold(c.Context(), drop, false)
			case pending:
				return a.showHold(c.Context())
			}
			return a.restoreSnapshot(c.Context(), firstOf(args), yes)
		}),
	})
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "skip the confirmation")
	cmd.Flags().BoolVar(&pending, "pending", false, "list the messages and events on hold since a restore")
	cmd.Flags().StringVar(&release, "release", "", "item to send or process now; \"all\" ends the hold")
	cmd.Flags().StringVar(&drop, "drop", "", "item to drop; \"all\" drops everything and ends the hold")
	return cmd
}

// restoreSnapshot restores a snapshot while no daemon runs.
func (a *cli) restoreSnapshot(ctx context.Context, name string, yes bool) error {
	p, err := system.DefaultPaths()
	if err != nil {
		return err
	}
	s, err := findSnapshot(p, name)
	if err != nil {
		return err
	}
	h, held, err := system.Probe(p.LockFile())
	if err != nil {
		return err
	}
	if held && h.Role == system.RoleDaemon {
		return &failure{code: exitFailed, cause: fmt.Sprintf("the daemon (pid %d) is running", h.PID), remedy: "stop it first: hob stop"}
	}
	if err := s.Verify(ctx); err != nil { // verify the snapshot before the question
		return err
	}
	if !yes {
		if err := a.confirmRestore(ctx, p, s); err != nil {
			return err
		}
	}
	r, err := a.restoreAlone(ctx, p, s)
	if err != nil {
		return err
	}
	if a.asJSON {
		return a.printJSON(r)
	}
	a.printRestored(r)
	return nil
}

// restoreAlone restores a snapshot while it holds the lock of the home.
func (a *cli) restoreAlone(ctx context.Context, p system.Paths, s snapshot.Snapshot) (r recovery.Report, err error) {
	if err := p.Ensure(); err != nil {
		return r, err
	}
	lock, err := system.Acquire(ctx, p.LockFile(), system.RoleCLI)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if _, err := recovery.Resume(ctx, p); err != nil {
		return r, err
	}
	return recovery.Restore(ctx, recovery.Options{Paths: p, Migrations: app.Migrations(), Version: a.version, Snapshot: s, Carry: files.CarryMarks("", trustedFolders(p.ConfigFile(), s.File(filepath.Base(p.ConfigFile()))))})
}

// trustedFolders returns the trusted folders of configuration files. It ignores invalid ones.
func trustedFolders(paths ...string) (out []string) {
	for _, path := range paths {
		if cfg, err := config.Load(path); err == nil {
			out = append(out, cfg.Files.Trusted...)
		}
	}
	return out
}

// resumeRestore completes an interrupted restore while it holds the lock of the home, and returns
// the configuration that is valid afterward.
func resumeRestore(ctx context.Context, p system.Paths, cfg *config.Config) (*config.Config, error) {
	name, err := recovery.Resume(ctx, p)
	if err != nil || name == "" {
		return cfg, err
	}
	return config.Load(p.ConfigFile())
}

// confirmRestore asks for confirmation on a terminal. Without a terminal it fails and explains how
// to confirm.
func (a *cli) confirmRestore(ctx context.Context, p system.Paths, s snapshot.Snapshot) error {
	ok, asked, err := a.yesOrNo(ctx, fmt.Sprintf("Replace the database and the configuration in %s with the snapshot %s, created %s?", p.Home, s.Name, formatTime(a.userZone(), s.Manifest.Created)))
	switch {
	case err != nil:
		return err
	case !asked:
		return &failure{code: exitDenied, cause: "nothing was restored, because confirmation needs a terminal", remedy: "confirm with: --yes"}
	case !ok:
		return &failure{code: exitDenied, cause: "nothing was restored"}
	}
	return nil
}

func (a *cli) printRestored(r recovery.Report) {
	fmt.Fprintf(a.out, "Restored the snapshot %s, created %s.\n", r.Snapshot, formatTime(a.userZone(), r.Created))
	if r.Before != "" {
		fmt.Fprintf(a.out, "The previous state is in the snapshot %s.\n", r.Before)
	}
	if r.Aside != "" {
		fmt.Fprintf(a.out, "The damaged database was moved to %s.\n", r.Aside)
	}
	if r.Files != "" {
		fmt.Fprintf(a.out, "The replaced configuration files are in %s.\n", r.Files)
	}
	for _, w := range r.Warnings {
		fmt.Fprintln(a.err, a.colorize(a.err, amber, "warning: ")+w)
	}
	if n := r.Applied; n != (recovery.Applied{}) {
		fmt.Fprintf(a.out, "Reapplied changes made after the backup: %s, %s, %s, %s, %s.\n", countText(n.Grants, "revoked grant", "revoked grants"), countText(n.Uses, "used grant", "used grants"), countText(n.Clients, "revoked client token", "revoked client tokens"), countText(n.Pairings, "removed pairing", "removed pairings"), countText(n.Erasures, "deletion", "deletions"))
	}
	if r.Closed > 0 {
		fmt.Fprintf(a.out, "Closed %s.\n", countText(r.Closed, "open approval request", "open approval requests"))
	}
	items := make([]api.HeldItem, 0, len(r.Held))
	for _, x := range r.Held {
		items = append(items, api.HeldItem(x))
	}
	a.printHeld(items)
	fmt.Fprintln(a.out, "After it starts, Hob answers you here and in the browser. Background work and messages from and to other channels are on hold until you run: hob restore --release all (or --drop all)")
}

// printHeld prints the items on hold, one per line.
func (a *cli) printHeld(items []api.HeldItem) {
	if len(items) == 0 {
		fmt.Fprintln(a.out, "No message or event from the backup is on hold.")
		return
	}
	fmt.Fprintf(a.out, "On hold: %s.\n", countText(len(items), "item", "items"))
	printTable(a, items, "TEXT|TYPE|CHANNEL|CREATED|ID", func(x api.HeldItem) []any {
		text := x.Text
		if x.MaybeRepeated {
			text = "(may have been sent) " + text
		}
		return []any{text, x.Type + " " + x.Kind, x.Channel + " " + x.Target, x.At, x.ID}
	})
}

func (a *cli) showHold(ctx context.Context) error {
	return a.withClient(ctx, func(c *client) error {
		h, err := c.Hold(ctx)
		if err != nil {
			return err
		}
		if a.asJSON {
			return a.printJSON(h)
		}
		switch {
		case !h.Active && len(h.Items) == 0:
			fmt.Fprintln(a.out, "Nothing is on hold.")
			return nil
		case h.Active:
			fmt.Fprintf(a.out, "Restored %s on %s. Background work and other channels are on hold.\n", sanitizePrintable(h.Snapshot), formatTime(a.userZone(), h.RestoredAt))
		}
		a.printHeld(h.Items)
		fmt.Fprintln(a.out, "Decide with: hob restore --release ID or hob restore --drop ID. Use \"all\" instead of an ID to end the hold.")
		return nil
	})
}

func (a *cli) decideHold(ctx context.Context, id string, release bool) error {
	return a.withClient(ctx, func(c *client) error {
		d, err := c.DecideHold(ctx, id, release)
		if err != nil {
			return err
		}
		if a.asJSON {
			return a.printJSON(d)
		}
		verb, end := "Dropped", "."
		if release {
			verb = "Released"
		}
		if id == bus.AllHeld {
			end = ". The hold has ended."
		}
		fmt.Fprintf(a.out, "%s %s%s\n", verb, countText(d.Decided, "item", "items"), end)
		return nil
	})
}
