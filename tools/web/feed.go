package web

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"strings"

	"golang.org/x/net/html/charset"

	"hob/platform/net/safehttp"
	feeds "hob/platform/text/feed"
	"hob/platform/text/readability"
)

// maxItems limits the feed items that are shown.
const maxItems = 50

// readFeed returns a page that lists the items of a feed, or nil if b is not a feed.
func readFeed(b []byte, base *url.URL) *page {
	items, title, err := feeds.Read(b, base)
	if err != nil {
		return nil
	}
	p := &page{kind: "feed", title: title}
	var out strings.Builder
	for i, it := range items {
		if i == maxItems {
			p.cut = true
			break
		}
		fmt.Fprintf(&out, "- %s", it.Title)
		if it.Date != "" {
			fmt.Fprintf(&out, " (%s)", it.Date)
		}
		if it.Link != "" {
			fmt.Fprintf(&out, "\n  %s", it.Link)
			if _, err := safehttp.Canonical(it.Link); err == nil {
				p.links = append(p.links, it.Link)
			}
		}
		if t := readability.CutRunes(readability.Squeeze(it.Summary), 500); t != "" {
			fmt.Fprintf(&out, "\n  %s", t)
		}
		out.WriteByte('\n')
	}
	p.body = out.String()
	return p
}

// readXML parses a feed or a page. It returns other XML as plain text.
func readXML(b []byte, contentType string, base *url.URL) *page {
	switch rootElement(b) {
	case "html":
		if p, err := readHTML(decodeCharset(b, contentType), base); err == nil {
			return p
		}
	case "rss", "feed", "rdf":
		if p := readFeed(b, base); p != nil {
			return p
		}
	}
	return &page{kind: "text", body: readability.Tidy(decodeCharset(b, contentType))}
}

// rootElement returns the name of the outermost element, in lower case.
func rootElement(b []byte) string {
	d := xml.NewDecoder(bytes.NewReader(b))
	d.Strict = false
	d.CharsetReader = func(label string, in io.Reader) (io.Reader, error) { return charset.NewReaderLabel(label, in) }
	for {
		t, err := d.RawToken()
		if err != nil {
			return ""
		}
		if e, ok := t.(xml.StartElement); ok {
			return strings.ToLower(e.Name.Local)
		}
	}
}
