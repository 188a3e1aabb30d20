package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hob/platform/net/safehttp"
	"hob/platform/text/readability"
	"hob/watchers"
)

// Limits of one request.
const (
	maxPages = 30
	maxBody  = 8 << 20
	// secondary is the wait after a secondary rate limit whose response contains no time
	// (https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api).
	secondary = time.Minute
)

// asker requests the endpoints of one poll.
type asker struct {
	r     *repo
	token string
	skew  time.Duration // GitHub's clock minus the local clock
	wait  time.Duration // the poll interval that GitHub requests
}

func (r *repo) newAsker() (*asker, error) {
	a := &asker{r: r}
	if r.Token == "" {
		return a, nil
	}
	if r.secret == nil {
		return nil, fmt.Errorf("%w: secrets are not configured", watchers.ErrPermanent)
	}
	token, err := r.secret(r.Token)
	if err != nil {
		return nil, fmt.Errorf("read token %s: %w", r.Token, err)
	}
	if a.token = strings.TrimSpace(token); a.token == "" || strings.ContainsAny(a.token, "\r\n\x00") {
		return nil, fmt.Errorf("token %s is empty or invalid", r.Token)
	}
	return a, nil
}

// endpointResult is the result of requesting one endpoint.
type endpointResult struct {
	items []item
	stand endpointCursor
	same  bool // the first page is unchanged
	left  bool // there are more pages than Hob reads
}

// listItems requests one endpoint, page by page, for the changes since the cursor. It returns no
// items if the first page is unchanged.
func (a *asker) listItems(ctx context.Context, what string, at endpointCursor, begun time.Time) (endpointResult, error) {
	n := endpointResult{stand: at}
	next := a.r.endpointURL(what)
	for page := 0; next != ""; page++ {
		if n.left = page == maxPages; n.left {
			break
		}
		etag := ""
		if page == 0 {
			etag = at.ETag
		}
		resp, err := a.getPage(ctx, next, etag)
		if err != nil {
			return endpointResult{}, err
		}
		if resp.NotModified() {
			n.same = true
			break
		}
		items, oldest, newest, err := parseList(what, resp.Body)
		if err != nil {
			return endpointResult{}, fmt.Errorf("%s: %w", a.r.host, err)
		}
		for _, it := range items {
			it.first = page == 0
			n.items = append(n.items, it)
		}
		if page == 0 {
			if n.stand.ETag = resp.Header.Get("ETag"); len(n.stand.ETag) > 500 {
				n.stand.ETag = ""
			}
		}
		if newest.After(n.stand.Newest) {
			n.stand.Newest = newest
		}
		seen := at.Newest
		if seen.IsZero() { // items older than the watcher do not fire
			seen = begun.Add(a.skew)
		}
		if next = a.nextPage(resp); oldest.IsZero() || oldest.Before(seen.Add(-overlap)) {
			break // all further items are already known
		}
	}
	if what == runs {
		err := a.lateRuns(ctx, at, &n)
		return n, err
	}
	return n, nil
}

// getPage requests one page. If the status is an error, it returns the response together with the
// error.
func (a *asker) getPage(ctx context.Context, address, etag string) (*safehttp.Response, error) {
	header := http.Header{"Accept": {"application/vnd.github+json"}, "X-Github-Api-Version": {"2022-11-28"}}
	if a.token != "" {
		header.Set("Authorization", "Bearer "+a.token)
	}
	asked := time.Now()
	resp, err := watchers.Fetch(ctx, a.r.network, safehttp.Request{URL: address, Header: header, If: safehttp.Validators{ETag: etag}, MaxBody: maxBody})
	if resp == nil {
		return nil, err
	}
	if date, derr := http.ParseTime(resp.Header.Get("Date")); derr == nil {
		if a.skew = date.Sub(asked); a.skew.Abs() < 5*time.Second { // the Date header has a resolution of 1 s
			a.skew = 0
		}
	}
	if n, aerr := strconv.Atoi(resp.Header.Get("X-Poll-Interval")); aerr == nil && n > 0 {
		a.wait = max(a.wait, time.Duration(min(n, 86400))*time.Second)
	}
	if err == nil {
		return resp, nil
	}
	return resp, a.explainRefusal(resp, err)
}

// explainRefusal describes the error of a refused request.
func (a *asker) explainRefusal(resp *safehttp.Response, err error) error {
	now := time.Now()
	said := errorMessage(resp.Body)
	limited := resp.Status == http.StatusTooManyRequests || resp.Status == http.StatusForbidden
	switch {
	case limited && resp.Header.Get("Retry-After") != "":
		until, ok := watchers.RetryAfter(resp.Header, now)
		if !ok {
			until = now.Add(secondary)
		}
		return watchers.Later(until, fmt.Errorf("%s requests a lower request rate", a.r.host))
	case limited && resp.Header.Get("X-RateLimit-Remaining") == "0":
		until := now.Add(secondary)
		if n, perr := strconv.ParseInt(resp.Header.Get("X-RateLimit-Reset"), 10, 64); perr == nil {
			if reset := time.Unix(n, 0).Add(-a.skew); reset.After(until) {
				until = reset
			}
		}
		remedy := ""
		if a.token == "" {
			remedy = "; a token raises the limit"
		}
		return watchers.Later(until, fmt.Errorf("the request limit of %s is used up%s", a.r.host, remedy))
	case limited && strings.Contains(strings.ToLower(said), "rate limit"):
		return watchers.Later(now.Add(secondary), fmt.Errorf("%s requests a lower request rate", a.r.host))
	case resp.Status == http.StatusUnauthorized:
		return fmt.Errorf("%s rejected the token (401); check whether it has expired", a.r.host)
	case resp.Status == http.StatusForbidden:
		return fmt.Errorf("%s denied access (403): %s", a.r.host, said)
	case resp.Status == http.StatusNotFound && a.token == "":
		return fmt.Errorf("%s has no public repository %s (404); for a private one, configure a token", a.r.host, a.r.Repo)
	case resp.Status == http.StatusNotFound:
		return fmt.Errorf("%s has no repository %s that the token may read (404)", a.r.host, a.r.Repo)
	case errors.Is(err, watchers.ErrPermanent), said == "":
		return err
	}
	return fmt.Errorf("%w: %s", err, said)
}

func errorMessage(body []byte) string {
	var m struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(body, &m)
	return readability.CutRunes(readability.Squeeze(m.Message), 200)
}

// nextPage returns the address of the next page (RFC 8288). The page must be on the same server, so
// that the token is not sent to another server.
func (a *asker) nextPage(resp *safehttp.Response) string {
	for _, part := range strings.Split(strings.Join(resp.Header.Values("Link"), ","), ",") {
		ref, params, ok := strings.Cut(strings.TrimSpace(part), ">")
		if !ok || !strings.HasPrefix(ref, "<") || !strings.Contains(strings.ReplaceAll(params, " ", ""), `rel="next"`) {
			continue
		}
		u, err := url.Parse(ref[1:])
		if err != nil {
			return ""
		}
		u = resp.URL.ResolveReference(u)
		if u.Scheme != resp.URL.Scheme || u.Host != resp.URL.Host || resp.URL.Host != a.r.host {
			return ""
		}
		return u.String()
	}
	return ""
}
