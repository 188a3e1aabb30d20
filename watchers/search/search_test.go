package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"hob/watchers"
	"hob/watchers/search"
	"hob/watchers/watcherstest"
)

// service is a fake of a search service with the results keyed by query.
type service struct {
	mu      sync.Mutex
	results map[string][]watchers.SearchResult
	fails   bool
}

func (s *service) addResult(query string, r watchers.SearchResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.results == nil {
		s.results = map[string][]watchers.SearchResult{}
	}
	s.results[query] = append(s.results[query], r)
}

func (s *service) findResults(ctx context.Context, query string, _ int) ([]watchers.SearchResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails {
		return nil, errors.New("the service responded with HTTP status 429; try again later")
	}
	return append([]watchers.SearchResult(nil), s.results[query]...), ctx.Err()
}

func TestConformance(t *testing.T) {
	s := &service{}
	watcherstest.Run(t, watcherstest.Suite{
		New: func() watchers.Driver { return search.New() },
		Config: func(t *testing.T) json.RawMessage {
			raw, _ := json.Marshal(map[string]string{"query": "boiler " + t.Name()})
			return raw
		},
		Bad: []string{`{}`, `{"query":" "}`, `{"query":7}`, `{"query":"` + strings.Repeat("x", 301) + `"}`},
		Provoke: func(_ *testing.T, config json.RawMessage, n int) {
			var c struct{ Query string }
			_ = json.Unmarshal(config, &c)
			s.addResult(c.Query, watchers.SearchResult{Title: "About " + c.Query, URL: fmt.Sprintf("https://boiler.example/%d", n)})
		},
		Polled: true, Timeless: true, Search: s.findResults,
		Fail: func(_ *testing.T, on bool) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.fails = on
		},
	})
}

func TestPoll_FiresForRelevantPages(t *testing.T) {
	s := &service{}
	for i, title := range []string{"Lighthouse restoration begins", "Cheap lamps", "Restoration of a lighthouse sold as art", "The lighthouse restoration in June"} {
		s.addResult("lighthouse restoration", watchers.SearchResult{Title: title, URL: fmt.Sprintf("https://a.example/%d/#top", i)})
	}
	made, err := search.New().New(watchers.Spec{Config: json.RawMessage(`{"query":"lighthouse restoration","except":["art"]}`)}, watchers.Deps{Search: s.findResults})
	if err != nil {
		t.Fatal(err)
	}
	found, err := made.(watchers.Polled).Poll(t.Context(), watchers.Progress{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range found.Signals {
		got = append(got, x.Key)
		if !x.Source.Tainted() || !strings.HasPrefix(x.Text, "New about lighthouse restoration: ") {
			t.Errorf("%+v", x)
		}
	}
	if strings.Join(got, " ") != "https://a.example/0 https://a.example/3" || len(found.Passed) != 2 {
		t.Errorf("fired %v, passed %v", got, found.Passed)
	}
}
