package store

import (
	"context"
	"fmt"
	"time"

	"hob/platform/failpoint"
	"hob/platform/store/postgres"
)

// migrateShared applies all migrations in one transaction, while no instance writes. An instance that
// waits for the lock finds them applied.
func (s *Store) migrateShared(ctx context.Context, sets []MigrationSet, copying bool) (err error) {
	fail := func(err error) error {
		return fmt.Errorf("store: %s: %w", s.shared.name, classifyError(err))
	}
	if err := s.onWriter(func(c *postgres.Conn) error { return c.BeginMigration(ctx) }); err != nil {
		return fail(err)
	}
	defer func() {
		if err != nil {
			// ignore the error: the server rolls back a lost transaction
			_ = s.onWriter(func(c *postgres.Conn) error { return c.EndMigration(context.WithoutCancel(ctx), false) })
		}
	}()
	have := map[string]int{}
	known := false
	if err := s.conn.QueryRowContext(ctx, "SELECT to_regclass('migrations') IS NOT NULL").Scan(&known); err != nil {
		return fail(err)
	}
	half, err := s.checkCopy(ctx, copying)
	if err != nil {
		return err
	}
	if known {
		if have, err = schemaVersions(ctx, s.conn); err != nil {
			return err
		}
	}
	if err := checkNewerSchema(s.shared.name, have, sets); err != nil {
		return err
	}
	for v, script := range postgres.Migrations() {
		if v < have["postgres"] {
			continue
		}
		if err := s.onWriter(func(c *postgres.Conn) error { return c.RunScript(ctx, script) }); err != nil {
			return fail(fmt.Errorf("define the functions %d: %w", v+1, err))
		}
	}
	rows := map[string]int64{}
	if len(have) > 0 {
		if rows, err = countRows(ctx, s.conn); err != nil {
			return err
		}
	}
	if _, err := s.conn.ExecContext(ctx, migrationsTable); err != nil {
		return fail(err)
	}
	changed := false
	for _, set := range sets {
		for v := have[set.Owner]; v < len(set.Steps); v++ {
			if err := s.migrateStep(ctx, set, v); err != nil {
				return fail(fmt.Errorf("migrate %s to %d: %w", set.Owner, v+1, err))
			}
			for _, name := range set.RowChanges[v+1] {
				delete(rows, name)
			}
			changed = true
		}
	}
	if changed && len(have) > 0 {
		if err := compareCounts(ctx, s.conn, rows); err != nil {
			return fail(err)
		}
	}
	if copying && !half {
		if err := s.markCopy(ctx); err != nil {
			return fail(err)
		}
	}
	failpoint.Hit("migrate.commit.before")
	if err := s.onWriter(func(c *postgres.Conn) error { return c.EndMigration(ctx, true) }); err != nil {
		return fail(err)
	}
	return nil
}

// checkCopy reports whether the database is the target of an unfinished copy. Only Copy may open such a
// database, and it opens no other one that has tables.
func (s *Store) checkCopy(ctx context.Context, copying bool) (half bool, err error) {
	tables := 0
	if err := s.conn.QueryRowContext(ctx, "SELECT to_regclass('store_copy') IS NOT NULL, (SELECT count(*) FROM pg_tables WHERE schemaname = current_schema())").Scan(&half, &tables); err != nil {
		return false, fmt.Errorf("store: %s: %w", s.shared.name, classifyError(err))
	}
	switch {
	case half && !copying:
		return half, fmt.Errorf("store: %s: %w", s.shared.name, ErrHalfCopy)
	case copying && !half && tables > 0:
		return half, fmt.Errorf("store: %s has %d tables: %w", s.shared.name, tables, ErrNotEmpty)
	}
	return half, nil
}

// markCopy marks the target of a copy, disables its triggers, which would change the copied rows, and
// removes the rows that migrations created.
func (s *Store) markCopy(ctx context.Context) error {
	tx := &Tx{conn: s.conn, ctx: ctx}
	if err := setTriggers(tx, "DISABLE"); err != nil {
		return err
	}
	names, err := scanNames(tx.Query(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ('migrations', 'sqlite_sequence', 'store_writers')`))
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := tx.Exec("DELETE FROM " + name); err != nil {
			return err
		}
	}
	_, err = tx.Exec("CREATE TABLE store_copy (mark TEXT PRIMARY KEY)")
	return err
}

func (s *Store) migrateStep(ctx context.Context, set MigrationSet, v int) error {
	if _, err := s.conn.ExecContext(ctx, set.Steps[v]); err != nil {
		return err
	}
	failpoint.Hit("migrate.step")
	_, err := s.conn.ExecContext(ctx, "INSERT INTO migrations VALUES (?, ?, ?)", set.Owner, v+1, time.Now().UnixMilli())
	return err
}

// checkServer checks that the database has the tables of this program, and that no trigger is disabled, which
// would let the audit log be changed, and no index is incomplete.
func (s *Store) checkServer(ctx context.Context) error {
	var migrations int64
	var triggers, indexes string
	err := s.r.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM migrations),
		(SELECT coalesce(string_agg(g.tgname || ' on ' || c.relname, ', ' ORDER BY c.relname, g.tgname), '') FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid
			WHERE g.tgenabled = 'D' AND NOT g.tgisinternal AND c.relnamespace = current_schema()::regnamespace),
		(SELECT coalesce(string_agg(c.relname, ', ' ORDER BY c.relname), '') FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
			WHERE NOT i.indisvalid AND c.relnamespace = current_schema()::regnamespace)`).Scan(&migrations, &triggers, &indexes)
	switch {
	case err != nil:
		return fmt.Errorf("store: check %s: %w", s.shared.name, classifyError(err))
	case migrations > s.shared.known:
		return fmt.Errorf("store: check %s: %w", s.shared.name, ErrNewerSchema)
	case migrations < s.shared.known:
		return fmt.Errorf("store: check %s: the database has %d of %d migrations, because an older copy was restored; restart all instances", s.shared.name, migrations, s.shared.known)
	case triggers != "":
		return fmt.Errorf("store: check %s: triggers are disabled: %s; run ALTER TABLE ... ENABLE TRIGGER and check the audit log: hob audit verify", s.shared.name, triggers)
	case indexes != "":
		return fmt.Errorf("store: check %s: indexes are incomplete: %s; run REINDEX INDEX", s.shared.name, indexes)
	}
	return nil
}
