package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"hob/platform/store"
)

// Variable is the environment variable that chooses the database of the tests: "postgres", or the
// address of a server on which they may create databases. Without it they use files.
const Variable = "HOB_TEST_STORE"

// Open opens the database at path as store.Open does. If the tests run on PostgreSQL, each path has
// another database there, which stays when it is closed.
func Open(ctx context.Context, path string, sets []store.MigrationSet, opt store.Options) (*store.Store, error) {
	if !OnServer() {
		return store.Open(ctx, path, sets, opt)
	}
	var err error
	opt.SkipCheck = true // a test may run at a virtual time
	if opt.URL, err = databases.ensureDatabase(ctx, path, sets); err != nil {
		return nil, err
	}
	return store.Open(ctx, path, sets, opt)
}

// URL returns the address of the database that Open would open at path, for code that opens its store itself, or ""
// if the tests use files.
func URL(t testing.TB, path string, sets []store.MigrationSet) string {
	t.Helper()
	if !OnServer() {
		return ""
	}
	url, err := databases.ensureDatabase(context.WithoutCancel(t.Context()), path, sets)
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// OnServer reports whether the tests run on PostgreSQL.
func OnServer() bool { return os.Getenv(Variable) != "" }

// FileOnly skips a test about the file of SQLite when the tests run on PostgreSQL.
func FileOnly(t testing.TB, why string) {
	t.Helper()
	if OnServer() {
		t.Skip("only with SQLite: " + why)
	}
}

// databases are the databases of this process.
var databases = &pool{of: map[string]string{}, templates: map[string]bool{}} //nolint:gochecknoglobals // the server of the process

// pool creates a database for each path, as a copy of a template with the same migrations.
type pool struct {
	mu        sync.Mutex
	server    string            // address of the database postgres
	started   *Server           // keeps the pipe open whose end stops the server
	of        map[string]string // names of databases by path
	order     []string          // names, oldest first
	templates map[string]bool
	n         int
}

// keepDatabases is the number of databases that are kept for tests that open one again.
const keepDatabases = 60

func (p *pool) ensureDatabase(ctx context.Context, path string, sets []store.MigrationSet) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == "" {
		if p.server = os.Getenv(Variable); p.server == "postgres" {
			s, err := startServer(context.WithoutCancel(ctx))
			if err != nil {
				p.server = ""
				return "", err
			}
			p.started, p.server = s, s.URL("postgres")
		}
	}
	path = filepath.Clean(path)
	if name, ok := p.of[path]; ok {
		return p.urlOf(name), nil
	}
	template, err := p.ensureTemplate(ctx, sets)
	if err != nil {
		return "", err
	}
	p.n++
	name := fmt.Sprintf("test_%d_%d", os.Getpid(), p.n)
	if err := execAt(ctx, p.server, "CREATE DATABASE "+name+" TEMPLATE "+template+" STRATEGY file_copy"); err != nil {
		return "", err
	}
	p.of[path], p.order = name, append(p.order, name)
	if len(p.order) > keepDatabases {
		_ = execAt(ctx, p.server, "DROP DATABASE "+p.order[0]) // ignore the error of a database that is in use
		p.order = p.order[1:]
	}
	return p.urlOf(name), nil
}

// ensureTemplate returns the name of a database with these migrations that is not in use.
func (p *pool) ensureTemplate(ctx context.Context, sets []store.MigrationSet) (string, error) {
	h := sha256.New()
	for _, set := range sets {
		fmt.Fprintf(h, "%q %q\n", set.Owner, set.Steps)
	}
	name := fmt.Sprintf("template_%d_%s", os.Getpid(), hex.EncodeToString(h.Sum(nil)[:6]))
	if p.templates[name] {
		return name, nil
	}
	if err := execAt(ctx, p.server, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	s, err := store.Open(ctx, filepath.Join(os.TempDir(), "none.db"), sets, store.Options{URL: p.urlOf(name), SkipCheck: true})
	if err != nil { // the test wants to see this error
		return "template1", nil
	}
	p.templates[name] = true
	return name, s.Close()
}

func (p *pool) urlOf(name string) string {
	u, err := url.Parse(p.server)
	if err != nil {
		return p.server
	}
	u.Path = "/" + name
	return u.String()
}
