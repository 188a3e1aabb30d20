package llmtest

import (
	"context"
	"net/url"
	"testing"

	"hob/autonomy/llm"
)

// Described checks the description of a driver, and that the driver creates a model from it
// without a connection and without a configured model.
func Described(t *testing.T, d llm.Driver) {
	t.Helper()
	about := d.Describe()
	if u, err := url.Parse(about.BaseURL); err != nil || u.Scheme != "https" {
		t.Errorf("the address of the own server is %q", about.BaseURL)
	}
	if len(about.Services) == 0 || about.Services[0].Name != about.Kind || about.Services[0].BaseURL != "" {
		t.Errorf("the first service must be named %s and have no base URL", about.Kind)
	}
	for _, s := range about.Services {
		if s.Name == "" || s.Title == "" || len(s.Env) == 0 {
			t.Errorf("%+v: a service needs a name, a title and the environment variables for its key", s)
		}
		m, err := d.New(llm.ModelOptions{Provider: s.Name, BaseURL: s.BaseURL, APIKey: Key})
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		if i := m.Info(); i.Provider != s.Name || i.Model == "" {
			t.Errorf("%s: the model is %s", s.Name, i.Name())
		}
		if _, ok := m.(interface {
			Models(ctx context.Context) ([]string, error)
		}); !ok {
			t.Errorf("%s: the model cannot list models", s.Name)
		}
		if _, ok := m.(llm.Embedder); ok != (about.Embedding != nil) {
			t.Errorf("%s: the model is an embedder: %v, but the description says %v", s.Name, ok, !ok)
		}
	}
}
