package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"hob/platform/net/safehttp"
	"hob/platform/provenance"
	"hob/tools"
)

// Limits of a page.
const (
	maxPage = 5 << 20 // maximum bytes read
	maxText = 200_000 // maximum bytes of text returned
	pageFor = 40 * time.Second
)

type browseIn struct {
	URL string `json:"url" jsonschema:"https://host/path"`
}

// browseData is the Data of browse_url.
type browseData struct {
	URL   string `json:"url"` // final address, after redirects
	Title string `json:"title,omitempty"`
	Type  string `json:"type"`
	Cut   bool   `json:"cut,omitempty"` // only the beginning was read
}

func browseTool(d Deps) tools.Tool {
	return tools.New(tools.Def[browseIn]{
		Spec: tools.Spec{
			Name: "browse_url", Category: "web", Effects: tools.Egress, Timeout: pageFor,
			Description: "Open a public web page, feed or text file and read it: readable text and links. No login, no scripts.",
			Keywords:    "open read fetch get download visit web page website site url link address http article blog news feed rss online summarize",
		},
		Summary: func(in browseIn) string { return "Open " + displayAddress(d.Network, in.URL) },
		Judge: func(_ context.Context, in browseIn) tools.CallAssessment {
			return d.AssessAddress(in.URL)
		},
		Run: func(ctx context.Context, _ tools.Call, in browseIn) (tools.Result, error) {
			return d.browsePage(ctx, in)
		},
	})
}

func (d Deps) browsePage(ctx context.Context, in browseIn) (tools.Result, error) {
	p, final, err := d.fetchPage(ctx, in.URL)
	if err != nil {
		return tools.Result{}, err
	}
	links := []string{final}
	for _, l := range p.links {
		if !slices.Contains(links, l) && len(links) < maxLinks {
			links = append(links, l)
		}
	}
	return tools.Result{
		Text: p.renderText(final), Source: provenance.Outside, Links: links, Origins: []provenance.Origin{{Kind: "web", Label: final, Via: "browse_url"}},
		Data: browseData{URL: final, Title: p.title, Type: p.kind, Cut: p.cut},
	}, nil
}

// fetchPage requests an address and parses the response. final is the address after redirects.
func (d Deps) fetchPage(ctx context.Context, raw string) (p *page, final string, err error) {
	resp, err := d.requestPage(ctx, raw, acceptPages)
	if err != nil {
		return nil, "", err
	}
	if p, err = d.parseResponse(ctx, resp); err != nil {
		return nil, "", err
	}
	p.cut = p.cut || resp.Truncated
	return p, resp.URL.String(), nil
}

// acceptPages is the header Accept of requests for pages.
const acceptPages = "text/html,application/xhtml+xml,application/xml;q=0.9,application/json;q=0.9,text/*;q=0.9,*/*;q=0.1"

// requestPage requests an address and accepts only a successful response.
func (d Deps) requestPage(ctx context.Context, raw, accept string) (*safehttp.Response, error) {
	resp, err := d.Network.Fetch(ctx, safehttp.Request{
		URL: normalizeAddress(raw), MaxBody: maxPage, Partial: true,
		Header: http.Header{"Accept": {accept}, "Accept-Language": {"*"}},
	})
	if err != nil {
		return nil, classifyError(err, raw)
	}
	if err := checkStatus(resp); err != nil {
		if !strings.Contains(raw, resp.URL.Host) { // the page chose the final address by a redirect
			return nil, tools.Quoting(err, provenance.Outside)
		}
		return nil, err
	}
	return resp, nil
}

// normalizeAddress completes "example.org/a" to its https address.
func normalizeAddress(raw string) string {
	raw = strings.TrimSpace(raw)
	host, _, _ := strings.Cut(raw, "/")
	if strings.Contains(host, ".") && !strings.ContainsAny(host, ":@?#[") && raw != "" && raw[0] != '.' {
		return "https://" + raw
	}
	return raw
}

// displayAddress formats an address in the form in which it would be requested, so that the user
// can recognize lookalike domain names.
func displayAddress(c *safehttp.Client, raw string) string {
	u, err := c.Check(normalizeAddress(raw))
	if err != nil {
		return fmt.Sprintf("%.200q", raw)
	}
	return strings.TrimPrefix(u.String(), "https://")
}

// addressHost returns the host of an address, followed by the original spelling if it differs.
func addressHost(u *url.URL, raw string) string {
	if !strings.Contains(u.Host, "xn--") {
		return u.Host
	}
	_, rest, _ := strings.Cut(normalizeAddress(raw), "://")
	written, _, _ := strings.Cut(rest, "/")
	if strings.Contains(written, "xn--") {
		return u.Host
	}
	return fmt.Sprintf("%s, which is written %.100q", u.Host, written)
}

// checkStatus converts an unsuccessful response into an error.
func checkStatus(r *safehttp.Response) error {
	if r.Status >= 200 && r.Status < 300 {
		return nil
	}
	e := tools.Errorf(tools.Failed, "%s answered %d %s", r.URL.Host, r.Status, tools.Clean(http.StatusText(r.Status)))
	switch r.Status {
	case http.StatusNotFound, http.StatusGone:
		e.Code, e.Remedy = tools.NotFound, "the page does not exist; search for it"
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusPaymentRequired:
		e.Remedy = "the page needs a login or blocks programs; open the page in a browser"
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		e.Remedy = retryAdvice(r.Header, time.Now())
	default:
		if r.Status >= 500 {
			e.Remedy = "the server has an error; try again later"
		}
	}
	return e
}
