//go:build !linux

package app

import "testing"

type shownWindow struct{}

func showWindow(t *testing.T, _, _ string) *shownWindow {
	t.Skip("only X11 supports a window on a virtual screen")
	return nil
}

func (*shownWindow) lookupEnv(string) string { return "" }

func (*shownWindow) changeTitle(*testing.T, string) {}
