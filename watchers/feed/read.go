package feed

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"hob/platform/provenance"
	feeds "hob/platform/text/feed"
	"hob/platform/text/readability"
	"hob/platform/text/sorting"
	"hob/watchers"
)

// item is an entry of a feed. Its JSON form is the payload of the signal.
type item struct {
	key        string
	at         time.Time // zero if the feed gives no date or a future date
	Title      string    `json:"title"`
	Link       string    `json:"link,omitempty"`
	Author     string    `json:"author,omitempty"`
	Published  string    `json:"published,omitempty"`
	Summary    string    `json:"summary,omitempty"`
	Categories []string  `json:"categories,omitempty"`
	Feed       string    `json:"feed,omitempty"`
	ID         string    `json:"id,omitempty"`
}

// readFeed parses a feed and assigns the keys of its entries. base is the URL of the feed.
func readFeed(body []byte, base *url.URL) (items []item, title string, err error) {
	entries, title, err := feeds.Read(body, base)
	if err != nil {
		return nil, "", err
	}
	items = make([]item, len(entries))
	for i, e := range entries {
		items[i] = item{at: e.At, Title: e.Title, Link: e.Link, Author: e.Author, Summary: e.Summary, Categories: e.Categories, ID: e.ID}
		if !e.At.IsZero() {
			items[i].Published = e.At.Format(time.RFC3339)
		}
	}
	assignKeys(items)
	return items, title, nil
}

// assignKeys assigns the keys of the entries. A key is the id in the feed, or the link, or a hash
// of the content. If several entries share a key, the oldest entry keeps the key, and the other
// entries get keys built from their links and titles.
func assignKeys(items []item) {
	same := map[string][]int{}
	for i, it := range items {
		k := ""
		switch {
		case it.ID != "":
			k = "id:" + it.ID
		case it.Link != "":
			k = "link:" + it.Link
		default:
			k = "text:" + hashParts(it.Title, it.Published, it.Summary)
		}
		items[i].key = k
		same[k] = append(same[k], i)
	}
	for k, of := range same {
		if len(of) < 2 {
			continue
		}
		sorting.StableByFunc(of, func(a, b int) int { // newest first, the usual order of feeds
			if x, y := items[a].at, items[b].at; !x.IsZero() && !y.IsZero() && !x.Equal(y) {
				return y.Compare(x)
			}
			return a - b
		})
		for _, i := range of[:len(of)-1] {
			items[i].key = k + "\n" + hashParts(items[i].Link, items[i].Title)
		}
	}
}

func hashParts(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

func (it item) itemSignal(from, title string) watchers.Signal {
	it.Feed = title
	say := "New in " + cmp.Or(title, hostOf(from)) + ": " + it.Title
	if it.Link != "" && it.Link != it.Title {
		say += " (" + readability.CutRunes(it.Link, 300) + ")"
	}
	payload, err := json.Marshal(it)
	if err != nil { // a programming error: all values are strings
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
