package browser

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hob/platform/host/system"
)

// Forget stops the browser and removes the profile's data about pages: history, caches, open tabs, typed
// text, site storage, and settings that name sites. Cookies stay, so that the user stays signed in; all
// removes them as well.
func (b *Browser) Forget(all bool) error {
	b.one <- struct{}{}
	defer func() { <-b.one }()
	b.mu.Lock()
	p := b.takeProcess()
	b.known, b.notes = nil, nil
	b.mu.Unlock()
	if p != nil {
		p.stopProcess(5 * time.Second)
	}
	return ClearProfile(b.opt.Profile, all)
}

// ClearProfile implements Forget for a profile that no browser uses.
func ClearProfile(profile string, all bool) error {
	if all {
		return system.RemoveAll(profile)
	}
	first := filepath.Join(profile, "Default")
	for dir, keep := range map[string][]string{
		profile:                         {"Default", "Local State", "First Run", "nothing"},
		first:                           {"Cookies", "Cookies-journal", "Network"},
		filepath.Join(first, "Network"): {"Cookies", "Cookies-journal"},
	} {
		list, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, f := range list {
			if slices.Contains(keep, f.Name()) {
				continue
			}
			if err := system.RemoveAll(filepath.Join(dir, f.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
