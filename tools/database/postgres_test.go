package database

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/autonomy/config"
	"hob/platform/host/denypaths"
	"hob/platform/net/nettest"
	"hob/tools"
)

func noPlaces(home string) *denypaths.Places {
	return denypaths.New(denypaths.Options{Home: home})
}

// postgresServer is a PostgreSQL server that the test starts with its own data folder.
type postgresServer struct {
	t              *testing.T
	bin, dir       string
	port           string
	user, password string // a user without special rights
}

// startPostgres starts the server, or skips the test if PostgreSQL is not installed. The server
// refuses to run as root; then it runs as another user.
func startPostgres(t *testing.T) *postgresServer {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		if path, err := exec.LookPath("initdb"); err == nil {
			found = append(found, path)
		} else {
			t.Skip("PostgreSQL is not installed")
		}
	}
	dir, err := os.MkdirTemp("", "hob-pg-") // t.TempDir is below folders that another user cannot enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &postgresServer{t: t, bin: filepath.Dir(found[len(found)-1]), dir: dir, port: nettest.FreePort(t), user: "reader", password: rand.Text()}
	if os.Geteuid() == 0 {
		if out, err := exec.CommandContext(t.Context(), "chown", "nobody", dir).CombinedOutput(); err != nil {
			t.Skipf("chown: %s", out)
		}
	}
	data := filepath.Join(dir, "data")
	s.runTool("initdb", "-D", data, "-U", "boss", "-A", "trust", "-N", "-E", "UTF8", "--locale=C")
	s.writeFile(filepath.Join(data, "pg_hba.conf"), "local all boss trust\nhost all all 127.0.0.1/32 scram-sha-256\n")
	server := s.newCommand("postgres", "-D", data, "-k", dir, "-p", s.port, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "shared_buffers=16MB")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	for range 100 {
		if s.newCommand("psql", "-h", dir, "-p", s.port, "-U", "boss", "-d", "postgres", "-c", "SELECT 1").Run() == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.runSQL(fmt.Sprintf("CREATE ROLE reader LOGIN PASSWORD '%s'; CREATE ROLE root_like SUPERUSER LOGIN PASSWORD '%s'", s.password, s.password))
	return s
}

func (s *postgresServer) newCommand(tool string, args ...string) *exec.Cmd {
	args = append([]string{filepath.Join(s.bin, tool)}, args...)
	if os.Geteuid() == 0 {
		args = append([]string{"setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--"}, args...)
	}
	c := exec.Command(args[0], args[1:]...)
	c.Dir, c.Env = s.dir, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + s.dir, "TZ=UTC"}
	return c
}

func (s *postgresServer) runTool(tool string, args ...string) string {
	s.t.Helper()
	out, err := s.newCommand(tool, args...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", tool, err, out)
	}
	return string(out)
}

func (s *postgresServer) writeFile(path, text string) {
	s.t.Helper()
	c := s.newCommand("psql")
	c.Args = append(c.Args[:len(c.Args)-1], "/bin/sh", "-c", "cat > "+path)
	if os.Geteuid() != 0 {
		c = exec.Command("/bin/sh", "-c", "cat > "+path)
	}
	c.Stdin = strings.NewReader(text)
	if out, err := c.CombinedOutput(); err != nil {
		s.t.Fatalf("write %s: %v\n%s", path, err, out)
	}
}

// runSQL runs statements as the administrator.
func (s *postgresServer) runSQL(text string) string {
	s.t.Helper()
	return strings.TrimSpace(s.runTool("psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", s.dir, "-p", s.port, "-U", "boss", "-d", "postgres", "-c", text))
}

func (s *postgresServer) configSection(user, more string) string {
	return fmt.Sprintf("[databases.crm]\nurl = \"postgres://%s@127.0.0.1:%s/postgres\"\npassword = \"keychain:pg\"\n%s", user, s.port, more)
}

func TestPostgres(t *testing.T) {
	s := startPostgres(t)
	s.runSQL(`CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL, tags text[], since timestamptz);
		CREATE TABLE orders (id int PRIMARY KEY, customer int REFERENCES customers, total numeric(10,2));
		COMMENT ON TABLE orders IS 'what they bought';
		CREATE TABLE private (x int); CREATE SEQUENCE counter;
		INSERT INTO customers VALUES (1, 'Ada', '{a,b}', '2026-01-02 03:04:05+00'), (2, 'Bob', NULL, NULL);
		INSERT INTO orders VALUES (1, 1, 12.50);
		CREATE FUNCTION sneaky() RETURNS int LANGUAGE sql VOLATILE AS 'SELECT 1';
		CREATE FUNCTION hidden(customers) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT 1';
		CREATE FUNCTION twice(i int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 2 * i';
		GRANT ALL ON customers, orders TO reader; GRANT ALL ON SEQUENCE counter TO reader`)
	b := newBench(t, t.TempDir(), s.configSection("reader", "max_rows = 3\ntimeout = \"20s\"\n"), s.password)

	t.Run("reads", func(t *testing.T) {
		for _, tc := range []struct {
			tool string
			args map[string]any
			want string
		}{
			{"describe_database", nil, "| orders | table |  | what they bought |\n2 rows."},
			{"describe_database", map[string]any{"table": "public.orders"}, "| customer | integer | FOREIGN KEY (customer) REFERENCES customers(id) |  |"},
			{"query_database", map[string]any{"sql": "SELECT name, tags, since AT TIME ZONE 'UTC' AS since FROM customers ORDER BY id"}, "| Ada | {a,b} | 2026-01-02 03:04:05 |\n| Bob | NULL | NULL |\n2 rows."},
			{"query_database", map[string]any{"sql": "SELECT twice($1), total FROM orders WHERE total > $2 AND customer = $3", "params": []string{"21", "1.5", "1"}}, "| 42 | 12.50 |"},
			{"query_database", map[string]any{"sql": "SELECT * FROM generate_series(1, 100000)"}, "Only the first 3 rows"},
			{"query_database", map[string]any{"sql": "SHOW transaction_read_only"}, "| on |"},
			{"query_database", map[string]any{"sql": "SELECT count(*), random() < 2 AS r FROM orders"}, "| 1 | t |"},
		} {
			if r, err := b.callTool(tc.tool, tc.args); err != nil || !strings.Contains(r.Text, tc.want) {
				t.Errorf("%s %v = %q, %v; want %q", tc.tool, tc.args, r.Text, err, tc.want)
			}
		}
	})

	t.Run("refuses writes", func(t *testing.T) {
		for _, text := range []string{
			"WITH x AS (DELETE FROM orders RETURNING 1) SELECT * FROM x", "SELECT * INTO copied FROM orders", "SELECT nextval('counter')", "SELECT * FROM orders FOR UPDATE",
			"EXPLAIN ANALYZE DELETE FROM orders", "SELECT set_config('transaction_read_only', 'off', false)", "SELECT pg_terminate_backend(1)", "SELECT sneaky()",
			"SELECT pg_advisory_lock(1)", "SELECT lo_import('/etc/passwd')", "SELECT * FROM private", "SELECT pg_notify('a', 'b')", "SELECT pg_switch_wal()", "SELECT c.hidden FROM customers c", `SELECT (c)."hidden" FROM customers c`,
		} {
			if r, err := b.queryDatabase(text); tools.CodeOf(err) != tools.PolicyDenied {
				t.Errorf("%s = %q, %v; want %s", text, r.Text, err, tools.PolicyDenied)
			}
		}
		if n := s.runSQL("SELECT count(*) FROM orders"); n != "1" {
			t.Errorf("orders = %s, want 1", n)
		}
	})

	// These statements bypass parseStatement, so that the server itself must refuse them.
	t.Run("is read-only in the server", func(t *testing.T) {
		cfg, err := config.Parse("config.toml", []byte(s.configSection("reader", "")))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"DELETE FROM orders", "SELECT 1; COMMIT; DELETE FROM orders", "SET TRANSACTION READ WRITE", "CREATE TEMP TABLE x AS SELECT 1", "COPY orders TO PROGRAM 'id'"} {
			e, err := openPostgres(t.Context(), cfg.Databases[0], s.password)
			if err != nil {
				t.Fatal(err)
			}
			var out table
			if err := e.runQuery(t.Context(), statement{text: text}, nil, &out); err == nil {
				t.Errorf("the server accepts %q", text)
			}
			e.closeConn(t.Context())
		}
		if n := s.runSQL("SELECT count(*) FROM orders"); n != "1" {
			t.Errorf("orders = %s, want 1", n)
		}
	})

	t.Run("stops a slow query", func(t *testing.T) {
		slow := newBench(t, t.TempDir(), s.configSection("reader", "timeout = \"1s\"\n"), s.password)
		if _, err := slow.queryDatabase("SELECT count(*) FROM generate_series(1, 2000000000)"); tools.CodeOf(err) != tools.TimedOut {
			t.Errorf("%v, want %s", err, tools.TimedOut)
		}
		for range 50 {
			if s.runSQL("SELECT count(*) FROM pg_stat_activity WHERE usename = 'reader' AND state = 'active'") == "0" {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Error("the query still runs in the server")
	})

	for name, tc := range map[string]struct{ section, password, want string }{
		"a superuser":           {s.configSection("root_like", ""), s.password, "CREATE ROLE hob_reader"},
		"a wrong password":      {s.configSection("reader", ""), "wrong", "refused the sign-in (28P01)"},
		"an unknown name":       {strings.Replace(s.configSection("reader", ""), "/postgres\"", "/none\"", 1), s.password, "does not exist on the server"},
		"an unreachable server": {strings.Replace(s.configSection("reader", ""), s.port, "1", 1), s.password, "no connection"},
		"a server without TLS":  {strings.Replace(s.configSection("reader", ""), "/postgres\"", "/postgres?sslmode=verify-full\"", 1), s.password, "TLS"},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			_, err := newBench(t, t.TempDir(), tc.section, tc.password).queryDatabase("SELECT 1")
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), s.password) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

func TestPostgres_IgnoresTheEnvironment(t *testing.T) {
	t.Setenv("PGHOST", "evil.example")
	t.Setenv("PGPASSWORD", "stolen")
	t.Setenv("PGOPTIONS", "-c default_transaction_read_only=off")
	cfg, err := config.Parse("config.toml", []byte("[databases.x]\nurl = \"postgres://ada@db.example.org/shop\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	pc, err := postgresConfig(cfg.Databases[0], "")
	if err != nil || pc.Host != "db.example.org" || pc.Port != 5432 || pc.User != "ada" || pc.Database != "shop" || pc.Password != "" || len(pc.Fallbacks) != 0 || len(pc.RuntimeParams) != 1 {
		t.Errorf("postgresConfig = %+v, %v", pc, err)
	}
	if pc.TLSConfig == nil || pc.TLSConfig.InsecureSkipVerify || pc.TLSConfig.ServerName != "db.example.org" {
		t.Error("a server on another machine must be verified")
	}
	t.Setenv("PGSERVICE", "other")
	if _, err := postgresConfig(cfg.Databases[0], ""); err == nil || !strings.Contains(err.Error(), "PGSERVICE") {
		t.Errorf("%v, want an error about PGSERVICE", err)
	}
}
