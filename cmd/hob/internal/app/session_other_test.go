//go:build !linux

package app

import (
	"testing"

	"golang.org/x/tools/txtar"
)

func sessionOf(t *testing.T, a *txtar.Archive) func(string) string {
	t.Helper()
	if readSection(a, "session") != "" {
		t.Skip("the scenario needs a Linux session")
	}
	return nil
}
