// Package feed parses untrusted RSS, Atom and JSON feeds of any version and
// character set.
package feed

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mmcdole/gofeed"
	"golang.org/x/net/html/charset"

	"hob/platform/text/readability"
)

// The maximum lengths in a feed and its entries, in characters.
const (
	maxItems   = 2000
	maxTitle   = 300
	maxSummary = 2000
	maxLink    = 2048
	// maxDepth is the maximum nesting of elements. It is limited because the parser is recursive.
	maxDepth = 200
)

// Item is an entry of a feed. Its fields are plain text.
type Item struct {
	ID         string
	Title      string
	Link       string // absolute address, public or on the server of the feed; "" if there is none
	Author     string
	Summary    string
	Categories []string
	// At is the publication time. It is zero if the feed does not state it or if it is in the
	// future. Date is the date as the feed states it.
	At   time.Time
	Date string
}

// Read parses a feed; base is its address.
func Read(body []byte, base *url.URL) (items []Item, title string, err error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, "", errors.New("the response is empty")
	}
	// the parser does this too, but checkDepth runs first and would fail at these characters
	body = slices.DeleteFunc(bytes.Clone(body), func(b byte) bool { return b < 0x20 && b != '\t' && b != '\n' && b != '\r' })
	if err := checkDepth(body); err != nil {
		return nil, "", err
	}
	defer func() {
		if p := recover(); p != nil {
			items, err = nil, fmt.Errorf("cannot parse the feed: %v", p)
		}
	}()
	parsed, err := gofeed.NewParser().Parse(bytes.NewReader(body))
	if err != nil {
		if errors.Is(err, gofeed.ErrFeedTypeNotDetected) {
			return nil, "", errors.New("not an RSS, Atom or JSON feed; use the address of the feed, not that of the page")
		}
		return nil, "", errors.New(readability.CutRunes(readability.Squeeze(err.Error()), 200))
	}
	items = make([]Item, 0, min(len(parsed.Items), maxItems))
	for _, it := range parsed.Items {
		if len(items) == maxItems {
			break
		}
		if it != nil {
			items = append(items, itemOf(it, base))
		}
	}
	return items, sanitizeLine(parsed.Title, maxTitle), nil
}

// itemLink returns the absolute address of a link, or "" if it cannot be opened. A feed in the user's
// network may link to its own server.
func itemLink(base *url.URL, ref string) string {
	if link := readability.Link(base, ref); link != "" || base == nil {
		return link
	}
	u, err := base.Parse(strings.TrimSpace(ref))
	if err != nil || u.Scheme != base.Scheme || u.Host != base.Host || u.User != nil || strings.Contains(ref, `\`) || strings.HasPrefix(strings.TrimSpace(ref), "#") || strings.TrimSpace(ref) == "" || len(u.String()) > maxLink {
		return ""
	}
	return u.String()
}

func itemOf(it *gofeed.Item, base *url.URL) Item {
	out := Item{
		Title: sanitizeLine(it.Title, maxTitle), ID: readability.CutRunes(strings.TrimSpace(it.GUID), maxLink), Summary: summaryText(cmp.Or(it.Description, it.Content)),
		Date: sanitizeLine(cmp.Or(it.Published, it.Updated), 100),
	}
	for _, ref := range append([]string{it.Link}, it.Links...) {
		if out.Link = itemLink(base, ref); out.Link != "" {
			break
		}
	}
	for _, p := range it.Authors {
		if p != nil && out.Author == "" {
			out.Author = sanitizeLine(cmp.Or(p.Name, p.Email), 100)
		}
	}
	for _, c := range it.Categories[:min(len(it.Categories), 20)] {
		if c = sanitizeLine(c, 60); c != "" {
			out.Categories = append(out.Categories, c)
		}
	}
	at := it.PublishedParsed
	if at == nil {
		at = it.UpdatedParsed
	}
	if at != nil && at.Year() > 1970 && !at.After(time.Now().Add(time.Minute)) {
		out.At = at.UTC()
	}
	if out.Title == "" {
		first, _, _ := strings.Cut(out.Summary, "\n")
		out.Title = cmp.Or(readability.CutRunes(first, 100), out.Link, "an entry without a title")
	}
	return out
}

// sanitizeLine returns untrusted text on one line.
func sanitizeLine(s string, n int) string {
	return readability.CutRunes(readability.Squeeze(readability.Words(s)), n)
}

// summaryText returns the text of a summary, which is usually HTML.
func summaryText(s string) string {
	if len(s) > 20*maxSummary {
		s = strings.ToValidUTF8(s[:20*maxSummary], "")
	}
	return readability.CutRunes(strings.TrimSpace(readability.Tidy(readability.Words(s))), maxSummary)
}

// checkDepth rejects XML that is nested deeper than any real feed. It uses the same settings as the
// parser, so that both fail for the same input.
func checkDepth(body []byte) error {
	d := xml.NewDecoder(bytes.NewReader(body))
	d.Strict = false
	d.CharsetReader = charset.NewReaderLabel
	for depth := 0; ; {
		t, err := d.RawToken()
		if err != nil {
			return nil //nolint:nilerr // JSON, the end of the body, or a syntax error
		}
		switch t.(type) {
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return errors.New("XML elements are nested too deeply")
			}
		case xml.EndElement:
			depth = max(depth-1, 0)
		}
	}
}
