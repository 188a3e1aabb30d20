package system

import "context"

// KeepOrphans sees to it that processes stay below this one when what started
// them ends, so that ClientOf finds them: on Linux this process becomes their
// parent, and buries them when they have ended; on Windows all share a job. It
// returns when ctx ends. On other systems there is nothing of the kind.
func KeepOrphans(ctx context.Context) error { return keepOrphans(ctx) }

// EndReporters ends those processes that this one has adopted and that report the
// crashes of a program, which is known by the number of a process of it: they leave
// its tree when they start. It does nothing but on Linux.
func EndReporters(of int) { endReporters(of) }
