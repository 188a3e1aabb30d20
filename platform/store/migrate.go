package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/failpoint"
)

const migrationsTable = `CREATE TABLE IF NOT EXISTS migrations (
	owner TEXT NOT NULL, version INTEGER NOT NULL, applied_at INTEGER NOT NULL,
	PRIMARY KEY (owner, version)) WITHOUT ROWID`

func (s *Store) migrateSchema(ctx context.Context, sets []MigrationSet, before func(context.Context, Migration) error) error {
	have, err := schemaVersions(ctx, s.conn)
	if err != nil {
		return err
	}
	if err := checkNewerSchema(s.path, have, sets); err != nil {
		return err
	}
	if !slices.ContainsFunc(sets, func(set MigrationSet) bool { return have[set.Owner] < len(set.Steps) }) {
		return nil
	}
	switch {
	case len(have) == 0: // a new database
	case before == nil:
		if err := s.backupTo(ctx, "pre-migration"); err != nil {
			return s.blameMigration(ctx, fmt.Errorf("store: backup before migration: %w", err))
		}
	default:
		if err := before(ctx, Migration{Path: s.path, From: have, To: Versions(sets)}); err != nil {
			return s.blameMigration(ctx, err)
		}
	}
	return s.blameMigration(ctx, s.applySets(ctx, sets, have))
}

// blameMigration wraps err if it reports damage although the database itself is intact, because
// only a copy was damaged or a migration was rolled back. Otherwise Open would replace an intact
// database.
func (s *Store) blameMigration(ctx context.Context, err error) error {
	if !IsDamaged(err) || isDamaged(quickCheck(ctx, s.conn, s.path)) {
		return err
	}
	return &migrationError{err}
}

// migrationError wraps an error that reports damage of data other than the database. errors.Is does
// not recognize it as damage.
type migrationError struct{ err error }

func (e *migrationError) Error() string {
	return strings.ReplaceAll(e.err.Error(), "; "+remedyDamaged, "")
}

func (e *migrationError) Is(target error) bool {
	return target != errDamaged && errors.Is(e.err, target)
}

// Versions returns the schema versions after all migrations.
func Versions(sets []MigrationSet) map[string]int {
	to := map[string]int{}
	for _, set := range sets {
		to[set.Owner] = len(set.Steps)
	}
	return to
}

// checkNewerSchema returns ErrNewerSchema if the file has a newer schema than the sets.
func checkNewerSchema(path string, have map[string]int, sets []MigrationSet) error {
	known := Versions(sets)
	for owner, v := range have {
		if v > known[owner] {
			return fmt.Errorf("store: %s: the tables of %q have version %d, but this version of Hob supports only %d: %w", path, owner, v, known[owner], ErrNewerSchema)
		}
	}
	return nil
}

// DiagnoseFile checks a file without changing it, to explain why it cannot be opened. It returns
// ErrNewerSchema or a damage error.
func DiagnoseFile(ctx context.Context, path string, sets []MigrationSet) error {
	db, err := sql.Open("sqlite", dataSourceName(path, true))
	if err != nil {
		return fmt.Errorf("store: diagnose the database: %w", err)
	}
	defer db.Close()
	have, err := schemaVersions(ctx, db)
	if err != nil {
		return err
	}
	return errors.Join(checkNewerSchema(path, have, sets), quickCheck(ctx, db, path))
}

func (s *Store) applySets(ctx context.Context, sets []MigrationSet, have map[string]int) error {
	exec := func(q string, args ...any) error {
		_, err := s.conn.ExecContext(ctx, q, args...)
		return classifyError(err)
	}
	if err := exec("BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("store: run migrations: %w", err)
	}
	fail := func(err error) error { return errors.Join(err, exec("ROLLBACK")) }
	rows := map[string]int64{}
	if len(have) > 0 {
		var err error
		if rows, err = countRows(ctx, s.conn); err != nil {
			return fail(fmt.Errorf("store: run migrations: %w", err))
		}
	}
	if err := exec(migrationsTable); err != nil {
		return fail(fmt.Errorf("store: run migrations: %w", err))
	}
	for _, set := range sets {
		for v := have[set.Owner]; v < len(set.Steps); v++ {
			if err := exec(set.Steps[v]); err != nil {
				return fail(fmt.Errorf("store: migrate %s to %d: %w", set.Owner, v+1, err))
			}
			for _, name := range set.RowChanges[v+1] {
				delete(rows, name)
			}
			failpoint.Hit("migrate.step")
			if err := exec("INSERT INTO migrations VALUES (?, ?, ?)", set.Owner, v+1, time.Now().UnixMilli()); err != nil {
				return fail(fmt.Errorf("store: migrate %s to %d: %w", set.Owner, v+1, err))
			}
		}
	}
	if len(have) > 0 {
		if err := s.verifyMigration(ctx, rows); err != nil {
			return fail(fmt.Errorf("store: run migrations: %w", err))
		}
	}
	failpoint.Hit("migrate.commit.before")
	if err := exec("COMMIT"); err != nil {
		return fail(fmt.Errorf("store: run migrations: %w", err))
	}
	failpoint.Hit("migrate.commit.after")
	return nil
}

// ErrMigration means that a migration damaged the database or changed rows that it must not change.
var ErrMigration = errors.New("the migrated database failed its check and was rolled back")

// verifyMigration checks the migrated database before the commit: its integrity, and the number of rows
// of each table that existed before.
func (s *Store) verifyMigration(ctx context.Context, before map[string]int64) error {
	if err := compareCounts(ctx, s.conn, before); err != nil {
		return err
	}
	if err := quickCheck(ctx, s.conn, s.path); err != nil {
		return fmt.Errorf("%w: %w", ErrMigration, err)
	}
	return nil
}

// compareCounts checks the number of rows of each table that existed before the migration.
func compareCounts(ctx context.Context, q querier, before map[string]int64) error {
	after, err := countRows(ctx, q)
	if err != nil {
		return err
	}
	delete(before, "migrations")
	for name, n := range before {
		if m, ok := after[name]; !ok {
			return fmt.Errorf("%w: table %s is missing", ErrMigration, name)
		} else if m != n {
			return fmt.Errorf("%w: table %s has %d rows instead of %d", ErrMigration, name, m, n)
		}
	}
	return nil
}

func schemaVersions(ctx context.Context, q querier) (map[string]int, error) {
	have := map[string]int{}
	rows, err := q.QueryContext(ctx, "SELECT owner, max(version) FROM migrations GROUP BY owner")
	if err != nil {
		if strings.Contains(err.Error(), "no such table") {
			return have, nil
		}
		return nil, fmt.Errorf("store: read schema: %w", classifyError(err))
	}
	defer rows.Close()
	for rows.Next() {
		var o string
		var v int
		if err := rows.Scan(&o, &v); err != nil {
			return nil, fmt.Errorf("store: read schema: %w", classifyError(err))
		}
		have[o] = v
	}
	return have, classifyError(rows.Err())
}
