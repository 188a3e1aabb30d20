package release

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"hob/platform/host/system"
	"hob/platform/retry"
)

// Source is the address of releases and their public key.
type Source struct {
	URL string // URL of the manifest
	Key string // public key of the manifest; "" if unknown
}

// ErrNoSource reports a missing release address or key.
var ErrNoSource = errors.New("the address of the project's releases and its public key are neither built in nor configured")

// Checker checks for a newer version and saves the result in a file.
type Checker struct {
	// Built contains the values that the linker sets; see docs/packaging.md. Configured supplies
	// missing ones. A configured address replaces a built-in one, but a configured key never
	// replaces a built-in key, because other people may have written the configuration.
	Built, Configured Source
	Network           Fetcher
	File              string // stores the last result
	Version           string // the running version
}

// Check checks whether there is a version newer than the running one. It also works if File cannot
// be written.
func (c Checker) Check(ctx context.Context, now time.Time) (Result, error) {
	at, key := cmp.Or(c.Configured.URL, c.Built.URL), cmp.Or(c.Built.Key, c.Configured.Key)
	if at == "" || key == "" {
		return Result{}, ErrNoSource
	}
	kind := Archive
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			exe = real
		}
		kind = KindOf(runtime.GOOS, exe, Exists)
	}
	was := readLastCheck(c.File)
	if was.From != at {
		was.Seen = ""
	}
	res, err := Check(ctx, Options{Network: c.Network, URL: at, Keys: key, Version: c.Version, Seen: was.Seen, OS: runtime.GOOS, Arch: runtime.GOARCH, Kind: kind, Now: now})
	if err == nil && was.Seen != res.Latest {
		was.From, was.Seen = at, res.Latest
		_ = was.writeFile(c.File) // the check is useful even if it cannot be saved
	}
	return res, err
}

// Follower checks once a day and reports each newer version once.
type Follower struct {
	Checker
	// Delay is the time after the start at which a due check runs (default 5 minutes).
	Delay time.Duration
	// Notify notifies the user. Only the first notification with a given key is sent.
	Notify func(ctx context.Context, key, text string) error
	Log    *slog.Logger
}

// Run checks until ctx ends, and returns nil.
func (f Follower) Run(ctx context.Context) error {
	was := readLastCheck(f.File)
	for {
		wait := cmp.Or(f.Delay, 5*time.Minute)
		if due := time.Until(was.At.Add(24 * time.Hour)); due > wait && due <= 24*time.Hour { // if the next check is due in more than 24 h, the clock was wrong
			wait = due
		}
		if retry.Sleep(ctx, wait) != nil {
			return nil
		}
		was = f.reportNewer(ctx, was)
		if ctx.Err() != nil {
			return nil
		}
	}
}

// reportNewer checks once. It notifies the user of a version that has not been reported yet.
func (f Follower) reportNewer(ctx context.Context, was lastCheck) lastCheck {
	at := time.Now()
	r, err := f.Check(ctx, at)
	now := readLastCheck(f.File) // read the state again, because commands also check
	now.At, now.Told = at, was.Told
	if err == nil && r.Newer && r.Latest != was.Told {
		text := fmt.Sprintf("Hob %s is available; you have %s. To see how to update, run: hob update --check", r.Latest, r.Current)
		if err = f.Notify(ctx, "release:"+r.Latest, text); err == nil {
			now.Told = r.Latest
		}
	}
	if err != nil && ctx.Err() == nil {
		f.Log.Warn("update check failed", "err", err)
	}
	if err := now.writeFile(f.File); err != nil {
		f.Log.Warn("cannot save the time of the update check", "err", err)
	}
	return now
}

// lastCheck is the saved state of update checks.
type lastCheck struct {
	At   time.Time `json:"at"`
	Told string    `json:"told,omitempty"` // version that the user was notified of
	// Seen is the newest version that an address has named, and From is that address.
	Seen string `json:"seen,omitempty"`
	From string `json:"from,omitempty"`
}

// readLastCheck reads the state. It returns a zero state if the file is missing or invalid.
func readLastCheck(file string) (a lastCheck) {
	b, err := os.ReadFile(file)
	if err == nil {
		_ = json.Unmarshal(b, &a)
	}
	return a
}

func (a lastCheck) writeFile(file string) error {
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return system.WriteFile(file, b)
}
