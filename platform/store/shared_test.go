package store_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/platform/retry"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

const lease = 2 * time.Second

// openShared opens a store on the server.
func openShared(t testing.TB, url string, s ...store.MigrationSet) *store.Store {
	t.Helper()
	if s == nil {
		s = testSets()
	}
	db, err := store.Open(t.Context(), tempPath(t), s, store.Options{URL: url, Instance: "one", Lease: lease})
	failOnError(t, err)
	t.Cleanup(func() { failOnError(t, db.Close()) })
	return db
}

// waitUntil waits until the condition holds.
func waitUntil(t testing.TB, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !holds() {
		if retry.Sleep(ctx, 20*time.Millisecond) != nil {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// gate is a network between a store and its server. If hole is set, it drops the answers of the server.
type gate struct {
	addr string
	mu   sync.Mutex
	hole bool
	// armed sets hole at the next COMMIT.
	armed bool
	// old makes the server look like version 13.
	old bool
	// requests counts the packets to the server.
	requests int
}

// newGate forwards connections until the test ends.
func newGate(t testing.TB, target int) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	failOnError(t, err)
	g := &gate{addr: l.Addr().String()}
	var wg sync.WaitGroup
	var conns []net.Conn
	t.Cleanup(func() {
		_ = l.Close()
		g.mu.Lock()
		for _, c := range conns {
			_ = c.Close()
		}
		g.mu.Unlock()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", target))
			if err != nil {
				_ = c.Close()
				continue
			}
			g.mu.Lock()
			conns = append(conns, c, s)
			g.mu.Unlock()
			wg.Go(func() { g.forwardBytes(s, c, false) })
			wg.Go(func() { g.forwardBytes(c, s, true) })
		}
	})
	return g
}

// forwardBytes copies bytes. Answers are lost while the gate is a hole.
func (g *gate) forwardBytes(to, from net.Conn, answers bool) {
	defer func() { _, _ = to.Close(), from.Close() }()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		g.mu.Lock()
		if !answers && g.armed && bytes.Contains(b[:n], []byte("COMMIT")) {
			g.hole = true
		}
		lost := answers && g.hole
		if !answers && n > 0 {
			g.requests++
		}
		if i := bytes.Index(b[:n], []byte("server_version\x00")); g.old && answers && i >= 0 {
			copy(b[i+len("server_version\x00"):], "13")
		}
		g.mu.Unlock()
		if !lost && n > 0 {
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (g *gate) setState(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
}

func TestShared(t *testing.T) {
	server := storetest.NewServer(t)
	n := 0
	create := func(t *testing.T) string {
		t.Helper()
		n++
		name := fmt.Sprintf("db%d", n)
		failOnError(t, server.Exec(t.Context(), "postgres", "CREATE DATABASE "+name))
		return server.URL(name)
	}

	t.Run("keeps rows of several instances", func(t *testing.T) {
		url := create(t)
		a, b := openShared(t, url), openShared(t, url)
		insertRow(t, a, 1, "a \u2713")
		insertRow(t, b, 2, "b")
		if diff := cmp.Diff([]string{"1=a \u2713", "2=b"}, listRows(t, a.Reader(t.Context()))); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("serializes reads and writes of a transaction", func(t *testing.T) {
		url := create(t)
		dbs := []*store.Store{openShared(t, url), openShared(t, url)}
		insertRow(t, dbs[0], 1, "0")
		var wg sync.WaitGroup
		for _, db := range dbs {
			for range 2 {
				wg.Go(func() {
					for range 20 {
						if err := db.Write(t.Context(), func(tx *store.Tx) error {
							var v int
							if err := tx.QueryRow(`SELECT v FROM t WHERE k = 1`).Scan(&v); err != nil {
								return err
							}
							_, err := tx.Exec(`UPDATE t SET v = ? WHERE k = 1`, fmt.Sprint(v+1))
							return err
						}); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
		wg.Wait()
		if got := listRows(t, dbs[0].Reader(t.Context())); !slices.Equal(got, []string{"1=80"}) {
			t.Errorf("rows = %v, want 1=80", got)
		}
	})

	t.Run("numbers rows in the order of their commits", func(t *testing.T) {
		db := openShared(t, create(t), testSets(`CREATE TABLE q (n INTEGER PRIMARY KEY AUTOINCREMENT, v TEXT)`)...)
		boom := errors.New("boom")
		for i, want := range []error{nil, boom, nil} {
			if err := db.Write(t.Context(), func(tx *store.Tx) error {
				if _, err := tx.Exec(`INSERT INTO q (v) VALUES (?)`, fmt.Sprint(i)); err != nil {
					return err
				}
				return want
			}); !errors.Is(err, want) {
				t.Fatal(err)
			}
		}
		var n, last int
		failOnError(t, db.Read().QueryRowContext(t.Context(), `SELECT max(n), (SELECT seq FROM sqlite_sequence WHERE name = 'q') FROM q`).Scan(&n, &last))
		if n != 2 || last != 2 {
			t.Errorf("last row %d, sequence %d, want 2", n, last)
		}
	})

	t.Run("a failed closure loses only its own changes", func(t *testing.T) {
		db := openShared(t, create(t))
		release := blockWriter(t, db)
		errs := make(chan error, 3)
		for k := range 3 {
			go func() {
				errs <- db.Write(t.Context(), func(tx *store.Tx) error {
					_, _ = tx.Exec(`INSERT INTO t VALUES (?, 'x')`, k)
					if k == 1 {
						_, _ = tx.Exec(`INSERT INTO nowhere VALUES (1)`) // ignored by mistake
					}
					return nil
				})
			}()
		}
		release()
		failed := 0
		for range 3 {
			if <-errs != nil {
				failed++
			}
		}
		if got := listRows(t, db.Reader(t.Context())); failed != 1 || !slices.Equal(got, []string{"0=x", "2=x"}) {
			t.Errorf("%d failed, rows %v, want one failure and the rows 0 and 2", failed, got)
		}
	})

	t.Run("notifies other instances of a commit", func(t *testing.T) {
		url := create(t)
		db, other := openShared(t, url), openShared(t, url)
		for _, x := range []*store.Store{db, other} { // each listens
			<-x.ForeignCommits()
			if got := x.TakeForeignChanges(); got != nil {
				t.Errorf("changes before the first notification = %v, want nil: any table", got)
			}
		}
		for k := range 3 {
			insertRow(t, db, k, "x")
			<-other.ForeignCommits()
			if got := other.TakeForeignChanges(); !maps.Equal(got, map[string]bool{"t": true}) {
				t.Errorf("changes = %v, want the table t", got)
			}
		}
		if err := db.Write(t.Context(), func(*store.Tx) error { return errors.New("rolled back") }); err == nil {
			t.Error("Write returned no error")
		}
		insertRow(t, other, 9, "y")
		<-db.ForeignCommits() // the first signal since db listens: db does not hear its own commits
		select {
		case <-other.ForeignCommits():
			t.Error("an instance was notified of a rollback or of its own commit")
		default:
		}
	})

	t.Run("finds out whether a commit without an answer was saved", func(t *testing.T) {
		url := create(t)
		g := newGate(t, server.Port)
		db := openShared(t, strings.Replace(url, fmt.Sprintf("127.0.0.1:%d", server.Port), g.addr, 1))
		g.setState(func() { g.armed = true })
		done := make(chan error, 1)
		go func() {
			done <- db.Write(context.Background(), func(tx *store.Tx) error {
				_, err := tx.Exec(`INSERT INTO t VALUES (1, 'x')`)
				return err
			})
		}()
		waitUntil(t, "the database is away", func() bool { return db.Away() != nil })
		g.setState(func() { g.armed, g.hole = false, false })
		if err := <-done; err != nil {
			t.Errorf("write = %v, although it was saved", err)
		}
		waitUntil(t, "the database is back", func() bool { return db.Away() == nil })
		insertRow(t, db, 2, "y")
		if got := listRows(t, db.Reader(t.Context())); !slices.Equal(got, []string{"1=x", "2=y"}) {
			t.Errorf("rows = %v", got)
		}
	})

	t.Run("says that the outcome of a commit is unknown if the database does not come back in time", func(t *testing.T) {
		url := create(t)
		g := newGate(t, server.Port)
		db := openShared(t, strings.Replace(url, fmt.Sprintf("127.0.0.1:%d", server.Port), g.addr, 1))
		g.setState(func() { g.armed = true })
		err := db.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(`INSERT INTO t VALUES (1, 'x')`)
			return err
		})
		if !errors.Is(err, store.ErrUnknown) || !strings.Contains(err.Error(), "check before you repeat") {
			t.Errorf("write = %v, want ErrUnknown with the remedy", err)
		}
		g.setState(func() { g.armed, g.hole = false, false })
		waitUntil(t, "the database is back", func() bool { return db.Away() == nil })
		insertRow(t, db, 2, "y")
	})

	t.Run("reports a full disk of the server and goes on when there is space", func(t *testing.T) {
		url := create(t)
		db := openShared(t, url)
		name := url[strings.LastIndex(url, "/")+1 : strings.Index(url, "?")]
		failOnError(t, server.Exec(t.Context(), name, `CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
			CREATE TRIGGER full_disk BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION fill()`))
		err := db.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(`INSERT INTO t VALUES (1, 'x')`)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "disk of the database server is full") || !strings.Contains(err.Error(), "; free space on it") {
			t.Errorf("write = %v, want the cause and the remedy", err)
		}
		failOnError(t, server.Exec(t.Context(), name, `DROP TRIGGER full_disk ON t`))
		insertRow(t, db, 2, "y")
		if got := listRows(t, db.Reader(t.Context())); !slices.Equal(got, []string{"2=y"}) {
			t.Errorf("rows = %v", got)
		}
	})

	t.Run("an instance that does not answer holds the others up for less than a lease", func(t *testing.T) {
		url := create(t)
		g := newGate(t, server.Port)
		cut := openShared(t, strings.Replace(url, fmt.Sprintf("127.0.0.1:%d", server.Port), g.addr, 1))
		other := openShared(t, url)
		leave, entered := make(chan struct{}), make(chan struct{})
		done := make(chan error, 1)
		go func() {
			done <- cut.Write(context.Background(), func(tx *store.Tx) error {
				if _, err := tx.Exec(`INSERT INTO t VALUES (1, 'late')`); err != nil {
					return err
				}
				close(entered)
				<-leave
				return nil
			})
		}()
		<-entered
		insertRow(t, other, 1, "in time") // waits until the server gives up the other transaction
		close(leave)
		if err := <-done; !errors.Is(err, store.ErrAway) {
			t.Errorf("late commit: %v, want ErrAway", err)
		}
		insertRow(t, cut, 2, "again")
		if got := listRows(t, other.Reader(t.Context())); !slices.Equal(got, []string{"1=in time", "2=again"}) {
			t.Errorf("rows = %v", got)
		}
	})

	t.Run("goes on after the server was away", func(t *testing.T) {
		db := openShared(t, create(t))
		insertRow(t, db, 1, "x")
		failOnError(t, server.Stop("QUIT"))
		waitUntil(t, "the database is away", func() bool { return db.Away() != nil })
		if err := db.Write(t.Context(), func(*store.Tx) error { return nil }); !errors.Is(err, store.ErrAway) {
			t.Errorf("write = %v, want ErrAway", err)
		}
		var k int
		if err := db.Reader(t.Context()).QueryRow(`SELECT k FROM t`).Scan(&k); !errors.Is(err, store.ErrAway) {
			t.Errorf("read = %v, want ErrAway", err)
		}
		failOnError(t, server.Start(t.Context()))
		waitUntil(t, "the database is back", func() bool { return db.Away() == nil })
		insertRow(t, db, 2, "y")
		if got := listRows(t, db.Reader(t.Context())); !slices.Equal(got, []string{"1=x", "2=y"}) {
			t.Errorf("rows = %v", got)
		}
	})

	t.Run("refuses bad settings with a remedy", func(t *testing.T) {
		url := create(t)
		openShared(t, url)
		failOnError(t, server.Exec(t.Context(), "postgres", `CREATE ROLE guest LOGIN`))
		failOnError(t, server.Exec(t.Context(), "postgres", `CREATE DATABASE locked`))
		failOnError(t, server.Exec(t.Context(), "postgres", `CREATE DATABASE old ENCODING 'LATIN1' TEMPLATE template0`))
		guest := strings.Replace(server.URL("locked"), "boss@", "guest@", 1)
		newer := append(testSets(), store.MigrationSet{Owner: "later", Steps: []string{`CREATE TABLE later (a TEXT)`}})
		old := newGate(t, server.Port)
		old.old = true
		skewed := create(t)
		failOnError(t, server.Exec(t.Context(), skewed[strings.LastIndex(skewed, "/")+1:strings.Index(skewed, "?")], `CREATE FUNCTION clock_timestamp() RETURNS timestamptz
			LANGUAGE sql AS $$ SELECT pg_catalog.clock_timestamp() + interval '1 hour' $$;
			DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database()); END $$`))
		updated := create(t)
		openShared(t, updated, newer...)
		for _, tc := range []struct{ name, url, want string }{
			{"no database", server.URL("none"), "create the database"},
			{"no user", strings.Replace(url, "boss@", "nobody@", 1), `\[store\] url`},
			{"no rights", guest, "owner of the database"},
			{"no Unicode", server.URL("old"), "ENCODING 'UTF8'"},
			{"no TLS", strings.Replace(url, "disable", "require", 1), "TLS"},
			{"no address", "postgres://[", "postgres://USER"},
			{"newer schema", updated, "newer version of Hob"},
			{"nobody listens", "postgres://boss@127.0.0.1:1/x", "; start the database server"},
			{"an old server", strings.Replace(url, fmt.Sprintf("127.0.0.1:%d", server.Port), old.addr, 1), "version 13.*install version 14 or newer"},
			{"another time", skewed, "clock of this machine is 1h0m0s away.*NTP"},
		} {
			t.Run(tc.name, func(t *testing.T) {
				db, err := store.Open(t.Context(), tempPath(t), testSets(), store.Options{URL: tc.url, Lease: lease})
				if err == nil || !regexp.MustCompile(tc.want).MatchString(err.Error()) {
					t.Errorf("Open = %v, want an error that matches %q", err, tc.want)
				}
				if err == nil {
					failOnError(t, db.Close())
				}
			})
		}
	})

	t.Run("answers plainly what only files have", func(t *testing.T) {
		db := openShared(t, create(t))
		if _, err := db.BackupNow(t.Context()); !errors.Is(err, store.ErrNoFile) {
			t.Errorf("BackupNow = %v, want ErrNoFile", err)
		}
		n, err := db.RenewBackups(t.Context())
		if err = errors.Join(err, db.Compact(t.Context()), db.Check(t.Context()), db.CheckIntegrity(t.Context())); err != nil || n != 0 {
			t.Errorf("erasing and checking: %d backups, %v", n, err)
		}
	})

	t.Run("detects what other programs changed", func(t *testing.T) {
		for name, tc := range map[string]struct{ sql, want string }{
			"a disabled trigger": {`ALTER TABLE t DISABLE TRIGGER t_fixed`, "t_fixed on t"},
			"an older copy":      {`DELETE FROM migrations WHERE owner = 'test'`, "older copy was restored"},
			"an update":          {`INSERT INTO migrations VALUES ('later', 1, 0)`, "newer version of Hob"},
			"an index half-way":  {`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 't_v'::regclass`, "t_v"},
			"only another row":   {`INSERT INTO t VALUES (1, 'x')`, ""},
		} {
			t.Run(name, func(t *testing.T) {
				url := create(t)
				db := openShared(t, url, testSets(`CREATE INDEX t_v ON t (v)`, `CREATE TRIGGER t_fixed BEFORE DELETE ON t BEGIN SELECT RAISE(ABORT, 'fixed'); END`)...)
				failOnError(t, server.Exec(t.Context(), url[strings.LastIndex(url, "/")+1:strings.Index(url, "?")], tc.sql))
				err := db.Check(t.Context())
				if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
					t.Errorf("Check = %v, want an error with %q", err, tc.want)
				}
			})
		}
	})

	t.Run("refuses a key that is too long for an index", func(t *testing.T) {
		db := openShared(t, create(t), testSets(`CREATE INDEX t_v ON t (v)`)...)
		long := make([]byte, 8000)
		_, _ = rand.Read(long)
		err := db.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(`INSERT INTO t VALUES (1, ?)`, hex.EncodeToString(long))
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "shorter name, key or path") || store.IsOutage(err) {
			t.Errorf("write = %v, want an error with the remedy", err)
		}
	})

	t.Run("stops writing when another instance has updated the tables", func(t *testing.T) {
		url := create(t)
		old := openShared(t, url)
		openShared(t, url, append(testSets(), store.MigrationSet{Owner: "later", Steps: []string{`CREATE TABLE later (a TEXT)`}})...)
		if err := old.Write(t.Context(), func(*store.Tx) error { return nil }); !errors.Is(err, store.ErrNewerSchema) {
			t.Errorf("write = %v, want ErrNewerSchema", err)
		}
	})

	t.Run("a failed migration changes nothing", func(t *testing.T) {
		url := create(t)
		if _, err := store.Open(t.Context(), tempPath(t), testSets(`CREATE TABLE u (a TEXT); CREATE nonsense`), store.Options{URL: url}); err == nil {
			t.Fatal("Open accepted a broken migration")
		}
		db := openShared(t, url)
		if countRows(t, db) != 0 {
			t.Error("the first tables were left behind")
		}
	})
}
