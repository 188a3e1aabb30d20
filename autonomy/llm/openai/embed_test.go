package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/llm"
)

func TestEmbed_UsesOllamasOwnAPI(t *testing.T) {
	for name, base := range map[string]string{"with /v1": "/v1", "without": "", "its own path": "/api"} {
		t.Run(name, func(t *testing.T) {
			asked := map[string]int{}
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked[r.URL.Path]++
				if r.URL.Path != "/api/embed" {
					http.NotFound(w, r)
					return
				}
				var in struct {
					Model string
					Input []string
				}
				_ = json.NewDecoder(r.Body).Decode(&in) // missing fields are detected below
				var out [][]float32
				for _, s := range in.Input {
					out = append(out, []float32{float32(len(s)), 1})
				}
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(map[string]any{"model": in.Model, "embeddings": out, "prompt_eval_count": 7})
			}))
			defer srv.Close()
			m, err := New(Options{BaseURL: srv.URL + base, Model: "nomic-embed-text", HTTP: srv.Client()})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				v, usage, err := m.Embed(context.Background(), []string{"tea", "coffee"})
				if err != nil || !cmp.Equal(v, [][]float32{{3, 1}, {6, 1}}) || usage != (llm.Usage{Input: 7, Known: true}) {
					t.Fatalf("Embed = %v, %+v, %v", v, usage, err)
				}
			}
			if asked["/api/embed"] != 2 || len(asked) > 3 {
				t.Errorf("requests per path = %v", asked)
			}
		})
	}
}

func TestEmbed_NamesAMissingModel(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"error":{"message":"model \"nomic\" not found, try pulling it first"}}`))
	}))
	defer srv.Close()
	m, err := New(Options{BaseURL: srv.URL, Model: "nomic", HTTP: srv.Client()})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Embed(context.Background(), []string{"tea"}); llm.KindOf(err) != llm.NotFound {
		t.Errorf("got %v", err)
	}
}
