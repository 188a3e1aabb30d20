package bus_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/platform/store"
	"hob/platform/store/erase"
	"hob/platform/store/lease"
	"hob/platform/store/storetest"
)

// filesInstance is an instance of a fleet with a home of its own.
type filesInstance struct {
	*bus.Bus
	db    *store.Store
	dir   string
	spool *channels.Spool
	files channels.Files
}

// TestSharedFiles_FollowMessages exchanges files between instances whose homes are different.
func TestSharedFiles_FollowMessages(t *testing.T) {
	server := storetest.NewServer(t)
	failOnError(t, server.Exec(t.Context(), "postgres", "CREATE DATABASE files"))
	open := func(name, dir string) *filesInstance {
		db, err := store.Open(t.Context(), filepath.Join(dir, "hob.db"), []store.MigrationSet{lease.Migrations(), bus.Migrations()}, store.Options{URL: server.URL("files"), Instance: name})
		failOnError(t, err)
		m, err := lease.Open(t.Context(), lease.Options{Store: db, Shared: true, Instance: name, Home: dir})
		failOnError(t, err)
		x := &filesInstance{db: db, dir: dir}
		x.spool = channels.NewSpool(channels.SpoolOptions{Dir: filepath.Join(dir, "outgoing"), Log: slog.New(slog.DiscardHandler), Waiting: func(context.Context) ([]string, error) { return nil, nil }})
		x.Bus = bus.New(db, bus.Options{Lease: m, Spool: x.spool, Route: func(ch, chat string) (string, string, bool) { return ch, chat, false }})
		x.files = x.Files.Receive(channels.Files{Keep: channels.OpenReceivedFolder(func() string { return filepath.Join(dir, "files") }, channels.ReceivedFolder)})
		t.Cleanup(func() { m.Leave(); failOnError(t, db.Close()) })
		return x
	}
	thereDir := t.TempDir()
	here, there := open("here", t.TempDir()), open("there", thereDir)

	// the same name with other content exists on the other instance
	for _, x := range []*filesInstance{here, there} {
		_, err := x.files.Keep(t.Context(), "report.pdf", []byte("report of "+x.dir))
		failOnError(t, err)
	}
	content := bytes.Repeat([]byte("%PDF\x00\xff"), 200_000)
	path, err := here.files.Keep(t.Context(), "report.pdf", content)
	failOnError(t, err)
	_, err = here.Inbox.Put(t.Context(), bus.Event{Kind: bus.Message, Source: "push", Session: "s", Channel: "push", Chat: "c", Text: "saved as " + path})
	failOnError(t, err)
	events, _, err := there.Inbox.Claim(t.Context(), 1)
	failOnError(t, err)
	copied := filepath.Join(there.dir, "files", channels.ReceivedFolder, filepath.Base(path))
	if got, err := os.ReadFile(copied); len(events) != 1 || !bytes.Equal(got, content) {
		t.Errorf("%d events; the file has %d bytes on the other instance (%v), want %d", len(events), len(got), err, len(content))
	}

	// a file to send reaches the instance that sends it
	sum := sha256.Sum256(content)
	out := channels.OutgoingFile{Name: "answer.pdf", Size: int64(len(content)), Digest: hex.EncodeToString(sum[:])}
	failOnError(t, here.spool.Put(t.Context(), out, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }))
	failOnError(t, here.Files.Attach(t.Context(), out))
	failOnError(t, here.db.Write(t.Context(), func(tx *store.Tx) error {
		return here.Outbox.EnqueueTx(tx, "e", bus.OutboxItem{Delivery: channels.Delivery{
			Kind: channels.Reply, Session: "s", Channel: "push", Chat: "c", Text: "attached",
			Files: []channels.Attachment{{Name: out.Name, Size: out.Size, Path: here.spool.Path(out.Digest)}},
		}})
	}))
	ds, err := there.Outbox.ClaimDeliveries(t.Context(), "push", 1)
	failOnError(t, err)
	if len(ds) != 1 || len(ds[0].Files) != 1 {
		t.Fatalf("deliveries = %+v", ds)
	}
	if got, err := os.ReadFile(ds[0].Files[0].Path); filepath.Dir(ds[0].Files[0].Path) != filepath.Join(there.dir, "outgoing") || !bytes.Equal(got, content) {
		t.Errorf("the file to send is %s with %d bytes (%v), want a copy of this instance", ds[0].Files[0].Path, len(got), err)
	}

	// a file that the user deleted does not come back when the instance starts again
	failOnError(t, os.Remove(copied))
	again := open("there", thereDir)
	failOnError(t, again.Files.CatchUp(t.Context()))
	if _, err := os.Stat(copied); err == nil {
		t.Error("a deleted file came back")
	}

	// forgetting removes all files from the database
	failOnError(t, here.db.Write(t.Context(), func(tx *store.Tx) error {
		_, err := here.Eraser().EraseTx(tx, &erase.Erasure{ID: "e1"}, erase.NewScrubber("PDF"))
		return err
	}))
	n := 0
	failOnError(t, here.db.Read().QueryRowContext(t.Context(), `SELECT count(*) FROM shared_files`).Scan(&n))
	if n != 0 {
		t.Errorf("the database contains %d files after something was forgotten", n)
	}
}
