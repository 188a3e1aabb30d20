package feed

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mmcdole/gofeed"
	"golang.org/x/net/html/charset"

	"hob/platform/provenance"
	"hob/platform/readable"
	"hob/watchers"
)

// The bounds of an entry, in characters.
const (
	maxTitle   = 300
	maxSummary = 2000
	maxLink    = 2048
	// maxDepth is how deep elements may lie in each other: the parser calls
	// itself for each.
	maxDepth = 200
)

// item is an entry as a program gets it.
type item struct {
	key        string
	at         time.Time // zero when the feed does not say, or names the future
	Title      string    `json:"title"`
	Link       string    `json:"link,omitempty"`
	Author     string    `json:"author,omitempty"`
	Published  string    `json:"published,omitempty"`
	Summary    string    `json:"summary,omitempty"`
	Categories []string  `json:"categories,omitempty"`
	Feed       string    `json:"feed,omitempty"`
	ID         string    `json:"id,omitempty"`
}

// read parses a feed that somebody else wrote: of any of the formats, in any
// character set, and with whatever in it. base is where it came from.
func read(body []byte, base *url.URL) (items []item, title string, err error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, "", errors.New("the answer is empty")
	}
	// As the parser does by itself, but before shallow looks: it would stop there.
	body = slices.DeleteFunc(bytes.Clone(body), func(b byte) bool { return b < 0x20 && b != '\t' && b != '\n' && b != '\r' })
	if err := shallow(body); err != nil {
		return nil, "", err
	}
	defer func() {
		if p := recover(); p != nil {
			items, err = nil, fmt.Errorf("it is written so that it cannot be read: %v", p)
		}
	}()
	parsed, err := gofeed.NewParser().Parse(bytes.NewReader(body))
	if err != nil {
		if errors.Is(err, gofeed.ErrFeedTypeNotDetected) {
			return nil, "", errors.New("it is neither RSS nor Atom nor JSON Feed; is it the address of the feed, and not that of the page?")
		}
		return nil, "", errors.New(readable.CutRunes(readable.Squeeze(err.Error()), 200))
	}
	title = line(parsed.Title, maxTitle)
	items = make([]item, 0, min(len(parsed.Items), maxItems))
	for _, it := range parsed.Items {
		if len(items) == maxItems {
			break
		}
		if it != nil {
			items = append(items, itemOf(it, base))
		}
	}
	name(items)
	return items, title, nil
}

func itemOf(it *gofeed.Item, base *url.URL) item {
	out := item{
		Title: line(it.Title, maxTitle), ID: readable.CutRunes(strings.TrimSpace(it.GUID), maxLink), Summary: text(cmp.Or(it.Description, it.Content)),
	}
	for _, ref := range append([]string{it.Link}, it.Links...) {
		if out.Link = readable.Link(base, ref); out.Link != "" {
			break
		}
	}
	for _, p := range it.Authors {
		if p != nil && out.Author == "" {
			out.Author = line(cmp.Or(p.Name, p.Email), 100)
		}
	}
	for _, c := range it.Categories[:min(len(it.Categories), 20)] {
		if c = line(c, 60); c != "" {
			out.Categories = append(out.Categories, c)
		}
	}
	at := it.PublishedParsed
	if at == nil {
		at = it.UpdatedParsed
	}
	if at != nil && at.Year() > 1970 && !at.After(time.Now().Add(time.Minute)) {
		out.at = at.UTC()
		out.Published = at.UTC().Format(time.RFC3339)
	}
	if out.Title == "" {
		first, _, _ := strings.Cut(out.Summary, "\n")
		out.Title = cmp.Or(readable.CutRunes(first, 100), out.Link, "an entry without a title")
	}
	return out
}

// name gives the entries their keys: what the feed calls them, else their link,
// else their content. When several share one, the oldest keeps it and the others
// are told apart by their links and titles.
func name(items []item) {
	same := map[string][]int{}
	for i, it := range items {
		k := ""
		switch {
		case it.ID != "":
			k = "id:" + it.ID
		case it.Link != "":
			k = "link:" + it.Link
		default:
			k = "text:" + digest(it.Title, it.Published, it.Summary)
		}
		items[i].key = k
		same[k] = append(same[k], i)
	}
	for k, of := range same {
		if len(of) < 2 {
			continue
		}
		slices.SortStableFunc(of, func(a, b int) int { // newest first, as feeds are written
			if x, y := items[a].at, items[b].at; !x.IsZero() && !y.IsZero() && !x.Equal(y) {
				return y.Compare(x)
			}
			return a - b
		})
		for _, i := range of[:len(of)-1] {
			items[i].key = k + "\n" + digest(items[i].Link, items[i].Title)
		}
	}
}

func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

func (it item) signal(from, title string) watchers.Signal {
	it.Feed = title
	say := "New in " + cmp.Or(title, hostOf(from)) + ": " + it.Title
	if it.Link != "" && it.Link != it.Title {
		say += " (" + readable.CutRunes(it.Link, 300) + ")"
	}
	payload, err := json.Marshal(it)
	if err != nil { // a programming error: they are texts
		panic(fmt.Sprintf("feed: payload: %v", err))
	}
	return watchers.Signal{Key: it.key, Text: say, Payload: payload, Source: provenance.Outside, At: it.at}
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host
}

// line is a text of others on one line.
func line(s string, n int) string { return readable.CutRunes(readable.Squeeze(readable.Words(s)), n) }

// text is what can be read of a summary, which is HTML more often than not.
func text(s string) string {
	if len(s) > 20*maxSummary {
		s = strings.ToValidUTF8(s[:20*maxSummary], "")
	}
	return readable.CutRunes(strings.TrimSpace(readable.Tidy(readable.Words(s))), maxSummary)
}

// shallow refuses XML whose elements lie in each other deeper than any feed's,
// reading it as the parser will. What it cannot read the parser cannot either.
func shallow(body []byte) error {
	d := xml.NewDecoder(bytes.NewReader(body))
	d.Strict = false
	d.CharsetReader = charset.NewReaderLabel
	for depth := 0; ; {
		t, err := d.RawToken()
		if err != nil {
			return nil //nolint:nilerr // JSON, the end, or what the parser complains of
		}
		switch t.(type) {
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return errors.New("its elements lie in each other too deep")
			}
		case xml.EndElement:
			depth = max(depth-1, 0)
		}
	}
}
