package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

func (s *Store) migrateSchema(ctx context.Context, sets []MigrationSet) error {
	const table = `CREATE TABLE IF NOT EXISTS migrations (
		owner TEXT NOT NULL, version INTEGER NOT NULL, applied_at INTEGER NOT NULL,
		PRIMARY KEY (owner, version)) WITHOUT ROWID`
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
	if len(have) > 0 {
		if err := s.backupTo(ctx, "pre-migration"); err != nil {
			return fmt.Errorf("store: backup before migration: %w", err)
		}
	}
	return s.applySets(ctx, table, sets, have)
}

// checkNewerSchema returns ErrNewerSchema if the file has a newer schema than the sets.
func checkNewerSchema(path string, have map[string]int, sets []MigrationSet) error {
	known := map[string]int{}
	for _, set := range sets {
		known[set.Owner] = len(set.Steps)
	}
	for owner, v := range have {
		if v > known[owner] {
			return fmt.Errorf("store: %s: tables of %q have version %d, this Hob supports %d: %w", path, owner, v, known[owner], ErrNewerSchema)
		}
	}
	return nil
}

// DiagnoseFile checks a file without changing it, to explain why it cannot be opened. It returns
// ErrNewerSchema or a damage error.
func DiagnoseFile(ctx context.Context, path string, sets []MigrationSet) error {
	db, err := sql.Open("sqlite", dataSourceName(path, true))
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer db.Close()
	have, err := schemaVersions(ctx, db)
	if err != nil {
		return err
	}
	return errors.Join(checkNewerSchema(path, have, sets), quickCheck(ctx, db, path))
}

func (s *Store) applySets(ctx context.Context, table string, sets []MigrationSet, have map[string]int) error {
	exec := func(q string, args ...any) error {
		_, err := s.conn.ExecContext(ctx, q, args...)
		return classifyError(err)
	}
	if err := exec("BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("store: migrate: %w", err)
	}
	fail := func(err error) error { return errors.Join(err, exec("ROLLBACK")) }
	if err := exec(table); err != nil {
		return fail(fmt.Errorf("store: migrate: %w", err))
	}
	for _, set := range sets {
		for v := have[set.Owner]; v < len(set.Steps); v++ {
			if err := exec(set.Steps[v]); err != nil {
				return fail(fmt.Errorf("store: migrate %s to %d: %w", set.Owner, v+1, err))
			}
			if err := exec("INSERT INTO migrations VALUES (?, ?, ?)", set.Owner, v+1, time.Now().UnixMilli()); err != nil {
				return fail(fmt.Errorf("store: migrate %s to %d: %w", set.Owner, v+1, err))
			}
		}
	}
	if err := exec("COMMIT"); err != nil {
		return fail(fmt.Errorf("store: migrate: %w", err))
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
