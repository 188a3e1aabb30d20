package tombstone

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"hob/platform/store"
)

var key = []byte("0123456789abcdef0123456789abcdef")

func openLog(t *testing.T, dir, name string) *Log {
	t.Helper()
	st, err := store.Open(t.Context(), filepath.Join(dir, name), []store.MigrationSet{{Owner: "test", Steps: []string{Table}}}, store.Options{})
	failOnError(t, err)
	t.Cleanup(func() { failOnError(t, st.Close()) })
	return New(st, filepath.Join(dir, "tombstones"), key, nil)
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (l *Log) addGrant(t *testing.T, ref string) {
	t.Helper()
	failOnError(t, l.db.Write(t.Context(), func(tx *store.Tx) error { return l.AddTx(tx, Grant, ref, nil) }))
}

func (l *Log) syncRefs(t *testing.T) (refs []string, err error) {
	t.Helper()
	_, err = l.Sync(context.Background(), func(_ *store.Tx, missing []Entry) error {
		for _, e := range missing {
			refs = append(refs, e.Ref)
		}
		return nil
	})
	return refs, err
}

func TestSync_AppliesWhatARestoredDatabaseLacks(t *testing.T) {
	dir := t.TempDir()
	now := openLog(t, dir, "now.db")
	now.addGrant(t, "g1")
	now.addGrant(t, "g2")
	if refs, err := now.syncRefs(t); err != nil || len(refs) != 0 {
		t.Fatalf("Sync of the same database = %q, %v", refs, err)
	}
	old := openLog(t, dir, "old.db")
	if refs, err := old.syncRefs(t); err != nil || len(refs) != 2 {
		t.Fatalf("Sync = %q, %v, want both entries", refs, err)
	}
	if refs, err := old.syncRefs(t); err != nil || len(refs) != 0 {
		t.Fatalf("second Sync = %q, %v", refs, err)
	}
	old.addGrant(t, "g3")
	if refs, err := now.syncRefs(t); err != nil || len(refs) != 1 || refs[0] != "g3" {
		t.Errorf("Sync = %q, %v, want g3", refs, err)
	}
	fi, err := os.Stat(now.path)
	failOnError(t, err)
	if fi.Mode().Perm()&0o077 != 0 {
		t.Errorf("mode = %v, want 0600", fi.Mode())
	}
}

func TestSync_WritesRowsThatACrashKeptFromTheFile(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir, "now.db")
	l.addGrant(t, "g1")
	failOnError(t, l.db.Write(t.Context(), func(tx *store.Tx) error { return insertEntry(tx, Entry{ID: "x", Kind: Grant, Ref: "g2"}) }))
	b, err := os.ReadFile(l.path)
	failOnError(t, err)
	failOnError(t, os.WriteFile(l.path, append(b, b[:20]...), 0o600)) // an incomplete line
	again := New(l.db, l.path, key, nil)
	if _, err := again.syncRefs(t); err != nil {
		t.Fatal(err)
	}
	if refs, err := openLog(t, dir, "old.db").syncRefs(t); err != nil || len(refs) != 2 {
		t.Errorf("Sync = %q, %v, want g1 and g2", refs, err)
	}
}

func TestSync_DetectsAnAlteredFile(t *testing.T) {
	for name, change := range map[string]func([]byte) []byte{
		"changed":      func(b []byte) []byte { return bytes.Replace(b, []byte(`"g1"`), []byte(`"g9"`), 1) },
		"missing line": func(b []byte) []byte { return b[bytes.IndexByte(b, '\n')+1:] },
		"not a line":   func(b []byte) []byte { return append([]byte("x\n"), b...) },
		"other order": func(b []byte) []byte {
			i := bytes.IndexByte(b, '\n') + 1
			return append(append([]byte{}, b[i:]...), b[:i]...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := openLog(t, dir, "now.db")
			l.addGrant(t, "g1")
			l.addGrant(t, "g2")
			b, err := os.ReadFile(l.path)
			failOnError(t, err)
			failOnError(t, os.WriteFile(l.path, change(b), 0o600))
			again := New(l.db, l.path, key, nil)
			if _, err := again.syncRefs(t); !errors.Is(err, ErrAltered) {
				t.Fatalf("Sync = %v, want ErrAltered", err)
			}
			if refs, err := openLog(t, dir, "old.db").syncRefs(t); err != nil || len(refs) != 2 {
				t.Errorf("after the repair Sync = %q, %v, want both entries", refs, err)
			}
		})
	}
}

func TestLog_NilRecordsNothing(t *testing.T) {
	var l *Log
	if err := l.AddTx(nil, Grant, "g", nil); err != nil || l.Key() != nil {
		t.Error(err)
	}
	if n, err := l.Sync(t.Context(), nil); n != 0 || err != nil {
		t.Error(n, err)
	}
}
