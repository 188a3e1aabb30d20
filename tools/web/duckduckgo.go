package web

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"hob/platform/net/safehttp"
	"hob/platform/provenance"
	"hob/platform/text/readability"
	"hob/tools"
)

// searchDuckDuckGo parses the search page for browsers without scripts (html.duckduckgo.com/html).
// The page has no documented format. Results are div.result with a.result__a and .result__snippet;
// advertisements are div.result--ad; a page without results contains .no-results. A client that is
// suspected to be a program gets a challenge: status 202, or a form that posts to anomaly.js.
func (e *engine) searchDuckDuckGo(ctx context.Context, query string) ([]Result, error) {
	resp, err := e.sendRequest(ctx, safehttp.Request{
		URL:    e.base + "/html/?" + url.Values{"q": {query}}.Encode(),
		Header: http.Header{"Accept": {"text/html"}},
	})
	if err != nil {
		return nil, err
	}
	doc, err := html.Parse(bytes.NewReader(resp.Body))
	if err != nil {
		return nil, e.unreadableError()
	}
	var found []Result
	nothing, challenge := false, resp.Status == http.StatusAccepted
	for n := range doc.Descendants() {
		switch {
		case n.Type != html.ElementNode:
		case hasClass(n, "no-results"):
			nothing = true
		case readability.Attr(n, "id") == "challenge-form", hasClass(n, "anomaly-modal__title"), n.Data == "form" && strings.Contains(readability.Attr(n, "action"), "/anomaly.js"):
			challenge = true
		case hasClass(n, "result") && !hasClass(n, "result--ad"):
			if r := duckResult(n); r.URL != "" {
				found = append(found, r)
			}
		}
	}
	switch {
	case len(found) > 0, nothing && !challenge:
		return found, nil
	case challenge:
		return nil, &tools.Error{
			Source: provenance.Tool,
			Code:   tools.Failed, Message: "DuckDuckGo asks for a CAPTCHA; nothing was searched",
			Remedy: "try again later, or configure a key for Tavily or Brave, or a SearXNG server, in [search]",
		}
	}
	return nil, e.unreadableError()
}

// hasClass reports whether an element has a class.
func hasClass(n *html.Node, class string) bool {
	return slices.Contains(strings.Fields(readability.Attr(n, "class")), class)
}

func duckResult(n *html.Node) (r Result) {
	for d := range n.Descendants() {
		switch {
		case d.Type != html.ElementNode:
		case hasClass(d, "result__a") && r.URL == "":
			r.Title, r.URL = readability.Plain(d), redirectTarget(readability.Attr(d, "href"))
		case hasClass(d, "result__snippet") && r.Snippet == "":
			r.Snippet = readability.Plain(d)
		}
	}
	return r
}

// redirectTarget extracts the target from DuckDuckGo's click-counting address:
// //duckduckgo.com/l/?uddg=https%3A%2F%2F...
func redirectTarget(href string) string {
	u, err := url.Parse(href)
	if err != nil {
		return ""
	}
	if u.Host == "duckduckgo.com" || strings.HasSuffix(u.Host, ".duckduckgo.com") {
		return u.Query().Get("uddg") // returns "" for an advertisement
	}
	return href
}
