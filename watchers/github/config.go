package github

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"hob/platform/net/safehttp"
	"hob/watchers"
)

var (
	name = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}$`)
	})
	secret = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(env|keychain|file|secret|vault):\S{1,200}$`) })
)

func parseConfig(raw json.RawMessage) (config, error) {
	var c config
	if err := watchers.Decode(raw, &c); err != nil {
		return config{}, fmt.Errorf("github: %w", err)
	}
	c.Repo = strings.TrimSpace(c.Repo)
	if u, err := url.Parse(c.Repo); err == nil && u.Host != "" { // Repo is the address of the repository's web page
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
		if !slices.Contains(validEvents(), c.What[i]) {
			return config{}, fmt.Errorf("github: cannot watch %q; use %s", w, strings.Join(validEvents(), ", "))
		}
	}
	if strings.ContainsAny(c.Branch, " \t\r\n\\") || len(c.Branch) > 250 {
		return config{}, fmt.Errorf("github: %q is not a branch name", c.Branch)
	}
	if c.Token != "" && !secret().MatchString(c.Token) {
		return config{}, errors.New(`github: "token" must be a reference such as "keychain:github", and not the token itself`)
	}
	return c, c.resolveBase()
}

// resolveBase sets the API address: GitHub's API, or the address of a GitHub Enterprise Server with
// the path /api/v3.
func (c *config) resolveBase() error {
	if c.Base = strings.TrimRight(strings.TrimSpace(c.Base), "/"); c.Base == "" {
		c.Base = public
		return nil
	}
	u, err := url.Parse(c.Base)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.User != nil || u.Fragment != "" {
		return fmt.Errorf(`github: "base_url" must be an address such as "https://github.example.com", not %q`, c.Base)
	}
	if u.Scheme == "http" && c.Token != "" && !safehttp.Loopback(u) {
		return errors.New("github: a token may only be sent over https")
	}
	switch {
	case u.Host == "github.com" || u.Host == "www.github.com":
		c.Base = public
	case u.Host != "api.github.com" && u.Path == "":
		c.Base += "/api/v3"
	}
	return nil
}

// endpointList returns the endpoints to request, without duplicates: workflow runs and failures use
// the same endpoint.
func (c config) endpointList() []string {
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

// endpointURL returns the first address to request from an endpoint.
func (c config) endpointURL(what string) string {
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
