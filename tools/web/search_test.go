package web

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/platform/net/safehttp"
	"hob/platform/net/safehttp/safehttptest"
	"hob/platform/provenance"
	"hob/tools"
)

func newResponse(u *url.URL, kind string, body []byte) *safehttp.Response {
	return &safehttp.Response{Status: 200, URL: u, Header: http.Header{"Content-Type": {kind}}, Body: body}
}

// TestSearch calls the tool with hostile answers of a search service.
func TestSearch(t *testing.T) {
	n := safehttptest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"results":[
			{"title":"Hob <b>one</b>","url":"https://Example.com/1#x","content":"a\u001b[31mb\nc"},
			{"title":"twice","url":"https://example.com/1","content":""},
			{"title":"inside","url":"http://192.168.1.1/","content":"router"},
			{"title":"script","url":"javascript:alert(1)","content":"x"},
			{"title":"two","url":"https://example.com/2","content":"second"},
			{"title":"three","url":"https://example.com/3","content":"third"}]}`)
	}))
	d := Deps{Network: n.Client(t), Search: Search{BaseURL: "http://search.example"}}
	r, err := callTool(t, d, "web_search", searchIn{Query: " what\nis hob ", Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	want := "Your SearXNG found:\n\n1. Hob one\n   https://example.com/1\n   a[31mb c\n\n2. two\n   https://example.com/2\n   second\n"
	if diff := cmp.Diff(want, r.Text); diff != "" || r.Source != provenance.Outside {
		t.Error(r.Source, diff)
	}
	if diff := cmp.Diff([]string{"https://example.com/1", "https://example.com/2"}, r.Links); diff != "" {
		t.Error(diff)
	}
	if got := n.Heard()[0].URL.Query().Get("q"); got != "what is hob" {
		t.Errorf("searched for %q", got)
	}
}

func TestSearch_NoResults(t *testing.T) {
	n := safehttptest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"results":[]}`) }))
	r, err := callTool(t, Deps{Network: n.Client(t), Search: Search{BaseURL: "http://search.example"}}, "web_search", searchIn{Query: "x"})
	if err != nil || !strings.Contains(r.Text, `found nothing for "x"`) || len(r.Links) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestSearch_Refused(t *testing.T) {
	for _, c := range []struct {
		name string
		in   searchIn
		s    Search
		says string
	}{
		{"empty", searchIn{Query: " \n"}, Search{}, "query is empty"},
		{"too long", searchIn{Query: strings.Repeat("a", 401)}, Search{}, "at most 400"},
		{"too many", searchIn{Query: "a", Limit: 21}, Search{}, "limit must be 1 to 20"},
		{"no key", searchIn{Query: "a"}, Search{Provider: "tavily"}, "needs a key, and none is set; set key in [search]"},
		{"an instance inside by name", searchIn{Query: "a"}, Search{Provider: "searxng", BaseURL: "http://searx.local"}, "[network] allow"},
		{"metadata as an instance", searchIn{Query: "a"}, Search{Provider: "searxng", BaseURL: "http://169.254.169.254"}, "refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := safehttptest.New(t, http.NotFoundHandler())
			_, err := callTool(t, Deps{Network: n.Client(t), Search: c.s}, "web_search", c.in)
			if err == nil || !strings.Contains(err.Error(), c.says) || len(n.Heard()) != 0 {
				t.Error(err)
			}
		})
	}
}

func TestSearch_Assessment(t *testing.T) {
	for _, c := range []struct {
		s    Search
		want string
	}{
		{Search{}, "asks the search service you set, or DuckDuckGo"},
		{Search{Provider: "brave"}, "asks Brave Search"},
		{Search{BaseURL: "http://127.0.0.1:8888"}, "asks your SearXNG at http://127.0.0.1:8888"},
	} {
		args, _ := json.Marshal(searchIn{Query: " a \n b "})
		j := tools.JudgmentOf(t.Context(), Tools(Deps{Search: c.s})[1], args)
		if j.Query != "a b" || j.Why != c.want || j.Effects != tools.Egress || j.Refused != nil || len(j.URLs) != 0 {
			t.Errorf("JudgmentOf = %+v", j)
		}
	}
}
