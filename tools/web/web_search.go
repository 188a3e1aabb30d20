package web

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hob/platform/provenance"
	"hob/platform/readable"
	"hob/platform/safehttp"
	"hob/tools"
)

// Bounds of a search.
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

// searched is the Data of web_search.
type searched struct {
	Provider string   `json:"provider"`
	Results  []Result `json:"results"`
}

type searchIn struct {
	Query string `json:"query" jsonschema:"words to search for"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many results, 1 to 20 (default 8)"`
}

func search(d Deps) tools.Tool {
	return tools.New(tools.Def[searchIn]{
		Spec: tools.Spec{
			Name: "web_search", Category: "web", Effects: tools.Egress, Timeout: searchFor,
			Description: "Search the web. Gives titles, addresses and snippets; open an address with browse_url.",
			Keywords:    "search web internet google online find look up bing duckduckgo brave tavily searxng news facts current",
		},
		Summary: func(in searchIn) string { return fmt.Sprintf("Search the web for %q", words(in.Query)) },
		Judge: func(_ context.Context, in searchIn) tools.Judgement {
			if err := in.check(); err != nil {
				return tools.Judgement{Refused: err}
			}
			return tools.Judgement{Effects: tools.Egress, Query: words(in.Query), Why: "asks " + d.Search.label()}
		},
		Run: func(ctx context.Context, _ tools.Call, in searchIn) (tools.Result, error) {
			if err := in.check(); err != nil {
				return tools.Result{}, err
			}
			return d.search(ctx, words(in.Query), in.Limit)
		},
	})
}

// words normalizes a query to one line.
func words(q string) string { return readable.Squeeze(q) }

func (in searchIn) check() error {
	switch n := utf8.RuneCountInString(words(in.Query)); {
	case n == 0:
		return tools.Errorf(tools.InvalidArguments, "query is empty; say what to search for")
	case n > maxQuery:
		return tools.Errorf(tools.InvalidArguments, "query has %d characters; use at most %d", n, maxQuery)
	case in.Limit < 0 || in.Limit > maxResults:
		return tools.Errorf(tools.InvalidArguments, "limit must be 1 to %d", maxResults)
	}
	return nil
}

func (d Deps) search(ctx context.Context, query string, limit int) (tools.Result, error) {
	if limit == 0 {
		limit = 8
	}
	e, err := d.engine(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	found, err := e.find(ctx, query, limit)
	if err != nil {
		return tools.Result{}, e.failed(err)
	}
	out := tools.Result{Source: provenance.Outside}
	var b strings.Builder
	kept := []Result{}
	for _, r := range found {
		u, err := safehttp.Canonical(r.URL)
		if err != nil || len(kept) == limit {
			continue // results that lead into the owner's network are left out
		}
		r = Result{readable.CutRunes(readable.Squeeze(readable.Words(r.Title)), 200), u.String(), readable.CutRunes(readable.Squeeze(readable.Words(r.Snippet)), 500)}
		if slices.ContainsFunc(kept, func(k Result) bool { return k.URL == r.URL }) {
			continue
		}
		kept, out.Links = append(kept, r), append(out.Links, r.URL)
		fmt.Fprintf(&b, "\n%d. %s\n   %s\n", len(kept), r.Title, r.URL)
		if r.Snippet != "" {
			fmt.Fprintf(&b, "   %s\n", r.Snippet)
		}
	}
	if out.Data = (searched{e.name, kept}); len(kept) == 0 {
		out.Source = provenance.Tool
		out.Text = fmt.Sprintf("%s found nothing for %q. Try other words.", e.title(), query)
		return out, nil
	}
	out.Text = fmt.Sprintf("%s found:\n%s", e.title(), b.String())
	out.Origins = []provenance.Origin{{Kind: "search", Label: fmt.Sprintf("%s: %s", e.title(), query), Via: "web_search"}}
	return out, nil
}

// failed adds a remedy to the error of a search.
func (e *engine) failed(err error) error {
	if t, ok := errors.AsType[*tools.Error](err); ok {
		return t
	}
	if err = outward(err, e.base); tools.CodeOf(err) == tools.PolicyDenied {
		t, _ := errors.AsType[*tools.Error](err)
		return &tools.Error{Source: t.Source, Code: tools.PolicyDenied, Message: t.Message, Remedy: "check [search] base_url, and add its host and port to [network] allow", Err: err}
	}
	return err
}
