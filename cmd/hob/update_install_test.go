package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aead.dev/minisign"

	"hob/cmd/hob/internal/app"
	"hob/platform/host/system"
	"hob/platform/store"
	"hob/platform/store/snapshot"
	"hob/platform/store/upgrade"
)

// releaseServer publishes one version at a time, signed.
type releaseServer struct {
	*httptest.Server
	t    *testing.T
	pub  string
	priv minisign.PrivateKey
	mu   sync.Mutex
	data map[string][]byte
}

func newReleaseServer(t *testing.T) *releaseServer {
	t.Helper()
	pub, priv, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &releaseServer{t: t, pub: pub.String(), priv: priv, data: map[string][]byte{}}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		b, ok := s.data[r.URL.Path]
		s.mu.Unlock()
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(b)
	}))
	t.Cleanup(s.Close)
	return s
}

// publishVersion makes a program the newest version. With damage, the server sends a changed archive.
func (s *releaseServer) publishVersion(version string, program []byte, damage bool) {
	s.t.Helper()
	var archive bytes.Buffer
	z, err := gzip.NewWriterLevel(&archive, gzip.BestSpeed)
	if err != nil {
		s.t.Fatal(err)
	}
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "hob_" + version + "/hob", Mode: 0o755, Size: int64(len(program))}); err != nil {
		s.t.Fatal(err)
	}
	if _, err := w.Write(program); err != nil {
		s.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		s.t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		s.t.Fatal(err)
	}
	sum := sha256.Sum256(archive.Bytes())
	size := archive.Len()
	b := archive.Bytes()
	if damage {
		b = bytes.Clone(b)
		b[len(b)/2] ^= 1
	}
	manifest, err := json.Marshal(map[string]any{
		"program": "hob", "version": version, "released": time.Now().Add(-time.Hour), "expires": time.Now().Add(time.Hour),
		"files": []map[string]any{{"os": runtime.GOOS, "arch": runtime.GOARCH, "kind": "archive", "url": s.URL + "/hob.tar.gz", "sha256": hex.EncodeToString(sum[:]), "size": size}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data = map[string][]byte{"/latest.json": manifest, "/latest.json.minisig": minisign.Sign(s.priv, manifest), "/hob.tar.gz": b}
}

// TestUpdate_Installs runs real programs: it updates one while its daemon runs, goes back, and rejects
// what it must not install.
func TestUpdate_Installs(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux reads the test's certificate from a variable")
	}
	t.Parallel()
	dir := t.TempDir()
	build := func(version string) []byte {
		to := filepath.Join(dir, "build")
		cmd := exec.Command("go", "build", "-ldflags", "-s -w -X hob/platform/failpoint.enabled=yes -X main.version="+version, "-o", to, "hob/cmd/hob")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		b, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	first, second := build("v1.0.0"), build("v1.1.0")
	s := newReleaseServer(t)
	home, bin := filepath.Join(dir, "home"), filepath.Join(dir, "bin", "hob")
	cert := filepath.Join(dir, "cert.pem")
	write := func(name string, b []byte, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, b, mode); err != nil {
			t.Fatal(err)
		}
	}
	write(bin, first, 0o755)
	write(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600)
	write(filepath.Join(home, "config.toml"), fmt.Appendf(nil, "[agent]\nmodel = \"offline\"\n[web]\nlisten = \"127.0.0.1:0\"\n[network]\nallow = [%q]\n[update]\nurl = %q\nkey = %q\n",
		strings.TrimPrefix(s.URL, "https://"), s.URL+"/latest.json", s.pub), 0o600)
	env := append(os.Environ(), "HOB_HOME="+home, "HOME="+dir, "SSL_CERT_FILE="+cert)
	hob := func(args ...string) (string, bool) {
		cmd := exec.Command(bin, args...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		return string(out), err == nil
	}
	expect := func(ok bool, want string, args ...string) {
		t.Helper()
		out, worked := hob(args...)
		if worked != ok || !strings.Contains(out, want) {
			t.Fatalf("hob %s: worked = %v, want %v and %q:\n%s", strings.Join(args, " "), worked, ok, want, out)
		}
	}
	t.Cleanup(func() { hob("stop") })
	expect(true, "Hob is ready", "start")

	s.publishVersion("v1.1.0", second, true)
	expect(false, "wrong size or checksum", "update")
	expect(true, "hob v1.0.0", "version")
	s.publishVersion("v1.1.0", []byte("#!/bin/sh\necho '{\"version\": \"v0.9.0\"}'\n"), false)
	expect(false, `the downloaded program is version "v0.9.0"`, "update")
	// If a version cannot start, the running version is restored and runs again.
	s.publishVersion("v1.1.0", []byte("#!/bin/sh\n[ \"$1\" = version ] || { echo broken; exit 1; }\necho '{\"version\": \"v1.1.0\"}'\n"), false)
	expect(false, "did not start, so the current version was restored", "update")
	expect(true, "hob v1.0.0", "version")
	expect(true, "Hob was already running", "start")

	// The new version migrates the database and then fails, before or after it confirmed the
	// upgrade.
	for _, confirm := range []string{"", "confirm"} {
		s.publishVersion("v1.1.0", fmt.Appendf(nil, "#!/bin/sh\n[ \"$1\" = version ] || { HOB_TEST_FAILING_VERSION=%s HOB_TEST_CONFIRM=%s exec %s -test.run='^TestHelperFailingVersion$'; }\necho '{\"version\": \"v1.1.0\"}'\n", home, confirm, os.Args[0]), false)
		expect(false, "did not start, so the current version was restored and runs again", "update")
		expect(true, "hob v1.0.0", "version")
		expect(true, "Hob was already running", "start")
	}

	s.publishVersion("v1.1.0", second, false)
	// The command is killed at each of its steps. Then Hob runs again as the old or the new
	// version, and the next update or rollback works.
	for _, tc := range []struct {
		point   string
		stopped bool   // no daemon runs, so the command itself replaces the program
		want    string // the installed version after the kill
	}{
		{point: "update.staged", want: "v1.0.0"},
		{point: "update.staged", stopped: true, want: "v1.0.0"},
		{point: "update.kept", stopped: true, want: "v1.0.0"},
		{point: "update.replaced", stopped: true, want: "v1.1.0"},
		{point: "update.done", stopped: true, want: "v1.1.0"},
	} {
		if tc.stopped {
			expect(true, "stopped", "stop")
		}
		cmd := exec.Command(bin, "update")
		cmd.Env = append(slices.Clone(env), "HOB_FAILPOINT="+tc.point+":1")
		out, err := cmd.CombinedOutput()
		if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.ExitCode() != -1 {
			t.Fatalf("%s: the command was not killed: %v\n%s", tc.point, err, out)
		}
		expect(true, "hob "+tc.want, "version")
		expect(true, map[bool]string{true: "Hob is ready", false: "Hob was already running"}[tc.stopped], "start")
		if tc.want == "v1.0.0" {
			expect(true, "Updated Hob from v1.0.0 to v1.1.0.", "update")
		}
		expect(true, "Rolled back Hob from v1.1.0 to v1.0.0.\nHob runs again.", "update", "--rollback")
		if _, err := os.Stat(bin + ".new"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the download remains: %v", tc.point, err)
		}
	}
	expect(true, "Updated Hob from v1.0.0 to v1.1.0. Go back with: hob update --rollback\nHob runs again.", "update")
	expect(true, "hob v1.1.0", "version")
	expect(true, "Hob was already running", "start")
	expect(true, "is the newest version", "update")
	expect(true, "Rolled back Hob from v1.1.0 to v1.0.0.\nHob runs again.", "update", "--rollback")
	expect(true, "hob v1.0.0", "version")
	expect(true, "Rolled back Hob from v1.0.0 to v1.1.0.", "update", "--rollback")
	// If the replacement fails after Hob was stopped, Hob runs again.
	write(bin+".previous", []byte("#!/bin/sh\nmkdir -p $(dirname $0)/hob.old/x\necho '{\"version\": \"v1.0.0\", \"schema\": {}}'\n"), 0o755)
	expect(false, "finish an interrupted update", "update", "--rollback")
	expect(true, "Hob was already running", "start")
	if err := os.RemoveAll(bin + ".old"); err != nil {
		t.Fatal(err)
	}
	write(bin+".previous", first, 0o755)
	expect(true, "stopped", "stop")

	// The previous version cannot open the migrated database.
	p := system.Paths{Home: home, Data: home, Logs: filepath.Join(home, "logs"), Runtime: filepath.Join(home, "run")}
	snap, err := snapshot.Create(t.Context(), snapshot.Options{Paths: p, Version: "v1.0.0", Reason: snapshot.Upgrade})
	if err != nil {
		t.Fatal(err)
	}
	addFutureSchema(t, p.Database())
	expect(false, "hob restore "+snap.Name, "task", "list")
	expect(true, "hob restore "+snap.Name, "update", "--rollback")
	expect(true, "hob v1.0.0", "version")
}

// TestHelperFailingVersion acts as a program that migrates the database and then fails.
func TestHelperFailingVersion(t *testing.T) {
	home := os.Getenv("HOB_TEST_FAILING_VERSION")
	if home == "" {
		t.Skip("runs within TestUpdate_Installs")
	}
	p := system.Paths{Home: home, Data: home, Logs: filepath.Join(home, "logs"), Runtime: filepath.Join(home, "run")}
	sets := append(app.Migrations(), store.MigrationSet{Owner: "future", Steps: []string{"CREATE TABLE future (x)"}})
	up := upgrade.New(upgrade.Options{Paths: p, Sets: sets, Version: "v1.1.0", Log: slog.New(slog.DiscardHandler), Trial: func(context.Context, system.Paths) error { return nil }})
	st, err := store.Open(t.Context(), p.Database(), sets, store.Options{BeforeMigration: up.Prepare})
	if err == nil {
		err = errors.Join(up.MarkOpened(), st.Close())
	}
	if os.Getenv("HOB_TEST_CONFIRM") != "" {
		err = errors.Join(err, up.Finish(t.Context(), nil))
	}
	t.Fatal("the new version failed after the migration", err)
}

// addFutureSchema marks a database as migrated by a later version.
func addFutureSchema(t *testing.T, path string) {
	t.Helper()
	schema, err := store.SchemaOf(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	sets := []store.MigrationSet{{Owner: "future", Steps: []string{"CREATE TABLE future (x)"}}}
	for owner, v := range schema {
		sets = append(sets, store.MigrationSet{Owner: owner, Steps: make([]string, v)})
	}
	st, err := store.Open(t.Context(), path, sets, store.Options{BackupDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}
