package web

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hob/platform/net/safehttp"
	"hob/platform/provenance"
	"hob/platform/text/readability"
	"hob/tools"
)

// Limits of a search.
const (
	maxQuery   = 400 // characters; the limit of the search services
	maxResults = 20
	searchFor  = 40 * time.Second
)

// Result is one result of a search.
type Result struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet"`
}

// searchData is the Data of web_search.
type searchData struct {
	Provider string   `json:"provider"`
	Results  []Result `json:"results"`
}

type searchIn struct {
	Query string `json:"query" jsonschema:"words to search for"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many results, 1 to 20 (default 8)"`
}

func searchTool(d Deps) tools.Tool {
	return tools.New(tools.Def[searchIn]{
		Spec: tools.Spec{
			Name: "web_search", Category: "web", Effects: tools.Egress, Timeout: searchFor,
			Description: "Search the web. Returns titles, addresses and snippets; open an address with browse_url.",
			Keywords:    "search web internet google online find look up bing duckduckgo brave tavily searxng news facts current",
		},
		Summary: func(in searchIn) string { return fmt.Sprintf("Search the web for %q", squeezeQuery(in.Query)) },
		Judge: func(_ context.Context, in searchIn) tools.CallAssessment {
			if err := in.checkArguments(); err != nil {
				return tools.CallAssessment{Refused: err}
			}
			return tools.CallAssessment{Effects: tools.Egress, Query: squeezeQuery(in.Query), Why: "asks " + d.Search.providerLabel()}
		},
		Run: func(ctx context.Context, _ tools.Call, in searchIn) (tools.Result, error) {
			if err := in.checkArguments(); err != nil {
				return tools.Result{}, err
			}
			return d.searchWeb(ctx, squeezeQuery(in.Query), in.Limit)
		},
	})
}

// squeezeQuery normalizes a query to one line.
func squeezeQuery(q string) string { return readability.Squeeze(q) }

func (in searchIn) checkArguments() error {
	switch n := utf8.RuneCountInString(squeezeQuery(in.Query)); {
	case n == 0:
		return tools.Errorf(tools.InvalidArguments, "query is empty; say what to search for")
	case n > maxQuery:
		return tools.Errorf(tools.InvalidArguments, "query has %d characters; use at most %d", n, maxQuery)
	case in.Limit < 0 || in.Limit > maxResults:
		return tools.Errorf(tools.InvalidArguments, "limit must be 1 to %d", maxResults)
	}
	return nil
}

func (d Deps) searchWeb(ctx context.Context, query string, limit int) (tools.Result, error) {
	e, kept, err := d.findResults(ctx, query, limit, func(*engine) func(string) (*url.URL, error) { return safehttp.Canonical })
	if err != nil {
		return tools.Result{}, err
	}
	out := tools.Result{Source: provenance.Outside, Data: searchData{e.name, kept}}
	if len(kept) == 0 {
		out.Source = provenance.Tool
		out.Text = fmt.Sprintf("%s found nothing for %q. Try other words.", e.displayName(), query)
		return out, nil
	}
	var b strings.Builder
	for i, r := range kept {
		out.Links = append(out.Links, r.URL)
		fmt.Fprintf(&b, "\n%d. %s\n   %s\n", i+1, r.Title, r.URL)
		if r.Snippet != "" {
			fmt.Fprintf(&b, "   %s\n", r.Snippet)
		}
	}
	out.Text = fmt.Sprintf("%s found:\n%s", e.displayName(), b.String())
	out.Origins = []provenance.Origin{{Kind: "search", Label: fmt.Sprintf("%s: %s", e.displayName(), query), Via: "web_search"}}
	return out, nil
}

// findResults runs a search and returns at most limit results, each address once. check returns the
// function that decides which addresses may be opened; the other results are omitted.
func (d Deps) findResults(ctx context.Context, query string, limit int, check func(*engine) func(string) (*url.URL, error)) (e *engine, kept []Result, err error) {
	if limit == 0 {
		limit = 8
	}
	if e, err = d.newEngine(ctx); err != nil {
		return nil, nil, err
	}
	found, err := e.searchEngine(ctx, query, limit)
	if err != nil {
		return nil, nil, e.searchError(err)
	}
	kept = []Result{}
	for _, r := range found {
		u, err := check(e)(r.URL)
		if err != nil || len(kept) == limit {
			continue
		}
		r = Result{readability.CutRunes(readability.Squeeze(readability.Words(r.Title)), 200), u.String(), readability.CutRunes(readability.Squeeze(readability.Words(r.Snippet)), 500)}
		if !slices.ContainsFunc(kept, func(k Result) bool { return k.URL == r.URL }) {
			kept = append(kept, r)
		}
	}
	return e, kept, nil
}

// mayOpen returns the check for the results of a search. Results in the user's network are omitted,
// unless the search service is in the user's network too and the user allowed the address: no other
// service knows such pages.
func (d Deps) mayOpen(e *engine) func(string) (*url.URL, error) {
	if base, err := url.Parse(e.base); err == nil && e.name == "searxng" && safehttp.Inside(base) {
		return d.Network.Check
	}
	return safehttp.Canonical
}

// searchError adds a remedy to the error of a search.
func (e *engine) searchError(err error) error {
	if t, ok := errors.AsType[*tools.Error](err); ok {
		return t
	}
	if err = classifyError(err, e.base); tools.CodeOf(err) == tools.PolicyDenied {
		t, _ := errors.AsType[*tools.Error](err)
		return &tools.Error{Source: t.Source, Code: tools.PolicyDenied, Message: t.Message, Remedy: "check [search] base_url, and add its host and port to [network] allow", Err: err}
	}
	return err
}
