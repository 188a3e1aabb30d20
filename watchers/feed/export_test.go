package feed

import (
	"net/url"
	"testing"
	"unicode/utf8"
)

// ReadForTest reads a feed and checks the properties of all feeds.
func ReadForTest(t *testing.T, body []byte) {
	items, title, err := readFeed(body, &url.URL{Scheme: "https", Host: "example.org"})
	if err != nil {
		return
	}
	keys := map[string]bool{}
	for _, it := range items {
		if it.key == "" || !utf8.ValidString(it.Title+title) || it.Title == "" {
			t.Errorf("%+v", it)
		}
		_ = it.itemSignal("https://example.org/", title)
		keys[it.key] = true
	}
}
