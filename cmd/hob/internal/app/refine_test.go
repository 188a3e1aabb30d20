package app

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/llm/llmtest"
)

// A model that may read search results requests further searches and sorts the results. An invalid
// answer changes nothing, and without the setting the model is not called.
func TestRerank_ByAModel(t *testing.T) {
	var asked atomic.Int32
	var mad atomic.Bool
	model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Reply: func(r llmtest.Request) (llmtest.Answer, bool) {
		asked.Add(1)
		switch {
		case mad.Load():
			return llmtest.Answer{Text: "Order them yourself."}, true
		case strings.HasPrefix(r.System, "You judge a search"):
			return llmtest.Answer{Text: `{"answered": false, "search": "boiler plumber"}`}, true
		case strings.HasPrefix(r.System, "You order the findings"):
			return llmtest.Answer{Text: `{"order": [2, 1]}`}, true
		}
		return llmtest.Answer{Text: "?"}, true
	}})
	h := openScripted(t, t.TempDir(), model.URL, listPlayWays()[0], "[knowledge]\nextraction = \"off\"\ncorrective = \"auto\"\nreranker = \"auto\"\n")
	for _, s := range []string{"the boiler was mended by the plumber Marek", "Marek the plumber wants 80 euros to look at the boiler"} {
		code, body := h.callAPI(http.MethodPost, "/api/v1/tools/remember", map[string]any{"arguments": map[string]any{"text": s}})
		if code != http.StatusOK {
			t.Fatalf("%d %s", code, body)
		}
	}
	find := func(text, more string) (out []string) {
		code, body := h.callAPI(http.MethodGet, "/api/v1/memory?"+more+"kind=fact&q="+url.QueryEscape(text), nil)
		var hits []struct{ Text string }
		if code != http.StatusOK || json.Unmarshal(body, &hits) != nil {
			t.Fatalf("%d %s", code, body)
		}
		for _, x := range hits {
			out = append(out, x.Text)
		}
		return out
	}
	plain := find("boiler plumber", "")
	if len(plain) != 2 || asked.Load() != 0 {
		t.Fatalf("without the setting: %q, %d model calls", plain, asked.Load())
	}
	other := []string{plain[1], plain[0]}
	if d := cmp.Diff(other, find("who mends the heating", "meaning=1&")); d != "" {
		t.Errorf("results of the second search in the model's order: %s", d)
	}
	if asked.Load() < 2 {
		t.Errorf("the model was called %d times, want 2 or more", asked.Load())
	}
	mad.Store(true)
	if d := cmp.Diff(plain, find("boiler plumber", "meaning=1&")); d != "" {
		t.Errorf("results after an invalid answer: %s", d)
	}
}
