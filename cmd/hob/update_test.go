package main

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"aead.dev/minisign"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestUpdate runs `hob update --check` against a TLS server with valid and invalid answers.
func TestUpdate(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux reads the test's certificate from a variable")
	}
	pub, priv, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	manifest := func(version string, expires time.Duration) []byte {
		b, err := json.Marshal(map[string]any{
			"program": "hob", "version": version, "released": time.Now().Add(-24 * time.Hour), "expires": time.Now().Add(expires), "notes": "Mends things.",
			"files": []map[string]any{{"os": runtime.GOOS, "arch": runtime.GOARCH, "kind": "archive", "url": "https://example.com/hob.tar.gz", "sha256": strings.Repeat("ab", 32), "size": 1}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	answers := map[string][]byte{
		"/new.json": manifest("v999.0.0", time.Hour), "/same.json": manifest("v1.0.0", time.Hour),
		"/old.json": manifest("v0.9.0", time.Hour), "/stale.json": manifest("v999.0.0", -time.Hour),
	}
	for path, b := range answers {
		answers[path+".minisig"] = minisign.Sign(priv, b)
	}
	answers["/forged.json"], answers["/forged.json.minisig"] = answers["/new.json"], answers["/same.json.minisig"]
	answers["/older.json"] = manifest("v998.0.0", time.Hour)
	answers["/older.json.minisig"] = minisign.Sign(priv, answers["/older.json"])
	asked := atomic.Int32{} // number of requests for /replayed.json; the first one is for the signature
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if what, ok := strings.CutPrefix(r.URL.Path, "/replayed.json"); ok { // serves the newest version first, and then an older one
			r.URL.Path = "/new.json" + what
			if asked.Add(1) > 2 {
				r.URL.Path = "/older.json" + what
			}
		}
		b, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(b)
	}))
	t.Cleanup(srv.Close)
	cert := filepath.Join(t.TempDir(), "cert.pem")
	if err := os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/update", ContinueOnError: true,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "hob")
			e.Setenv("HOB_HOME", home)
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("SSL_CERT_FILE", cert)
			e.Setenv("SERVER", srv.URL)
			e.Setenv("HOST", strings.TrimPrefix(srv.URL, "https://"))
			e.Setenv("KEY", pub.String())
			return nil
		},
	})
}
