package app

import (
	"encoding/json"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"

	"hob/platform/host/system"
	"hob/platform/net/release"
	"hob/platform/net/safehttp/safehttptest"
)

// TestReleases checks that a user who enabled update checks is notified once of a newer version,
// and that no request is sent if they are disabled.
func TestReleases(t *testing.T) {
	pub, priv, err := minisign.GenerateKey(nil)
	failOnError(t, err)
	manifest, err := json.Marshal(map[string]any{
		"program": "hob", "version": "v1.4.0", "released": time.Now().Add(-time.Hour), "expires": time.Now().Add(time.Hour),
		"files": []map[string]any{{"os": runtime.GOOS, "arch": runtime.GOARCH, "kind": "archive", "url": "https://example.com/hob.tar.gz", "sha256": strings.Repeat("ab", 32), "size": 1}},
	})
	failOnError(t, err)
	n := safehttptest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".minisig") {
			_, _ = w.Write(minisign.Sign(priv, manifest))
			return
		}
		_, _ = w.Write(manifest)
	}))
	home := t.TempDir()
	t.Setenv("HOB_HOME", home)
	paths, err := system.DefaultPaths()
	failOnError(t, err)
	open := func(check string) *daemonFixture {
		return openWith(t, home, Options{
			Paths: paths, UserHome: home, Network: n.Options(), Version: "v1.3.0",
			Release: release.Source{URL: "https://example.com/latest.json", Key: pub.String()}, ReleaseDelay: time.Millisecond,
		}, "[agent]\nmodel = \"offline\"\n[web]\nlisten = \"127.0.0.1:0\"\n[update]\ncheck = "+check+"\n")
	}
	told := func(h *daemonFixture) (k int) {
		list, err := h.d.notices.List(t.Context(), "", "", 20)
		failOnError(t, err)
		for _, x := range list {
			text, err := h.d.notices.NoticeText(t.Context(), x)
			failOnError(t, err)
			if strings.Contains(text, "v1.4.0") && strings.Contains(text, "hob update --check") {
				k++
			}
		}
		return k
	}
	h := open("false")
	h.stop()
	if k := len(n.Heard()); k != 0 {
		t.Errorf("%d requests although no update check is configured", k)
	}
	h = open("true")
	waitUntil(t, "the notice", func() bool { return told(h) == 1 })
	h.stop()
	asked := len(n.Heard())
	h = open("true") // a restart on the same day
	if k := told(h); k != 1 || len(n.Heard()) != asked {
		t.Errorf("%d notices, %d further requests", k, len(n.Heard())-asked)
	}
}
