//go:build unix

package pimtest

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// nobody is the user ID of the servers when tests run as root.
const nobody = 65534

func serverUID() int {
	if u := os.Getuid(); u != 0 {
		return u
	}
	return nobody
}

func chownToServer(t testing.TB, path string) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	if err := os.Chown(path, nobody, nobody); err != nil {
		t.Fatal(err)
	}
}

func dropPrivileges(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
}
