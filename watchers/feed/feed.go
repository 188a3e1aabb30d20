// Package feed implements watchers that fire for new entries of a feed (RSS, Atom or JSON Feed).
// The user may limit the watchers to entries with certain words. A request sends the validators of
// the last response, so that an unchanged feed costs only one small request.
//
// The manager decides by key which entries are new. This package assigns stable keys to the
// entries; see assignKeys.
package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"hob/platform/store"
	setting "hob/platform/text/settings"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/watchers"
)

// Kind is the name of the kind.
const Kind = "feed"

const every = 30 * time.Minute

// config is the configuration of a watcher.
type config struct {
	URL    string         `json:"url"`
	Words  watchers.Words `json:"words,omitempty"`  // fire only for entries that contain one of these
	Except watchers.Words `json:"except,omitempty"` // skip entries that contain one of these
}

// Driver creates feed watchers.
type Driver struct{}

// New returns the driver.
func New() *Driver { return &Driver{} }

// Describe implements watchers.Driver.
func (*Driver) Describe() watchers.Description {
	return watchers.Description{
		Kind: Kind, Subject: watchers.Feed, Polled: true, Source: watchers.URLSource, Argument: "url", Example: `--kind feed https://example.org/feed.xml --set words='["release"]' --every 1h`,
		Options: "url, words?", Keywords: "feed rss news site",
		Title: "Feed", Form: []setting.Setting{
			{Key: "url", Kind: setting.Text, Title: "Address of the feed", Help: `https://example.org/feed.xml`},
			{Key: "words", Kind: setting.Text, List: true, Optional: true, Title: "Words", Help: `Only items with one of these words.`},
		},
	}
}

// Migrations implements watchers.Driver.
func (*Driver) Migrations() []store.MigrationSet { return nil }

// DescribeConfig implements watchers.Driver.
func (*Driver) DescribeConfig(raw json.RawMessage) string {
	c, err := parseConfig(raw)
	if err != nil {
		return "an unreadable feed"
	}
	text := "new entries of the feed " + textnorm.Ellipsize(c.URL, 200)
	if len(c.Words) > 0 {
		text += " with " + c.Words.List()
	}
	if len(c.Except) > 0 {
		text += " without " + c.Except.List()
	}
	return text
}

// Reach implements watchers.HostLister.
func (*Driver) Reach(raw json.RawMessage) (watchers.NetworkTargets, error) {
	c, err := parseConfig(raw)
	return watchers.NetworkTargets{URLs: []string{c.URL}}, err
}

// New implements watchers.Driver.
func (*Driver) New(spec watchers.Spec, deps watchers.Deps) (any, error) {
	c, err := parseConfig(spec.Config)
	if err != nil {
		return nil, err
	}
	s, err := watchers.NewSite(deps.Network, c.URL, http.Header{
		"Accept": {"application/atom+xml,application/rss+xml,application/feed+json,application/xml;q=0.9,application/json;q=0.9,text/xml;q=0.9,*/*;q=0.5"},
	})
	if err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	return &feed{c, s}, nil
}

func parseConfig(raw json.RawMessage) (config, error) {
	var c config
	if err := watchers.Decode(raw, &c); err != nil {
		return config{}, fmt.Errorf("feed: %w", err)
	}
	c.URL = strings.TrimSpace(c.URL)
	if rest, ok := strings.CutPrefix(c.URL, "feed:"); ok { // URL scheme of feed readers
		c.URL = strings.TrimPrefix(rest, "//")
	}
	if c.URL = watchers.FullAddress(c.URL); c.URL == "" {
		return config{}, errors.New(`feed: "url" is missing; it is the address of the feed, such as "https://example.org/feed.xml"`)
	}
	return c, nil
}

// feed is one poll of a watcher.
type feed struct {
	config
	watchers.Site
}

// cursor is the state between polls.
type cursor struct {
	watchers.Validators
	// Oldest is the date of the oldest entry at the baseline, in Unix seconds. Older entries at the
	// end of the feed are not new: they appeared because the feed became longer.
	Oldest int64 `json:"oldest,omitempty"`
}

// Every implements watchers.Polled.
func (*feed) Every() time.Duration { return every }

// Poll implements watchers.Polled.
func (f *feed) Poll(ctx context.Context, p watchers.Progress) (watchers.Found, error) {
	var c cursor
	if json.Unmarshal(p.Cursor, &c) != nil {
		c = cursor{}
	}
	items, title, stamp, err := f.fetchItems(ctx, c.Validators)
	if err != nil || items == nil {
		return watchers.Found{}, err
	}
	c.Validators = stamp
	if p.First {
		c.Oldest = oldestDate(items)
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return watchers.Found{}, fmt.Errorf("feed: encode the cursor: %w", err)
	}
	found := watchers.Found{Cursor: raw}
	top := firstRecent(items, c.Oldest)
	for i, it := range items {
		if i > top && it.at.Unix() < c.Oldest && !it.at.IsZero() {
			continue
		}
		if !f.matchesItem(it) {
			if !p.First {
				found.Passed = append(found.Passed, f.suppressedItem(it, title))
				continue
			}
			it.at = time.Time{} // Record the entry as known, so that it is not new if a later edit adds the word.
		}
		found.Signals = append(found.Signals, it.itemSignal(f.Address, title))
	}
	return found, nil
}

// Past implements watchers.Historian.
func (f *feed) Past(ctx context.Context, since time.Time) ([]watchers.Signal, error) {
	items, title, _, err := f.fetchItems(ctx, watchers.Validators{})
	if err != nil {
		return nil, err
	}
	var out []watchers.Signal
	for _, it := range items {
		if it.at.After(since) && f.matchesItem(it) {
			out = append(out, it.itemSignal(f.Address, title))
		}
	}
	sorting.StableByFunc(out, func(a, b watchers.Signal) int { return a.At.Compare(b.At) })
	return out, nil
}

// fetchItems requests the feed. If the feed is unchanged, it returns no items and no error.
func (f *feed) fetchItems(ctx context.Context, last watchers.Validators) (items []item, title string, fresh watchers.Validators, err error) {
	resp, fresh, err := f.Ask(ctx, last)
	if err != nil || resp == nil {
		return nil, "", last, err
	}
	items, title, err = readFeed(resp.Body, resp.URL)
	if err != nil {
		return nil, "", last, fmt.Errorf("%s did not return a feed: %w", resp.URL.Host, err)
	}
	return items, title, fresh, nil
}

// suppressedItem returns the record of an entry that does not match the conditions.
func (f *feed) suppressedItem(it item, title string) watchers.SuppressedSignal {
	s := it.itemSignal(f.Address, title)
	return watchers.SuppressedSignal{Rule: watchers.RuleCondition, Key: s.Key, Text: s.Text, At: it.at, Why: watchers.FilterReason(f.Words, f.Except)}
}

func (f *feed) matchesItem(it item) bool {
	text := it.Title + "\n" + it.Summary + "\n" + strings.Join(it.Categories, "\n")
	return (len(f.Words) == 0 || f.Words.MatchesText(text)) && !f.Except.MatchesText(text)
}

func oldestDate(items []item) int64 {
	var first int64
	for _, it := range items {
		if at := it.at.Unix(); !it.at.IsZero() && at > 0 && (first == 0 || at < first) {
			first = at
		}
	}
	return first
}

// firstRecent returns the index of the first item that is not older than oldest, or len(items).
func firstRecent(items []item, oldest int64) int {
	for i, it := range items {
		if it.at.Unix() >= oldest && !it.at.IsZero() {
			return i
		}
	}
	return len(items)
}
