package guard_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/autonomy/guard"
	"hob/platform/host/system"
	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

func auditKey(n byte) []byte { return bytes.Repeat([]byte{n}, 32) }

func isTamperError(err error) bool {
	_, ok := errors.AsType[*guard.TamperError](err)
	return ok
}

func TestAudit_IsAppendOnly(t *testing.T) {
	f := newGuard(t, guard.Options{AuditKey: auditKey(1)})
	f.addRecords(3)
	queries := []string{`UPDATE audit SET outcome = 'done' WHERE seq = 2`, `DELETE FROM audit WHERE seq = 3`, `DELETE FROM audit`}
	if !storetest.OnServer() { // PostgreSQL has no such statements
		queries = append(queries, `INSERT OR REPLACE INTO audit SELECT * FROM audit WHERE seq = 2`, `REPLACE INTO audit SELECT * FROM audit WHERE seq = 3`)
	}
	for _, query := range queries {
		err := f.writeTx(func(tx *store.Tx) error {
			_, err := tx.Exec(query)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v", query, err)
		}
	}
	if n, err := f.Verify(t.Context()); n != 3 || err != nil {
		t.Errorf("%d lines, %v", n, err)
	}
}

// An attacker who can write to the database and knows the format still cannot forge a line
// without the key.
func TestVerify_DetectsForgeryWithoutTheKey(t *testing.T) {
	storetest.FileOnly(t, "the key of a fleet is in its database")
	mine := guard.Options{AuditKey: auditKey(1), Anchor: filepath.Join(t.TempDir(), "anchor")}
	f := newGuard(t, mine)
	f.addRecords(4)
	f.execSQL(`DROP TRIGGER audit_no_update; DROP TRIGGER audit_no_delete; DROP TRIGGER audit_no_insert`)
	for name, key := range map[string][]byte{"as of a home without a key": nil, "under another key": auditKey(2)} {
		t.Run(name, func(t *testing.T) {
			f.execSQL(`CREATE TABLE kept AS SELECT * FROM audit`)
			f.execSQL(`DELETE FROM audit; DELETE FROM sqlite_sequence WHERE name = 'audit'`)
			f.restartGuard(guard.Options{AuditKey: key}) // the forger rewrites the complete log
			f.addRecords(4)
			for i := range 2 { // the second call records nothing
				f.restartGuard(mine)
				if _, err := f.Verify(t.Context()); !isTamperError(err) || i == 0 && !f.ForeignKey() {
					t.Errorf("Verify of the altered log = %v, foreign key %v", err, f.ForeignKey())
				}
				f.addRecords(1)
			}
			f.execSQL(`DELETE FROM audit; INSERT INTO audit SELECT * FROM kept; DROP TABLE kept`)
		})
	}
}

// Lines from before the first key still verify, and later changes to them are detected.
func TestVerify_AcceptsLinesFromBeforeTheKey(t *testing.T) {
	f := newGuard(t, guard.Options{})
	f.addRecords(3)
	f.restartGuard(guard.Options{AuditKey: auditKey(1)})
	f.addRecords(2)
	h, err := f.VerifyAll(t.Context())
	if err != nil || h.Lines != 6 || h.Unkeyed != 3 {
		t.Fatalf("VerifyAll = %+v, %v", h, err)
	}
	f.restartGuard(guard.Options{AuditKey: auditKey(1)})
	if n, err := f.Verify(t.Context()); n != 6 || err != nil {
		t.Errorf("Verify after a second start = %d, %v", n, err)
	}
	list, err := f.AuditLines(t.Context(), guard.AuditQuery{Action: "audit", Limit: 9})
	if err != nil || len(list) != 1 || list[0].Outcome != "keyed" {
		t.Errorf("AuditLines = %+v, %v", list, err)
	}
	f.execSQL(`DROP TRIGGER audit_no_update`)
	f.execSQL(`UPDATE audit SET outcome = 'done' WHERE seq = 2`)
	if _, err := f.Verify(t.Context()); !isTamperError(err) {
		t.Errorf("Verify after a change of an old line = %v", err)
	}
	f.restartGuard(guard.Options{}) // the key is lost
	if !f.ForeignKey() {
		t.Error("ForeignKey() = false for a log that continues without its key")
	}
}

func TestTruncated_DetectsALostEnd(t *testing.T) {
	opt := guard.Options{AuditKey: auditKey(1), Anchor: filepath.Join(t.TempDir(), "anchor")}
	f := newGuard(t, opt)
	if h, err := f.WriteAnchor(t.Context()); err != nil || h.Lines != 0 {
		t.Errorf("ChainHead of an empty log = %+v, %v", h, err)
	}
	f.addRecords(5)
	h, err := f.WriteAnchor(t.Context())
	failOnError(t, err)
	if h.Lines != 5 || len(h.Hash) != 64 || f.Truncated(t.Context()) != nil {
		t.Errorf("%+v, %v", h, f.Truncated(t.Context()))
	}
	f.addRecords(2)
	f.execSQL(`DROP TRIGGER audit_no_delete`)
	f.execSQL(`CREATE TABLE kept AS SELECT * FROM audit`)
	for name, query := range map[string]string{
		"the end and its anchor": `DELETE FROM audit WHERE seq > 3; UPDATE sqlite_sequence SET seq = 3 WHERE name = 'audit'`,
		"the whole log":          `DELETE FROM audit; DELETE FROM sqlite_sequence WHERE name = 'audit'`,
	} {
		t.Run(name, func(t *testing.T) {
			f.execSQL(query)
			for range 2 { // also after the log has grown again
				if err := f.Truncated(t.Context()); !isTamperError(err) {
					t.Errorf("Truncated of a shortened log = %v", err)
				}
				if _, err := f.Verify(t.Context()); !isTamperError(err) {
					t.Errorf("Verify of a shortened log = %v", err)
				}
				f.addRecords(9)
				if _, err := f.WriteAnchor(t.Context()); !isTamperError(err) {
					t.Errorf("WriteAnchor over a shortened log = %v", err)
				}
			}
			failOnError(t, os.Remove(opt.Anchor))
			f.execSQL(`DROP TRIGGER audit_no_insert`)
			f.execSQL(`DELETE FROM audit; INSERT INTO audit SELECT * FROM kept`)
			f.execSQL(`CREATE TRIGGER audit_no_insert BEFORE INSERT ON audit WHEN NEW.seq <= (SELECT max(seq) FROM audit) BEGIN SELECT RAISE(ABORT, 'x'); END`)
			_, err := f.WriteAnchor(t.Context())
			failOnError(t, err)
		})
	}
	failOnError(t, os.WriteFile(opt.Anchor, []byte(`{"lines":1,"head":"x","at":"2026-01-01T00:00:00Z","mac":"x"}`), 0o600))
	if err := f.Truncated(t.Context()); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("Truncated with a forged anchor file = %v", err)
	}
}

func TestAudit_FindsLines(t *testing.T) {
	f := newGuard(t, guard.Options{AuditKey: auditKey(1)})
	f.addRecords(4)
	r := newRecord(0)
	r.Actor, r.Action, r.Session, r.Tool, r.Outcome, r.Verdict, r.Tainted = "owner", "undo", "t", "write_file", "done", "allow", true
	r.Origins = []provenance.Origin{{Kind: "mail", Label: "mallory@evil.example"}}
	failOnError(t, f.writeTx(func(tx *store.Tx) error { return f.AuditTx(tx, r) }))
	for name, q := range map[string]struct {
		q    guard.AuditQuery
		want int
	}{
		"all":       {guard.AuditQuery{}, 5},
		"actor":     {guard.AuditQuery{Actor: "owner"}, 1},
		"action":    {guard.AuditQuery{Action: "call"}, 4},
		"session":   {guard.AuditQuery{Session: "t"}, 1},
		"tool":      {guard.AuditQuery{Tool: "send_text"}, 4},
		"verdict":   {guard.AuditQuery{Verdict: "allow"}, 1},
		"outcome":   {guard.AuditQuery{Outcome: "asked"}, 4},
		"call":      {guard.AuditQuery{Call: "c2"}, 1},
		"tainted":   {guard.AuditQuery{Tainted: true}, 3},
		"both":      {guard.AuditQuery{Actor: "owner", Tool: "send_text"}, 0},
		"in future": {guard.AuditQuery{Since: time.Now().Add(time.Hour)}, 0},
		"long ago":  {guard.AuditQuery{Until: time.Now().Add(-time.Hour)}, 0},
		"today":     {guard.AuditQuery{Since: time.Now().Add(-time.Hour), Until: time.Now().Add(time.Hour)}, 5},
	} {
		q.q.Limit = 100
		list, err := f.AuditLines(t.Context(), q.q)
		if err != nil || len(list) != q.want {
			t.Errorf("%s: %d lines, want %d (%v)", name, len(list), q.want, err)
		}
	}
	list, err := f.AuditLines(t.Context(), guard.AuditQuery{Actor: "owner", Limit: 1})
	if err != nil || !strings.HasPrefix(list[0].From, "mail:") || strings.Contains(list[0].From, "mallory") {
		t.Errorf("lines that name the origin: %+v, %v", list, err)
	}
}

func TestExport_IsVerifiable(t *testing.T) {
	f := newGuard(t, guard.Options{})
	f.addRecords(2)
	f.restartGuard(guard.Options{AuditKey: auditKey(1)})
	f.addRecords(4)
	var all bytes.Buffer
	seal, err := f.Export(t.Context(), &all, "jsonl", time.Time{}, time.Time{})
	failOnError(t, err)
	if seal.Lines != 7 || seal.From != 1 || seal.To != 7 || bytes.Contains(all.Bytes(), []byte("private")) {
		t.Errorf("%+v", seal)
	}
	got, err := guard.VerifyExport(bytes.NewReader(all.Bytes()), auditKey(1))
	if err != nil || got.Head != seal.Head {
		t.Fatalf("VerifyExport = %+v, %v", got, err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(all.String(), "\n"), "\n")
	edit := func(n int, old, by string) []string {
		out := append([]string{}, lines...)
		if out[n] = strings.Replace(out[n], old, by, 1); out[n] == lines[n] {
			t.Fatalf("line %[2]d does not contain %[1]q", old, n+1)
		}
		return out
	}
	without := func(n int) []string { return append(append([]string{}, lines[:n]...), lines[n+1:]...) }
	for name, text := range map[string][]string{
		"a line changed":         edit(4, `"outcome":"asked"`, `"outcome":"done"`),
		"an old line changed":    edit(1, `"outcome":"asked"`, `"outcome":"done"`),
		"a line without its key": edit(4, `"chain":1,`, ``),
		"a line missing":         without(4),
		"the first missing":      without(0),
		"the last missing":       without(6),
		"the end missing":        lines[:7],
		"the end changed":        edit(7, `"lines":7`, `"lines":6`),
		"a forged end":           append(append([]string{}, lines[:6]...), edit(7, `"to":7`, `"to":6`)[7]),
		"a line after the end":   append(append([]string{}, lines...), "\n"+lines[0]),
		"two lines exchanged":    {lines[0], lines[2], lines[1], lines[3], lines[4], lines[5], lines[6], lines[7]},
		"not an export":          {"hello\n"},
		"an empty file":          {},
	} {
		if _, err := guard.VerifyExport(strings.NewReader(strings.Join(text, "")), auditKey(1)); err == nil {
			t.Errorf("VerifyExport does not detect: %s", name)
		}
	}
	for name, key := range map[string][]byte{"another key": auditKey(2), "no key": nil} {
		if _, err := guard.VerifyExport(bytes.NewReader(all.Bytes()), key); err == nil {
			t.Errorf("VerifyExport accepts %s", name)
		}
	}
	var none, sheet bytes.Buffer
	if s, err := f.Export(t.Context(), &none, "jsonl", time.Now().Add(time.Hour), time.Time{}); err != nil || s.Lines != 0 {
		t.Errorf("Export of an empty period = %+v, %v", s, err)
	}
	if _, err := guard.VerifyExport(&none, auditKey(1)); err != nil {
		t.Errorf("VerifyExport of an empty export = %v", err)
	}
	bad := newRecord(1)
	bad.Session = "=HYPERLINK(1)"
	failOnError(t, f.writeTx(func(tx *store.Tx) error { return f.AuditTx(tx, bad) }))
	if _, err := f.Export(t.Context(), &sheet, "csv", time.Time{}, time.Time{}); err != nil || strings.Count(sheet.String(), "\n") != 9 || !strings.Contains(sheet.String(), ",'=HYPERLINK(1),") {
		t.Errorf("Export as CSV: %v\n%s", err, sheet.String())
	}
	if _, err := f.Export(t.Context(), &sheet, "pdf", time.Time{}, time.Time{}); !errors.Is(err, guard.ErrNoFormat) {
		t.Errorf("Export in an unknown format = %v", err)
	}
}

func FuzzVerifyExport(f *testing.F) {
	line, _ := json.Marshal(newRecord(1))
	f.Add(line)
	f.Add([]byte(`{"audit_export":{"lines":0}}`))
	f.Add([]byte(`{"audit_export":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := guard.VerifyExport(bytes.NewReader(b), auditKey(1)); err == nil {
			t.Errorf("VerifyExport of a shortened export = %+v, want an error", s)
		}
	})
}

// A log that was copied to PostgreSQL keeps the key of its home, although the copy contains the
// unused key of the file.
func TestInitKeys_KeepsTheKeyOfACopiedLog(t *testing.T) {
	server := storetest.NewServer(t)
	failOnError(t, server.Exec(t.Context(), "postgres", "CREATE DATABASE copied"))
	sets := []store.MigrationSet{guard.Migrations(), origins.Migrations()}
	dir := t.TempDir()
	here, there := store.Location{Path: filepath.Join(dir, "hob.db")}, store.Location{Path: filepath.Join(dir, "none.db"), URL: server.URL("copied")}
	opt := guard.Options{AuditKey: auditKey(1)}
	for i, at := range []store.Location{here, there, there} {
		db, err := store.Open(t.Context(), at.Path, sets, store.Options{URL: at.URL, Instance: "one"})
		failOnError(t, err)
		f := &fixture{t: t, store: db}
		if i == 2 {
			opt.AuditKey = auditKey(2) // another home joins
		}
		f.restartGuard(opt)
		f.addRecords(2)
		if _, err := f.Verify(t.Context()); err != nil {
			t.Errorf("Verify of database %d = %v", i, err)
		}
		if i == 2 { // a new home has the key that verifies an export of any instance
			key, err := guard.OpenAuditKey(t.Context(), system.Paths{Home: t.TempDir()}, db)
			failOnError(t, err)
			var out bytes.Buffer
			_, err = f.Export(t.Context(), &out, "jsonl", time.Time{}, time.Time{})
			failOnError(t, err)
			if _, err := guard.VerifyExport(&out, key); err != nil || !bytes.Equal(key, auditKey(1)) {
				t.Errorf("VerifyExport with the key of a new home = %v", err)
			}
		}
		failOnError(t, db.Close())
		if i == 0 {
			_, err := store.Copy(t.Context(), here, there, sets, func(string, int64) {})
			failOnError(t, err)
		}
	}
}
