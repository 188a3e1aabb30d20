package feed_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/platform/net/safehttp/safehttptest"
	"hob/watchers"
	"hob/watchers/feed"
	"hob/watchers/watcherstest"
)

// site serves feeds by name, with validators.
type site struct {
	mu     sync.Mutex
	feeds  map[string]string
	fail   int
	header http.Header
	gave   int // number of complete answers
	same   int // number of "not modified" answers
}

func (s *site) setFeed(name, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.feeds == nil {
		s.feeds = map[string]string{}
	}
	s.feeds[name] = body
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, v := range s.header {
		w.Header()[k] = v
	}
	body, ok := s.feeds[strings.TrimPrefix(r.URL.Path, "/")]
	switch {
	case s.fail != 0:
		w.WriteHeader(s.fail)
		return
	case !ok:
		http.NotFound(w, r)
		return
	}
	sum := sha256.Sum256([]byte(body))
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		s.same++
		w.WriteHeader(http.StatusNotModified)
		return
	}
	s.gave++
	_, _ = w.Write([]byte(body))
}

// entry is an entry of a generated feed.
type entry struct {
	Title, Link, GUID, Text string
	At                      time.Time
}

func buildRSS(entries ...entry) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><rss version="2.0"><channel><title>The Daily</title>`)
	esc := func(s string) string {
		var b strings.Builder
		_ = xml.EscapeText(&b, []byte(s))
		return b.String()
	}
	for i := len(entries) - 1; i >= 0; i-- { // newest first
		e := entries[i]
		b.WriteString("<item>")
		for _, f := range [][2]string{{"title", e.Title}, {"link", e.Link}, {"guid", e.GUID}, {"description", e.Text}} {
			if f[1] != "" {
				fmt.Fprintf(&b, "<%s>%s</%s>", f[0], esc(f[1]), f[0])
			}
		}
		if !e.At.IsZero() {
			fmt.Fprintf(&b, "<pubDate>%s</pubDate>", e.At.UTC().Format("Mon, 02 Jan 2006 15:04:05.000 GMT"))
		}
		b.WriteString("</item>")
	}
	return b.String() + `</channel></rss>`
}

func TestConformance(t *testing.T) {
	s := &site{}
	net := safehttptest.New(t, s)
	var mu sync.Mutex
	made := map[string][]entry{}
	nameOf := func(config json.RawMessage) string {
		var c struct {
			URL string `json:"url"`
		}
		_ = json.Unmarshal(config, &c)
		return c.URL[strings.LastIndexByte(c.URL, '/')+1:]
	}
	watcherstest.Run(t, watcherstest.Suite{
		New: func() watchers.Driver { return feed.New() },
		Config: func(t *testing.T) json.RawMessage {
			name := strings.NewReplacer("/", "-", " ", "_", ",", "").Replace(t.Name())
			s.setFeed(name, buildRSS())
			return json.RawMessage(fmt.Sprintf(`{"url":"https://news.example.com/%s"}`, name))
		},
		Bad: []string{
			`{}`, `{"url":""}`, `{"url":"ftp://example.com/x"}`, `{"url":"http://127.0.0.1/feed"}`, `{"url":"http://169.254.169.254/"}`,
			`{"url":"https://example.com/","words":5}`, `{"url":"file:///etc/passwd"}`,
		},
		Provoke: func(_ *testing.T, config json.RawMessage, n int) {
			mu.Lock()
			defer mu.Unlock()
			name := nameOf(config)
			made[name] = append(made[name], entry{Title: fmt.Sprint("Entry ", n), GUID: fmt.Sprint("urn:", n), Link: fmt.Sprintf("https://news.example.com/e/%d", n), At: time.Now().Add(time.Millisecond)})
			s.setFeed(name, buildRSS(made[name]...))
		},
		Polled: true, Network: net.Client(t),
		Fail: func(_ *testing.T, on bool) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.fail = 0; on {
				s.fail = http.StatusInternalServerError
			}
		},
	})
}

// follower polls a feed through its versions and knows the keys of earlier polls.
type follower struct {
	t     *testing.T
	s     *site
	w     func() watchers.Polled
	p     watchers.Progress
	known map[string]bool
}

func followFeed(t *testing.T, more string) *follower {
	s := &site{}
	client := safehttptest.New(t, s).Client(t)
	return &follower{t: t, s: s, known: map[string]bool{}, p: watchers.Progress{First: true, Begun: time.Now()}, w: func() watchers.Polled {
		made, err := feed.New().New(watchers.Spec{Config: json.RawMessage(`{"url":"https://news.example.com/f"` + more + `}`)}, watchers.Deps{Network: client})
		if err != nil {
			t.Fatal(err)
		}
		return made.(watchers.Polled)
	}}
}

// nextEntries serves a version and returns its new entries, as the manager decides.
func (f *follower) nextEntries(body string) []string {
	f.t.Helper()
	f.s.setFeed("f", body)
	found, err := f.w().Poll(f.t.Context(), f.p)
	if err != nil {
		f.t.Fatal(err)
	}
	var out []string
	for _, s := range found.Signals {
		if !f.known[s.Key] && (!f.p.First || s.At.After(f.p.Begun)) {
			out = append(out, s.Text)
		}
		f.known[s.Key] = true
	}
	f.p.First = false
	if found.Cursor != nil {
		f.p.Cursor = found.Cursor
	}
	return out
}

func dayOfMonth(n int) time.Time { return time.Date(2024, 1, n, 8, 0, 0, 0, time.UTC) }

func TestPoll_NewEntries(t *testing.T) {
	for _, c := range []struct {
		name     string
		config   string
		versions []string
		want     []string // new entries of the last version
	}{
		{"a new entry", "", []string{
			buildRSS(entry{Title: "A", GUID: "1"}), buildRSS(entry{Title: "A", GUID: "1"}, entry{Title: "B <b>bold</b> &amp; more", GUID: "2", Link: "/b"}),
		}, []string{"New in The Daily: B bold & more (https://news.example.com/b)"}},
		{"an edited entry is not new", "", []string{
			buildRSS(entry{Title: "A", GUID: "1"}), buildRSS(entry{Title: "A, corrected", GUID: "1", Text: "other"}),
		}, nil},
		{"an edit that adds the word is not new", `,"words":["Rust"]`, []string{
			buildRSS(entry{Title: "A", GUID: "1", At: time.Now().Add(time.Hour)}), buildRSS(entry{Title: "A about Rust", GUID: "1", At: time.Now().Add(time.Hour)}),
		}, nil},
		{"without ids the link counts", "", []string{
			buildRSS(entry{Title: "A", Link: "https://x.org/a"}), buildRSS(entry{Title: "A!", Link: "https://x.org/a"}, entry{Title: "B", Link: "https://x.org/b"}),
		}, []string{"New in The Daily: B (https://x.org/b)"}},
		{"without ids and links the content counts", "", []string{
			buildRSS(entry{Title: "A", Text: "x"}), buildRSS(entry{Title: "A", Text: "x"}, entry{Title: "A", Text: "y"}),
		}, []string{"New in The Daily: A"}},
		{"the same id for all entries", "", []string{
			buildRSS(entry{Title: "A", GUID: "home", Link: "/a", At: dayOfMonth(1)}),
			buildRSS(entry{Title: "A", GUID: "home", Link: "/a", At: dayOfMonth(1)}, entry{Title: "B", GUID: "home", Link: "/b", At: dayOfMonth(2)}),
		}, []string{"New in The Daily: B (https://news.example.com/b)"}},
		{"a longer feed brings no old entries", "", []string{
			buildRSS(entry{Title: "C", GUID: "3", At: dayOfMonth(3)}, entry{Title: "D", GUID: "4", At: dayOfMonth(4)}),
			buildRSS(entry{Title: "A", GUID: "1", At: dayOfMonth(1)}, entry{Title: "B", GUID: "2", At: dayOfMonth(2)}, entry{Title: "C", GUID: "3", At: dayOfMonth(3)}, entry{Title: "D", GUID: "4", At: dayOfMonth(4)}),
		}, nil},
		{"a first entry with an old date is new", "", []string{
			buildRSS(entry{Title: "C", GUID: "3", At: dayOfMonth(3)}), buildRSS(entry{Title: "C", GUID: "3", At: dayOfMonth(3)}, entry{Title: "from the drawer", GUID: "0", At: dayOfMonth(1)}),
		}, []string{"New in The Daily: from the drawer"}},
		{"only with the words", `,"words":["Rust","go 1.26"],"except":"jobs"`, []string{
			buildRSS(), buildRSS(
				entry{Title: "Trusted sources", GUID: "1"}, entry{Title: "RUST in the kernel", GUID: "2"}, entry{Title: "News", Text: "<p>Go 1.26 is out</p>", GUID: "3"},
				entry{Title: "Rust jobs", GUID: "4"}, entry{Title: "go 2", GUID: "5"},
			),
		}, []string{"New in The Daily: News", "New in The Daily: RUST in the kernel"}},
		{"words without spaces", `,"words":["天気"]`, []string{buildRSS(), buildRSS(entry{Title: "明日の天気予報", GUID: "1"})}, []string{"New in The Daily: 明日の天気予報"}},
		{"an empty feed, then one entry", "", []string{buildRSS(), buildRSS(entry{Title: "A"})}, []string{"New in The Daily: A"}},
		{"JSON Feed", "", []string{
			`{"version":"https://jsonfeed.org/version/1.1","title":"J","items":[{"id":"1","content_text":"one"}]}`,
			`{"version":"https://jsonfeed.org/version/1.1","title":"J","items":[{"id":"2","title":"Two","url":"https://j.org/2"},{"id":"1","content_text":"one"}]}`,
		}, []string{"New in J: Two (https://j.org/2)"}},
		{"Atom", "", []string{
			`<feed xmlns="http://www.w3.org/2005/Atom"><title>At</title></feed>`,
			`<feed xmlns="http://www.w3.org/2005/Atom"><title>At</title><entry><id>urn:1</id><title type="html">A &lt;i&gt;b&lt;/i&gt;</title><link href="x"/></entry></feed>`,
		}, []string{"New in At: A b (https://news.example.com/x)"}},
		{"no title at all", "", []string{buildRSS(), buildRSS(entry{Text: "Just a note\nof two lines"})}, []string{"New in The Daily: Just a note"}},
		{"control characters and lines", "", []string{buildRSS(), buildRSS(entry{Title: "A\r\n\tB\u202e", GUID: "1"})}, []string{"New in The Daily: A B\u202e"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := followFeed(t, c.config)
			var got []string
			for i, v := range c.versions {
				if got = f.nextEntries(v); i == 0 && len(got) > 0 {
					t.Errorf("the baseline fires %q", got)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if again := f.nextEntries(c.versions[len(c.versions)-1]); len(again) > 0 || f.s.same != 1 {
				t.Errorf("an unchanged feed fires %q; %d requests with validators", again, f.s.same)
			}
		})
	}
}

func TestPoll_InvalidAnswers(t *testing.T) {
	deep := strings.Repeat("<a>", 500_000)
	for name, c := range map[string]struct {
		body string
		fail int
		head http.Header
		want string
	}{
		"a page":                          {body: "<html><body>hello</body></html>", want: "not an RSS, Atom or JSON feed"},
		"nothing":                         {body: " ", want: "empty"},
		"garbage":                         {body: "\x00\xff\xfe not a feed", want: "did not return a feed"},
		"deep":                            {body: "<rss><channel><item>" + deep, want: "too deep"},
		"deep, with a false end of a tag": {body: "<rss><channel><item>" + strings.Repeat(`<a b="/>">`, 500_000), want: "too deep"},
		"deep directives":                 {body: "<rss><channel><item>" + strings.Repeat(`<a><!x "> </a>">`, 100_000), want: "too deep"},
		"deeply nested and hidden":        {body: "<rss><channel>\x01<x:a>" + deep, want: "too deep"},
		"too large":                       {body: "<rss>" + strings.Repeat(" ", 6<<20), want: "sends more than"},
		"not found":                       {fail: 404, want: "no page at this address"},
		"gone":                            {fail: 410, want: "permanently gone"},
		"a login":                         {fail: 401, want: "login"},
		"busy":                            {fail: 429, head: http.Header{"Retry-After": {"120"}}, want: "asked to wait until"},
		"an endless list":                 {fail: 503, want: "overloaded (HTTP status 503)"},
		"cut in the middle":               {body: buildRSS(entry{Title: "A"})[:60], want: "did not return a feed"},
		"entities":                        {body: `<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><rss><channel><title>&b;</title></channel></rss>`},
	} {
		t.Run(name, func(t *testing.T) {
			f := followFeed(t, "")
			f.s.fail, f.s.header = c.fail, c.head
			f.s.setFeed("f", c.body)
			found, err := f.w().Poll(t.Context(), f.p)
			if c.want == "" {
				if err != nil || len(found.Signals) > 0 {
					t.Errorf("%v, %v", found, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// Every feed in the shared data can be watched: its entries get unique keys that do not change at
// the next poll.
func TestPoll_SharedFeeds(t *testing.T) {
	root := os.Getenv("HOB_TEST_DATA")
	if root == "" {
		root = "../../../shared/data"
	}
	var files []string
	_ = filepath.WalkDir(filepath.Join(root, "feeds"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".xml") {
			files = append(files, path)
		}
		return nil
	})
	if len(files) == 0 {
		t.Skip("the shared feeds are missing (HOB_TEST_DATA)")
	}
	entries, unread := 0, 0
	for _, path := range files {
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f := followFeed(t, "")
		f.s.setFeed("f", string(body))
		one, err := f.w().Poll(t.Context(), f.p)
		if err != nil {
			unread++
			t.Logf("%s: %v", filepath.Base(path), err)
			continue
		}
		two, err := f.w().Poll(t.Context(), f.p)
		if err != nil {
			t.Fatal(err)
		}
		keys := map[string]bool{}
		for i, s := range one.Signals {
			entries++
			if keys[s.Key] || s.Key == "" || s.Text == "" || strings.ContainsAny(s.Text, "\n\r") || !json.Valid(s.Payload) || two.Signals[i].Key != s.Key {
				t.Errorf("%s: %+v", filepath.Base(path), s)
			}
			keys[s.Key] = true
		}
	}
	t.Logf("%d feeds, %d entries, %d unread", len(files), entries, unread)
	if unread > len(files)/20 || entries < 50 {
		t.Errorf("%d of %d feeds could not be read; %d entries", unread, len(files), entries)
	}
}

func TestDescribe(t *testing.T) {
	for config, want := range map[string]string{
		`{"url":"example.org/feed"}`:                                        "new entries of the feed https://example.org/feed",
		`{"url":"feed://example.org/a"}`:                                    "new entries of the feed https://example.org/a",
		`{"url":"https://example.org/","words":["a","b c"],"except":["d"]}`: `new entries of the feed https://example.org/ with "a" or "b c" without "d"`,
		`{"url":5}`: "an unreadable feed",
	} {
		if got := feed.New().DescribeConfig(json.RawMessage(config)); got != want {
			t.Errorf("%s: %q", config, got)
		}
	}
}

func TestPast(t *testing.T) {
	f := followFeed(t, "")
	f.s.setFeed("f", buildRSS(entry{Title: "long ago", At: dayOfMonth(1)}, entry{Title: "B", At: time.Now().Add(-time.Hour)}, entry{Title: "undated"}, entry{Title: "C", At: time.Now().Add(-time.Minute)}))
	past, err := f.w().(watchers.Historian).Past(t.Context(), time.Now().AddDate(0, 0, -7))
	var got []string
	for _, s := range past {
		got = append(got, s.Text)
	}
	if diff := cmp.Diff([]string{"New in The Daily: B", "New in The Daily: C"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func FuzzPoll(f *testing.F) {
	f.Add([]byte(buildRSS(entry{Title: "A", GUID: "1", At: dayOfMonth(1)})))
	f.Add([]byte(`{"version":"https://jsonfeed.org/version/1.1","items":[{"id":"1"}]}`))
	f.Add([]byte(`<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id></entry></feed>`))
	f.Fuzz(func(t *testing.T, body []byte) {
		feed.ReadForTest(t, body)
	})
}
