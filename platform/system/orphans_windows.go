package system

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

func keepOrphans(ctx context.Context) error {
	name, err := jobName(os.Getpid())
	if err != nil {
		return err
	}
	h, err := windows.CreateJobObject(nil, name)
	if err != nil {
		return fmt.Errorf("keep orphans: %w", err)
	}
	if err := windows.AssignProcessToJobObject(h, windows.CurrentProcess()); err != nil {
		return fmt.Errorf("keep orphans: %w", err)
	}
	<-ctx.Done() // the handle stays open until the process ends: a job cannot be left
	return nil
}

func endReporters(int) {}
