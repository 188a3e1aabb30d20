package system

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"hob/platform/retry"
)

// Role is the role of the process that holds the lock.
type Role string

// The roles.
const (
	RoleDaemon Role = "daemon" // a daemon, which accepts requests from commands
	RoleCLI    Role = "cli"    // a single command, which ends soon
)

// Holder describes the process that holds the lock.
type Holder struct {
	PID   int       `json:"pid"`
	Role  Role      `json:"role"`
	Since time.Time `json:"since"`
	// Restarting means that a daemon released the lock to start again in a moment.
	Restarting bool `json:"restarting,omitempty"`
}

// restartWait is the time after which a daemon that released the lock to start again counts as ended.
const restartWait = 15 * time.Second

// ErrRunning means that a daemon holds the lock. Send requests to the daemon instead.
var ErrRunning = errors.New("a daemon is running")

// ErrBusy means that another command held the lock for too long.
var ErrBusy = errors.New("another hob command is running")

// HeldError names the process that holds the lock. It wraps ErrRunning or ErrBusy.
type HeldError struct {
	Holder Holder
	Err    error
}

func (e *HeldError) Error() string {
	if errors.Is(e.Err, ErrRunning) {
		return fmt.Sprintf("a daemon is already running in this home (pid %d); use it, or stop it with: hob stop", e.Holder.PID)
	}
	return fmt.Sprintf("another hob command (pid %d) is running in this home; try again when it has ended", e.Holder.PID)
}

func (e *HeldError) Unwrap() error { return e.Err }

// lockWait is the maximum time for which Acquire waits for another command if ctx has no deadline.
const lockWait = 15 * time.Second

// Lock is the single-instance lock of a home. The operating system releases it when the
// process ends, even after a crash.
type Lock struct {
	f *os.File
}

// Acquire acquires the lock. If another command holds it, Acquire waits until ctx ends (15 s if ctx
// has no deadline) and then fails with ErrBusy. If a daemon holds it, Acquire fails immediately
// with ErrRunning. Both errors are *HeldError.
func Acquire(ctx context.Context, path string, role Role) (*Lock, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, lockWait)
		defer cancel()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, innermostError(err))
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w; %s", path, innermostError(err), writeRemedy(err, "make the folder writable or set HOB_HOME to another folder"))
	}
	if err := waitLock(ctx, f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := writeHolder(f, Holder{PID: os.Getpid(), Role: role, Since: time.Now().UTC()}); err != nil {
		err = fmt.Errorf("lock %s: %w; %s", path, innermostError(err), writeRemedy(err, "set HOB_HOME to a folder on another disk"))
		return nil, errors.Join(err, unlockFile(f), f.Close())
	}
	return &Lock{f: f}, nil
}

// waitLock polls for the lock. While a Probe of another process briefly holds the lock, the holder
// in the file may be outdated, because the process of that holder has ended. A daemon is therefore
// reported only if it is still the holder at the second attempt.
func waitLock(ctx context.Context, f *os.File) error {
	pauses, daemon := retry.Backoff{First: 10 * time.Millisecond, Max: 100 * time.Millisecond}, 0
	for n := 1; ; n++ {
		ok, err := tryLock(f, true)
		if err != nil {
			return fmt.Errorf("lock %s: %w", f.Name(), innermostError(err))
		}
		if ok {
			return nil
		}
		h := readHolder(f)
		if h.Role == RoleDaemon && ProcessExists(h.PID) {
			if daemon++; daemon > 1 {
				return &HeldError{Holder: h, Err: ErrRunning}
			}
		}
		if err := retry.Sleep(ctx, pauses.Delay(n)); err != nil {
			return &HeldError{Holder: h, Err: errors.Join(ErrBusy, err)}
		}
	}
}

func writeHolder(f *os.File, h Holder) error {
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(append(b, '\n'), 0)
	return err
}

func readHolder(f *os.File) Holder {
	var h Holder
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 4096))
	if err != nil || json.Unmarshal(b, &h) != nil {
		return Holder{}
	}
	return h
}

// Release releases the lock.
func (l *Lock) Release() error {
	return errors.Join(l.f.Truncate(0), unlockFile(l.f), l.f.Close())
}

// ReleaseToRestart releases the lock of a daemon that starts again in a moment. Probe names the
// daemon as the holder until then.
func (l *Lock) ReleaseToRestart() error {
	err := writeHolder(l.f, Holder{PID: os.Getpid(), Role: RoleDaemon, Since: time.Now().UTC(), Restarting: true})
	return errors.Join(err, unlockFile(l.f), l.f.Close())
}

// Probe returns the holder of the lock, and false if the lock is free.
func Probe(path string) (Holder, bool, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return Holder{}, false, nil
	}
	if err != nil {
		return Holder{}, false, fmt.Errorf("read the lock %s: %w; make its folder accessible, or set HOB_HOME to another folder", path, innermostError(err))
	}
	defer f.Close()
	ok, err := tryLock(f, false)
	if err != nil {
		return Holder{}, false, fmt.Errorf("read the lock %s: %w", path, innermostError(err))
	}
	h := readHolder(f)
	if !ok {
		return h, true, nil
	}
	if h.Restarting && time.Since(h.Since).Abs() < restartWait && ProcessExists(h.PID) {
		return h, true, unlockFile(f)
	}
	return Holder{}, false, unlockFile(f)
}

// Abandoned returns the previous holder of the lock if it crashed. A process that ends normally
// removes its name from the file. Abandoned returns false while the lock is held.
func Abandoned(path string) (Holder, bool, error) {
	h, held, err := Probe(path)
	if err != nil || held {
		return h, false, err
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return Holder{}, false, nil
	}
	if err != nil {
		return Holder{}, false, fmt.Errorf("read the lock %s: %w", path, innermostError(err))
	}
	defer f.Close()
	h = readHolder(f)
	return h, h.PID != 0 && !h.Restarting, nil
}

// KeepOrphans keeps descendants below this process when their parents end, so that ClientOf finds
// them. On Linux this process adopts them and reaps them when they end; on Windows all of them
// share a job object. KeepOrphans returns when ctx ends. It does nothing on other systems.
func KeepOrphans(ctx context.Context) error { return keepOrphans(ctx) }

// EndReporters kills the adopted crash reporters of a program, which is identified by the pid of
// one of its processes. The reporters leave the program's process tree when they start.
// EndReporters works only on Linux.
func EndReporters(of int) { endReporters(of) }
