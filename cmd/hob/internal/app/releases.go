package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"hob/autonomy/config"
	"hob/platform/host/system"
	"hob/platform/net/release"
	"hob/platform/retry"
)

// Release contains the values built in by the linker; see docs/packaging.md.
type Release struct {
	URL string // of the manifest
	Key string // its public key; "" if none is built in: then the configured one applies
	// Soon is how long after the start a check that is due waits (default 5 minutes).
	Soon time.Duration
}

// ErrNoRelease reports a missing release address.
var ErrNoRelease = errors.New("the address of the project's releases and its public key are neither built in nor configured")

// Look checks for a version newer than the given one, and saves the answer in file. The
// configuration cannot replace a built-in key, because other people may have written it.
func (r Release) Look(ctx context.Context, n release.Fetcher, c config.Update, file, version string, now time.Time) (release.Result, error) {
	at, key := cmp.Or(c.URL, r.URL), cmp.Or(r.Key, c.Key)
	if at == "" || key == "" {
		return release.Result{}, ErrNoRelease
	}
	kind := release.Archive
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			exe = real
		}
		kind = release.KindOf(runtime.GOOS, exe, release.Exists)
	}
	was := readAsked(file)
	if was.From != at {
		was.Seen = ""
	}
	o := release.Options{Network: n, URL: at, Keys: key, Version: version, Seen: was.Seen, OS: runtime.GOOS, Arch: runtime.GOARCH, Kind: kind, Now: now}
	res, err := release.Check(ctx, o)
	if err == nil && was.Seen != res.Latest {
		was.From, was.Seen = at, res.Latest
		_ = was.writeFile(file) // the check is useful even if it cannot be saved
	}
	return res, err
}

// lastCheck is the saved state of update checks.
type lastCheck struct {
	At   time.Time `json:"at"`
	Told string    `json:"told,omitempty"` // the version that the user was notified of
	// Seen is the newest version that was named, and From the address that named it.
	Seen string `json:"seen,omitempty"`
	From string `json:"from,omitempty"`
}

func readAsked(file string) (a lastCheck) {
	b, err := os.ReadFile(file)
	if err == nil {
		_ = json.Unmarshal(b, &a) // an invalid file counts as no earlier check
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

// followReleases checks once a day and reports each newer version once.
func (d *App) followReleases(ctx context.Context) error {
	was := readAsked(d.opt.Paths.UpdateFile())
	for {
		wait := cmp.Or(d.opt.Release.Soon, 5*time.Minute)
		if due := time.Until(was.At.Add(24 * time.Hour)); due > wait && due <= 24*time.Hour { // not of a clock that was wrong
			wait = due
		}
		if retry.Sleep(ctx, wait) != nil {
			return nil
		}
		was = d.lookForRelease(ctx, was)
		if ctx.Err() != nil {
			return nil
		}
	}
}

func (d *App) lookForRelease(ctx context.Context, was lastCheck) lastCheck {
	file, at := d.opt.Paths.UpdateFile(), time.Now()
	r, err := d.opt.Release.Look(ctx, d.network, d.opt.Config.Update, file, d.opt.Version, at)
	now := readAsked(file) // includes the checks by commands
	now.At, now.Told = at, was.Told
	if err == nil && r.Newer && r.Latest != was.Told {
		text := fmt.Sprintf("Hob %s is available; this is %s. See how to get it with: hob update --check", r.Latest, r.Current)
		if err = d.loop.Notify(ctx, "release:"+r.Latest, text); err == nil {
			now.Told = r.Latest
		}
	}
	if err != nil && ctx.Err() == nil {
		d.opt.Log.Warn("update check failed", "err", err)
	}
	if err := now.writeFile(file); err != nil {
		d.opt.Log.Warn("cannot save the time of the update check", "err", err)
	}
	return now
}
