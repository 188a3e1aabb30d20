package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// ErrNotInstalled means that this machine has no PostgreSQL server.
var ErrNotInstalled = errors.New("PostgreSQL is not installed")

// Server is a PostgreSQL server on a port of this machine, with its files in a temporary folder. It
// ends with the process that started it.
type Server struct {
	Port     int
	bin, dir string
	asUser   []string // command that gives up the rights of root, which the server refuses
	others   []string // further addresses at which the server listens
	alive    io.Closer
	done     *exec.Cmd
}

// NewServer starts a server for a test, or skips the test if none is installed.
func NewServer(t testing.TB) *Server {
	t.Helper()
	s, err := startServer(context.WithoutCancel(t.Context()))
	if errors.Is(err, ErrNotInstalled) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// findBinaries returns the folder with the programs of the server.
func findBinaries() (string, error) {
	var dirs []string
	for _, name := range []string{"/usr/local/bin/postgres", "postgres"} {
		if p, err := exec.LookPath(name); err == nil {
			if p, err = filepath.EvalSymlinks(p); err == nil {
				dirs = append(dirs, filepath.Dir(p))
			}
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.Reverse(found)
	for _, d := range append(append(dirs, found...), "/opt/homebrew/opt/postgresql/bin") {
		_, err := os.Stat(filepath.Join(d, "initdb"))
		if _, perr := os.Stat(filepath.Join(d, "postgres")); err == nil && perr == nil {
			return d, nil
		}
	}
	return "", ErrNotInstalled
}

func startServer(ctx context.Context) (_ *Server, err error) {
	s := &Server{}
	if s.bin, err = findBinaries(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "hob-pg-"); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 {
		if err := s.giveUpRoot(); err != nil {
			return nil, err
		}
	}
	init := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", `exec "$@"`, "sh"}, append(s.asUser, filepath.Join(s.bin, "initdb"), "-D", s.dataDir(), "-U", "boss", "-A", "trust", "-N", "-E", "UTF8", "--locale=C")...)...)
	init.Env, init.Dir = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + s.dir, "TZ=UTC"}, s.dir
	if out, err := init.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	if s.Port, err = freePort(); err != nil {
		return nil, err
	}
	return s, s.Start(ctx)
}

// giveUpRoot lets the server run as an ordinary user.
func (s *Server) giveUpRoot() error {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uerr := strconv.Atoi(u.Uid)
		gid, gerr := strconv.Atoi(u.Gid)
		s.asUser = []string{"setpriv", "--reuid=" + u.Uid, "--regid=" + u.Gid, "--clear-groups", "--"}
		return errors.Join(uerr, gerr, os.Chown(s.dir, uid, gid))
	}
	return errors.New("no ordinary user for the database server")
}

// freePort returns a port below those of outgoing connections, so that it stays free while the server
// is stopped.
func freePort() (int, error) {
	for n := range 500 {
		port := 24_300 + (os.Getpid()*7+n*13)%6_000
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port)) //nolint:noctx // listens for an instant
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("no free port")
}

func (s *Server) dataDir() string { return filepath.Join(s.dir, "data") }

// Start starts the server and waits until it answers. The shell stops it when this process ends.
func (s *Server) Start(ctx context.Context) error {
	const script = `"$@" >>log 2>&1 & pid=$!; read stop; kill -${stop:-QUIT} $pid; wait $pid; [ -n "$stop" ] || rm -rf "$PWD"`
	args := append(s.asUser, filepath.Join(s.bin, "postgres"), "-D", s.dataDir(), "-c", "listen_addresses="+strings.Join(append([]string{"127.0.0.1"}, s.others...), ","), "-c", "port="+strconv.Itoa(s.Port),
		"-c", "unix_socket_directories="+s.dir, "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=100", "-c", "shared_buffers=32MB", "-c", "log_min_messages=warning")
	s.done = exec.CommandContext(context.WithoutCancel(ctx), "/bin/sh", append([]string{"-c", script, "sh"}, args...)...)
	s.done.Env, s.done.Dir = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + s.dir, "TZ=UTC"}, s.dir
	in, err := s.done.StdinPipe()
	if err != nil {
		return err
	}
	s.alive = in
	if err := s.done.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		if err = s.Exec(ctx, "postgres", "SELECT 1"); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			out, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("PostgreSQL does not start: %w: %s", err, out)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// ListenOn makes the server listen at further addresses, to which clients of the network may connect, from the
// next start on.
func (s *Server) ListenOn(network string, addresses ...string) error {
	f, err := os.OpenFile(filepath.Join(s.dataDir(), "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	s.others = append(s.others, addresses...)
	_, err = fmt.Fprintf(f, "host all all %s trust\n", network)
	return errors.Join(err, f.Close())
}

// Stop ends the server with a signal: INT disconnects the clients, QUIT also skips the clean end.
func (s *Server) Stop(signal string) error {
	if _, err := fmt.Fprintln(s.alive.(io.Writer), signal); err != nil {
		return err
	}
	return s.done.Wait()
}

// Close stops the server and removes its files.
func (s *Server) Close() {
	_ = s.alive.Close()
	_ = s.done.Wait() // a server that was stopped has been waited for
	_ = os.RemoveAll(s.dir)
}

// URL returns the address of a database for the superuser.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://boss@127.0.0.1:%d/%s?sslmode=disable", s.Port, database)
}

// Exec runs SQL as the superuser.
func (s *Server) Exec(ctx context.Context, database, sql string) error {
	return execAt(ctx, s.URL(database), sql)
}

// execAt runs SQL on a new connection.
func execAt(ctx context.Context, url, sql string) error {
	c, err := pgconn.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, sql).ReadAll()
	return errors.Join(err, c.Close(ctx))
}
