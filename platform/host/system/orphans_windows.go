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
	<-ctx.Done() // keep the handle open until the process ends: processes cannot leave a job
	return nil
}

func endReporters(int) {}
