package assets_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"hob/assets"
)

func TestWeb(t *testing.T) {
	if err := fstest.TestFS(assets.Web(), "dashboard.css", "dashboard.js", "chat.js", "icon.svg", "manifest.webmanifest"); err != nil {
		t.Error(err)
	}
}

// The third-party files are unchanged, and each has a license and a checksum.
func TestVendor_MatchesChecksums(t *testing.T) {
	vendor, err := fs.Sub(assets.Web(), "vendor")
	if err != nil {
		t.Fatal(err)
	}
	list, err := fs.ReadFile(vendor, "SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(list)) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			t.Fatalf("SHA256SUMS has the line %q, want a sum, two spaces and a name", line)
		}
		want[name] = sum
	}
	files, err := fs.Glob(vendor, "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if name == "SHA256SUMS" {
			continue
		}
		b, err := fs.ReadFile(vendor, name)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != want[name] {
			t.Errorf("%s has the sum %x, want %s", name, sum, want[name])
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("%s is missing", name)
	}
	for _, license := range []string{"LICENSE-htmx.txt", "LICENSE-uPlot.txt"} {
		if _, err := fs.Stat(vendor, license); err != nil {
			t.Error(err)
		}
	}
}
