package guard_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"hob/autonomy/guard"
	"hob/platform/store"
)

const secretText = "my very private words"

func newRecord(i int) guard.Record {
	return guard.Record{
		Actor: "hob", Action: "call", Event: fmt.Sprint("e", i%2), Session: "s", Origin: "chat", Tool: "send_text", Call: fmt.Sprint("c", i),
		Effects: "send", Verdict: "ask", Rule: "send", Tainted: i%2 == 1, Outcome: "asked", Args: []byte(`{"text":"` + secretText + `"}`),
	}
}

func (f *fixture) addRecords(n int) {
	f.t.Helper()
	for i := range n {
		failOnError(f.t, f.writeTx(func(tx *store.Tx) error { return f.AuditTx(tx, newRecord(i)) }))
	}
}

func (f *fixture) execSQL(query string, args ...any) {
	f.t.Helper()
	failOnError(f.t, f.writeTx(func(tx *store.Tx) error {
		_, err := tx.Exec(query, args...)
		return err
	}))
}

func TestAudit_ListsRecords(t *testing.T) {
	f := newGuard(t, guard.Options{})
	if n, err := f.Verify(t.Context()); n != 0 || err != nil {
		t.Errorf("empty: %d, %v", n, err)
	}
	f.addRecords(5)
	f.restartGuard(guard.Options{})
	f.addRecords(1)
	boom := errors.New("boom")
	if err := f.writeTx(func(tx *store.Tx) error { return errors.Join(f.AuditTx(tx, newRecord(9)), boom) }); !errors.Is(err, boom) {
		t.Error(err)
	}
	f.addRecords(1)
	if n, err := f.Verify(t.Context()); n != 7 || err != nil {
		t.Errorf("%d lines, %v", n, err)
	}
	list, err := f.Audit(t.Context(), "e1", 0, 9)
	if err != nil || len(list) != 2 || list[0].Seq != 4 || !list[0].Tainted || list[0].At.IsZero() {
		t.Errorf("Audit of one event = %+v, %v", list, err)
	}
	if list, err = f.Audit(t.Context(), "", 3, 9); err != nil || len(list) != 2 || list[0].Seq != 2 {
		t.Errorf("Audit before a line = %+v, %v", list, err)
	}
}

func TestAudit_DigestsRevealNoText(t *testing.T) {
	f := newGuard(t, guard.Options{})
	f.addRecords(2)
	list, err := f.Audit(t.Context(), "", 0, 9)
	failOnError(t, err)
	if list[0].Digest != list[1].Digest || len(list[0].Digest) != 64 {
		t.Errorf("digests of equal texts differ: %q, %q", list[0].Digest, list[1].Digest)
	}
	rows, err := f.store.Read().QueryContext(t.Context(), `SELECT * FROM audit`)
	failOnError(t, err)
	defer rows.Close()
	cols, err := rows.Columns()
	failOnError(t, err)
	for rows.Next() {
		vals, ptrs := make([]string, len(cols)), make([]any, len(cols))
		for i := range vals {
			ptrs[i] = &vals[i]
		}
		failOnError(t, rows.Scan(ptrs...))
		if strings.Contains(strings.Join(vals, " "), "private") {
			t.Errorf("the audit log contains the text: %v", vals)
		}
	}
	failOnError(t, rows.Err())
	// Another home has another key, so digests cannot be compared.
	g := newGuard(t, guard.Options{})
	g.addRecords(1)
	other, err := g.Audit(t.Context(), "", 0, 1)
	failOnError(t, err)
	if other[0].Digest == list[0].Digest {
		t.Error("two homes with different keys have the same digest")
	}
	bare, err := guard.New(f.store, guard.Options{})
	failOnError(t, err)
	if err := f.writeTx(func(tx *store.Tx) error { return bare.AuditTx(tx, newRecord(1)) }); err == nil {
		t.Error("AuditTx without a key = nil, want an error")
	}
	failOnError(t, bare.InitKeys(t.Context()))
	if err := f.writeTx(func(tx *store.Tx) error { return bare.AuditTx(tx, newRecord(1)) }); err != nil {
		t.Errorf("AuditTx after InitKeys = %v", err)
	}
}

func TestVerify_DetectsEveryChange(t *testing.T) {
	tests := map[string]string{
		"the first line deleted":  `DELETE FROM audit WHERE seq = 1`,
		"a line deleted":          `DELETE FROM audit WHERE seq = 4`,
		"the last line deleted":   `DELETE FROM audit WHERE seq = 8`,
		"the end deleted":         `DELETE FROM audit WHERE seq > 3`,
		"everything deleted":      `DELETE FROM audit`,
		"a deletion closed up":    `DELETE FROM audit WHERE seq = 4; UPDATE audit SET seq = seq - 1 WHERE seq > 4`,
		"two lines exchanged":     `UPDATE audit SET seq = 100 WHERE seq = 3; UPDATE audit SET seq = 3 WHERE seq = 4; UPDATE audit SET seq = 4 WHERE seq = 100`,
		"a line inserted":         `UPDATE audit SET seq = 9 WHERE seq = 8; INSERT INTO audit (seq, at, actor, action, event, session, origin, tool, call, effects, verdict, rule, tainted, outcome, args_digest, from_texts, chain, prev, hash) SELECT 8, at, actor, action, event, session, origin, tool, call, effects, verdict, rule, tainted, outcome, args_digest, from_texts, chain, prev, hash FROM audit WHERE seq = 7`,
		"a copy at the end":       `INSERT INTO audit (seq, at, actor, action, event, session, origin, tool, call, effects, verdict, rule, tainted, outcome, args_digest, from_texts, chain, prev, hash) SELECT 9, at, actor, action, event, session, origin, tool, call, effects, verdict, rule, tainted, outcome, args_digest, from_texts, chain, prev, hash FROM audit WHERE seq = 8`,
		"the last line copied up": `DELETE FROM audit WHERE seq = 8; INSERT INTO audit (seq, at, actor, action, event, session, origin, tool, call, effects, verdict, rule, tainted, outcome, args_digest, from_texts, chain, prev, hash) SELECT 8, at, actor, action, event, session, origin, tool, call, effects, verdict, rule, tainted, outcome, args_digest, from_texts, chain, prev, hash FROM audit WHERE seq = 7`,
	}
	for _, col := range []string{"at", "actor", "action", "event", "session", "origin", "tool", "call", "effects", "verdict", "rule", "tainted", "outcome", "args_digest", "from_texts", "chain", "prev", "hash"} {
		value := `'other'`
		if col == "at" || col == "tainted" || col == "chain" {
			value = "1 - " + col
		}
		for _, seq := range []int{1, 4, 8} {
			tests[fmt.Sprintf("%s of line %d", col, seq)] = fmt.Sprintf(`UPDATE audit SET %s = %s WHERE seq = %d`, col, value, seq)
		}
	}
	for name, opt := range map[string]guard.Options{"without a key": {}, "with a key": {AuditKey: auditKey(1)}} {
		t.Run(name, func(t *testing.T) { everyChange(t, opt, tests) })
	}
}

func everyChange(t *testing.T, opt guard.Options, tests map[string]string) {
	f := newGuard(t, opt)
	f.addRecords(8)
	f.execSQL(`DROP TRIGGER audit_no_update; DROP TRIGGER audit_no_delete; DROP TRIGGER audit_no_insert`)
	f.execSQL(`CREATE TABLE kept AS SELECT * FROM audit`)
	for name, query := range tests {
		t.Run(name, func(t *testing.T) {
			f.execSQL(`DELETE FROM audit; INSERT INTO audit SELECT * FROM kept; UPDATE sqlite_sequence SET seq = 8 WHERE name = 'audit'`)
			if n, err := f.Verify(t.Context()); n != 8 || err != nil {
				t.Fatalf("Verify of the unchanged log = %d lines, %v", n, err)
			}
			f.execSQL(query)
			if _, err := f.Verify(t.Context()); err == nil || !strings.Contains(err.Error(), "altered") && !strings.Contains(err.Error(), "key is missing") {
				t.Errorf("Verify of the altered log = %v", err)
			}
			f.addRecords(2) // later lines do not hide the change
			if _, err := f.Verify(t.Context()); err == nil {
				t.Error("Verify does not detect the change after more records")
			}
		})
	}
}

func TestVerify_AcceptsNewLinesDuringTheCheck(t *testing.T) {
	f := newGuard(t, guard.Options{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 20 {
				if err := f.store.Write(t.Context(), func(tx *store.Tx) error { return f.AuditTx(tx, newRecord(i)) }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for range 20 {
			if _, err := f.Verify(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	if n, err := f.Verify(t.Context()); n != 80 || err != nil {
		t.Errorf("%d lines, %v", n, err)
	}
}
