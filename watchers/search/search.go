// Package search implements watchers that search the web for a topic and fire for pages that the
// search did not find before. A page counts only if its title or its snippet contains at least half
// of the topic's words, because search services fill their lists with other pages.
package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	setting "hob/platform/text/settings"
	"hob/platform/text/summary"
	"hob/platform/text/textnorm"
	"hob/watchers"
)

// Kind is the name of the kind.
const Kind = "search"

const (
	every      = 24 * time.Hour
	maxQuery   = 300 // characters
	maxResults = 20
)

// config is the configuration of a watcher.
type config struct {
	Query  string         `json:"query"`
	Words  watchers.Words `json:"words,omitempty"`  // fire only for pages that contain one of these
	Except watchers.Words `json:"except,omitempty"` // skip pages that contain one of these
}

// Driver creates search watchers.
type Driver struct{}

// New returns the driver.
func New() *Driver { return &Driver{} }

// Describe implements watchers.Driver.
func (*Driver) Describe() watchers.Description {
	return watchers.Description{
		Kind: Kind, Polled: true, Argument: "query", Tool: "track_topic", Example: `--kind search "lighthouse restoration" --every 1d`,
		Options: "query, words?", Keywords: "topic search news",
		Title: "Web search", Form: []setting.Setting{
			{Key: "query", Kind: setting.Text, Title: "Topic", Help: `lighthouse restoration`},
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
		return "an unreadable search"
	}
	text := `new pages about "` + textnorm.Ellipsize(c.Query, 200) + `"`
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
	return watchers.NetworkTargets{Query: c.Query}, err
}

// New implements watchers.Driver.
func (*Driver) New(spec watchers.Spec, deps watchers.Deps) (any, error) {
	c, err := parseConfig(spec.Config)
	if err != nil {
		return nil, err
	}
	if deps.Search == nil {
		return nil, errors.New("search: no search service is configured; set provider in [search]")
	}
	return &topic{c, deps.Search}, nil
}

func parseConfig(raw json.RawMessage) (config, error) {
	var c config
	if err := watchers.Decode(raw, &c); err != nil {
		return config{}, fmt.Errorf("search: %w", err)
	}
	c.Query = strings.Join(strings.Fields(c.Query), " ")
	switch n := len([]rune(c.Query)); {
	case n == 0:
		return config{}, errors.New(`search: "query" is missing; it is the topic in words, such as "lighthouse restoration"`)
	case n > maxQuery:
		return config{}, fmt.Errorf(`search: "query" has %d characters; use at most %d`, n, maxQuery)
	}
	return c, nil
}

// topic is one poll of a watcher.
type topic struct {
	config
	search watchers.SearchFunc
}

// Every implements watchers.Polled.
func (*topic) Every() time.Duration { return every }

// Group implements watchers.Grouped. All searches go to one service.
func (*topic) Group() string { return "search" }

// Poll implements watchers.Polled.
func (t *topic) Poll(ctx context.Context, _ watchers.Progress) (watchers.Found, error) {
	results, err := t.search(ctx, t.Query, maxResults)
	if err != nil {
		return watchers.Found{}, err
	}
	found := watchers.Found{Cursor: json.RawMessage(`{}`)}
	for _, r := range results {
		s := t.resultSignal(r)
		switch text := r.Title + "\n" + r.Snippet; {
		case len(t.Words) > 0 && !t.Words.MatchesText(text), t.Except.MatchesText(text):
			found.Passed = append(found.Passed, watchers.SuppressedSignal{Rule: watchers.RuleCondition, Key: s.Key, Text: s.Text, Why: watchers.FilterReason(t.Words, t.Except)})
		case !isRelevant(t.Query, text):
			found.Passed = append(found.Passed, watchers.SuppressedSignal{Rule: watchers.RuleCondition, Key: s.Key, Text: s.Text, Why: "it has less than half of the words of the topic"})
		default:
			found.Signals = append(found.Signals, s)
		}
	}
	return found, nil
}

// isRelevant reports whether a text contains at least half of the words of the topic.
func isRelevant(query, text string) bool {
	want, have := summary.Terms(query, ""), summary.Terms(text, "")
	n := 0
	for _, w := range want {
		if slices.Contains(have, w) {
			n++
		}
	}
	return 2*n >= len(want)
}

// resultSignal returns the signal for a page. The key is its address, without the fragment and the
// slash at the end.
func (t *topic) resultSignal(r watchers.SearchResult) watchers.Signal {
	key := r.URL
	if u, err := url.Parse(r.URL); err == nil {
		u.Fragment = ""
		key = strings.TrimSuffix(u.String(), "/")
	}
	payload, err := json.Marshal(map[string]string{"topic": t.Query, "title": r.Title, "link": r.URL, "summary": r.Snippet})
	if err != nil { // a programming error: all values are strings
		panic(fmt.Sprintf("search: payload: %v", err))
	}
	return watchers.Signal{
		Key: key, Payload: payload, Source: provenance.Outside,
		Text: "New about " + textnorm.Ellipsize(t.Query, 100) + ": " + textnorm.Ellipsize(r.Title, 200) + " (" + textnorm.Ellipsize(r.URL, 300) + ")",
	}
}
