//go:build !linux && !darwin

package hooks

// killMarked does nothing on this system. On Windows, the job object of a run contains all its
// processes, and the system ends them when Hob ends, even if Hob is killed
// (JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE).
func killMarked(string) {}
