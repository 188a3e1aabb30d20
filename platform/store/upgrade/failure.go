package upgrade

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hob/platform/host/system"
)

// Failure records the last upgrade that failed, so that commands can report it, and a service manager that
// restarts Hob does not repeat the snapshot and the trial each time.
type Failure struct {
	Version string    `json:"version"` // version of the program that failed
	Config  string    `json:"config"`  // digest of the configuration file, which may be the cause
	Reason  string    `json:"reason"`
	At      time.Time `json:"at"`
	// Tries is the number of failed upgrades, or 0 if the program refused to start before it tried one.
	Tries int `json:"tries"`
}

// The time after a failure in which the same version does not repeat the upgrade. It doubles with each
// failure.
const (
	firstRetry = time.Minute
	maxRetry   = time.Hour
)

// NextTry returns when a start repeats the upgrade.
func (f Failure) NextTry() time.Time {
	if f.Tries == 0 {
		return f.At
	}
	wait := firstRetry
	for n := 1; n < f.Tries && wait < maxRetry; n++ {
		wait *= 2
	}
	return f.At.Add(min(wait, maxRetry))
}

func failureFile(p system.Paths) string { return filepath.Join(p.Data, "upgrade-failed.json") }

// LastFailure returns the last upgrade that failed, if no later one succeeded. An unreadable record
// counts as none.
func LastFailure(p system.Paths) (f Failure, found bool) {
	b, err := os.ReadFile(failureFile(p))
	if err != nil || json.Unmarshal(b, &f) != nil {
		return Failure{}, false
	}
	return f, true
}

// Describe returns what failed and what the user can do.
func (f Failure) Describe() (text, remedy string) {
	if f.Tries > 0 {
		return fmt.Sprintf("the upgrade to %s failed: %s", f.Version, f.Reason), "remove the cause and repeat the upgrade: hob doctor --fix && hob start, or go back: hob update --rollback"
	}
	cause, remedy, _ := strings.Cut(f.Reason, "; ")
	return fmt.Sprintf("version %s did not start: %s", f.Version, cause), cmp.Or(remedy, "remove the cause, then run: hob start")
}

// ForgetFailure lets the next start repeat the upgrade.
func ForgetFailure(p system.Paths) error {
	if err := os.Remove(failureFile(p)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("upgrade: delete the record of the failure: %w", err)
	}
	return nil
}

// checkRetry returns an error if it is too early to repeat a failed upgrade. Another version or
// configuration may succeed, so it is not delayed.
func (u *Upgrade) checkRetry() error {
	f, found := LastFailure(u.o.Paths)
	now := time.Now()
	if !found || f.Version != u.o.Version || f.Config != u.configDigest() || now.Before(f.At) || !now.Before(f.NextTry()) {
		return nil
	}
	const stamp = "2006-01-02 15:04:05 UTC"
	return fmt.Errorf("upgrade to %s failed at %s: %s; your data is the same as before the upgrade: start again after %s or after a change of config.toml, repeat now with: hob doctor --fix, or go back with: hob update --rollback",
		f.Version, f.At.UTC().Format(stamp), f.Reason, f.NextTry().UTC().Format(stamp))
}

// recordFailure records that the upgrade failed with the error opened.
func (u *Upgrade) recordFailure(opened error) error {
	f := Failure{Version: u.o.Version, Config: u.configDigest(), Reason: opened.Error(), At: time.Now().UTC(), Tries: 1}
	if last, found := LastFailure(u.o.Paths); found && last.Version == f.Version && last.Config == f.Config {
		f.Tries += last.Tries
	}
	return u.writeFailure(f)
}

// recordRefusal records that the program refused to start with the error failed. It reports whether the
// error is a new one.
func (u *Upgrade) recordRefusal(failed error) (isNew bool) {
	f := Failure{Version: u.o.Version, Config: u.configDigest(), Reason: failed.Error(), At: time.Now().UTC()}
	if last, found := LastFailure(u.o.Paths); found && last.Version == f.Version && last.Tries == 0 && last.At.Add(maxRetry).After(f.At) {
		return false
	}
	if err := u.writeFailure(f); err != nil {
		u.o.Log.Warn("refused start not recorded", "err", err)
	}
	return true
}

func (u *Upgrade) writeFailure(f Failure) error {
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return system.WriteFile(failureFile(u.o.Paths), b)
}

// forgetOutdated deletes the record of a failure that no longer applies after the start of this
// program.
func (u *Upgrade) forgetOutdated() {
	if f, found := LastFailure(u.o.Paths); !found || f.Tries > 0 && f.Version != u.o.Version {
		return
	}
	if err := ForgetFailure(u.o.Paths); err != nil {
		u.o.Log.Warn("record of a failed upgrade not deleted", "err", err)
	}
}

func (u *Upgrade) configDigest() string {
	b, err := os.ReadFile(u.o.Paths.ConfigFile())
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
