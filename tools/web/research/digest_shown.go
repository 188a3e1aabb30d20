package research

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"hob/platform/text/sorting"
)

// StateStore keeps values under short keys. A value is durable when Set returns.
type StateStore interface {
	Get(ctx context.Context, key string) ([]byte, error) // returns nil if there is no value
	Set(ctx context.Context, key string, value []byte) error
}

const (
	shownKey = "shown"
	maxShown = 1500 // entries; the state of a store holds at most 64 KiB
)

// shownEntries are the digests of the entries that a digest has shown, with the day in Unix days.
type shownEntries map[string]int64

// entryKey identifies an entry. A page has a new entry when its summary changes.
func (f *feedDigest) entryKey(x newsItem) string {
	text := x.Link + "\n" + x.Title
	if f.Kind == "page" {
		text += "\n" + x.Summary
	}
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

func (d Deps) loadShown(ctx context.Context) (shownEntries, error) {
	if d.Shown == nil {
		return shownEntries{}, nil
	}
	b, err := d.Shown.Get(ctx, shownKey)
	if err != nil {
		return nil, fmt.Errorf("read the entries of earlier digests: %w", err)
	}
	out := shownEntries{}
	if len(b) > 0 {
		if err := json.Unmarshal(b, &out); err != nil {
			return nil, fmt.Errorf("read the entries of earlier digests: %w", err)
		}
	}
	return out, nil
}

// dropShown removes entries that an earlier digest has shown. It counts them in Before.
func (s shownEntries) dropShown(feeds []*feedDigest) {
	for _, f := range feeds {
		n := len(f.Items)
		f.Items = slices.DeleteFunc(f.Items, func(x newsItem) bool { _, old := s[f.entryKey(x)]; return old })
		f.Before = n - len(f.Items)
	}
}

// saveShown records the entries of a digest and drops the oldest ones above the limit.
func (d Deps) saveShown(ctx context.Context, shown shownEntries, feeds []*feedDigest, now time.Time) error {
	if d.Shown == nil {
		return nil
	}
	day := now.Unix() / (24 * 60 * 60)
	for _, f := range feeds {
		for _, x := range f.Items {
			shown[f.entryKey(x)] = day
		}
	}
	keys := slices.Collect(maps.Keys(shown))
	sorting.ByFunc(keys, func(a, b string) int { return int(shown[b] - shown[a]) })
	for _, k := range keys[min(len(keys), maxShown):] {
		delete(shown, k)
	}
	b, err := json.Marshal(shown)
	if err != nil {
		return err
	}
	if err := d.Shown.Set(ctx, shownKey, b); err != nil {
		return fmt.Errorf("save the entries of the digest: %w", err)
	}
	return nil
}
