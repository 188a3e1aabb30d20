//go:build unix

package chatdb_test

import (
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"hob/platform/pim/messages/chatdb"
	"hob/platform/pim/messages/chatdbtest"
)

// TestOpen_KeepsTheLog checks that another writer cannot remove the log while it is
// being read, even if the file was opened a second time and closed, and that a
// replaced log is detected.
func TestOpen_KeepsTheLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chat.db")
	write := func(text string) {
		t.Helper()
		cmd := exec.Command(os.Args[0], "-test.run=^TestOtherWriter$")
		cmd.Env = append(os.Environ(), "WRITE_INTO="+file, "WRITE_TEXT="+text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	w := chatdbtest.New(t, file, chatdbtest.Newest())
	w.Close()
	write("one")
	open := func() *chatdb.DB {
		t.Helper()
		d, err := chatdb.Open(t.Context(), file, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	long := open()
	defer long.Close()
	if _, _, err := long.Last(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := open().Close(); err != nil {
		t.Fatal(err)
	}
	write("two") // lets SQLite remove the log if it can
	if _, err := os.Stat(file + "-wal"); err != nil || long.Stale() {
		t.Errorf("the log was removed during a read: %v, stale %v", err, long.Stale())
	}
	if list, _, err := long.Messages(t.Context(), 0, 9); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", formatMessages(list), err)
	}
	if err := errors.Join(os.Remove(file+"-wal"), os.Remove(file+"-shm")); err != nil {
		t.Skip("open files cannot be removed on this system: ", err)
	}
	write("three")
	if !long.Stale() {
		t.Error("the removed log was not detected")
	}
	if err := long.Close(); err != nil {
		t.Fatal(err)
	}
	again := open()
	defer again.Close()
	if list, _, err := again.Messages(t.Context(), 0, 9); err != nil || len(list) == 0 || list[len(list)-1].Text != "three" || again.Stale() {
		t.Errorf("%v, %v, stale %v", formatMessages(list), err, again.Stale())
	}
}

// TestOtherWriter is the second program of TestOpen_KeepsTheLog.
func TestOtherWriter(t *testing.T) {
	file := os.Getenv("WRITE_INTO")
	if file == "" {
		t.Skip("runs within TestOpen_KeepsTheLog")
	}
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(file)+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec("INSERT INTO message (guid, text) VALUES (?1, ?1)", os.Getenv("WRITE_TEXT"))
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("WRITE_TEXT") != "two" {
		return
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: 0x40000002, Len: 510} // SQLite's shared lock (sqlite.org/src, os_unix.c)
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &lock); err != nil || lock.Type == syscall.F_UNLCK {
		t.Fatalf("the database is not locked: %v", err)
	}
}
