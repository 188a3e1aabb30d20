package service

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"hob/autonomy/api"
	"hob/autonomy/config"
	"hob/platform/retry"
	"hob/platform/store/upgrade"
)

// Intervals of the checks of config.toml. A change counts only after two checks
// have seen the same file, because editors may write a file in pieces.
const (
	configSettle = time.Second     // wait after a change
	configPoll   = time.Minute     // interval of the checks if the system reports changes
	configBlind  = 5 * time.Second // otherwise
	configBusy   = time.Minute     // how long a requested restart waits for running turns
	configDelay  = 2 * time.Second // minimum time before a restart, in which the page that announces it can load
)

// configState is the state of config.toml as FollowConfig has found it.
type configState struct {
	mu     sync.Mutex
	broken error // nil: valid
	since  time.Time
	apply  bool          // whether a request of ApplyConfig is open
	wake   chan struct{} // receives when ApplyConfig is called
}

func (sv *Service) willRestart() bool {
	sv.conf.mu.Lock()
	defer sv.conf.mu.Unlock()
	return sv.conf.apply
}

func (sv *Service) setRestarting(on bool) {
	sv.conf.mu.Lock()
	defer sv.conf.mu.Unlock()
	sv.conf.apply = on
}

// ApplyConfig makes FollowConfig restart Hob with the file when no turn is running. It returns false
// if this process cannot restart, so that the file applies only at the next start.
func (sv *Service) ApplyConfig() bool {
	if sv.o.Restart == nil {
		return false
	}
	sv.setRestarting(true)
	select {
	case sv.conf.wake <- struct{}{}:
	default: // FollowConfig has not seen the last call yet
	}
	return true
}

// FollowConfig checks config.toml until ctx ends. While the file is invalid, Hob keeps the
// configuration that it runs with and notifies the user once. When the file is valid again, or after
// ApplyConfig, Hob restarts with it.
func (sv *Service) FollowConfig(ctx context.Context) error {
	var restarts time.Time // when a restart was requested that waits for running turns, or zero
	var seen, judged fs.FileInfo
	// deleted is the number of consecutive checks without a file.
	deleted := 0
	if broken := sv.o.Config.Replaces; broken != nil { // already known to be invalid, so only a change to the file matters
		judged, _ = os.Stat(sv.o.Revisions.Path)
		_ = sv.setBroken(broken)
		sv.reportBroken(ctx, broken)
	}
	watch, err := fsnotify.NewWatcher()
	if err != nil {
		sv.o.Log.Info("the system does not report changes of files; checking the configuration regularly", "err", err)
		watch = &fsnotify.Watcher{} // reports nothing
	} else {
		defer func() { _ = watch.Close() }()
	}
	for {
		now, err := os.Stat(sv.o.Revisions.Path)
		stable := err == nil && seen != nil && isSameFile(seen, now)
		first := err == nil && seen == nil && judged == nil
		if (stable || first) && (judged == nil || !isSameFile(judged, now)) {
			judged = now
			restarts = sv.judgeConfig(ctx)
		}
		if _, lerr := os.Lstat(sv.o.Revisions.Path); !errors.Is(lerr, fs.ErrNotExist) {
			deleted = 0
		} else if deleted++; deleted == 2 && (sv.willRestart() || sv.isBroken()) { // the user deleted the invalid file, or undid its first change
			restarts = sv.judgeConfig(ctx)
		}
		if waited := time.Since(restarts); !restarts.IsZero() && waited >= configDelay && (sv.o.Loop.Running() == 0 || waited >= configBusy) {
			sv.o.Log.Info("configuration changed, restarting with it")
			sv.o.Restart()
		}
		pause := configBlind
		switch {
		case err == nil && !stable, !restarts.IsZero():
			pause = configSettle
		case err == nil && watch.Events != nil && watch.Add(sv.o.Revisions.Path) == nil: // again, because an editor may replace the file
			pause = configPoll
		case errors.Is(err, fs.ErrNotExist) && seen == nil && !sv.willRestart() && !sv.isBroken(): // there is no file
			pause = configPoll
		}
		seen = now
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-sv.conf.wake:
			judged, deleted = nil, 0
			sv.setRestarting(true) // a check in the meantime may have reset it
		case <-watch.Events:
			if err := retry.Sleep(ctx, configSettle); err != nil { // wait for further events of the same change
				return err
			}
			for len(watch.Events) > 0 {
				<-watch.Events
			}
		case err := <-watch.Errors: // events may be lost; the file is checked again
			sv.o.Log.Debug("changes of the configuration may be lost", "err", err)
		case <-time.After(pause):
		}
	}
}

func isSameFile(a, b fs.FileInfo) bool {
	return a != nil && b != nil && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}

// judgeConfig reads the file and reports what it found. If Hob should restart with the file, it
// returns the present time: the file is valid again, or ApplyConfig was called.
func (sv *Service) judgeConfig(ctx context.Context) (restarts time.Time) {
	defer func() { sv.setRestarting(!restarts.IsZero()) }()
	o := sv.o
	c, err := o.Revisions.Load()
	if err == nil {
		err = o.CheckConfig(ctx, c)
	}
	if err != nil && !config.IsMistake(err) {
		o.Log.Warn("configuration not checked", "err", err)
		return restarts
	}
	was := sv.setBroken(err)
	if err != nil {
		sv.reportBroken(ctx, err)
		return restarts
	}
	if err := o.Revisions.MarkValid(c); err != nil {
		o.Log.Warn("valid configuration not stored", "err", err)
	}
	switch {
	case was != nil && !c.SameText(o.Config), sv.willRestart() && o.Config.NeedsRestart(c):
	default:
		return restarts
	}
	if o.Restart == nil {
		o.Log.Warn("configuration corrected; it applies at the next start")
		return restarts
	}
	return time.Now()
}

func (sv *Service) isBroken() bool {
	sv.conf.mu.Lock()
	defer sv.conf.mu.Unlock()
	return sv.conf.broken != nil
}

func (sv *Service) setBroken(err error) (was error) {
	s := &sv.conf
	s.mu.Lock()
	defer s.mu.Unlock()
	was, s.broken = s.broken, err
	if was == nil {
		s.since = time.Now()
	}
	return was
}

// reportBroken notifies the user once for each set of mistakes.
func (sv *Service) reportBroken(ctx context.Context, broken error) {
	o := sv.o
	o.Log.Error("configuration not valid, keeping the last valid one", "err", broken)
	text := upperFirst(brokenText(broken)) + ". " + upperFirst(brokenRemedy)
	key := fmt.Sprintf("config:%.16x", sha256.Sum256([]byte(broken.Error())))
	if err := o.Intake.Notify(ctx, key, text); err != nil {
		o.Log.Error("notification about the configuration not stored", "err", err)
	}
}

const brokenRemedy = "correct the file, and Hob applies it automatically; check it with: hob config check"

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// brokenText names the first mistakes of an invalid configuration.
func brokenText(broken error) string {
	errs, _ := errors.AsType[config.Errors](broken)
	lines := []string{broken.Error()}
	if len(errs) > 0 {
		lines = nil
		for _, e := range errs[:min(3, len(errs))] {
			lines = append(lines, e.Error())
		}
	}
	if more := len(errs) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return "the configuration file is not valid, so Hob uses the last valid version: " + strings.Join(lines, "; ")
}

// Problems implements api.Management.
func (sv *Service) Problems(ctx context.Context) []api.Problem {
	out := sv.o.Problems(ctx)
	s := &sv.conf
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		out = append(out, api.Problem{Name: "config", Text: brokenText(s.broken), Remedy: brokenRemedy, Since: s.since})
	}
	for _, name := range slices.Sorted(maps.Keys(sv.o.Triggers)) {
		if cause, remedy, _ := strings.Cut(sv.o.Triggers[name].Unreadable, "; "); cause != "" {
			out = append(out, api.Problem{
				Name: "trigger", Text: fmt.Sprintf("the secret of the trigger %s is not readable, so it accepts only Hob's token: %s", name, cause),
				Remedy: cmp.Or(remedy, "correct the secret") + "; then restart Hob: hob stop && hob start",
			})
		}
	}
	if f, failed := upgrade.LastFailure(sv.o.Paths); failed {
		text, remedy := f.Describe()
		out = append(out, api.Problem{Name: "upgrade", Text: text, Remedy: remedy, Since: f.At})
	}
	return out
}
