package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hob/platform/net/safehttp"
	"hob/platform/provenance"
	"hob/platform/text/readability"
	"hob/tools"
)

// engine is one search service.
type engine struct {
	name string
	base string // base address without a trailing slash
	key  string
	net  *safehttp.Client
	now  func() time.Time
}

func (e *engine) displayName() string {
	return map[string]string{"tavily": "Tavily", "brave": "Brave Search", "searxng": "Your SearXNG", "duckduckgo": "DuckDuckGo"}[e.name]
}

// searchEngine runs a search. It may return more results than limit.
func (e *engine) searchEngine(ctx context.Context, query string, limit int) ([]Result, error) {
	switch e.name {
	case "tavily":
		return e.searchTavily(ctx, query, limit)
	case "brave":
		return e.searchBrave(ctx, query, limit)
	case "searxng":
		return e.searchSearxng(ctx, query)
	}
	return e.searchDuckDuckGo(ctx, query)
}

// providerLabel names the configured search service, if known.
func (s Search) providerLabel() string {
	switch {
	case s.Provider == "searxng" || s.isAutomatic() && s.BaseURL != "":
		return "your SearXNG at " + s.BaseURL
	case s.isAutomatic():
		return "the search service you set, or DuckDuckGo"
	}
	return (&engine{name: s.Provider}).displayName()
}

func (s Search) isAutomatic() bool { return s.Provider == "" || s.Provider == "auto" }

// Chosen returns the search service in use, or an error that explains why there is none. It looks
// up keys but sends no request.
func (s Search) Chosen(ctx context.Context) (name string, err error) {
	name, _, err = s.chooseProvider(ctx)
	return name, err
}

// chooseProvider returns the service and its key.
func (s Search) chooseProvider(ctx context.Context) (name, key string, err error) {
	if s.Key != nil {
		if key, err = s.Key(ctx); err != nil {
			return "", "", &tools.Error{Source: provenance.Outside, Code: tools.Failed, Message: "the key of the search service cannot be read: " + err.Error(), Remedy: "check [search] key", Err: err}
		}
	}
	env := func(names ...string) string {
		for _, n := range names {
			if s.Env != nil && s.Env(n) != "" {
				return s.Env(n)
			}
		}
		return ""
	}
	tavily, brave := env("TAVILY_API_KEY"), env("BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY")
	switch s.Provider {
	case "tavily":
		key, err = requireKey("Tavily", firstNonEmpty(key, tavily))
		return s.Provider, key, err
	case "brave":
		key, err = requireKey("Brave Search", firstNonEmpty(key, brave))
		return s.Provider, key, err
	case "searxng", "duckduckgo":
		return s.Provider, "", nil
	}
	switch {
	case s.BaseURL != "":
		return "searxng", "", nil
	case strings.HasPrefix(key, "tvly-"): // all Tavily keys have this prefix
		return "tavily", key, nil
	case key != "":
		return "brave", key, nil
	case tavily != "":
		return "tavily", tavily, nil
	case brave != "":
		return "brave", brave, nil
	}
	return "duckduckgo", "", nil
}

func requireKey(who, key string) (string, error) {
	if key == "" {
		return "", &tools.Error{Source: provenance.Tool, Code: tools.Failed, Message: who + " needs a key, and none is set", Remedy: `set key in [search], best as a reference such as "keychain:search" (hob secret set search), or provider = "duckduckgo", which needs none`}
	}
	if strings.ContainsAny(key, "\r\n\x00") {
		return "", &tools.Error{Source: provenance.Tool, Code: tools.Failed, Message: "the key of " + who + " contains a line break", Remedy: "store the key again"}
	}
	return key, nil
}

// newEngine returns the configured search engine.
func (d Deps) newEngine(ctx context.Context) (*engine, error) {
	name, key, err := d.Search.chooseProvider(ctx)
	if err != nil {
		return nil, err
	}
	e := &engine{name: name, key: key, net: d.Network, now: time.Now}
	switch name {
	case "tavily":
		e.base = "https://api.tavily.com"
	case "brave":
		e.base = "https://api.search.brave.com"
	case "duckduckgo":
		e.base = "https://html.duckduckgo.com"
	case "searxng":
		if e.base = strings.TrimRight(d.Search.BaseURL, "/"); e.base == "" {
			return nil, &tools.Error{Source: provenance.Tool, Code: tools.Failed, Message: "the address of your SearXNG server is not set", Remedy: `set base_url in [search], such as "http://127.0.0.1:8888"`}
		}
		if e.net, err = d.Network.Named(e.base); err != nil {
			return nil, e.searchError(err)
		}
	}
	return e, nil
}

// sendRequest sends a request and accepts only a successful response.
func (e *engine) sendRequest(ctx context.Context, r safehttp.Request) (*safehttp.Response, error) {
	resp, err := e.net.Fetch(ctx, r)
	if err != nil {
		return nil, err
	}
	if resp.Status >= 200 && resp.Status < 300 {
		return resp, nil
	}
	out := tools.Errorf(tools.Failed, "%s responded with HTTP status %d %s; nothing was searched", tools.Clean(e.displayName()), resp.Status, tools.Clean(http.StatusText(resp.Status)))
	switch resp.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		out.Remedy = "check [search] key"
		switch e.name {
		case "searxng":
			out.Remedy = "enable JSON: add json to search.formats in the settings.yml of the server"
		case "duckduckgo":
			out.Remedy = "the service blocks programs at the moment; configure a key for Tavily or Brave, or a SearXNG server, in [search]"
		}
	case http.StatusTooManyRequests:
		out.Remedy = "too many searches; " + e.waitAdvice(resp.Header)
	case http.StatusNotFound:
		out.Remedy = "check [search] base_url"
	case http.StatusUnprocessableEntity: // Brave sends this status for an invalid key and for an invalid query
		out.Remedy = "check [search] key, or use other words"
	case 432, 433: // Tavily's status when the limit of the plan or of pay-as-you-go usage is reached
		out.Message = e.displayName() + " reports that the limit of the plan is reached; nothing was searched"
		out.Remedy = "wait until the limit is reset, or change the plan"
	default:
		out.Remedy = "try again later"
	}
	return nil, out
}

// waitAdvice states when to retry. Brave sends the wait in X-RateLimit-Reset: one number of seconds
// for each of its limits, the shortest limit first.
func (e *engine) waitAdvice(h http.Header) string {
	if s, _, _ := strings.Cut(h.Get("X-RateLimit-Reset"), ","); h.Get("Retry-After") == "" {
		if n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 31); err == nil && n > 0 {
			return fmt.Sprintf("try again in %s", time.Duration(n)*time.Second)
		}
	}
	return retryAdvice(h, e.now())
}

// unreadableError returns the error for a response that does not match the service's documentation.
// Such a response must not count as an empty result.
func (e *engine) unreadableError() error {
	return &tools.Error{Source: provenance.Tool, Code: tools.Failed, Message: e.displayName() + " sent an invalid response, so it is unknown whether there are results", Remedy: "try again later, or set another provider in [search]"}
}

// searchTavily: docs.tavily.com/documentation/api-reference/endpoint/search
func (e *engine) searchTavily(ctx context.Context, query string, limit int) ([]Result, error) {
	body, err := json.Marshal(map[string]any{"query": query, "max_results": limit, "search_depth": "basic"})
	if err != nil {
		return nil, err
	}
	resp, err := e.sendRequest(ctx, safehttp.Request{
		Method: http.MethodPost, URL: e.base + "/search", Body: body,
		Header: http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}, "Authorization": {"Bearer " + e.key}},
	})
	if err != nil {
		return nil, err
	}
	var out struct {
		Results *[]struct{ Title, URL, Content string } `json:"results"`
	}
	if json.Unmarshal(resp.Body, &out) != nil || out.Results == nil {
		return nil, e.unreadableError()
	}
	var found []Result
	for _, r := range *out.Results {
		found = append(found, Result{r.Title, r.URL, r.Content})
	}
	return found, nil
}

// searchBrave: api-dashboard.search.brave.com/documentation/services/web-search
func (e *engine) searchBrave(ctx context.Context, query string, limit int) ([]Result, error) {
	q := url.Values{"q": {query}, "count": {strconv.Itoa(limit)}, "text_decorations": {"false"}}
	resp, err := e.sendRequest(ctx, safehttp.Request{
		URL:    e.base + "/res/v1/web/search?" + q.Encode(),
		Header: http.Header{"Accept": {"application/json"}, "X-Subscription-Token": {e.key}},
	})
	if err != nil {
		return nil, err
	}
	var out struct {
		Type string `json:"type"`
		Web  struct {
			Results []struct{ Title, URL, Description string } `json:"results"`
		} `json:"web"`
	}
	if json.Unmarshal(resp.Body, &out) != nil || out.Type != "search" {
		return nil, e.unreadableError() // Brave omits "web" if there are no results, so check only the type
	}
	var found []Result
	for _, r := range out.Web.Results {
		found = append(found, Result{r.Title, r.URL, r.Description})
	}
	return found, nil
}

// searchSearxng: docs.searxng.org/dev/search_api.html
func (e *engine) searchSearxng(ctx context.Context, query string) ([]Result, error) {
	resp, err := e.sendRequest(ctx, safehttp.Request{
		URL:    e.base + "/search?" + url.Values{"q": {query}, "format": {"json"}}.Encode(),
		Header: http.Header{"Accept": {"application/json"}},
	})
	if err != nil {
		return nil, err
	}
	var out struct {
		Results      *[]struct{ Title, URL, Content string } `json:"results"`
		Unresponsive [][]any                                 `json:"unresponsive_engines"`
	}
	if json.Unmarshal(resp.Body, &out) != nil || out.Results == nil {
		return nil, e.unreadableError()
	}
	if len(*out.Results) == 0 && len(out.Unresponsive) > 0 {
		return nil, markOutside(&tools.Error{
			Source: provenance.Outside,
			Code:   tools.Failed, Message: fmt.Sprintf("%s found nothing, but %d of its engines did not respond (%.200s)", e.displayName(), len(out.Unresponsive), engineNames(out.Unresponsive)),
			Remedy: "try again later, or check the engines of the server",
		})
	}
	var found []Result
	for _, r := range *out.Results {
		found = append(found, Result{r.Title, r.URL, r.Content})
	}
	return found, nil
}

func engineNames(list [][]any) string {
	var names []string
	for _, x := range list {
		if len(x) > 0 {
			names = append(names, readability.Squeeze(fmt.Sprint(x[0])))
		}
	}
	return strings.Join(names, ", ")
}

// firstNonEmpty returns the first non-empty string.
func firstNonEmpty(list ...string) string {
	for _, s := range list {
		if strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}
