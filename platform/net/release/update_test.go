package release

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"

	"hob/platform/net/safehttp/safehttptest"
)

// testTime returns the current time in the tests.
func testTime() time.Time { return time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC) }

func validManifest() map[string]any {
	return map[string]any{
		"program": "hob", "version": "v1.4.0", "released": "2026-06-20T10:00:00Z", "expires": "2026-12-20T10:00:00Z",
		"notes": "Faster.\nAnd it\x1b[31m mends\u202e things.", "page": "https://example.com/hob/v1.4.0", "later": "a key of the future",
		"files": []map[string]any{
			{"os": "linux", "arch": "amd64", "kind": "archive", "url": "https://example.com/hob_1.4.0_linux_amd64.tar.gz", "sha256": strings.Repeat("ab", 32), "size": 20},
			{"os": "linux", "arch": "amd64", "kind": "deb", "url": "https://example.com/hob_1.4.0_amd64.deb?x=$(reboot)", "sha256": strings.Repeat("cd", 32), "size": 21},
			{"os": "windows", "arch": "amd64", "kind": "archive", "url": "https://example.com/hob_1.4.0_windows_amd64.zip", "sha256": strings.Repeat("ef", 32), "size": 22},
		},
	}
}

// project holds the project's signing keys.
type project struct {
	pub  string
	priv minisign.PrivateKey
}

func newProject(t testing.TB) project {
	t.Helper()
	pub, priv, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return project{pub.String(), priv}
}

func marshalJSON(t testing.TB, m any) []byte {
	t.Helper()
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func manifestWith(key string, v any) map[string]any {
	m := validManifest()
	m[key] = v
	return m
}

func TestCheck(t *testing.T) {
	p, stranger := newProject(t), newProject(t)
	good := marshalJSON(t, validManifest())
	type served struct{ manifest, signature []byte }
	signed := func(b []byte) served { return served{b, minisign.Sign(p.priv, b)} }
	tests := []struct {
		name    string
		serve   served
		version string
		os      string
		want    error // nil if the manifest is accepted
		newer   bool
	}{
		{"a newer one", signed(good), "v1.3.9", "linux", nil, true},
		{"the same", signed(good), "v1.4.0", "linux", nil, false},
		{"built after the newest", signed(good), "v1.4.0-3-gabcdef0-dirty", "linux", nil, false},
		{"running its release candidate", signed(good), "v1.4.0-rc.1", "linux", nil, true},
		{"built from no release", signed(good), "d9fa73f", "linux", nil, false},
		{"rolled back", signed(good), "v1.4.1", "linux", ErrRollback, false},
		{"signature of another key", served{good, minisign.Sign(stranger.priv, good)}, "v1.3.9", "linux", ErrSignature, false},
		{"changed after signing", served{[]byte(strings.Replace(string(good), "v1.4.0", "v1.5.0", 1)), minisign.Sign(p.priv, good)}, "v1.3.9", "linux", ErrSignature, false},
		{"no signature", served{good, nil}, "v1.3.9", "linux", ErrSignature, false},
		{"a signature of nonsense", served{good, []byte(strings.Repeat("untrusted comment: \n", 4))}, "v1.3.9", "linux", ErrSignature, false},
		{"a signed picture", signed([]byte("GIF89a")), "v1.3.9", "linux", ErrFormat, false},
		{"of another program", signed(marshalJSON(t, manifestWith("program", "brownie"))), "v1.3.9", "linux", ErrFormat, false},
		{"no version", signed(marshalJSON(t, manifestWith("version", "newest"))), "v1.3.9", "linux", ErrFormat, false},
		{"half a version", signed(marshalJSON(t, manifestWith("version", "v2"))), "v1.3.9", "linux", ErrFormat, false},
		{"two manifests", signed(append(good, good...)), "v1.3.9", "linux", ErrFormat, false},
		{"a page that is a script", signed(marshalJSON(t, manifestWith("page", "javascript:alert(1)"))), "v1.3.9", "linux", ErrFormat, false},
		{"a file without encryption", signed(marshalJSON(t, manifestWith("files", []map[string]any{{"os": "linux", "arch": "amd64", "url": "http://example.com/hob", "sha256": strings.Repeat("ab", 32), "size": 1}}))), "v1.3.9", "linux", ErrFormat, false},
		{"a file without a sum", signed(marshalJSON(t, manifestWith("files", []map[string]any{{"os": "linux", "arch": "amd64", "url": "https://example.com/hob", "size": 1}}))), "v1.3.9", "linux", ErrFormat, false},
		{"expired", signed(marshalJSON(t, manifestWith("expires", "2026-07-01T11:59:59Z"))), "v1.3.9", "linux", ErrExpired, false},
		{"never expires", signed(marshalJSON(t, manifestWith("expires", "0001-01-01T00:00:00Z"))), "v1.3.9", "linux", ErrFormat, false},
		{"of next week", signed(marshalJSON(t, manifestWith("released", "2026-07-09T00:00:00Z"))), "v1.3.9", "linux", ErrClock, false},
		{"no build for this machine", signed(good), "v1.3.9", "plan9", ErrPlatform, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := safehttptest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, ".minisig") {
					_, _ = w.Write(tt.serve.signature)
					return
				}
				_, _ = w.Write(tt.serve.manifest)
			}))
			r, err := Check(t.Context(), Options{Network: n.Client(t), URL: "https://example.com/hob/latest.json", Keys: p.pub, Version: tt.version, OS: tt.os, Arch: "amd64", Kind: Deb, Now: testTime()})
			if !errors.Is(err, tt.want) || Refused(err) != (tt.want != nil) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if err != nil {
				return
			}
			if r.Newer != tt.newer || r.Latest != "v1.4.0" || r.Notes != "Faster.\nAnd it[31m mends things." {
				t.Errorf("found %+v", r)
			}
			if steps := strings.Join(r.Steps, "\n"); tt.newer && (!strings.Contains(steps, "sudo apt install ./hob_1.4.0_amd64.deb") || !strings.Contains(steps, strings.Repeat("cd", 32))) {
				t.Errorf("steps: %s", steps)
			}
		})
	}
}

// TestSeen checks that a manifest must not name an older version than an earlier manifest, even if
// its version is newer than the running one.
func TestSeen(t *testing.T) {
	m := Manifest{Version: "v1.4.0", Files: []File{{OS: "linux", Arch: "amd64"}}}
	for seen, want := range map[string]error{"": nil, "v1.3.0": nil, "v1.4.0": nil, "v1.4.1": ErrSeen, "nonsense": nil} {
		if _, err := (&Options{Version: "v1.2.0", Seen: seen, OS: "linux", Arch: "amd64"}).compareManifest(m); !errors.Is(err, want) || Refused(err) != (want != nil) {
			t.Errorf("%q was seen: %v, want %v", seen, err, want)
		}
	}
}

// TestUnreachable checks that network errors are distinguished from rejected
// manifests.
func TestUnreachable(t *testing.T) {
	p := newProject(t)
	good := marshalJSON(t, validManifest())
	tests := []struct {
		name, url string
		handler   http.HandlerFunc
		says      string
	}{
		{"gone", "https://example.com/latest.json", http.NotFound, "404"},
		{"huge", "https://example.com/latest.json", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(make([]byte, 2*maxManifest))
		}, "fetch"},
		{"unencrypted", "http://example.com/latest.json", http.NotFound, "not an https address"},
		{"redirected to an unencrypted address", "https://example.com/latest.json", func(w http.ResponseWriter, r *http.Request) {
			if r.TLS != nil {
				http.Redirect(w, r, "http://example.com"+r.URL.Path, http.StatusFound)
				return
			}
			if strings.HasSuffix(r.URL.Path, ".minisig") {
				good := minisign.Sign(p.priv, good)
				_, _ = w.Write(good)
				return
			}
			_, _ = w.Write(good)
		}, "https to http"},
		{"inside the local network", "https://192.168.1.1/latest.json", http.NotFound, "fetch"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := safehttptest.New(t, tt.handler)
			_, err := Check(t.Context(), Options{Network: n.Client(t), URL: tt.url, Keys: p.pub, Version: "v1.0.0", OS: "linux", Arch: "amd64", Now: testTime()})
			if err == nil || Refused(err) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
		})
	}
}

// TestCheck_AcceptsBothKeysDuringARotation checks that during a key rotation both keys are accepted.
func TestCheck_AcceptsBothKeysDuringARotation(t *testing.T) {
	old, next := newProject(t), newProject(t)
	b := marshalJSON(t, validManifest())
	for _, p := range []project{old, next} {
		if _, err := Open(old.pub+", "+next.pub, b, minisign.Sign(p.priv, b), testTime()); err != nil {
			t.Error(err)
		}
	}
	if err := CheckKeys("RWnonsense"); !errors.Is(err, ErrKey) {
		t.Errorf("an invalid key: %v", err)
	}
}

// TestCheck_RealServer checks that a signature created by minisign 0.11 is accepted.
func TestCheck_RealServer(t *testing.T) {
	const key, sig = realKey, realSignature
	m, err := Open(key, []byte(realManifest), []byte(sig), testTime())
	if err != nil || m.Version != "v1.4.0" {
		t.Errorf("Open = %+v, %v", m, err)
	}
}

func TestKindOf(t *testing.T) {
	for _, tt := range []struct {
		system, exe string
		there       string
		want        Kind
	}{
		{"linux", "/home/me/bin/hob", "", Archive},
		{"linux", "/usr/bin/hob", "/var/lib/dpkg/info/hob.list", Deb},
		{"linux", "/usr/bin/hob", "/usr/lib/sysimage/rpm", RPM},
		{"linux", "/usr/bin/hob", "", Archive},
		{"linux", "/home/linuxbrew/.linuxbrew/Cellar/hob/1.4.0/bin/hob", "", Brew},
		{"darwin", "/opt/homebrew/Caskroom/hob/1.4.0/Hob.app/Contents/MacOS/hob", "", Brew},
		{"darwin", "/Applications/Hob.app/Contents/MacOS/hob", "/opt/homebrew/Caskroom/hob", Brew},
		{"darwin", "/Applications/Hob.app/Contents/MacOS/hob", "", App},
		{"windows", `C:\Users\me\scoop\apps\hob\current\hob.exe`, "", Scoop},
		{"windows", `C:\Users\me\AppData\Local\Microsoft\WinGet\Packages\Hob.Hob\hob.exe`, "", Winget},
		{"windows", `D:\tools\hob.exe`, "", Archive},
	} {
		if got := KindOf(tt.system, tt.exe, func(p string) bool { return p == tt.there }); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.exe, got, tt.want)
		}
	}
}

// FuzzOpen checks that no signed content crashes the program or reaches a
// terminal.
func FuzzOpen(f *testing.F) {
	f.Add(marshalJSON(f, validManifest()))
	f.Add([]byte(`{"program":"hob","files":[{}]}`))
	f.Add([]byte(`{"version":{}}`))
	p := newProject(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Open(p.pub, b, minisign.Sign(p.priv, b), testTime())
		if err != nil {
			return
		}
		if m.Program != "hob" || len([]rune(m.Notes)) > maxNotes+1 || strings.ContainsAny(m.Notes+m.Version+m.Page, "\x1b\x00\u202e") {
			t.Errorf("%+v", m)
		}
		if _, err := (&Options{Version: "v0.0.1", OS: "linux", Arch: "amd64"}).compareManifest(m); err != nil && !errors.Is(err, ErrPlatform) && !errors.Is(err, ErrRollback) {
			t.Error(err)
		}
	})
}

// FuzzSignature checks that only the project's signatures are accepted.
func FuzzSignature(f *testing.F) {
	p := newProject(f)
	b := marshalJSON(f, validManifest())
	f.Add(minisign.Sign(newProject(f).priv, b))
	f.Add([]byte("untrusted comment: x\nRUQ=\ntrusted comment: y\nAA=="))
	f.Fuzz(func(t *testing.T, sig []byte) {
		if _, err := Open(p.pub, b, sig, testTime()); !errors.Is(err, ErrSignature) && !errors.Is(err, ErrFormat) {
			t.Errorf("accepted an invalid signature: %v", err)
		}
	})
}
