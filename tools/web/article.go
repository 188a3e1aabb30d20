package web

import (
	"context"
	"strings"

	"hob/platform/provenance"
	feeds "hob/platform/text/feed"
	"hob/platform/text/textnorm"
	"hob/tools"
	"hob/watchers"
)

// Article is the main text of a page, for tools that quote and compare pages. All fields are
// untrusted.
type Article struct {
	URL      string // final address, after redirects
	Title    string
	Author   string
	Date     string // date that the page declares
	Language string // language that the page declares
	Kind     string // "page", "feed", "text", "json" or "pdf"
	Text     string // at most maxText bytes
	Cut      bool   // only the beginning was read
	Paywall  bool   // the page declares that its text is only for subscribers
}

// ReadArticle fetches a page and returns its main text.
func (d Deps) ReadArticle(ctx context.Context, address string) (Article, error) {
	p, final, err := d.fetchPage(ctx, address)
	if err != nil {
		return Article{}, err
	}
	a := Article{URL: final, Title: p.title, Author: p.author, Date: p.date, Language: p.language, Kind: p.kind, Text: p.body, Cut: p.cut, Paywall: p.paywall}
	if len(a.Text) > maxText {
		a.Text, a.Cut = strings.ToValidUTF8(a.Text[:maxText], ""), true
	}
	if i := strings.LastIndex(a.Text, "\n\nLinks:"); i >= 0 && p.kind == "page" {
		a.Text = a.Text[:i]
	}
	return a, nil
}

// AssessAddress assesses a call that only fetches an address, as browse_url does.
func (d Deps) AssessAddress(address string) tools.CallAssessment {
	// Do not resolve the name here: the DNS query would reveal the address to the domain's owner.
	u, err := d.Network.Check(normalizeAddress(address))
	if err != nil {
		return tools.CallAssessment{Refused: classifyError(err, address)}
	}
	return tools.CallAssessment{
		Effects: tools.Egress, URLs: []string{u.String()}, Get: true,
		Why: "contacts " + addressHost(u, address), Pattern: "host:" + u.Host,
	}
}

// DisplayAddress formats an address for an approval request.
func (d Deps) DisplayAddress(address string) string { return displayAddress(d.Network, address) }

// SearchLabel names the search service in approval requests.
func (d Deps) SearchLabel() string { return d.Search.providerLabel() }

// FetchData fetches the response of a public API.
func (d Deps) FetchData(ctx context.Context, address, accept string) ([]byte, error) {
	resp, err := d.requestPage(ctx, address, accept)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// ReadFeed fetches a feed and returns its entries and its title.
func (d Deps) ReadFeed(ctx context.Context, address string) ([]feeds.Item, string, error) {
	resp, err := d.requestPage(ctx, address, acceptPages)
	if err != nil {
		return nil, "", err
	}
	items, title, err := feeds.Read(resp.Body, resp.URL)
	if err != nil {
		return nil, "", &tools.Error{Source: provenance.Outside, Code: tools.Unsupported, Message: resp.URL.Host + " did not return a feed", Remedy: "check the address of the feed", Err: err}
	}
	return items, title, nil
}

// WatchTopic searches for watchers.
func (d Deps) WatchTopic(ctx context.Context, query string, limit int) ([]watchers.SearchResult, error) {
	found, err := d.Find(ctx, query, limit)
	out := make([]watchers.SearchResult, len(found))
	for i, r := range found {
		out[i] = watchers.SearchResult(r)
	}
	return out, err
}

// Find searches the web and returns at most limit results that may be opened, best first. A query
// longer than the search services accept is cut.
func (d Deps) Find(ctx context.Context, query string, limit int) ([]Result, error) {
	_, kept, err := d.findResults(ctx, textnorm.TruncateRunes(squeezeQuery(query), maxQuery), limit, d.mayOpen)
	return kept, err
}
