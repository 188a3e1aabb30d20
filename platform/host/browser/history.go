package browser

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hob/platform/host/system"
	"hob/platform/retry"
)

// entry is a page in the history of a tab.
type entry struct {
	ID  int64  `json:"id"`
	URL string `json:"url"`
}

func (t *tab) historyEntry(ctx context.Context, delta int) (entry, error) {
	var h struct {
		CurrentIndex int     `json:"currentIndex"`
		Entries      []entry `json:"entries"`
	}
	step, cancel := context.WithTimeout(ctx, t.b.limits.answer)
	defer cancel()
	if err := t.callCommand(step, "Page.getNavigationHistory", nil, &h); err != nil {
		return entry{}, t.b.protocolError(err)
	}
	i := h.CurrentIndex + delta
	if i < 0 || i >= len(h.Entries) || !webPage(h.Entries[i].URL) || h.Entries[i].URL == "about:blank" {
		return entry{}, &Error{Kind: NotFound, Message: "the tab has no page in that direction of its history"}
	}
	return h.Entries[i], nil
}

// History returns the address that precedes (-1) or follows (1) the current one in a tab's history.
func (b *Browser) History(ctx context.Context, id string, delta int) (string, error) {
	_, done, t, err := b.enterTab(ctx, id)
	if err != nil {
		return "", err
	}
	defer done()
	e, err := t.historyEntry(ctx, delta)
	return e.URL, err
}

// Go moves back or forward in a tab's history, to the address that History returned.
func (b *Browser) Go(ctx context.Context, id string, delta int, address string) (Tab, error) {
	_, done, t, err := b.enterTab(ctx, id)
	if err != nil {
		return Tab{}, err
	}
	defer done()
	e, err := t.historyEntry(ctx, delta)
	if err != nil {
		return Tab{}, err
	}
	if e.URL != address {
		return Tab{}, &Error{Kind: Changed, Message: "the history has changed in the meantime", Remedy: "read the tab again"}
	}
	begin := time.Now()
	if err := t.callCommand(ctx, "Page.navigateToHistoryEntry", jsonObject{"entryId": e.ID}, nil); err != nil {
		return Tab{}, b.protocolError(err)
	}
	if err := retry.Sleep(ctx, b.limits.calm); err != nil {
		return Tab{}, err
	}
	t.waitLoaded(ctx, "")
	if err := t.checkLanding(ctx, begin); err != nil {
		return Tab{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active = t
	return t.tabInfo(t), nil
}

// Forget stops the browser and removes the profile's data about pages: history, caches, open tabs,
// typed text, site storage, and settings that name sites. Cookies are kept, so that the user
// remains signed in, unless all is set.
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

// ForgetPages calls Forget on b, the browser that uses the profile, or ClearProfile if b is nil.
func ForgetPages(b *Browser, profile string, all bool) error {
	if b != nil {
		return b.Forget(all)
	}
	return ClearProfile(profile, all)
}
