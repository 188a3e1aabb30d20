//go:build !unix

package pimtest

import (
	"os/exec"
	"testing"
)

func serverUID() int { return -1 }

func chownToServer(testing.TB, string) {}

func dropPrivileges(*exec.Cmd) {}
