//go:build !unix

package pimtest

import (
	"os/exec"
	"testing"
)

func uid() int { return -1 }

func own(testing.TB, string) {}

func unprivileged(*exec.Cmd) {}
