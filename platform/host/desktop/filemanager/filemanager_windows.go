package filemanager

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
)

// revealPath starts Explorer, which parses its own command line and exits with 1 on success. File names
// cannot contain the quote that would end the argument.
func (f *Manager) revealPath(_ context.Context, path string) error {
	explorer := filepath.Join(f.opt.Getenv("SystemRoot"), "explorer.exe")
	cmd := exec.Command(explorer) //nolint:noctx // this Explorer passes the request to the running one and exits
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `explorer.exe /select,"` + path + `"`}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start Explorer: %w", err)
	}
	go func() { _ = cmd.Wait() }()
	return nil
}
