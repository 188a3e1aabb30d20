// Package github implements watchers that fire for events of a repository on GitHub or on a GitHub
// Enterprise Server: issues, pull requests, releases, workflow runs, and all other events. It
// calls the REST API (https://docs.github.com/rest) with conditional requests, so that polls of an
// idle repository do not count against the rate limit. It follows pagination and waits as long as
// the server requests.
//
// All items have a time. Items older than the watcher never fire.
package github

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"hob/platform/net/safehttp"
	"hob/platform/store"
	setting "hob/platform/text/settings"
	"hob/platform/text/sorting"
	"hob/watchers"
)

// Kind is the name of the kind.
const Kind = "github"

const (
	every   = 5 * time.Minute
	public  = "https://api.github.com"
	overlap = time.Hour // pages are read back to this time before the newest known item
)

// Values of What.
const (
	issues   = "issues"
	pulls    = "pulls"
	releases = "releases"
	runs     = "runs"     // completed workflow runs
	failures = "failures" // failed workflow runs
	events   = "events"   // all events that GitHub lists
)

func validEvents() []string { return []string{issues, pulls, releases, runs, failures, events} }

// config is the configuration of a watcher.
type config struct {
	Repo   string         `json:"repo"` // "owner/name"
	What   watchers.Words `json:"what,omitempty"`
	Branch string         `json:"branch,omitempty"` // only for runs and failures
	Words  watchers.Words `json:"words,omitempty"`  // fire only for items that contain one of these
	Token  string         `json:"token,omitempty"`  // a reference to a secret
	Base   string         `json:"base_url,omitempty"`
}

// Driver creates github watchers.
type Driver struct{}

// New returns the driver.
func New() *Driver { return &Driver{} }

// Describe implements watchers.Driver.
func (*Driver) Describe() watchers.Description {
	return watchers.Description{
		Kind: Kind, Subject: watchers.Repository, Site: Kind, Polled: true, Argument: "repo", Example: `--kind github owner/name --set what='["releases","failures"]'`,
		Options: "repo, what? (issues, pulls, releases, runs, failures, events), words?", Keywords: "github issue pull request release",
		Title: "GitHub repository", Form: []setting.Setting{
			{Key: "repo", Kind: setting.Text, Title: "Repository", Help: `owner/name`},
			{Key: "what", Kind: setting.Text, List: true, Optional: true, Title: "What", Help: `issues, pulls, releases, runs, failures, events`},
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
		return "an unreadable repository"
	}
	var list []string
	for _, w := range c.What {
		list = append(list, nameOf(w))
	}
	text := strings.Join(list, ", ") + " of " + c.Repo
	if c.Base != public {
		if u, err := url.Parse(c.Base); err == nil {
			text += " on " + u.Host
		}
	}
	if c.Branch != "" {
		text += " on the branch " + c.Branch
	}
	if len(c.Words) > 0 {
		text += " with " + c.Words.List()
	}
	return text
}

func nameOf(what string) string {
	return map[string]string{
		issues: "issues", pulls: "pull requests", releases: "releases", runs: "finished workflow runs", failures: "failed workflow runs", events: "everything",
	}[what]
}

// Reach implements watchers.HostLister.
func (*Driver) Reach(raw json.RawMessage) (watchers.NetworkTargets, error) {
	c, err := parseConfig(raw)
	if err != nil {
		return watchers.NetworkTargets{}, err
	}
	r := watchers.NetworkTargets{}
	for _, w := range c.endpointList() {
		r.URLs = append(r.URLs, c.endpointURL(w))
	}
	if c.Token != "" {
		r.Secrets = []string{c.Token}
	}
	return r, nil
}

// New implements watchers.Driver.
func (*Driver) New(spec watchers.Spec, deps watchers.Deps) (any, error) {
	c, err := parseConfig(spec.Config)
	if err != nil {
		return nil, err
	}
	u, err := watchers.ParseAddress(deps.Network, c.endpointURL(c.endpointList()[0]))
	if err != nil {
		return nil, fmt.Errorf("github: %w", err)
	}
	return &repo{config: c, host: u.Host, network: deps.Network, secret: deps.Secret}, nil
}

// repo is one poll of a watcher.
type repo struct {
	config
	host    string
	network *safehttp.Client
	secret  func(ref string) (string, error)
}

// cursor is the state between polls.
type cursor struct {
	// Since is the start time of the watcher according to GitHub's clock.
	Since time.Time `json:"since"`
	// Of maps each endpoint to its cursor.
	Of map[string]endpointCursor `json:"of"`
}

// endpointCursor is the cursor of one endpoint.
type endpointCursor struct {
	ETag   string    `json:"etag,omitempty"`
	Newest time.Time `json:"newest,omitzero"`
	// Near lists the unfinished runs on the first page, and Far the unfinished runs on later pages.
	// See asker.lateRuns.
	Near []int64 `json:"near,omitempty"`
	Far  []int64 `json:"far,omitempty"`
}

// Every implements watchers.Polled.
func (*repo) Every() time.Duration { return every }

// Group implements watchers.Grouped. Rate limits apply per account or, without a token, per
// machine.
func (r *repo) Group() string {
	sum := sha256.Sum256([]byte(r.Token))
	return r.host + "#" + hex.EncodeToString(sum[:4])
}

// Poll implements watchers.Polled.
func (r *repo) Poll(ctx context.Context, p watchers.Progress) (watchers.Found, error) {
	c := cursor{}
	if json.Unmarshal(p.Cursor, &c) != nil || c.Of == nil {
		c = cursor{Of: map[string]endpointCursor{}}
	}
	a, err := r.newAsker()
	if err != nil {
		return watchers.Found{}, err
	}
	var found watchers.Found
	for _, what := range r.endpointList() {
		n, err := a.listItems(ctx, what, c.Of[what], p.Begun)
		if err != nil {
			return watchers.Found{}, err
		}
		if c.Since.IsZero() {
			c.Since = p.Begun.Add(a.skew)
		}
		c.Of[what] = n.stand
		for _, it := range n.items {
			switch {
			case !it.at.After(c.Since) || it.open:
			case r.matchesItem(it):
				found.Signals = append(found.Signals, it.itemSignal(r.Repo))
			default:
				s := it.itemSignal(r.Repo)
				found.Passed = append(found.Passed, watchers.SuppressedSignal{Rule: watchers.RuleCondition, Key: s.Key, Text: s.Text, At: it.at, Why: r.mismatchReason(it)})
			}
		}
		if n.left {
			found.Signals = append(found.Signals, r.skippedNotice(what, n.stand.Newest))
		}
	}
	found.Wait = a.wait
	found.Cursor, err = json.Marshal(c)
	return found, err
}

// skippedNotice returns the notice that older items were skipped because of the page limit.
func (r *repo) skippedNotice(what string, newest time.Time) watchers.Signal {
	return watchers.Signal{
		Key: "left/" + what + "@" + newest.UTC().Format(time.RFC3339), At: time.Now(), Notice: true, Payload: json.RawMessage(`{}`),
		Text: fmt.Sprintf("So much has changed in %s since the last check that I read only the newest %s and skipped the older ones.", r.Repo, nameOf(what)),
	}
}

// Past implements watchers.Historian.
func (r *repo) Past(ctx context.Context, since time.Time) ([]watchers.Signal, error) {
	a, err := r.newAsker()
	if err != nil {
		return nil, err
	}
	var out []watchers.Signal
	for _, what := range r.endpointList() {
		n, err := a.listItems(ctx, what, endpointCursor{Newest: since.Add(overlap)}, since)
		if err != nil {
			return nil, err
		}
		for _, it := range n.items {
			if it.at.After(since) && r.matchesItem(it) {
				out = append(out, it.itemSignal(r.Repo))
			}
		}
	}
	sorting.StableByFunc(out, func(a, b watchers.Signal) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Key, b.Key)) })
	return out, nil
}

func (r *repo) mismatchReason(it item) string {
	if it.what == runs && !it.failed && !slices.Contains(r.What, runs) {
		return "the run did not fail, and the watcher covers only failures"
	}
	return watchers.FilterReason(r.Words, nil)
}

func (r *repo) matchesItem(it item) bool {
	if it.open || it.what == runs && !it.failed && !slices.Contains(r.What, runs) {
		return false
	}
	return len(r.Words) == 0 || r.Words.MatchesText(it.Title+"\n"+it.Body+"\n"+it.By+"\n"+strings.Join(it.Labels, "\n"))
}
