// Package page is the kind of watcher that tells when a web page, or a part of
// it, says something else than before. It compares what a reader would see, line
// by line, and not the HTML, in which something changes with every look.
package page

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/andybalholm/cascadia"

	"hob/knowledge/store"
	"hob/platform/phrase"
	"hob/platform/provenance"
	"hob/platform/readable"
	"hob/platform/safehttp"
	"hob/watchers"
)

// Kind is the kind's name.
const Kind = "page"

// The bounds of a page.
const (
	maxBody     = 5 << 20
	maxText     = 200 << 10 // what is compared, in bytes
	maxSelector = 1000
	every       = time.Hour
)

// config is what the owner or a tool gives. Select, or From and To, name a part
// of the page; without them it is all that is meant for readers.
type config struct {
	URL    string         `json:"url"`
	Select string         `json:"select,omitempty"` // a CSS selector
	From   string         `json:"from,omitempty"`   // the text before the part
	To     string         `json:"to,omitempty"`     // the text after it
	Words  watchers.Words `json:"words,omitempty"`  // tell only when a changed line has one of these
	Ignore watchers.Words `json:"ignore,omitempty"` // lines with one of these do not count
}

// Driver makes page watchers.
type Driver struct{}

// New returns the driver.
func New() *Driver { return &Driver{} }

// Kind implements watchers.Driver.
func (*Driver) Kind() string { return Kind }

// Migrations implements watchers.Driver.
func (*Driver) Migrations() []store.Set { return nil }

// Describe implements watchers.Driver.
func (*Driver) Describe(raw json.RawMessage) string {
	c, err := parse(raw)
	if err != nil {
		return "an unreadable page"
	}
	text := "changes of the page " + phrase.Cut(c.URL, 200)
	oneLine := func(s string) string { return `"` + phrase.Cut(readable.Squeeze(s), 80) + `"` }
	switch {
	case c.Select != "":
		text += " in the part " + oneLine(c.Select)
	case c.From != "" && c.To != "":
		text += " between " + oneLine(c.From) + " and " + oneLine(c.To)
	case c.From != "":
		text += " after " + oneLine(c.From)
	case c.To != "":
		text += " before " + oneLine(c.To)
	}
	if len(c.Words) > 0 {
		text += " with " + c.Words.List()
	}
	return text
}

// Reach implements watchers.Reacher.
func (*Driver) Reach(raw json.RawMessage) (watchers.Reach, error) {
	c, err := parse(raw)
	return watchers.Reach{URLs: []string{c.URL}}, err
}

// New implements watchers.Driver.
func (*Driver) New(spec watchers.Spec, deps watchers.Deps) (any, error) {
	c, err := parse(spec.Config)
	if err != nil {
		return nil, err
	}
	u, err := watchers.Address(deps.Network, c.URL)
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	c.URL = u.String()
	return &page{config: c, host: u.Host, network: deps.Network}, nil
}

func parse(raw json.RawMessage) (config, error) {
	var c config
	if err := watchers.Decode(raw, &c); err != nil {
		return config{}, fmt.Errorf("page: %w", err)
	}
	if c.URL = strings.TrimSpace(c.URL); c.URL == "" {
		return config{}, errors.New(`page: "url" is missing; it is the address of the page, such as "https://example.org/prices"`)
	}
	if !strings.Contains(c.URL, "://") {
		c.URL = "https://" + c.URL
	}
	c.Select, c.From, c.To = strings.TrimSpace(c.Select), readable.Squeeze(c.From), readable.Squeeze(c.To)
	if c.Select != "" && c.From+c.To != "" {
		return config{}, errors.New(`page: give either "select" or "from" and "to"`)
	}
	if len(c.Select)+len(c.From)+len(c.To) > maxSelector {
		return config{}, fmt.Errorf("page: what names the part is longer than %d bytes", maxSelector)
	}
	if c.Select != "" {
		if _, err := cascadia.ParseGroup(c.Select); err != nil {
			return config{}, fmt.Errorf(`page: "select" is no CSS selector such as "#price" or "table.results td": %w`, err)
		}
	}
	return c, nil
}

// page is one poll of a watcher.
type page struct {
	config
	host    string
	network *safehttp.Client
}

// cursor is what is remembered between polls.
type cursor struct {
	ETag     string `json:"etag,omitempty"`
	Modified string `json:"modified,omitempty"`
	Changes  int    `json:"changes,omitempty"` // counted, so that a return to what was is a change
	Text     string `json:"text"`
}

// Every implements watchers.Polled.
func (*page) Every() time.Duration { return every }

// Group implements watchers.Grouped.
func (p *page) Group() string { return p.host }

// Poll implements watchers.Polled.
func (p *page) Poll(ctx context.Context, at watchers.Progress) (watchers.Found, error) {
	var c cursor
	known := !at.First && json.Unmarshal(at.Cursor, &c) == nil
	if !known {
		c = cursor{}
	}
	resp, err := watchers.Fetch(ctx, p.network, safehttp.Request{
		URL: p.URL, If: safehttp.Validators{ETag: c.ETag, LastModified: c.Modified}, MaxBody: maxBody,
		Header: http.Header{"Accept": {"text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.5"}, "Accept-Language": {"*"}},
	})
	if err != nil || resp.NotModified() {
		return watchers.Found{}, err
	}
	text, title, err := p.read(ctx, resp)
	if err != nil {
		return watchers.Found{}, err
	}
	found := watchers.Found{}
	if known && c.Text != text {
		c.Changes++
		if s, ok := p.signal(at.Begun, c, text, title); ok && p.wants(c, text) {
			found.Signals = append(found.Signals, s)
		} else if ok {
			found.Passed = append(found.Passed, watchers.Passed{Rule: watchers.RuleCondition, Key: s.Key, Text: s.Text, Why: watchers.Unwanted(p.Words, nil)})
		}
	}
	v := resp.Validators()
	c.Text, c.ETag, c.Modified = text, "", ""
	if len(v.ETag)+len(v.LastModified) <= 1024 {
		c.ETag, c.Modified = v.ETag, v.LastModified
	}
	found.Cursor, err = json.Marshal(c)
	return found, err
}

// wants reports whether a change touches one of the words that were asked for.
func (p *page) wants(c cursor, text string) bool {
	gone, come := changes(lines(c.Text), lines(text))
	return len(p.Words) == 0 || p.Words.In(strings.Join(gone, "\n")+"\n"+strings.Join(come, "\n"))
}

// signal is what changed since the cursor's text, false when it is not worth
// telling. The changes are counted from the beginning, which is part of the key
// therefore: the same change after a pause is another one.
func (p *page) signal(begun time.Time, c cursor, text, title string) (watchers.Signal, bool) {
	gone, come := changes(lines(c.Text), lines(text))
	if len(gone)+len(come) == 0 {
		return watchers.Signal{}, false
	}
	name := title
	if name == "" {
		name = phrase.Cut(p.URL, 100)
	}
	payload, err := json.Marshal(map[string]any{
		"url": p.URL, "title": title, "diff": diff(gone, come), "removed": len(gone), "added": len(come),
	})
	if err != nil { // a programming error: they are texts
		panic(fmt.Sprintf("page: payload: %v", err))
	}
	sum := sha256.Sum256([]byte(c.Text + "\x00" + text))
	return watchers.Signal{
		Key:  fmt.Sprintf("%d:%d:%s", begun.UnixMilli(), c.Changes, hex.EncodeToString(sum[:12])),
		Text: "Changed: " + name + ": " + brief(gone, come), Payload: payload, Source: provenance.Outside,
	}, true
}
