package browser

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hob/platform/system"
)

// Forget ends the browser and removes what its profile keeps of pages: history,
// caches, open tabs, what was typed, what sites stored, and settings, in which sites
// are named. Cookies stay, so that the owner stays signed in; with all of it they go
// as well.
func (b *Browser) Forget(all bool) error {
	b.one <- struct{}{}
	defer func() { <-b.one }()
	b.mu.Lock()
	p := b.take()
	b.known, b.notes = nil, nil
	b.mu.Unlock()
	if p != nil {
		p.stop(5 * time.Second)
	}
	return Clear(b.opt.Profile, all)
}

// Clear implements Forget for a profile that no browser uses.
func Clear(profile string, all bool) error {
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
