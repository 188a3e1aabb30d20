// Package page implements watchers that fire when a web page, or a part of it, changes. They
// compare the visible text line by line. They do not compare the HTML, because it often changes
// with every request.
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

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/readability"
	setting "hob/platform/text/settings"
	"hob/platform/text/textnorm"
	"hob/watchers"
)

// Kind is the name of the kind.
const Kind = "page"

// Limits of a page.
const (
	maxDecoded  = 10 << 20  // maximum size of the page in UTF-8, in bytes
	maxText     = 200 << 10 // maximum size of the compared text in bytes
	maxSelector = 1000
	every       = time.Hour
)

// config is the configuration of a watcher. Select, or From and To, selects a part of the page. The
// default is the main text.
type config struct {
	URL    string         `json:"url"`
	Select string         `json:"select,omitempty"` // a CSS selector
	From   string         `json:"from,omitempty"`   // text that precedes the part
	To     string         `json:"to,omitempty"`     // text that follows the part
	Words  watchers.Words `json:"words,omitempty"`  // fire only if a changed line contains one of these
	Ignore watchers.Words `json:"ignore,omitempty"` // ignore lines that contain one of these
}

// Driver creates page watchers.
type Driver struct{}

// New returns the driver.
func New() *Driver { return &Driver{} }

// Describe implements watchers.Driver.
func (*Driver) Describe() watchers.Description {
	return watchers.Description{
		Kind: Kind, Subject: watchers.Page, Polled: true, Source: watchers.URLSource, Argument: "url", Example: "--kind page https://example.org/shop --set select=#price",
		Options: "url, select? (CSS) or from? to?, words?", Keywords: "page change",
		Title: "Web page", Form: []setting.Setting{
			{Key: "url", Kind: setting.Text, Title: "Address of the page", Help: `https://example.org/shop`},
			{Key: "select", Kind: setting.Text, Optional: true, Title: "Part of the page", Help: `A CSS selector, such as #price. Empty: the text of the page.`},
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
		return "an unreadable page"
	}
	text := "changes to the page " + textnorm.Ellipsize(c.URL, 200)
	oneLine := func(s string) string { return `"` + textnorm.Ellipsize(readability.Squeeze(s), 80) + `"` }
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
	s, err := watchers.NewSite(deps.Network, c.URL, http.Header{"Accept": {"text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.5"}, "Accept-Language": {"*"}})
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	return &page{c, s}, nil
}

func parseConfig(raw json.RawMessage) (config, error) {
	var c config
	if err := watchers.Decode(raw, &c); err != nil {
		return config{}, fmt.Errorf("page: %w", err)
	}
	if c.URL = watchers.FullAddress(c.URL); c.URL == "" {
		return config{}, errors.New(`page: "url" is missing; it is the address of the page, such as "https://example.org/prices"`)
	}
	c.Select, c.From, c.To = strings.TrimSpace(c.Select), readability.Squeeze(c.From), readability.Squeeze(c.To)
	if c.Select != "" && c.From+c.To != "" {
		return config{}, errors.New(`page: give either "select" or both "from" and "to"`)
	}
	if len(c.Select)+len(c.From)+len(c.To) > maxSelector {
		return config{}, fmt.Errorf("page: \"select\", \"from\" and \"to\" are longer than %d bytes in total", maxSelector)
	}
	if c.Select != "" {
		if _, err := cascadia.ParseGroup(c.Select); err != nil {
			return config{}, fmt.Errorf(`page: "select" must be a CSS selector such as "#price" or "table.results td": %w`, err)
		}
	}
	return c, nil
}

// page is one poll of a watcher.
type page struct {
	config
	watchers.Site
}

// cursor is the state between polls.
type cursor struct {
	watchers.Validators
	Changes int    `json:"changes,omitempty"` // part of the key, so that a return to an earlier text is a new change
	Text    string `json:"text"`
}

// Every implements watchers.Polled.
func (*page) Every() time.Duration { return every }

// Poll implements watchers.Polled.
func (p *page) Poll(ctx context.Context, at watchers.Progress) (watchers.Found, error) {
	var c cursor
	known := !at.First && json.Unmarshal(at.Cursor, &c) == nil
	if !known {
		c = cursor{}
	}
	resp, stamp, err := p.Ask(ctx, c.Validators)
	if err != nil || resp == nil {
		return watchers.Found{}, err
	}
	text, title, err := p.readText(ctx, resp)
	if err != nil {
		return watchers.Found{}, err
	}
	found := watchers.Found{}
	if known && c.Text != text {
		c.Changes++
		if s, ok := p.changeSignal(at.Begun, c, text, title); ok && p.matchesChange(c, text) {
			found.Signals = append(found.Signals, s)
		} else if ok {
			found.Passed = append(found.Passed, watchers.SuppressedSignal{Rule: watchers.RuleCondition, Key: s.Key, Text: s.Text, Why: watchers.FilterReason(p.Words, nil)})
		}
	}
	c.Text, c.Validators = text, stamp
	found.Cursor, err = json.Marshal(c)
	return found, err
}

// matchesChange reports whether a change contains one of the requested words.
func (p *page) matchesChange(c cursor, text string) bool {
	gone, come := watchers.ChangedLines(watchers.TextLines(c.Text), watchers.TextLines(text))
	return len(p.Words) == 0 || p.Words.MatchesText(strings.Join(gone, "\n")+"\n"+strings.Join(come, "\n"))
}

// changeSignal returns the signal for the changes since the cursor's text, or false if they do not
// match. The key contains the start time and the number of changes, so that the same change fires
// again after a pause.
func (p *page) changeSignal(begun time.Time, c cursor, text, title string) (watchers.Signal, bool) {
	gone, come := watchers.ChangedLines(watchers.TextLines(c.Text), watchers.TextLines(text))
	if len(gone)+len(come) == 0 {
		return watchers.Signal{}, false
	}
	name := title
	if name == "" {
		name = textnorm.Ellipsize(p.Address, 100)
	}
	payload, err := json.Marshal(map[string]any{
		"url": p.Address, "title": title, "diff": watchers.FormatDiff(gone, come), "removed": len(gone), "added": len(come),
	})
	if err != nil { // a programming error: all values are strings
		panic(fmt.Sprintf("page: payload: %v", err))
	}
	sum := sha256.Sum256([]byte(c.Text + "\x00" + text))
	return watchers.Signal{
		Key:  fmt.Sprintf("%d:%d:%s", begun.UnixMilli(), c.Changes, hex.EncodeToString(sum[:12])),
		Text: "Changed: " + name + ": " + watchers.BriefChange(gone, come), Payload: payload, Source: provenance.Outside,
	}, true
}
