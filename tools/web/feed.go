package web

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"strings"

	"golang.org/x/net/html/charset"

	"hob/platform/readable"
)

// maxItems bounds how many items of a feed are told.
const maxItems = 50

// item of a feed.
type item struct{ title, link, date, text string }

// feed is a page that lists items.
func feed(title string, items []item, base *url.URL) *page {
	p := &page{kind: "feed", title: readable.Squeeze(title)}
	var b strings.Builder
	for i, it := range items {
		if i == maxItems {
			p.cut = true
			break
		}
		fmt.Fprintf(&b, "- %s", readable.CutRunes(readable.Squeeze(readable.Words(it.title)), 300))
		if it.date != "" {
			fmt.Fprintf(&b, " (%s)", readable.Squeeze(it.date))
		}
		if l := readable.Link(base, it.link); l != "" {
			fmt.Fprintf(&b, "\n  %s", l)
			p.links = append(p.links, l)
		}
		if t := readable.CutRunes(readable.Squeeze(readable.Words(it.text)), 500); t != "" {
			fmt.Fprintf(&b, "\n  %s", t)
		}
		b.WriteByte('\n')
	}
	p.body = b.String()
	return p
}

// jsonFeed reads JSON Feed 1.1 (jsonfeed.org/version/1.1), nil when it is none.
func jsonFeed(b []byte, base *url.URL) *page {
	var f struct {
		Version, Title string
		Items          []struct {
			URL, Title, Summary string
			Text                string `json:"content_text"`
			HTML                string `json:"content_html"`
			Date                string `json:"date_published"`
		}
	}
	if json.Unmarshal(b, &f) != nil || !strings.Contains(f.Version, "jsonfeed.org/version/") {
		return nil
	}
	var items []item
	for _, it := range f.Items {
		text := it.Summary
		if text == "" {
			text = it.Text
		}
		if text == "" {
			text = it.HTML
		}
		items = append(items, item{it.Title, it.URL, it.Date, text})
	}
	return feed(f.Title, items, base)
}

// entry is an item of RSS 0.9 to 2.0 (rssboard.org/rss-specification) or an
// entry of Atom (RFC 4287).
type entry struct {
	Title string `xml:"title"`
	Links []struct {
		Href string `xml:"href,attr"`
		Rel  string `xml:"rel,attr"`
		Text string `xml:",chardata"`
	} `xml:"link"`
	Published   string `xml:"published"`
	Updated     string `xml:"updated"`
	PubDate     string `xml:"pubDate"`
	Date        string `xml:"date"`
	Description string `xml:"description"`
	Summary     string `xml:"summary"`
	Content     string `xml:"content"`
}

func (e entry) item() item {
	it := item{title: e.Title, date: first(e.PubDate, e.Published, e.Updated, e.Date), text: first(e.Description, e.Summary, e.Content)}
	for _, l := range e.Links {
		if it.link == "" || l.Rel == "alternate" {
			it.link = strings.TrimSpace(first(l.Href, l.Text))
		}
	}
	return it
}

func first(list ...string) string {
	for _, s := range list {
		if strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}

// readXML reads a feed, and anything else as the text it is. No entity but
// XML's own is expanded, so that none can grow.
func readXML(b []byte, contentType string, base *url.URL) *page {
	var f struct {
		XMLName xml.Name
		Title   string  `xml:"title"`
		Entries []entry `xml:"entry"`
		Items   []entry `xml:"item"`
		Channel struct {
			Title string  `xml:"title"`
			Items []entry `xml:"item"`
		} `xml:"channel"`
	}
	d := xml.NewDecoder(bytes.NewReader(b))
	d.Strict, d.Entity = false, xml.HTMLEntity
	d.CharsetReader = func(label string, in io.Reader) (io.Reader, error) { return charset.NewReaderLabel(label, in) }
	err := d.Decode(&f)
	entries := append(append(f.Entries, f.Items...), f.Channel.Items...)
	switch strings.ToLower(f.XMLName.Local) {
	case "html":
		if p, err := readHTML(decode(b, contentType), base); err == nil {
			return p
		}
	case "rss", "feed", "rdf":
		if err == nil || len(entries) > 0 {
			var items []item
			for _, e := range entries {
				items = append(items, e.item())
			}
			return feed(first(f.Title, f.Channel.Title), items, base)
		}
	}
	return &page{kind: "text", body: readable.Tidy(decode(b, contentType))}
}
