package postgres

import (
	"strings"
	"testing"
)

func TestTranslate(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"numbers parameters", `SELECT ?, ?5, ? FROM t -- comment`, `SELECT $1, $5, $6 FROM t`},
		{"leaves texts alone", `SELECT 'is it ''?'' x''00''', "a?" FROM t`, `SELECT 'is it ''?'' x''00''', "a?" FROM t`},
		{"blob", `SELECT 1 WHERE a <> x'0aFF'`, `SELECT 1 WHERE a <> '\x0aFF'::bytea`},
		{"drops the choice of an index", `SELECT a FROM t INDEXED BY i WHERE b == 1`, `SELECT a FROM t WHERE b = 1`},
		{"insert or ignore", `INSERT OR IGNORE INTO t (a) VALUES (?)`, `INSERT INTO t (a) VALUES ($1) ON CONFLICT DO NOTHING`},
		{"insert or replace", `INSERT OR REPLACE INTO t (a, b) VALUES (?, ?) RETURNING a`, `INSERT INTO t (a, b) VALUES ($1, $2) ON CONFLICT ON CONSTRAINT t_pkey DO UPDATE SET a = excluded.a, b = excluded.b RETURNING a`},
		{"folds case", `SELECT 1 WHERE t.a COLLATE NOCASE = ? COLLATE NOCASE`, `SELECT 1 WHERE lower(t.a COLLATE "C") = lower(CAST($1 AS text) COLLATE "C")`},
		{"folds an expression", `ORDER BY (a || b) COLLATE NOCASE`, `ORDER BY lower((a || b) COLLATE "C")`},
		{"patterns", `SELECT 1 WHERE a LIKE ? ESCAPE '\' AND b GLOB 'm*'`, `SELECT 1 WHERE a ILIKE $1 ESCAPE '\' AND b ~ sqlite_glob('m*')`},
		{"casts", `SELECT CAST(CAST(a AS TEXT) AS INTEGER)`, `SELECT sqlite_integer(sqlite_text(a))`},
		{"comparison with NULL", `SELECT a IS NOT ?, b IS ?, c IS NULL, d IS NOT NULL`, `SELECT a IS DISTINCT FROM $1, b IS NOT DISTINCT FROM $2, c IS NULL, d IS NOT NULL`},
		{"no limit", `SELECT a FROM t LIMIT -1 OFFSET ?`, `SELECT a FROM t OFFSET $1`},
		{"limit that may be negative", `SELECT a FROM t LIMIT ?`, `SELECT a FROM t LIMIT nullif($1, -1)`},
		{"join order", `SELECT 1 FROM a CROSS JOIN b ON b.x = a.x CROSS JOIN c WHERE 1 = 1`, `SELECT 1 FROM a JOIN b ON b.x = a.x CROSS JOIN c WHERE 1 = 1`},
		{"names a subquery", `SELECT count(*) FROM (SELECT 1 FROM t LIMIT 2) WHERE 1 = 1`, `SELECT count(*) FROM (SELECT 1 FROM t LIMIT 2) AS subquery_5 WHERE 1 = 1`},
		{"functions", `SELECT random(), char(31), random FROM t`, `SELECT sqlite_random(), chr(31), random FROM t`},
		{"table with a number", `CREATE TABLE t (n INTEGER PRIMARY KEY, a TEXT NOT NULL DEFAULT '', b BLOB)`, `CREATE TABLE t (n BIGINT PRIMARY KEY, a TEXT COLLATE "C" NOT NULL DEFAULT '', b BYTEA)`},
		{"table without a key", `CREATE TABLE t (a REAL)`, `CREATE TABLE t (a DOUBLE PRECISION, rowid BIGINT PRIMARY KEY)`},
		{"table with a key", `CREATE TABLE t (a TEXT PRIMARY KEY) WITHOUT ROWID`, `CREATE TABLE t (a TEXT COLLATE "C" PRIMARY KEY)`},
		{"table of a query", `CREATE TABLE t AS SELECT ? AS n`, `CREATE TABLE t AS SELECT $1 AS n`},
		{"full-text index", `CREATE VIRTUAL TABLE f USING fts5(a); INSERT INTO f (f, rank) VALUES ('x', 1); CREATE INDEX i ON t (a)`, `CREATE INDEX i ON t (a)`},
		{
			"trigger that refuses", `CREATE TRIGGER r BEFORE DELETE ON t BEGIN SELECT RAISE(ABORT, 'no 100%'); END`,
			`CREATE OR REPLACE FUNCTION trigger_r() RETURNS trigger LANGUAGE plpgsql AS $trigger$ BEGIN RAISE EXCEPTION 'no 100%%' USING ERRCODE = 'integrity_constraint_violation'; RETURN OLD; END $trigger$`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := translateScript(tc.in)
			if err != nil || len(got) == 0 || strings.Join(strings.Fields(got[0].text), " ") != tc.want {
				t.Errorf("translateScript(%q) = %v, %v, want %q", tc.in, got, err, tc.want)
			}
		})
	}
}

func TestTranslate_RefusesWhatItCannotExpress(t *testing.T) {
	for _, in := range []string{`UPDATE OR IGNORE t SET a = 1`, `INSERT OR REPLACE INTO t VALUES (1)`, `INSERT OR ABORT INTO t (a) VALUES (1)`, `SELECT 'open`, `INSERT OR`, `CREATE TRIGGER BEGIN END`} {
		if got, err := translateScript(in); err == nil {
			t.Errorf("translateScript(%q) = %v, want an error", in, got)
		}
	}
}

func TestTranslate_NamesChangedTable(t *testing.T) {
	for in, want := range map[string]string{
		`INSERT OR IGNORE INTO t (a) SELECT a FROM u`:                           "t",
		`INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2`:      "t",
		`UPDATE t SET a = (SELECT a FROM u) RETURNING a`:                        "t",
		`DELETE FROM "t" WHERE a IN (SELECT a FROM u)`:                          "t",
		`WITH x AS (SELECT a FROM u) INSERT INTO t (a) SELECT a FROM x`:         "t",
		`SELECT replace(a, 'into', 'update') FROM t WHERE EXISTS (SELECT 1)`:    "",
		`CREATE TRIGGER r AFTER DELETE ON t BEGIN DELETE FROM u; SELECT 1; END`: "",
	} {
		got, err := translateScript(in)
		if err != nil || got[0].changes != want {
			t.Errorf("translateScript(%q) = %+v, %v, want the changed table %q", in, got, err, want)
		}
	}
}

func FuzzTranslate(f *testing.F) {
	f.Add(`INSERT OR REPLACE INTO t (a) SELECT CAST(x AS TEXT) FROM (SELECT ? COLLATE NOCASE) CROSS JOIN y ON 1 LIMIT ?`)
	f.Add(`CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT); CREATE TRIGGER x AFTER DELETE ON t WHEN 1 BEGIN SELECT RAISE(ABORT, 'x'); END; DROP TABLE t`)
	f.Add(`CREATE TRIGGER BEGIN END; INSERT OR; SELECT 1 INDEXED BY`)
	f.Add(`ALTER TABLE a RENAME TO b; DROP TRIGGER t; a IS NOT`)
	f.Fuzz(func(_ *testing.T, q string) { _, _ = translateScript(q) })
}
