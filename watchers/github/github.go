// Package github is the kind of watcher that tells what happens in a repository
// on GitHub, or on a GitHub Enterprise Server: issues, pull requests, releases,
// runs of workflows, and everything else as events. It asks the REST API
// (https://docs.github.com/rest) with the validators of the last answers, so that
// a repository in which nothing happens costs nothing of the rate limit, follows
// the pages of long answers, and waits when it is told to.
//
// Everything there has a time: what is older than the watcher is never told.
package github

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/knowledge/store"
	"hob/platform/safehttp"
	"hob/watchers"
)

// Kind is the kind's name.
const Kind = "github"

const (
	every   = 5 * time.Minute
	public  = "https://api.github.com"
	overlap = time.Hour // how far behind the newest known time pages are read
)

// What can be watched.
const (
	issues   = "issues"
	pulls    = "pulls"
	releases = "releases"
	runs     = "runs"     // runs of workflows that ended
	failures = "failures" // those that did not end well
	events   = "events"   // everything, as GitHub lists it
)

func whats() []string { return []string{issues, pulls, releases, runs, failures, events} }

// config is what the owner or a tool gives.
type config struct {
	Repo   string         `json:"repo"` // "owner/name"
	What   watchers.Words `json:"what,omitempty"`
	Branch string         `json:"branch,omitempty"` // of runs and failures
	Words  watchers.Words `json:"words,omitempty"`  // tell only of what has one of these
	Token  string         `json:"token,omitempty"`  // a reference to a secret
	Base   string         `json:"base_url,omitempty"`
}

// Driver makes github watchers.
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
		return "an unreadable repository"
	}
	names := map[string]string{
		issues: "issues", pulls: "pull requests", releases: "releases", runs: "finished workflow runs", failures: "failed workflow runs", events: "everything",
	}
	var list []string
	for _, w := range c.What {
		list = append(list, names[w])
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

// Reach implements watchers.Reacher.
func (*Driver) Reach(raw json.RawMessage) (watchers.Reach, error) {
	c, err := parse(raw)
	if err != nil {
		return watchers.Reach{}, err
	}
	r := watchers.Reach{}
	for _, w := range c.endpoints() {
		r.URLs = append(r.URLs, c.address(w))
	}
	if c.Token != "" {
		r.Secrets = []string{c.Token}
	}
	return r, nil
}

// New implements watchers.Driver.
func (*Driver) New(spec watchers.Spec, deps watchers.Deps) (any, error) {
	c, err := parse(spec.Config)
	if err != nil {
		return nil, err
	}
	u, err := watchers.Address(deps.Network, c.address(c.endpoints()[0]))
	if err != nil {
		return nil, fmt.Errorf("github: %w", err)
	}
	return &repo{config: c, host: u.Host, network: deps.Network, secret: deps.Secret}, nil
}

var (
	name = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}$`)
	})
	secret = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(env|keychain|file|secret|vault):\S{1,200}$`) })
)

func parse(raw json.RawMessage) (config, error) {
	var c config
	if err := watchers.Decode(raw, &c); err != nil {
		return config{}, fmt.Errorf("github: %w", err)
	}
	c.Repo = strings.TrimSpace(c.Repo)
	if u, err := url.Parse(c.Repo); err == nil && u.Host != "" { // the address of its page
		c.Repo = strings.Trim(u.Path, "/")
		if c.Base == "" && u.Host != "github.com" && u.Host != "www.github.com" {
			c.Base = "https://" + u.Host
		}
		if parts := strings.Split(c.Repo, "/"); len(parts) > 2 {
			c.Repo = parts[0] + "/" + parts[1]
		}
	}
	c.Repo = strings.TrimSuffix(c.Repo, ".git")
	if _, short, _ := strings.Cut(c.Repo, "/"); !name().MatchString(c.Repo) || short == "." || short == ".." {
		return config{}, fmt.Errorf(`github: "repo" must be written as "owner/name", not %q`, c.Repo)
	}
	if len(c.What) == 0 {
		c.What = watchers.Words{issues, pulls, releases}
	}
	for i, w := range c.What {
		c.What[i] = strings.ToLower(w)
		if !slices.Contains(whats(), c.What[i]) {
			return config{}, fmt.Errorf("github: %q cannot be watched; there are %s", w, strings.Join(whats(), ", "))
		}
	}
	if strings.ContainsAny(c.Branch, " \t\r\n\\") || len(c.Branch) > 250 {
		return config{}, fmt.Errorf("github: %q is no branch", c.Branch)
	}
	if c.Token != "" && !secret().MatchString(c.Token) {
		return config{}, errors.New(`github: "token" must be a reference such as "keychain:github", and not the token itself`)
	}
	return c, c.base()
}

// base finds the API: GitHub's own, or that of a server, which has it below /api/v3.
func (c *config) base() error {
	if c.Base = strings.TrimRight(strings.TrimSpace(c.Base), "/"); c.Base == "" {
		c.Base = public
		return nil
	}
	u, err := url.Parse(c.Base)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.User != nil || u.Fragment != "" {
		return fmt.Errorf(`github: "base_url" must be an address such as "https://github.example.com", not %q`, c.Base)
	}
	if u.Scheme == "http" && c.Token != "" && !safehttp.Loopback(u) {
		return errors.New("github: a token is not sent to an address without https")
	}
	switch {
	case u.Host == "github.com" || u.Host == "www.github.com":
		c.Base = public
	case u.Host != "api.github.com" && u.Path == "":
		c.Base += "/api/v3"
	}
	return nil
}

// endpoints are what has to be asked, each once: runs and failures are one.
func (c config) endpoints() []string {
	var out []string
	for _, w := range c.What {
		if w == failures {
			w = runs
		}
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// address is what is asked first of an endpoint.
func (c config) address(what string) string {
	at := c.Base + "/repos/" + c.Repo
	switch what {
	case issues:
		return at + "/issues?state=all&sort=updated&direction=desc&per_page=100"
	case pulls:
		return at + "/pulls?state=all&sort=updated&direction=desc&per_page=100"
	case releases:
		return at + "/releases?per_page=50"
	case runs:
		at += "/actions/runs?per_page=100"
		if c.Branch != "" {
			at += "&branch=" + url.QueryEscape(c.Branch)
		}
		return at
	}
	return at + "/events?per_page=100"
}

// repo is one poll of a watcher.
type repo struct {
	config
	host    string
	network *safehttp.Client
	secret  func(ref string) (string, error)
}

// cursor is what is remembered between polls.
type cursor struct {
	// Since is when the watcher began, by GitHub's clock.
	Since time.Time `json:"since"`
	// Of is where each endpoint stands.
	Of map[string]stand `json:"of"`
}

// stand is where one endpoint stands.
type stand struct {
	ETag   string    `json:"etag,omitempty"`
	Newest time.Time `json:"newest,omitzero"`
}

// Every implements watchers.Polled.
func (*repo) Every() time.Duration { return every }

// Group implements watchers.Grouped: the limits are those of an account, and
// without one of this machine.
func (r *repo) Group() string {
	sum := sha256.Sum256([]byte(r.Token))
	return r.host + "#" + hex.EncodeToString(sum[:4])
}

// Poll implements watchers.Polled.
func (r *repo) Poll(ctx context.Context, p watchers.Progress) (watchers.Found, error) {
	c := cursor{}
	if json.Unmarshal(p.Cursor, &c) != nil || c.Of == nil {
		c = cursor{Of: map[string]stand{}}
	}
	a, err := r.asker()
	if err != nil {
		return watchers.Found{}, err
	}
	var found watchers.Found
	for _, what := range r.endpoints() {
		at := c.Of[what]
		items, fresh, err := a.list(ctx, what, at)
		if err != nil {
			return watchers.Found{}, err
		}
		if c.Since.IsZero() {
			c.Since = p.Begun.Add(a.skew)
		}
		c.Of[what] = fresh
		for _, it := range items {
			if it.at.After(c.Since) && r.wants(it) {
				found.Signals = append(found.Signals, it.signal(r.Repo))
			}
		}
	}
	found.Wait = a.wait
	found.Cursor, err = json.Marshal(c)
	return found, err
}

// Past implements watchers.Historian.
func (r *repo) Past(ctx context.Context, since time.Time) ([]watchers.Signal, error) {
	a, err := r.asker()
	if err != nil {
		return nil, err
	}
	var out []watchers.Signal
	for _, what := range r.endpoints() {
		items, _, err := a.list(ctx, what, stand{Newest: since.Add(overlap)})
		if err != nil {
			return nil, err
		}
		for _, it := range items {
			if it.at.After(since) && r.wants(it) {
				out = append(out, it.signal(r.Repo))
			}
		}
	}
	slices.SortStableFunc(out, func(a, b watchers.Signal) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Key, b.Key)) })
	return out, nil
}

func (r *repo) wants(it item) bool {
	if it.what == runs && !slices.Contains(r.What, runs) && !it.failed {
		return false
	}
	return len(r.Words) == 0 || r.Words.In(it.Title+"\n"+it.Body+"\n"+it.By+"\n"+strings.Join(it.Labels, "\n"))
}
