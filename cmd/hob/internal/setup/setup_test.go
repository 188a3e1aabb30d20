package setup

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"

	"hob/autonomy/config"
	"hob/platform/system"
)

// TestMain keeps the tests out of the keychain of whoever runs them.
func TestMain(m *testing.M) {
	keyring.MockInitWithError(errors.New("there is none"))
	os.Exit(m.Run())
}

// script answers in order; it fails when it is asked too much.
type script struct {
	answers []string
	asked   []string
}

var errAskedTooMuch = errors.New("asked too much")

func (s *script) next(question string) (string, error) {
	s.asked = append(s.asked, question)
	if len(s.answers) == 0 {
		return "", errAskedTooMuch
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	return a, nil
}

func (s *script) Ask(q, def string) (string, error) {
	a, err := s.next(q)
	if a == "" {
		a = def
	}
	return a, err
}

func (s *script) Secret(q string) (string, error) { return s.next(q) }

func (s *script) Choose(q string, options []string) (int, error) {
	a, err := s.next(q)
	for i, o := range options {
		if strings.Contains(o, a) {
			return i, err
		}
	}
	return 0, errors.Join(err, fmt.Errorf("no option %q among %v", a, options))
}

func TestRun(t *testing.T) {
	server := func(models ...string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer sk-good" {
				http.Error(w, `{"error":{"message":"wrong key"}}`, http.StatusUnauthorized)
				return
			}
			var list []string
			for _, m := range models {
				list = append(list, fmt.Sprintf(`{"id":%q,"object":"model"}`, m))
			}
			fmt.Fprintf(w, `{"object":"list","data":[%s]}`, strings.Join(list, ","))
		}))
		t.Cleanup(s.Close)
		return s.URL + "/v1"
	}
	two := server("large", "small")
	tests := []struct {
		name    string
		answers []string
		want    map[string]any
		err     string
	}{
		{"by itself", []string{"by itself", "", "", ""}, map[string]any{"agent.model": "auto", "agent.name": "Hob"}, ""},
		{"built-in", []string{"built-in brain alone", "Robin", "Europe/Vilnius", ""}, map[string]any{"agent.model": "offline", "agent.name": "Robin", "agent.timezone": "Europe/Vilnius"}, ""},
		{"zone is asked again", []string{"built-in brain alone", "", "Mars", "UTC", ""}, map[string]any{"agent.timezone": "UTC"}, ""},
		{"a server", []string{"another server", two, "sk-good", "small", "", "", ""}, map[string]any{
			"agent.model": "server/small", "providers.server.kind": "openai", "providers.server.base_url": two, "providers.server.model": "small",
		}, ""},
		{"a wrong key is asked again", []string{"another server", two, "sk-bad", "try again", two, "sk-good", "large", "", "", ""}, map[string]any{"agent.model": "server/large"}, ""},
		{"kept although it does not work", []string{"another server", two, "sk-bad", "keep it", "mine", "", "", ""}, map[string]any{"agent.model": "server/mine"}, ""},
		{"left", []string{"another server", two, "sk-bad", "leave"}, nil, "nothing was changed"},
		{"interrupted", []string{"another server"}, nil, "asked too much"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			p := system.Paths{Home: dir, Data: dir, Logs: dir, Runtime: dir}
			c, err := config.Load(p.ConfigFile())
			if err != nil {
				t.Fatal(err)
			}
			ask := &script{answers: tt.answers}
			o := Options{Paths: p, Config: c, Out: io.Discard, Secrets: system.Secrets{Getenv: func(string) string { return "" }}}
			err = Run(t.Context(), o, ask)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				if _, err := os.Stat(p.ConfigFile()); err == nil {
					t.Error("something was written")
				}
				return
			}
			if err != nil {
				t.Fatal(err, ask.asked)
			}
			after, err := config.Load(p.ConfigFile())
			if err != nil {
				t.Fatal(err)
			}
			for key, want := range tt.want {
				if got, err := after.Get(key); got != want || err != nil {
					t.Errorf("%s = %v %v, want %v", key, got, err, want)
				}
			}
			if len(after.Warnings) > 0 {
				t.Error(after.Warnings)
			}
		})
	}
}

// TestKeyIsKept: without a keychain a key goes into a private file, and the
// configuration refers to it.
func TestKeyIsKept(t *testing.T) {
	dir := t.TempDir()
	noBus := func(string) string { return "" }
	o := Options{Paths: system.Paths{Home: dir}, Out: io.Discard, Secrets: system.Secrets{Getenv: noBus}}
	ref, err := o.store(t.Context(), "x", "sk-good")
	if err != nil {
		t.Fatal(err)
	}
	if ref != "file:"+filepath.Join(dir, "secrets", "x") {
		t.Error(ref)
	}
	got, err := o.Secrets.Resolve(t.Context(), ref)
	if err != nil || got.Reveal() != "sk-good" {
		t.Error(got.Reveal(), err)
	}
}

// What costs money may be capped at once; what runs on this machine needs none.
func TestTheCapIsAskedFor(t *testing.T) {
	c, err := config.Default()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Config: c, Out: io.Discard, Secrets: system.Secrets{Getenv: func(string) string { return "" }}}
	for _, tt := range []struct {
		name, address string
		answers       []string
		want          string
	}{
		{"a cap", "https://llm.example/v1", []string{"m", "$2.50"}, "2.5"},
		{"no cap", "https://llm.example/v1", []string{"m", ""}, ""},
		{"no amount is asked again", "https://llm.example/v1", []string{"m", "much", "-1", "nan", "3"}, "3"},
		{"on this machine", "http://127.0.0.1:9/v1", []string{"m"}, ""},
	} {
		ask := &script{answers: tt.answers}
		values, err := o.keep(t.Context(), ask, provider{name: "server", kind: "openai", baseURL: tt.address}, "", nil)
		if err != nil || len(ask.answers) != 0 {
			t.Fatalf("%s: %v, not asked for: %v", tt.name, err, ask.answers)
		}
		got := ""
		for _, v := range values {
			if v.Key == "budget.daily_usd" {
				got = v.Value
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
