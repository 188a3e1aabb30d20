//go:build unix

package crash

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hob/cmd/hob/internal/app"
	"hob/platform/store"
	"hob/platform/store/snapshot"
)

// The archives in testdata/homes are homes created by old versions, one for each schema since
// commit b2fd773; an archive is named after the commit that created it.
// TestUpgrade_HasHomeOfCurrentSchema fails after a new migration until -update has added an
// archive. Add rows to the migration's new tables before you commit the archive.

var updateHomes = flag.Bool("update", false, "write a home with the current schema to testdata/homes")

// archivedFiles lists the files in an archive; some may be missing.
var archivedFiles = []string{"hob.db", "config.toml", "SOUL.md", "USER.md", "MEMORY.md", "audit.key", "audit.anchor", "tombstones"}

func TestUpgrade_HasHomeOfCurrentSchema(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/homes/*.tar.gz")
	failOnError(t, err)
	newest, highest := "", -1
	for _, archive := range archives {
		dir := t.TempDir()
		failOnError(t, unpackHome(archive, dir))
		schema, err := store.SchemaOf(t.Context(), filepath.Join(dir, "hob.db"))
		failOnError(t, err)
		if maps.Equal(schema, store.Versions(app.Migrations())) {
			return
		}
		sum := 0
		for _, v := range schema {
			sum += v
		}
		if sum > highest {
			newest, highest = dir, sum
		}
	}
	if !*updateHomes {
		t.Fatal("no archive in testdata/homes has the current schema; add one: go test ./cmd/hob/internal/crash -run TestUpgrade_HasHomeOfCurrentSchema -update")
	}
	bin, err := program()
	failOnError(t, err)
	r := &upgradeRun{t: t, bin: bin}
	out, err := r.runTasks(newest)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	commit, err := exec.CommandContext(t.Context(), "git", "rev-parse", "--short=8", "HEAD").Output()
	failOnError(t, err)
	failOnError(t, packHome(newest, filepath.Join("testdata", "homes", strings.TrimSpace(string(commit))+".tar.gz")))
}

func packHome(dir, archive string) error {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, name := range archivedFiles {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text)), Format: tar.FormatPAX})
		}
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			return err
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		return err
	}
	return os.WriteFile(archive, b.Bytes(), 0o600)
}

// brokenConfig makes the program fail after it has migrated the database.
const brokenConfig = "[agents.x]\nmodel = \"nosuch/x\"\n"

// TestUpgrade_KilledAtAnyStep checks that each kill leaves the old or the new home, and that the
// next start finishes the upgrade or undoes it. HOB_UPGRADE_KILLS (default 8; 300 with
// HOB_TEST_LONG) and HOB_CRASH_SEED choose the run.
func TestUpgrade_KilledAtAnyStep(t *testing.T) {
	t.Parallel()
	kills := 8
	if os.Getenv("HOB_TEST_LONG") != "" {
		kills = 300
	}
	kills = envNumber("HOB_UPGRADE_KILLS", kills)
	bin, err := program()
	failOnError(t, err)
	archives, err := filepath.Glob("testdata/homes/*.tar.gz")
	failOnError(t, err)
	r := &upgradeRun{t: t, bin: bin, points: map[string]int{}, ends: map[string]int{}}
	var cases []*oldHome
	for _, archive := range archives {
		for _, config := range []string{"", brokenConfig} {
			if h := r.openArchive(archive, config); h != nil {
				cases = append(cases, h)
			}
		}
	}
	rnd := rand.New(rand.NewPCG(uint64(envNumber("HOB_CRASH_SEED", 1)), 2))
	began := time.Now()
	var workers sync.WaitGroup
	jobs := make(chan upgradeKill)
	for range 2 {
		workers.Go(func() {
			for k := range jobs {
				r.killAndFinish(k)
			}
		})
	}
	for n := range kills {
		of := cases[n%len(cases)]
		k := upgradeKill{of: of, hit: of.chooseHit(rnd)}
		if n%4 == 3 {
			k.after = time.Duration(rnd.Int64N(int64(of.took)))
		}
		jobs <- k
	}
	close(jobs)
	workers.Wait()
	r.writeReport(len(cases)/2, kills, time.Since(began))
}

// oldHome is an unpacked archive, with the results of an upgrade without a kill.
type oldHome struct {
	name   string
	dir    string
	broken bool
	schema map[string]int
	points []string // failpoints of an upgrade, in order
	took   time.Duration
}

// chooseHit returns the number of a random hit. Each failpoint has the same chance, regardless of
// its number of hits.
func (h *oldHome) chooseHit(rnd *rand.Rand) int {
	names := slices.Compact(slices.Sorted(slices.Values(h.points)))
	name := names[rnd.IntN(len(names))]
	var hits []int
	for n, p := range h.points {
		if p == name {
			hits = append(hits, n+1)
		}
	}
	return hits[rnd.IntN(len(hits))]
}

// upgradeKill is one kill: at a failpoint hit with this number, or after a time.
type upgradeKill struct {
	of    *oldHome
	hit   int
	after time.Duration
}

type upgradeRun struct {
	t      *testing.T
	bin    string
	mu     sync.Mutex
	points map[string]int // kills by failpoint
	ends   map[string]int // states right after a kill
	lost   int
}

// openArchive unpacks a home, upgrades a copy without a kill and checks the result. It returns nil for
// a home with the current schema.
func (r *upgradeRun) openArchive(archive, config string) *oldHome {
	t := r.t
	t.Helper()
	h := &oldHome{name: strings.TrimSuffix(filepath.Base(archive), ".tar.gz"), dir: t.TempDir(), broken: config != ""}
	failOnError(t, unpackHome(archive, h.dir))
	f, err := os.OpenFile(filepath.Join(h.dir, "config.toml"), os.O_APPEND|os.O_WRONLY, 0o600)
	failOnError(t, err)
	_, err = f.WriteString(config)
	failOnError(t, errors.Join(err, f.Close()))
	h.schema, err = store.SchemaOf(t.Context(), filepath.Join(h.dir, "hob.db"))
	failOnError(t, err)
	if maps.Equal(h.schema, store.Versions(app.Migrations())) {
		return nil // the home has the current schema
	}
	dir, log := t.TempDir(), filepath.Join(t.TempDir(), "points")
	failOnError(t, os.CopyFS(dir, os.DirFS(h.dir)))
	began := time.Now()
	out, err := r.runTasks(dir, "HOB_FAILPOINT_LOG="+log)
	h.took = time.Since(began)
	if (err == nil) == h.broken {
		t.Fatalf("%s: upgrade without a kill: %v\n%s", h.name, err, out)
	}
	b, err := os.ReadFile(log)
	failOnError(t, err)
	h.points = strings.Fields(string(b))
	if problem := r.checkFinished(h, dir, out); problem != "" {
		t.Fatalf("%s: upgrade without a kill: %s", h.name, problem)
	}
	return h
}

func unpackHome(archive, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		b, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(h.Name)), b, 0o600); err != nil {
			return err
		}
	}
}

// taskCommand returns a command that opens the home and thereby upgrades it.
func (r *upgradeRun) taskCommand(ctx context.Context, dir string, env ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.CommandContext(ctx, r.bin, "task", "list", "--json")
	cmd.Env = append(append(os.Environ(), "HOB_HOME="+dir, "HOME="+dir, "TZ=UTC"), env...)
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out
}

func (r *upgradeRun) runTasks(dir string, env ...string) (string, error) {
	ctx, cancel := context.WithTimeout(r.t.Context(), 2*time.Minute)
	defer cancel()
	cmd, out := r.taskCommand(ctx, dir, env...)
	err := cmd.Run()
	return out.String(), err
}

// killAndFinish upgrades a copy of a home, kills the program, checks that the home is old or new, and
// lets the next start finish.
func (r *upgradeRun) killAndFinish(k upgradeKill) {
	dir, err := os.MkdirTemp(r.t.TempDir(), "home-")
	if err == nil {
		err = os.CopyFS(dir, os.DirFS(k.of.dir))
	}
	if err != nil {
		r.t.Error(err)
		return
	}
	defer os.RemoveAll(dir)
	where := r.killUpgrade(k, dir)
	state, problem := r.stateOf(k.of, dir)
	if problem == "" {
		out, err := r.runTasks(dir)
		if (err == nil) == k.of.broken {
			problem = fmt.Sprintf("the next start: %v: %s", err, out)
		} else {
			problem = r.checkFinished(k.of, dir, out)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.points[where]++
	r.ends[state]++
	if problem != "" {
		r.lost++
		r.t.Errorf("%s (broken: %v), killed at %s: %s", k.of.name, k.of.broken, where, problem)
	}
}

// killUpgrade runs the upgrade and returns where it was killed.
func (r *upgradeRun) killUpgrade(k upgradeKill, dir string) string {
	ctx, cancel := context.WithTimeout(r.t.Context(), 2*time.Minute)
	defer cancel()
	if k.after == 0 {
		cmd, out := r.taskCommand(ctx, dir, fmt.Sprintf("HOB_FAILPOINT=*:%d", k.hit))
		err := cmd.Run()
		if ee, ok := errors.AsType[*exec.ExitError](err); ok && ee.Sys().(syscall.WaitStatus).Signaled() {
			return k.of.points[k.hit-1]
		}
		if err == nil == k.of.broken { // the upgrade ended before this hit, because the number of hits depends on scheduling
			r.t.Errorf("%s: %v: %s", k.of.name, err, out)
		}
		return "(ended)"
	}
	cmd, _ := r.taskCommand(ctx, dir)
	if err := cmd.Start(); err != nil {
		r.t.Error(err)
		return "(not started)"
	}
	time.Sleep(k.after)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return "(any instant)"
}

// stateOf returns "old", "new" or "damaged", and the problem with the database if there is one.
func (r *upgradeRun) stateOf(h *oldHome, dir string) (state, problem string) {
	c, err := store.Inspect(r.t.Context(), filepath.Join(dir, "hob.db"))
	if err != nil {
		return "damaged", err.Error()
	}
	switch {
	case maps.Equal(c.Schema, h.schema):
		state = "old"
	case maps.Equal(c.Schema, store.Versions(app.Migrations())):
		state = "new"
	default:
		return "mixed", fmt.Sprintf("schema %v is neither old nor new", c.Schema)
	}
	lost, err := lostRows(r.t.Context(), filepath.Join(h.dir, "hob.db"), filepath.Join(dir, "hob.db"), comparisonWhileRunning)
	if err != nil {
		return state, err.Error()
	}
	return state, lost
}

// checkFinished checks a home after a start that was not killed: upgraded, or as before if the program
// could not open it.
func (r *upgradeRun) checkFinished(h *oldHome, dir, out string) string {
	state, problem := r.stateOf(h, dir)
	want := "new"
	if h.broken {
		want = "old"
	}
	list, err := snapshot.List(filepath.Join(dir, "backups"))
	switch {
	case problem != "":
		return problem
	case state != want:
		return fmt.Sprintf("the home is %s, want %s: %s", state, want, out)
	case h.broken && !strings.Contains(out, "your data is the same as before the upgrade"):
		return "the reason is not reported: " + out
	case !h.broken && strings.Count(out, `"title"`) != 6:
		return "tasks are missing: " + out
	case err != nil || len(list) == 0:
		return fmt.Sprintf("no snapshot: %v", err)
	}
	for _, name := range []string{"upgrade.json", "upgrade-trial", "hob.db.restoring"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return name + " is left"
		}
	}
	if err := list[0].Verify(r.t.Context()); err != nil {
		return err.Error()
	}
	return ""
}

// TestUpgrade_MigrationsKeepEveryRow compares each row of each table before and after the migrations.
func TestUpgrade_MigrationsKeepEveryRow(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/homes/*.tar.gz")
	failOnError(t, err)
	unguarded := func(context.Context, store.Migration) error { return nil }
	for _, archive := range archives {
		before, after := t.TempDir(), t.TempDir()
		failOnError(t, unpackHome(archive, before))
		failOnError(t, unpackHome(archive, after))
		st, err := store.Open(t.Context(), filepath.Join(after, "hob.db"), app.Migrations(), store.Options{BeforeMigration: unguarded})
		failOnError(t, err)
		failOnError(t, st.Close())
		lost, err := lostRows(t.Context(), filepath.Join(before, "hob.db"), filepath.Join(after, "hob.db"), func(string) rowComparison { return wholeRow })
		failOnError(t, err)
		if lost != "" {
			t.Errorf("%s: %s", archive, lost)
		}
	}
}

// TestUpgrade_DeclaresRowChanges upgrades step by step, so that each step finds the tables that
// earlier steps created. A step that drops such a table must declare the row changes.
func TestUpgrade_DeclaresRowChanges(t *testing.T) {
	t.Parallel()
	unguarded := func(context.Context, store.Migration) error { return nil }
	path := filepath.Join(t.TempDir(), "hob.db")
	for n, more := 1, true; more; n++ {
		sets := app.Migrations()
		more = false
		for i, set := range sets {
			more = more || len(set.Steps) > n
			sets[i].Steps = set.Steps[:min(n, len(set.Steps))]
		}
		if more { // the migrations of claims need the last step of knowledge
			sets = slices.DeleteFunc(sets, func(set store.MigrationSet) bool { return set.Owner == "claims" })
		}
		st, err := store.Open(t.Context(), path, sets, store.Options{BeforeMigration: unguarded})
		if err != nil {
			t.Fatalf("step %d: %v", n, err)
		}
		failOnError(t, st.Close())
	}
}

// rowComparison says which columns of the old rows must be kept.
type rowComparison int

const (
	wholeRow rowComparison = iota
	keyOnly                // other columns change over time
	noRow                  // rows are removed over time or derived from other data
)

// comparisonWhileRunning returns which columns of a table must be kept when the program starts.
func comparisonWhileRunning(table string) rowComparison {
	switch {
	case slices.Contains([]string{"tasks", "notes", "facts", "claims", "docs", "expenses", "habits", "messages", "audit", "guard_key", "ledger", "migrations"}, table):
		return wholeRow
	case slices.Contains([]string{"derived", "doc_changes", "graph_state", "turns", "ticks", "outbox_shown"}, table):
		return noRow
	}
	return keyOnly
}

// lostRows returns the first table that lacks a row of the old database. It compares the columns of
// the old table.
func lostRows(ctx context.Context, before, after string, compare func(table string) rowComparison) (string, error) {
	db, err := sql.Open("sqlite", "file:"+after+"?mode=ro")
	if err != nil {
		return "", err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "ATTACH ? AS old", "file:"+before+"?mode=ro"); err != nil {
		return "", err
	}
	columns, err := comparedColumns(ctx, conn, compare)
	if err != nil {
		return "", err
	}
	for _, table := range slices.Sorted(maps.Keys(columns)) {
		list := strings.Join(columns[table], ", ")
		var n int
		if err := conn.QueryRowContext(ctx, fmt.Sprintf(`SELECT count(*) FROM (SELECT %[1]s FROM old.%[2]s EXCEPT SELECT %[1]s FROM main.%[2]s)`, list, table)).Scan(&n); err != nil {
			return "", fmt.Errorf("compare %s: %w", table, err)
		}
		if n > 0 {
			return fmt.Sprintf("%d rows of %s are lost or changed", n, table), nil
		}
	}
	return "", nil
}

// comparedColumns returns the columns of each table of the old database to compare.
func comparedColumns(ctx context.Context, conn *sql.Conn, compare func(table string) rowComparison) (map[string][]string, error) {
	rows, err := conn.QueryContext(ctx, `SELECT t.name, c.name, c.pk FROM old.sqlite_master t, pragma_table_info(t.name, 'old') c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%' ORDER BY t.name, c.cid`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns := map[string][]string{}
	for rows.Next() {
		var table, column string
		var key int
		if err := rows.Scan(&table, &column, &key); err != nil {
			return nil, err
		}
		if how := compare(table); how == wholeRow || how == keyOnly && key > 0 {
			columns[table] = append(columns[table], `"`+column+`"`)
		}
	}
	return columns, rows.Err()
}

func (r *upgradeRun) writeReport(versions, kills int, took time.Duration) {
	var b strings.Builder
	fmt.Fprintf(&b, "| what | count |\n|---|---:|\n| older schemas | %d |\n| kills (SIGKILL) | %d |\n| homes lost | %d |\n", versions, kills, r.lost)
	for _, state := range slices.Sorted(maps.Keys(r.ends)) {
		fmt.Fprintf(&b, "| homes %s right after the kill | %d |\n", state, r.ends[state])
	}
	for _, p := range slices.Sorted(maps.Keys(r.points)) {
		fmt.Fprintf(&b, "| kills at `%s` | %d |\n", p, r.points[p])
	}
	r.t.Logf("%s\n%s", took.Round(time.Second), b.String())
}
