//go:build unix

package badinput

import (
	"crypto/sha256"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // to write data like a newer Hob
)

func (h *daemonFixture) execSQL(statement string) {
	h.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(h.home, "hob.db"))
	failOnError(h.t, err)
	_, err = db.ExecContext(h.t.Context(), statement)
	failOnError(h.t, err)
	failOnError(h.t, db.Close())
}

func (h *daemonFixture) databaseSum() [32]byte {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(h.home, "hob.db"))
	failOnError(h.t, err)
	return sha256.Sum256(b)
}

// A database of a newer version of Hob stays unchanged.
func TestNewerDatabase(t *testing.T) {
	t.Parallel()
	h := newFixture(t, offline)
	h.runHob("ask", "remember that the code is 9911").checkSuccess("Noted")
	for add, remove := range map[string]string{
		"INSERT INTO migrations VALUES ('bus', 99, 0)":   "DELETE FROM migrations WHERE version = 99",
		"INSERT INTO migrations VALUES ('future', 1, 0)": "DELETE FROM migrations WHERE owner = 'future'",
	} {
		h.execSQL(add)
		before := h.databaseSum()
		for _, args := range [][]string{{"ask", "hello"}, {"start"}, {"start", "--foreground"}, {"backup"}, {"task", "list"}} {
			h.runHob(args...).checkFailure(1, `a newer version of Hob.*update Hob`)
		}
		h.runHob("doctor").checkExit(1, "fail +database.*newer version.*-> update Hob")
		if h.databaseSum() != before {
			t.Error("the database of the newer Hob was changed")
		}
		h.execSQL(remove)
	}
	h.runHob("ask", "what did I ask you to remember?").checkSuccess("9911")
}

// A damaged database is moved aside and reported. Hob continues with the newest backup or, if there
// is no backup, with a new database.
func TestDamagedDatabase(t *testing.T) {
	t.Parallel()
	noise := strings.Repeat("not a page of a database ", 400)
	damage := map[string]func(h *daemonFixture){
		"another file": func(h *daemonFixture) { h.writeFile("hob.db", noise) },
		"pages": func(h *daemonFixture) {
			f, err := os.OpenFile(filepath.Join(h.home, "hob.db"), os.O_WRONLY, 0)
			failOnError(t, err)
			_, err = f.WriteAt([]byte(noise), 20_000)
			failOnError(t, err)
			failOnError(t, f.Close())
		},
		"cut off": func(h *daemonFixture) { failOnError(t, os.Truncate(filepath.Join(h.home, "hob.db"), 100_001)) },
		"emptied": func(h *daemonFixture) { failOnError(t, os.Truncate(filepath.Join(h.home, "hob.db"), 0)) },
	}
	for name, spoil := range damage {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t, offline)
			h.runHob("ask", "remember that the code is 9911").checkSuccess("Noted")
			h.runHob("backup").checkSuccess(`snapshot-.*-manual`)
			spoil(h)
			damaged := h.databaseSum()
			r := h.runHob("ask", "what did I ask you to remember?")
			r.checkSuccess("9911")
			if !strings.Contains(r.errs, "the database was damaged and is now") {
				t.Errorf("the damage was not reported: %q", r.errs)
			}
			h.checkKeptAside(damaged)
			h.runHob("restore", "--pending").checkSuccess("Restored the newest good backup")
			h.runHob("doctor").checkSuccess("ok +database")
		})
	}
	t.Run("no backup, the daemon", func(t *testing.T) {
		t.Parallel()
		h := newFixture(t, offline)
		h.writeFile("hob.db", noise)
		damaged := h.databaseSum()
		h.runHob("doctor").checkExit(1, "fail +database.*damaged.*-> restart Hob")
		h.startDaemon()
		h.waitUntil("the notice", func() bool {
			for _, d := range h.listDeliveries("notice") {
				if strings.Contains(d.Text, "database was damaged") && strings.Contains(d.Text, "damaged-") {
					return true
				}
			}
			return false
		})
		h.sendMessage("remember that the code is 9911")
		h.stopDaemon()
		h.checkKeptAside(damaged)
		h.runHob("ask", "what did I ask you to remember?").checkSuccess("9911")
	})
}

// checkKeptAside checks that the damaged file was kept unchanged next to the new one.
func (h *daemonFixture) checkKeptAside(damaged [32]byte) {
	h.t.Helper()
	for _, f := range h.listFiles() {
		if strings.HasPrefix(f, "hob.db.damaged-") && !strings.HasSuffix(f, "-wal") && !strings.HasSuffix(f, "-shm") {
			b, err := os.ReadFile(filepath.Join(h.home, f))
			failOnError(h.t, err)
			if sha256.Sum256(b) != damaged {
				h.t.Errorf("%s differs from the damaged file", f)
			}
			return
		}
	}
	h.t.Errorf("the damaged file is missing; files: %v", h.listFiles())
}
