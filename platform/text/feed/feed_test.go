package feed

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func baseURL() *url.URL { return &url.URL{Scheme: "https", Host: "example.org"} }

// The feeds in the shared data are parsed or rejected with a reason.
func TestSharedFeeds(t *testing.T) {
	dir := os.Getenv("HOB_TEST_DATA")
	if dir == "" {
		dir = "../../../../shared/data"
	}
	files, err := filepath.Glob(filepath.Join(dir, "feeds", "gofeed", "testdata", "*", "*", "*"))
	if err != nil || len(files) == 0 {
		t.Skip("no shared test feeds")
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil {
			checkFeed(t, b)
		}
	}
}

func checkFeed(t *testing.T, b []byte) {
	t.Helper()
	items, title, err := Read(b, baseURL())
	if (err == nil) == (items == nil) {
		t.Errorf("%d items, %v", len(items), err)
	}
	for _, it := range items {
		if it.Title == "" || !utf8.ValidString(title+it.Title+it.Summary+it.ID) || strings.ContainsRune(it.Title, '\n') {
			t.Errorf("%+v", it)
		}
	}
}

func TestHostile(t *testing.T) {
	for name, body := range map[string]string{
		"nothing": " ", "a page": "<html><body>hello</body></html>", "deep": "<rss><channel>" + strings.Repeat("<a>", 100_000),
		"deeply nested and hidden": "<rss><channel>\x01<x:a>" + strings.Repeat("<a>", 500_000), "deep, in wide letters": encodeUTF16("<rss><channel><x:a>" + strings.Repeat("<a>", 300_000)),
	} {
		if items, _, err := Read([]byte(body), baseURL()); err == nil {
			t.Errorf("%s was parsed as %d items", name, len(items))
		}
	}
}

// encodeUTF16 returns a text in UTF-16.
func encodeUTF16(s string) string {
	b := []byte{0xff, 0xfe}
	for i := range len(s) {
		b = append(b, s[i], 0)
	}
	return string(b)
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`<rss version="2.0"><channel><title>x</title><item><title>y</title><link>/a</link></item></channel></rss>`))
	f.Add([]byte(`{"version":"https://jsonfeed.org/version/1.1","items":[{"id":"1","content_text":"x"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) { checkFeed(t, b) })
}
