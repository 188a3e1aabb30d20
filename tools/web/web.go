// Package web are the tools for the web: browse_url reads a page, web_search
// asks a search engine. Everything that goes out goes through the client of
// platform/safehttp; what comes back is outside text, with the addresses that
// it offers. They run no scripts and keep no cookies: what needs a browser or a
// login belongs to the tools that drive one.
package web

import (
	"context"
	"errors"
	"strings"

	"hob/platform/provenance"
	"hob/platform/safehttp"
	"hob/tools"
)

// Deps are what the tools need.
type Deps struct {
	// Network is the way out; required.
	Network *safehttp.Client
	Search  Search
}

// Search says who searches.
type Search struct {
	// Provider is "auto" (also ""), or one of Providers.
	Provider string
	// BaseURL is the owner's SearXNG.
	BaseURL string
	// Key returns the key of the owner's search service, "" when there is none;
	// Env that of a variable. Both may take a while (a keychain), and are asked
	// only when somebody searches.
	Key func(ctx context.Context) (string, error)
	Env func(name string) string
}

// Tools returns the category's tools.
func Tools(d Deps) []tools.Tool { return []tools.Tool{browse(d), search(d)} }

// outward turns an error of the way out into one for a model: what is refused
// stays refused, whoever asks again.
func outward(err error, asked string) error {
	e, ok := errors.AsType[*safehttp.Error](err)
	if !ok {
		return err // the context's
	}
	out := &tools.Error{Source: provenance.Tool, Code: tools.Failed, Message: e.Message, Remedy: e.Remedy, Err: err}
	switch {
	case e.Kind == safehttp.BadURL:
		out.Code = tools.InvalidArguments
	case e.Refusal():
		out.Code = tools.PolicyDenied
	case e.Kind == safehttp.NotFound:
		out.Code = tools.NotFound
	case e.Kind == safehttp.TimedOut:
		out.Code = tools.TimedOut
	}
	// What a server sent, the names in a certificate, and where a page redirects
	// to are chosen by others.
	if e.Sent || e.Kind == safehttp.TLS || e.Kind == safehttp.Proxy || e.Host != "" && !strings.Contains(strings.ToLower(asked), e.Host) {
		out.Source = provenance.Outside
	}
	return out
}

// sealed marks an error that quotes what a server said.
func sealed(e *tools.Error) *tools.Error {
	e.Source = provenance.Outside
	return e
}
