//go:build !windows

package autostart

import (
	"errors"
	"runtime"
)

func systemKind() Kind {
	if runtime.GOOS == "darwin" {
		return Launchd
	}
	return ""
}

func setRun(string) error { return errors.ErrUnsupported }

func removeRun() (bool, error) { return false, errors.ErrUnsupported }

func readRun() (string, bool, error) { return "", false, errors.ErrUnsupported }
