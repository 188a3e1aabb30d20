// Package web provides browse_url, which reads a page, and web_search, which queries a search
// engine. All requests use the client of platform/net/safehttp. Responses and the addresses in them
// are untrusted text. The tools run no scripts and store no cookies. The browser tools are for
// pages that need a browser or a login.
package web

import (
	"context"
	"errors"
	"os"
	"strings"

	"hob/autonomy/config"
	"hob/platform/net/safehttp"
	"hob/platform/provenance"
	"hob/tools"
)

// Deps are the dependencies of the tools.
type Deps struct {
	// Network sends the requests; required.
	Network *safehttp.Client
	Search  Search
	// PDFReader is the command of the process that reads PDF files (see document.Limits). If it is
	// empty, PDF files are not supported.
	PDFReader []string
}

// Search configures the search service.
type Search struct {
	// Provider is "auto" (also ""), "tavily", "brave", "searxng" or "duckduckgo".
	Provider string
	// BaseURL is the address of the owner's SearXNG server.
	BaseURL string
	// Key returns the key of the search service, or "" if there is none. Env returns an environment
	// variable. Both may block on a keychain, so they are called only for a search.
	Key func(ctx context.Context) (string, error)
	Env func(name string) string
}

// Tools returns the category's tools.
func Tools(d Deps) []tools.Tool { return []tools.Tool{browseTool(d), searchTool(d)} }

// classifyError converts an error of an outgoing request to a tool error. asked is the address in
// the arguments. A refusal by the user's policy becomes PolicyDenied.
func classifyError(err error, asked string) error {
	e, ok := errors.AsType[*safehttp.Error](err)
	if !ok {
		return err // the error of the context
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
	// Other people wrote the text of a server's error, the names in a certificate and the target of
	// a redirect.
	if e.Sent || e.Kind == safehttp.TLS || e.Kind == safehttp.Proxy || e.Host != "" && !strings.Contains(strings.ToLower(asked), e.Host) {
		out.Source = provenance.Outside
	}
	return out
}

// markOutside marks an error that quotes a server as untrusted.
func markOutside(e *tools.Error) *tools.Error {
	e.Source = provenance.Outside
	return e
}

// Open returns the dependencies for a configuration. Each search calls secret to resolve the key.
func Open(network *safehttp.Client, c config.Search, secret func(ctx context.Context, ref string) (string, error), pdfReader []string) Deps {
	return Deps{Network: network, PDFReader: pdfReader, Search: Search{
		Provider: c.Provider, BaseURL: c.BaseURL, Env: os.Getenv,
		Key: func(ctx context.Context) (string, error) {
			if c.Key == "" {
				return "", nil
			}
			return secret(ctx, c.Key)
		},
	}}
}
