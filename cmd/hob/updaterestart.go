package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"hob/platform/failpoint"
	"hob/platform/host/system"
	"hob/platform/net/release"
	"hob/platform/retry"
	"hob/platform/store/upgrade"
)

// pendingUpdate is a request of `hob update` to a running daemon: after an orderly stop, the daemon
// replaces the program and continues as the other version, in the same process. If that version
// does not become ready, it puts this program back and continues as this version. Hob therefore
// runs again even if one of the two processes is killed: the daemon does not depend on the command,
// and the command starts a daemon that has ended.
type pendingUpdate struct {
	Version   string    `json:"version"` // version to start
	Program   string    `json:"program"` // file to replace
	From      string    `json:"from"`    // file of the other version
	Requested time.Time `json:"requested"`
	// Failed is the reason why the daemon runs the current version again, or "".
	Failed string `json:"failed,omitempty"`
}

// updateStopWait is the time that the daemon has to stop before an update, for example to complete a
// deletion.
const updateStopWait = 5 * time.Minute

// maxPending is the maximum age of an update request. The daemon ignores older requests, which a
// killed command may have left.
const maxPending = time.Hour

func pendingUpdateFile(p system.Paths) string { return filepath.Join(p.Data, "update-pending.json") }

func readPendingUpdate(p system.Paths) (u pendingUpdate, found bool) {
	b, err := os.ReadFile(pendingUpdateFile(p))
	return u, err == nil && json.Unmarshal(b, &u) == nil
}

func (u pendingUpdate) writeRequest(p system.Paths) error {
	b, err := json.Marshal(u)
	if err != nil {
		return err
	}
	return system.WriteFile(pendingUpdateFile(p), b)
}

func dropPendingUpdate(p system.Paths) { _ = os.Remove(pendingUpdateFile(p)) } // the next update replaces a file that remains

// confirmUpdate ends the update to this version when the daemon is ready.
func (a *cli) confirmUpdate(p system.Paths) {
	if u, found := readPendingUpdate(p); found && u.Version == a.version {
		failpoint.Hit("update.ready")
		dropPendingUpdate(p)
		failpoint.Hit("update.confirmed")
	}
}

// applyUpdate replaces the program after an orderly stop for an update, or puts the previous one back if
// this version ended with the error failed before it was ready. It reports whether the process must
// continue with the installed program.
func (a *cli) applyUpdate(ctx context.Context, failed error) bool {
	p, err := system.DefaultPaths()
	if err != nil {
		return false
	}
	program, err := release.Installed()
	u, found := readPendingUpdate(p)
	if err != nil || !found || u.Failed != "" || program.Path != u.Program {
		return false
	}
	log := slog.New(slog.NewTextHandler(a.err, nil))
	switch {
	case failed == nil && u.Version != a.version && time.Since(u.Requested) < maxPending:
		failpoint.Hit("update.stopped")
		if err := program.Swap(u.From); err != nil {
			log.Error("program not replaced", "err", err)
			u.Failed = fmt.Sprintf("the program could not be replaced, and the current version runs again: %v", err)
			return u.writeRequest(p) == nil
		}
	case failed != nil && u.Version == a.version:
		log.Error("this version did not start; the previous version starts again", "version", a.version, "err", failed)
		u.Failed = fmt.Sprintf("the other version did not start, so the current version was restored and runs again: %v", failed)
		if err := u.writeRequest(p); err != nil {
			return false
		}
		failpoint.Hit("update.failed")
		if err := program.Swap(program.Previous()); err != nil {
			log.Error("previous program not restored", "err", err)
			return false
		}
		if f, shown := upgrade.LastFailure(p); !shown || f.Version != a.version {
			if err := showFailedUpgrade(ctx, os.Getenv, failed); err != nil {
				log.Warn("failed update not shown on the desktop", "err", err)
			}
		}
	default:
		return false
	}
	failpoint.Hit("update.restarting")
	return true
}

// requestUpdate asks the running daemon to continue as the other version.
func (a *cli) requestUpdate(ctx context.Context, p system.Paths, pid int, u pendingUpdate) error {
	a.reportStep("Restarting Hob")
	if err := u.writeRequest(p); err != nil {
		return err
	}
	failpoint.Hit("update.marked")
	if err := a.askToStop(ctx, p, pid); err != nil {
		if err := system.Terminate(pid); err != nil && system.ProcessExists(pid) {
			dropPendingUpdate(p)
			return fmt.Errorf("stop the daemon (pid %d): %w; nothing was replaced; stop it manually", pid, err)
		}
	}
	failpoint.Hit("update.requested")
	return nil
}

// errDaemonGone means that the daemon ended without continuing as another version.
var errDaemonGone = errors.New("the daemon has ended")

// The time without a lock holder after which the daemon counts as gone: replaceWait if its process
// still exists, otherwise goneWait. A process that replaces its program holds no lock for a moment.
const (
	replaceWait = 15 * time.Second
	goneWait    = time.Second
)

// awaitUpdate waits until the daemon that process pid ran is ready as another version. failed is the reason
// why the current version runs again.
func (a *cli) awaitUpdate(ctx context.Context, p system.Paths, pid int, version string) (failed string, err error) {
	var free time.Time // time since when no daemon has been running
	began := time.Now()
	for end := began.Add(updateStopWait); time.Now().Before(end); {
		h, held, err := system.Probe(p.LockFile())
		switch {
		case err != nil:
			return "", err
		case held && h.Role == system.RoleDaemon:
			free = time.Time{}
			u, _ := readPendingUpdate(p)
			e, _, err := system.ReadEndpoint(p.EndpointFile(), h.PID)
			if err == nil && (e.Version == version || e.Version != "" && u.Failed != "") && a.isReady(ctx, p, h.PID) {
				dropPendingUpdate(p)
				if e.Version == version {
					return "", nil
				}
				return u.Failed, nil
			}
		case free.IsZero():
			free = time.Now()
		case time.Since(free) > replaceWait, time.Since(free) > goneWait && !system.ProcessExists(pid):
			return "", errDaemonGone
		}
		if _, err := os.Stat(openingFile(p)); err == nil && time.Since(began) < openWait || upgrade.InProgress(p) {
			end = time.Now().Add(max(startWait, time.Until(end)))
		}
		if err := retry.Sleep(ctx, 50*time.Millisecond); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("the daemon is not ready as version %s: %w", version, context.DeadlineExceeded)
}

// isReady reports whether the daemon with process id pid is ready.
func (a *cli) isReady(ctx context.Context, p system.Paths, pid int) bool {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	c, err := a.clientOf(p, pid)
	return err == nil && c.checkReady(ctx) == nil
}

// isInstalled reports whether the installed program has this version.
func isInstalled(ctx context.Context, program release.Program, version string) bool {
	d, err := release.Describe(ctx, program.Path)
	return err == nil && d.Version == version
}

// finishReplacement replaces the program, if the daemon ended before it did so.
func finishReplacement(ctx context.Context, program release.Program, u pendingUpdate) error {
	if !isInstalled(ctx, program, u.Version) {
		return program.Swap(u.From)
	}
	_, err := program.CheckPrevious(ctx) // completes an interrupted replacement
	return err
}
