package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"hob/platform/net/safehttp"
	"hob/platform/provenance"
	"hob/platform/text/document"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/readability"
	"hob/tools"
)

// maxLinks limits the addresses that are returned for one page.
const maxLinks = 300

// readHTML extracts the readable text of a page.
func readHTML(text string, base *url.URL) (*page, error) {
	p, err := readability.HTML(text, base)
	if err != nil {
		return nil, &tools.Error{Source: provenance.Outside, Code: tools.Unsupported, Message: "the page of " + base.Host + " has a structure that cannot be parsed", Remedy: "open the page in a browser", Err: err}
	}
	return &page{
		kind: "page", title: p.Title, body: p.Text, links: p.Links, author: p.Author, date: p.Date, language: p.Language,
		paywall: paidContent.MatchString(text),
	}, nil
}

// paidContent matches the mark of pages whose text is only for subscribers
// (https://schema.org/isAccessibleForFree).
var paidContent = lazyregexp.New(`(?i)"isAccessibleForFree"\s*:\s*"?false`)

// page is the readable content of a response.
type page struct {
	kind  string // "page", "feed", "json", "text", "pdf"
	title string
	body  string
	links []string // canonical addresses, in page order
	cut   bool

	author, date, language string // as the page declares them
	paywall                bool   // the page declares that its text is only for subscribers
}

// renderText renders the page for a model.
func (p *page) renderText(final string) string {
	var b strings.Builder
	if p.title != "" {
		fmt.Fprintf(&b, "Title: %s\n", p.title)
	}
	fmt.Fprintf(&b, "Address: %s\n\n", final)
	body := p.body
	if len(body) > maxText {
		body, p.cut = strings.ToValidUTF8(body[:maxText], ""), true
	}
	if strings.TrimSpace(body) == "" {
		body = "The page has no text; it may need a browser that runs scripts."
	}
	b.WriteString(body)
	if p.cut {
		b.WriteString("\n\n(Only the beginning of the page was read.)")
	}
	return b.String()
}

// parseResponse parses a page, or a PDF file if a reader for them is configured.
func (d Deps) parseResponse(ctx context.Context, r *safehttp.Response) (*page, error) {
	if len(d.PDFReader) == 0 || !bytes.HasPrefix(r.Body, []byte("%PDF-")) {
		return parsePage(r)
	}
	f, err := document.Parse(ctx, "page.pdf", r.Body, document.Limits{File: maxPage, Text: 2 * maxText, Parts: 1, Helper: d.PDFReader})
	switch {
	case errors.Is(err, document.ErrNoText):
		return nil, &tools.Error{Source: provenance.Tool, Code: tools.Unsupported, Message: "the PDF contains no text; it is probably a scan", Remedy: "find the same text as a web page, or save the file and read it with OCR", Err: err}
	case errors.Is(err, document.ErrEncrypted):
		return nil, &tools.Error{Source: provenance.Tool, Code: tools.Unsupported, Message: "the PDF is password-protected", Remedy: "find the same text as a web page", Err: err}
	case err != nil:
		return nil, &tools.Error{Source: provenance.Outside, Code: tools.Unsupported, Message: r.URL.Host + " sent a PDF that cannot be read", Remedy: "find the same text as a web page", Err: err}
	}
	p := &page{kind: "pdf", cut: r.Truncated}
	var b strings.Builder
	for _, doc := range f.Documents {
		p.title, p.author, p.language, p.cut = cmp.Or(p.title, doc.Title), cmp.Or(p.author, doc.Author), cmp.Or(p.language, doc.Language), p.cut || doc.Cut
		for _, s := range doc.Sections {
			b.WriteString(s.Text + "\n\n")
		}
	}
	p.body = readability.Tidy(strings.TrimSpace(b.String()))
	return p, nil
}

// parsePage parses a response by its content type.
func parsePage(r *safehttp.Response) (*page, error) {
	declared := r.Header.Get("Content-Type")
	kind, _, err := mime.ParseMediaType(declared)
	if err != nil || kind == "application/octet-stream" || kind == "" {
		declared = http.DetectContentType(r.Body)
		kind, _, _ = mime.ParseMediaType(declared)
	}
	switch {
	case len(r.Body) == 0:
		return &page{kind: "text"}, nil
	case kind == "text/html" || kind == "application/xhtml+xml":
		return readHTML(decodeCharset(r.Body, declared), r.URL)
	case kind == "application/json" || strings.HasSuffix(kind, "+json") || kind == "text/json":
		return readJSON(r.Body, r.URL)
	case kind == "application/xml" || kind == "text/xml" || strings.HasSuffix(kind, "+xml"):
		return readXML(r.Body, declared, r.URL), nil
	case strings.HasPrefix(kind, "text/") || kind == "application/javascript" || kind == "application/x-ndjson":
		return &page{kind: "text", body: readability.Tidy(decodeCharset(r.Body, declared))}, nil
	case kind == "application/pdf" || bytes.HasPrefix(r.Body, []byte("%PDF-")):
		return nil, &tools.Error{Source: provenance.Outside, Code: tools.Unsupported, Message: r.URL.Host + " sent a PDF; PDF pages are not supported", Remedy: "find the same text as a web page"}
	}
	// the server chose the text of the content type
	return nil, markOutside(&tools.Error{Source: provenance.Outside, Code: tools.Unsupported, Message: fmt.Sprintf("%s sent %.60q, which is not text", r.URL.Host, kind), Remedy: "use a page, a feed or a text file"})
}

// decodeCharset converts b to UTF-8. It determines the charset in the order of the HTML standard:
// byte order mark, Content-Type header, declaration in the page, and finally a guess.
func decodeCharset(b []byte, contentType string) string {
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	head := b[:min(len(b), 1024)]
	enc, name, certain := charset.DetermineEncoding(head, contentType)
	if name == "utf-8" || !certain && utf8.Valid(b) {
		return strings.ToValidUTF8(string(b), "\ufffd")
	}
	out, err := enc.NewDecoder().Bytes(b)
	if err != nil {
		out = b
	}
	return strings.ToValidUTF8(string(out), "\ufffd")
}

func readJSON(b []byte, base *url.URL) (*page, error) {
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	var f struct{ Version string }
	if json.Unmarshal(b, &f) == nil && strings.Contains(f.Version, "jsonfeed.org/version/") { // other JSON may contain items too
		if p := readFeed(b, base); p != nil {
			return p, nil
		}
	}
	p := &page{kind: "json"}
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", " "); err != nil || out.Len() > 2*maxText {
		p.body = readability.Tidy(strings.ToValidUTF8(string(b), "\ufffd"))
		return p, nil
	}
	p.body = readability.Tidy(out.String())
	return p, nil
}
