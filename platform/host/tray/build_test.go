package tray_test

import (
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"strings"
	"testing"
)

// TestTray_TypeChecksOnMacOSWithCgo checks the variant that is built on a Mac, with cgo and
// fyne.io/systray: a build from another system cannot compile it.
func TestTray_TypeChecksOnMacOSWithCgo(t *testing.T) {
	if build.Default.GOROOT == "" {
		t.Skip("GOROOT is unknown in a test built with -trimpath")
	}
	system := build.Default
	system.GOOS, system.CgoEnabled = "darwin", true
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		if match, err := system.MatchFile(".", e.Name()); err != nil || !match {
			continue
		}
		file, err := parser.ParseFile(set, e.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	// The imports are loaded for this system, on which their functions have the same types as on
	// macOS.
	conf := types.Config{Importer: importer.ForCompiler(set, "source", nil), Error: func(err error) { t.Error(err) }}
	_, _ = conf.Check("hob/platform/host/tray", set, files, nil)
}
