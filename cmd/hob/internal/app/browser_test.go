package app

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"hob/platform/host/browser"
)

// TestScenarios_WithABrowser runs scenarios with a real browser.
func TestScenarios_WithABrowser(t *testing.T) {
	b, err := browser.New(browser.Options{Profile: t.TempDir(), Network: browser.Nowhere{}})
	failOnError(t, err)
	if _, err := b.Find(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("no browser is installed: ", err)
	}
	files, err := filepath.Glob("testdata/browser/*.txtar")
	failOnError(t, err)
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		failOnError(t, err)
		t.Run(filepath.Base(file), func(t *testing.T) { playTalk(t, a, listPlayWays()[0]) })
	}
}
