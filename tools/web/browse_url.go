package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/safehttp"
	"hob/tools"
)

// Bounds of a page.
const (
	maxPage = 5 << 20 // bytes that are read
	maxText = 200_000 // maximum bytes of returned text
	pageFor = 40 * time.Second
)

type browseIn struct {
	URL string `json:"url" jsonschema:"https://host/path"`
}

// browsed is the Data of browse_url.
type browsed struct {
	URL   string `json:"url"` // that answered
	Title string `json:"title,omitempty"`
	Type  string `json:"type"`
	Cut   bool   `json:"cut,omitempty"` // only the beginning was read
}

func browse(d Deps) tools.Tool {
	return tools.New(tools.Def[browseIn]{
		Spec: tools.Spec{
			Name: "browse_url", Category: "web", Effects: tools.Egress, Timeout: pageFor,
			Description: "Open a public web page, feed or text file and read it: readable text and links. No login, no scripts.",
			Keywords:    "open read fetch get download visit web page website site url link address http article blog news feed rss online summarize",
		},
		Summary: func(in browseIn) string { return "Open " + shown(d.Network, in.URL) },
		Judge: func(_ context.Context, in browseIn) tools.Judgement {
			// No name is resolved here: the DNS query would reveal the address to the
			// name's owner.
			u, err := d.Network.Check(address(in.URL))
			if err != nil {
				return tools.Judgement{Refused: outward(err, in.URL)}
			}
			return tools.Judgement{
				Effects: tools.Egress, URLs: []string{u.String()}, Get: true,
				Why: "contacts " + place(u, in.URL), Pattern: "host:" + u.Host,
			}
		},
		Run: func(ctx context.Context, _ tools.Call, in browseIn) (tools.Result, error) {
			return d.browse(ctx, in)
		},
	})
}

func (d Deps) browse(ctx context.Context, in browseIn) (tools.Result, error) {
	resp, err := d.Network.Fetch(ctx, safehttp.Request{
		URL: address(in.URL), MaxBody: maxPage, Partial: true,
		Header: http.Header{"Accept": {"text/html,application/xhtml+xml,application/xml;q=0.9,application/json;q=0.9,text/*;q=0.9,*/*;q=0.1"}, "Accept-Language": {"*"}},
	})
	if err != nil {
		return tools.Result{}, outward(err, in.URL)
	}
	if err := status(resp); err != nil {
		if !strings.Contains(in.URL, resp.URL.Host) { // the page chose the final address
			return tools.Result{}, tools.Quoting(err, provenance.Outside)
		}
		return tools.Result{}, err
	}
	p, err := read(resp)
	if err != nil {
		return tools.Result{}, err
	}
	p.cut = p.cut || resp.Truncated
	final := resp.URL.String()
	links := []string{final}
	for _, l := range p.links {
		if !slices.Contains(links, l) && len(links) < maxLinks {
			links = append(links, l)
		}
	}
	return tools.Result{
		Text: p.text(final), Source: provenance.Outside, Links: links, Origins: []provenance.Origin{{Kind: "web", Label: final, Via: "browse_url"}},
		Data: browsed{URL: final, Title: p.title, Type: p.kind, Cut: p.cut},
	}, nil
}

// address completes "example.org/a" to its https address.
func address(raw string) string {
	raw = strings.TrimSpace(raw)
	host, _, _ := strings.Cut(raw, "/")
	if strings.Contains(host, ".") && !strings.ContainsAny(host, ":@?#[") && raw != "" && raw[0] != '.' {
		return "https://" + raw
	}
	return raw
}

// shown formats an address for the user as it would be requested, so that lookalike names
// are visible.
func shown(c *safehttp.Client, raw string) string {
	u, err := c.Check(address(raw))
	if err != nil {
		return fmt.Sprintf("%.200q", raw)
	}
	return strings.TrimPrefix(u.String(), "https://")
}

// place returns the host of an address, with its original spelling if that differs.
func place(u *url.URL, raw string) string {
	if !strings.Contains(u.Host, "xn--") {
		return u.Host
	}
	_, rest, _ := strings.Cut(address(raw), "://")
	written, _, _ := strings.Cut(rest, "/")
	if strings.Contains(written, "xn--") {
		return u.Host
	}
	return fmt.Sprintf("%s, which is written %.100q", u.Host, written)
}

// status converts an unsuccessful response into an error.
func status(r *safehttp.Response) error {
	if r.Status >= 200 && r.Status < 300 {
		return nil
	}
	e := tools.Errorf(tools.Failed, "%s answered %d %s", r.URL.Host, r.Status, tools.Clean(http.StatusText(r.Status)))
	switch r.Status {
	case http.StatusNotFound, http.StatusGone:
		e.Code, e.Remedy = tools.NotFound, "the page does not exist; search for it"
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusPaymentRequired:
		e.Remedy = "the page needs a login or blocks programs; open it in a browser"
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		e.Remedy = later(r.Header, time.Now())
	default:
		if r.Status >= 500 {
			e.Remedy = "the server has an error; try again later"
		}
	}
	return e
}
