package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"hob/autonomy/config"
	"hob/cmd/hob/internal/app"
	"hob/platform/host/system"
	"hob/platform/host/vault"
	"hob/platform/store"
)

func (a *cli) storeCmd() *cobra.Command {
	var to string
	copied := a.addJSONFlag(&cobra.Command{
		Use: "copy --to TARGET", Short: "Copy all data to another database", Args: cobra.NoArgs,
		Long: `Copy all data of this home to another database, which must be empty.

The source is the database of the configuration ([store] url, or the file hob.db). The target is the
address of a PostgreSQL database, best as a reference so that the password is not in the list of
processes, or "sqlite" for the file hob.db of this home. Stop Hob on all machines first.

Every table is counted and compared by a digest. No daemon uses the target of an unfinished copy; the
same command continues it. Afterwards, set or remove [store] url and start Hob.

Files, secrets and the search index are not in the database. The index is rebuilt at the start. The
old database stays as it is: delete hob.db and its backups when the new one works, because forgetting
does not reach them.`,
		Example: "  HOB_STORE=postgres://hob:PASSWORD@db.example.org/hob hob store copy --to env:HOB_STORE\n  hob store copy --to sqlite",
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			if to == "" {
				return &failure{code: exitUsage, cause: "no target", remedy: "name it with --to env:NAME, --to postgres://... or --to sqlite"}
			}
			return a.copyStore(c.Context(), to)
		}),
	})
	copied.Flags().StringVar(&to, "to", "", "target: env:NAME, another reference to a secret, an address postgres://..., or sqlite")
	return a.commandGroup(&cobra.Command{Use: "store", Short: "Manage the database"}, copied)
}

// copyStore copies the database of this home while no daemon runs here.
func (a *cli) copyStore(ctx context.Context, to string) (err error) {
	p, err := system.DefaultPaths()
	if err != nil {
		return err
	}
	cfg, err := config.Load(p.ConfigFile())
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
	if err := p.Ensure(); err != nil {
		return err
	}
	lock, err := system.Acquire(ctx, p.LockFile(), system.RoleCLI)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	secrets := vault.SecretsFor(p)
	from, target := store.Location{Path: p.Database()}, store.Location{Path: p.Database()}
	if cfg.Store.URL != "" {
		if from.URL, err = secrets.Reveal(ctx, cfg.Store.URL); err != nil {
			return fmt.Errorf("read the address of the database ([store] url): %w", err)
		}
	}
	if to != "sqlite" {
		if target.URL, err = secrets.Reveal(ctx, to); err != nil {
			return fmt.Errorf("read the address of the target: %w", err)
		}
	} else if from.URL == "" {
		return &failure{code: exitUsage, cause: "the data is in the file hob.db already", remedy: "name a PostgreSQL database: --to env:NAME"}
	}
	tables, err := store.Copy(ctx, from, target, app.Migrations(), func(table string, rows int64) {
		if rows%10_000 == 0 {
			fmt.Fprintf(a.err, "%s: %d rows\n", table, rows)
		}
	})
	if err != nil {
		return err
	}
	if a.asJSON {
		return a.printJSON(tables)
	}
	rows := int64(0)
	for _, t := range tables {
		rows += t.Rows
	}
	printTable(a, tables, "TABLE|ROWS|DIGEST", func(t store.CopiedTable) []any { return []any{t.Table, t.Rows, t.Digest[:12]} })
	fmt.Fprintf(a.out, "Copied %s with %s. Next: change [store] url and start Hob.\n", countText(len(tables), "table", "tables"), countText(int(rows), "row", "rows"))
	if from.URL == "" {
		fmt.Fprintf(a.out, "Start this home first. %s and its backups still contain everything, and forgetting does not reach them: delete them when the new database works.\n", p.Database())
	}
	return nil
}
