package recovery_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/guard/pairing"
	"hob/autonomy/recovery"
	"hob/knowledge"
	"hob/platform/host/system"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/snapshot"
	"hob/platform/store/storetest"
	"hob/platform/store/tombstone"
)

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func testMigrations() []store.MigrationSet {
	return append([]store.MigrationSet{bus.Migrations(), guard.Migrations(), pairing.Migrations()}, knowledge.Migrations()...)
}

// events is the number of open events of a home.
const events = 60

// home is a home whose snapshot contains events. The following items are newer than the snapshot:
// the audit log from line 5 on, a revocation, and the files with the text "new".
type home struct {
	t        *testing.T
	p        system.Paths
	snapshot snapshot.Snapshot
	lines    int64 // number of lines in the audit log
}

func newHome(t *testing.T) *home {
	storetest.FileOnly(t, "only files are replaced by backups")
	t.Helper()
	dir := t.TempDir()
	h := &home{t: t, p: system.Paths{Home: dir, Data: dir, Logs: filepath.Join(dir, "logs"), Runtime: filepath.Join(dir, "run")}}
	h.writeFiles("old")
	h.withHome(func(st *store.Store, g *guard.Guard) {
		inbox := bus.New(st, bus.Options{}).Inbox
		for range events {
			_, err := inbox.Put(t.Context(), bus.Event{Kind: bus.Watcher, Source: "w1", Session: "watcher:w1", Text: strings.Repeat("a file appeared ", 100), Provenance: provenance.Outside, NotBefore: time.Now().Add(time.Hour)})
			failOnError(t, err)
		}
		h.addRecords(st, g, 4)
	})
	s, err := snapshot.Create(t.Context(), snapshot.Options{Paths: h.p, Version: "test", Reason: snapshot.Manual})
	failOnError(t, err)
	h.snapshot = s
	h.withHome(func(st *store.Store, g *guard.Guard) {
		h.addRecords(st, g, 7)
		failOnError(t, st.Write(t.Context(), func(tx *store.Tx) error { return g.Tombstones().AddTx(tx, tombstone.Grant, "g1", nil) }))
		head, err := g.Head(t.Context())
		failOnError(t, err)
		h.lines = head.Lines
	})
	h.writeFiles("new")
	return h
}

var homeFiles = []string{"config.toml", "SOUL.md", "USER.md", "MEMORY.md", "agents/a/SOUL.md", "skills/s/SKILL.md"}

func (h *home) writeFiles(text string) {
	h.t.Helper()
	for _, name := range homeFiles {
		failOnError(h.t, system.WriteFile(filepath.Join(h.p.Home, filepath.FromSlash(name)), []byte(text)))
	}
}

// checkFiles checks the text of the files below a folder.
func (h *home) checkFiles(dir, want string) {
	h.t.Helper()
	for _, name := range homeFiles {
		if b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))); err != nil || string(b) != want {
			h.t.Errorf("%s = %q, %v, want %q", filepath.Join(dir, name), b, err, want)
		}
	}
}

// openDatabase opens the database and the guard in the same way as a start of Hob, including recovery.Open.
func (h *home) openDatabase() (*store.Store, *guard.Guard) {
	h.t.Helper()
	st, err := storetest.Open(h.t.Context(), h.p.Database(), testMigrations(), store.Options{BackupDir: h.p.Backups()})
	failOnError(h.t, err)
	key, err := guard.OpenAuditKey(h.t.Context(), h.p, st)
	failOnError(h.t, err)
	g, err := guard.New(st, guard.Options{AuditKey: key, Anchor: h.p.AuditAnchorFile(), Tombstones: h.p.TombstoneFile()})
	failOnError(h.t, err)
	return st, g
}

// withHome runs fn in the open home.
func (h *home) withHome(fn func(*store.Store, *guard.Guard)) {
	h.t.Helper()
	st, g := h.openDatabase()
	failOnError(h.t, recovery.Open(h.t.Context(), recovery.SyncOptions{Store: st, Guard: g}))
	fn(st, g)
	_, err := g.WriteAnchor(h.t.Context())
	failOnError(h.t, errors.Join(err, st.Close()))
}

func (h *home) addRecords(st *store.Store, g *guard.Guard, lines int) {
	h.t.Helper()
	for range lines {
		failOnError(h.t, st.Write(h.t.Context(), func(tx *store.Tx) error {
			return g.AuditTx(tx, guard.Record{Actor: "hob", Action: "call", Origin: "test", Verdict: "allow", Outcome: "done"})
		}))
	}
}

// damages maps each kind of damage to a function that damages the database file.
var damages = map[string]func(path string) error{
	"a page of noise": func(path string) error { return overwritePage(path, 0xA5) },
	"a page of zeros": func(path string) error { return overwritePage(path, 0) },
	"half overwritten": func(path string) error {
		b, err := os.ReadFile(path)
		copy(b[len(b)/4:], bytes.Repeat([]byte{0xA5}, len(b)/2))
		return errors.Join(err, os.WriteFile(path, b, 0o600))
	},
	"another file": func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("x"), 9000), 0o600) },
	"missing":      os.Remove,
}

// overwritePage overwrites a page with events. Only a check of the complete file detects this
// damage.
func overwritePage(path string, with byte) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	page := bytes.LastIndex(b, []byte("a file appeared")) &^ 4095
	copy(b[page:], bytes.Repeat([]byte{with}, 4096))
	return os.WriteFile(path, b, 0o600)
}

// checkHeld checks that the home is restored and on hold, and that the audit log names the end of the
// replaced log.
func (h *home) checkHeld(st *store.Store, g *guard.Guard) {
	h.t.Helper()
	s, err := bus.New(st, bus.Options{}).Hold.Status(h.t.Context())
	if err != nil || !s.Active || s.Events != events {
		h.t.Errorf("hold = %+v, %v, want %d events", s, err, events)
	}
	head, err := g.VerifyAll(h.t.Context())
	if err != nil || len(head.Restores) != 1 || head.Restores[0].ReplacedLines != h.lines || head.Restores[0].ReplacedHead == "" {
		h.t.Errorf("audit log = %+v, %v, want one restore that replaced %d lines", head, err, h.lines)
	}
	if err := g.CheckStart(h.t.Context(), h.p.AuditKeyFile()); err != nil {
		h.t.Error(err)
	}
	entries, err := tombstone.Rows(st.Reader(h.t.Context()))
	if err != nil || len(entries) != 1 || entries[0].Ref != "g1" {
		h.t.Errorf("revocations = %+v, %v, want g1", entries, err)
	}
}

func (h *home) restoreSnapshot() recovery.Report {
	h.t.Helper()
	r, err := recovery.Restore(h.t.Context(), recovery.Options{Paths: h.p, Migrations: testMigrations(), Version: "test", Snapshot: h.snapshot})
	failOnError(h.t, err)
	return r
}

// A restore over a database that no snapshot can contain keeps the damaged file and the other files of
// the home.
func TestRestore_KeepsDamagedDatabaseAndFiles(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			failOnError(t, damage(h.p.Database()))
			damaged, err := os.ReadFile(h.p.Database())
			missing := errors.Is(err, fs.ErrNotExist)
			r := h.restoreSnapshot()
			if r.Before != "" || len(r.Held) != events || (r.Aside == "") != missing {
				t.Errorf("Before = %q, Aside = %q, %d held, want no snapshot, the damaged file and %d", r.Before, r.Aside, len(r.Held), events)
			}
			if !missing {
				if kept, err := os.ReadFile(r.Aside); err != nil || !bytes.Equal(kept, damaged) {
					t.Errorf("the damaged file is not kept: %d bytes, %v", len(kept), err)
				}
			}
			h.checkFiles(r.Files, "new")
			h.checkFiles(h.p.Home, "old")
			h.withHome(h.checkHeld)
		})
	}
}

func TestRestore_SavesIntactState(t *testing.T) {
	h := newHome(t)
	r := h.restoreSnapshot()
	if r.Before == "" || r.Aside != "" || r.Files != "" || len(r.Warnings) > 0 {
		t.Errorf("Restore = %+v", r)
	}
	h.checkFiles(filepath.Join(h.p.Backups(), r.Before, "files"), "new")
	h.withHome(h.checkHeld)
	if left, _ := filepath.Glob(filepath.Join(h.p.Data, "restore*")); len(left) > 0 {
		t.Errorf("files left behind: %q", left)
	}
}

// An altered file of revocations is repaired and reported. It does not prevent a restore.
func TestRestore_RepairsAlteredTombstones(t *testing.T) {
	for name, damage := range map[string]func(path string) error{"intact database": func(string) error { return nil }, "damaged database": damages["another file"]} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			b, err := os.ReadFile(h.p.TombstoneFile())
			failOnError(t, err)
			failOnError(t, os.WriteFile(h.p.TombstoneFile(), append(b, []byte("changed\n")...), 0o600))
			failOnError(t, damage(h.p.Database()))
			r := h.restoreSnapshot()
			if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "line 2") && strings.Contains(w, "hob grant list") }) {
				t.Errorf("Warnings = %q", r.Warnings)
			}
			h.withHome(h.checkHeld)
		})
	}
}

// If a backup replaced the database, the pending work waits for the user, even if the first start
// after the replacement is interrupted at any step.
func TestOpen_HoldsReplacedDatabaseAfterCrash(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			failOnError(t, damage(h.p.Database()))
			crash := func(at func(st *store.Store, g *guard.Guard) error) {
				t.Helper()
				st, g := h.openDatabase()
				if r := st.Replacement(); r == nil || r.Backup != h.snapshot.Name {
					t.Fatalf("Replacement = %+v", r)
				}
				failOnError(t, errors.Join(at(st, g), st.Close()))
			}
			crash(func(*store.Store, *guard.Guard) error { return nil })
			crash(func(_ *store.Store, g *guard.Guard) error { return g.InitKeys(context.Background()) })
			for range 2 {
				crash(func(st *store.Store, g *guard.Guard) error {
					return recovery.Open(context.Background(), recovery.SyncOptions{Store: st, Guard: g})
				})
			}
			h.withHome(func(st *store.Store, g *guard.Guard) {
				h.checkHeld(st, g)
				failOnError(t, st.ConfirmReplacement())
			})
			h.withHome(func(st *store.Store, g *guard.Guard) {
				h.checkHeld(st, g)
				if st.Replacement() != nil {
					t.Errorf("Replacement = %+v after the confirmation", st.Replacement())
				}
			})
		})
	}
}

// A restore ends an unconfirmed replacement: the restored database is on hold already.
func TestRestore_DiscardsReplacement(t *testing.T) {
	h := newHome(t)
	failOnError(t, damages["another file"](h.p.Database()))
	st, _ := h.openDatabase()
	failOnError(t, st.Close())
	h.restoreSnapshot()
	h.withHome(func(st *store.Store, _ *guard.Guard) {
		if st.Replacement() != nil {
			t.Errorf("Replacement = %+v", st.Replacement())
		}
	})
}

// The uses of a limited grant remain counted after a restore, even those recorded only in a
// database that was damaged later.
func TestRestore_CountsUsesSinceTheBackup(t *testing.T) {
	for name, damage := range map[string]func(path string) error{"intact database": func(string) error { return nil }, "damaged database": damages["another file"]} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			uses := func(used map[string]int) {
				h.withHome(func(st *store.Store, g *guard.Guard) {
					failOnError(t, st.Write(t.Context(), func(tx *store.Tx) error {
						for id, n := range used {
							for range n {
								if err := g.UseTx(tx, guard.Decision{Grant: id}); err != nil {
									return err
								}
							}
						}
						return nil
					}))
				})
			}
			h.withHome(func(st *store.Store, _ *guard.Guard) {
				failOnError(t, st.Write(t.Context(), func(tx *store.Tx) error {
					for id, limit := range map[string]int{"once": 1, "thrice": 3, "unlimited": 0} {
						if _, err := tx.Exec(`INSERT INTO grants (id, tool, args_hash, session, max_uses, expires_at, created_at) VALUES (?, 'create_task', 'h', 's', ?, ?, 1)`,
							id, limit, time.Now().Add(time.Hour).UnixMilli()); err != nil {
							return err
						}
					}
					return nil
				}))
			})
			uses(map[string]int{"thrice": 1})
			s, err := snapshot.Create(t.Context(), snapshot.Options{Paths: h.p, Version: "test", Reason: snapshot.Manual})
			failOnError(t, err)
			h.snapshot = s
			uses(map[string]int{"once": 1, "thrice": 1, "unlimited": 2})
			failOnError(t, damage(h.p.Database()))
			if r := h.restoreSnapshot(); r.Applied.Uses != 2 {
				t.Errorf("Applied = %+v, want 2 grants with uses", r.Applied)
			}
			h.withHome(func(_ *store.Store, g *guard.Guard) {
				list, err := g.Grants(t.Context(), true, "", 10)
				failOnError(t, err)
				got := map[string]string{}
				for _, x := range list {
					got[x.ID] = fmt.Sprintf("%d %s", x.Used, x.State)
				}
				if want := map[string]string{"once": "1 used up", "thrice": "2 live", "unlimited": "0 live"}; !maps.Equal(got, want) {
					t.Errorf("grants = %v, want %v", got, want)
				}
			})
		})
	}
}
