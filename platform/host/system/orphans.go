package system

import "context"

// KeepOrphans keeps descendants below this process when their parents end, so that ClientOf
// finds them: on Linux this process adopts them and reaps them when they end; on Windows all
// share a job object. It returns when ctx ends. It does nothing on other systems.
func KeepOrphans(ctx context.Context) error { return keepOrphans(ctx) }

// EndReporters kills the adopted crash reporters of a program, identified by the pid of one
// of its processes: they leave the program's tree when they start. It only works on Linux.
func EndReporters(of int) { endReporters(of) }
