package repo

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module is the prefix of our own import paths.
const module = "hob/"

// pkg is the output of `go list` for a package.
type pkg struct {
	ImportPath string
	Imports    []string
	Error      *struct{ Err string }
}

// driverFamilies returns the folders whose subfolders contain drivers.
func driverFamilies() []string {
	return []string{"tools", "channels", "watchers", "knowledge", "autonomy/llm"}
}

// floorOf returns the layer of a package of this module, from 0 (see docs/architecture.md), and
// false for helpers of tests, which may import the package that they help to test.
func floorOf(path string) (n int, ok bool) {
	path = strings.TrimPrefix(path, module)
	first, _, _ := strings.Cut(path, "/")
	if strings.HasSuffix(path, "test") {
		return 0, false
	}
	switch {
	case first == "platform", first == "templates", first == "assets", path == "platform/store":
		return 0, true
	case first == "cmd":
		return 5, true
	case strings.HasSuffix(path, "/all"):
		return 4, true
	case slices.Contains(driverFamilies(), path), path == "autonomy/config", path == "autonomy/api":
		return 1, true
	}
	for _, f := range driverFamilies() {
		if strings.HasPrefix(path, f+"/") {
			return 2, true
		}
	}
	return 3, true
}

// mayImport reports whether a package may import another, and if not, the reason.
func mayImport(from, to string) (bool, string) {
	a, ok := floorOf(from)
	b, ours := floorOf(to)
	switch {
	case !ok:
		return true, ""
	case !ours:
		return false, "is a helper of tests"
	case a == 3 && b == 2:
		return false, "is a driver, and the engine never imports drivers"
	case a == 4 && b == 3:
		return false, "is the engine, and a list of drivers knows drivers alone"
	case a < b:
		return false, "lies on a higher floor"
	case a == 2 && b == 2 && !isWithin(from, to) && !isWithin(to, from):
		return false, "is another driver"
	case a == 1 && b == 1:
		return false, "is another contract"
	}
	return true, ""
}

// isWithin reports whether b is a part of the driver a.
func isWithin(a, b string) bool { return strings.HasPrefix(b, a+"/") }

func TestFloors(t *testing.T) {
	if testing.Short() {
		t.Skip("lists every package three times")
	}
	for _, goos := range []string{"linux", "darwin", "windows"} {
		t.Run(goos, func(t *testing.T) {
			t.Parallel()
			for _, p := range listPackages(t, goos) {
				if p.Error != nil {
					t.Errorf("%s: %s", p.ImportPath, p.Error.Err)
				}
				for _, to := range p.Imports {
					if !strings.HasPrefix(to, module) {
						continue
					}
					if ok, why := mayImport(p.ImportPath, to); !ok {
						t.Errorf("%s imports %s, which %s", p.ImportPath, to, why)
					}
				}
			}
		})
	}
}

func listPackages(t *testing.T, goos string) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports,Error", "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		if x, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("go list: %s", x.Stderr)
		}
		t.Fatal(err)
	}
	var pkgs []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return pkgs
		}
		if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

func TestMayImport(t *testing.T) {
	tests := []struct {
		from, to string
		want     bool
	}{
		{"hob/tools/files", "hob/tools", true},
		{"hob/tools/files", "hob/platform/host/trash", true},
		{"hob/tools/files", "hob/tools/memory", false},
		{"hob/tools/files", "hob/tools/files/glob", true},
		{"hob/tools", "hob/platform/store", true},
		{"hob/tools", "hob/channels", false},
		{"hob/tools", "hob/tools/files", false},
		{"hob/platform/host/system", "hob/autonomy/config", false},
		{"hob/autonomy/config", "hob/platform/host/system", true},
		{"hob/autonomy/api", "hob/platform/provenance", true},
		{"hob/autonomy/api", "hob/autonomy/llm", false},
		{"hob/channels/web", "hob/autonomy/api", true},
		{"hob/autonomy/agents", "hob/autonomy/api", true},
		{"hob/autonomy", "hob/autonomy/bus", true},
		{"hob/autonomy/turn", "hob/autonomy/llm/offline", false},
		{"hob/autonomy/turn", "hob/autonomy/llm", true},
		{"hob/autonomy/turn", "hob/tools/all", false},
		{"hob/tools/all", "hob/tools/files", true},
		{"hob/cmd/hob", "hob/tools/all", true},
		{"hob/channels/all", "hob/autonomy", false},
		{"hob/channels/channelstest", "hob/channels/web", true},
		{"hob/channels/web", "hob/channels/channelstest", false},
		{"hob/knowledge", "hob/platform/store", true},
	}
	for _, tt := range tests {
		if got, why := mayImport(tt.from, tt.to); got != tt.want {
			t.Errorf("%s -> %s: %v (%s), want %v", tt.from, tt.to, got, why, tt.want)
		}
	}
}

// TestTopLevel checks that the root contains only the folders and files in the list.
func TestTopLevel(t *testing.T) {
	planned := strings.Fields(`cmd autonomy platform watchers tools channels knowledge templates assets
		go.mod go.sum Makefile README.md LICENSE CONTRIBUTING.md CHANGELOG.md docs bin`) // bin is a build output and not committed
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(planned, e.Name()) {
			t.Errorf("%s is not a planned entry of the top level; add it to the list in this test", filepath.Base(e.Name()))
		}
	}
}

// TestNoVagueNames checks that package names describe their contents.
func TestNoVagueNames(t *testing.T) {
	for _, p := range listPackages(t, "linux") {
		switch filepath.Base(p.ImportPath) {
		case "util", "utils", "common", "types", "helpers", "interfaces", "misc":
			t.Errorf("%s needs a name that says what it is about", p.ImportPath)
		}
	}
}
