package filer

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
)

// reveal starts Explorer, which reads its own command line and ends with 1 when all
// went well. No name can hold the quote that would end it.
func (f *Filer) reveal(_ context.Context, path string) error {
	explorer := filepath.Join(f.opt.Getenv("SystemRoot"), "explorer.exe")
	cmd := exec.Command(explorer) //nolint:noctx // it hands on to the Explorer that runs
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `explorer.exe /select,"` + path + `"`}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start Explorer: %w", err)
	}
	go func() { _ = cmd.Wait() }()
	return nil
}
