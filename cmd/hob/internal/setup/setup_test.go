package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"

	"hob/autonomy/config"
	llmall "hob/autonomy/llm/all"
	"hob/autonomy/llm/llmtest"
	"hob/platform/host/permission"
	"hob/platform/host/system"
	"hob/platform/host/vault"
)

// TestMain prevents the tests from using the keychain of the current user.
func TestMain(m *testing.M) {
	keyring.MockInitWithError(errors.New("there is none"))
	os.Exit(m.Run())
}

// newOptions returns the options for a home without a keychain, with an encrypted file instead, and
// without local model servers.
func newOptions(t *testing.T) (Options, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	c, err := config.Load(filepath.Join(dir, "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	p := system.Paths{Home: dir, Data: dir, Logs: dir, Runtime: dir}
	var out bytes.Buffer
	secrets := vault.SecretsFor(p)
	secrets.Getenv = func(string) string { return "" }
	return Options{Paths: p, Config: c, Out: &out, Secrets: secrets, Servers: []llmall.Server{}}, &out
}

// script contains answers by question key, in order. A question without an answer keeps its
// default. The answers "!skip" and "!leave" press these keys.
type script struct {
	answers map[string][]string
	asked   []string
	pages   []Page
}

func (s *script) Ask(_ context.Context, p Page) (Answers, error) {
	s.pages = append(s.pages, p)
	out := Answers{}
	for _, q := range p.Questions {
		if s.asked = append(s.asked, q.Key); len(s.asked) > 60 {
			return nil, fmt.Errorf("the questions go round in a circle: %v", s.asked)
		}
		v := q.Default
		if list := s.answers[q.Key]; len(list) > 0 {
			v, s.answers[q.Key] = list[0], list[1:]
		}
		switch v {
		case "!skip":
			return nil, ErrSkip
		case "!leave":
			return nil, ErrLeft
		}
		if err := q.Verify(v); err != nil {
			return nil, fmt.Errorf("%s: %w", q.Key, err)
		}
		out[q.Key] = v
	}
	return out, nil
}

func (s *script) unusedAnswers() (out []string) {
	for k, v := range s.answers {
		for _, a := range v {
			out = append(out, k+"="+a)
		}
	}
	return out
}

// writtenConfig returns the written configuration.
func writtenConfig(t *testing.T, o Options) *config.Config {
	t.Helper()
	c, err := config.Load(o.Paths.ConfigFile())
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Warnings) > 0 {
		t.Error(c.Warnings)
	}
	return c
}

// checkSecretAbsent fails if a file of the home contains a secret in plain text.
func checkSecretAbsent(t *testing.T, dir, secret string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(secret)) {
			t.Errorf("%s contains the secret", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// serveModels starts a server that lists its models and answers requests if the key is right.
func serveModels(t *testing.T, names ...string) string {
	s := llmtest.NewServer(t, llmtest.Options{Models: names, Otherwise: &llmtest.Answer{Text: "OK"}})
	address, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	to := httputil.NewSingleHostReverseProxy(address)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sk-good" && r.Header.Get("Authorization") != "Bearer sk-poor" {
			http.Error(w, `{"error":{"message":"wrong key"}}`, http.StatusUnauthorized)
			return
		}
		if r.Header.Get("Authorization") == "Bearer sk-poor" && r.Method == http.MethodPost {
			http.Error(w, `{"error":{"message":"no credit is left"}}`, http.StatusPaymentRequired)
			return
		}
		to.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return front.URL + "/v1"
}

func TestModel(t *testing.T) {
	two, one := serveModels(t, "large", "small"), serveModels(t, "only")
	tests := []struct {
		name    string
		answers map[string][]string
		want    map[string]any
		err     error
	}{
		{name: "by itself", want: map[string]any{"agent.model": "auto"}},
		{name: "built-in", answers: map[string][]string{"brain": {"offline"}}, want: map[string]any{"agent.model": "offline"}},
		{
			name: "a server", answers: map[string][]string{"brain": {"server"}, "server": {two}, "key": {"sk-good"}, "model": {"small"}},
			want: map[string]any{"agent.model": "server/small", "providers.server.kind": "openai", "providers.server.base_url": two, "providers.server.model": "small", "providers.server.api_key": "keychain:server"},
		},
		{
			name: "one model", answers: map[string][]string{"brain": {"server"}, "server": {one}, "key": {"sk-good"}},
			want: map[string]any{"agent.model": "server/only"},
		},
		{
			name: "a wrong key is asked again", answers: map[string][]string{"brain": {"server"}, "server": {two}, "key": {"sk-bad", "sk-good"}, "what_now": {"again"}, "model": {"large"}},
			want: map[string]any{"agent.model": "server/large"},
		},
		{
			name: "a key that lists and may not talk", answers: map[string][]string{"brain": {"server"}, "server": {two, two}, "key": {"sk-poor", "sk-good"}, "what_now": {"again"}, "model": {"large", "small"}},
			want: map[string]any{"agent.model": "server/small"},
		},
		{
			name: "kept although the test fails", answers: map[string][]string{"brain": {"server"}, "server": {two}, "key": {"sk-bad"}, "what_now": {"keep"}, "model": {"mine"}},
			want: map[string]any{"agent.model": "server/mine"},
		},
		{name: "left out", answers: map[string][]string{"brain": {"server"}, "server": {two}, "key": {"sk-bad"}, "what_now": {"skip"}}, want: map[string]any{"agent.model": "auto"}},
		{name: "no server", answers: map[string][]string{"brain": {"nobody"}, "what_now": {"skip"}}, want: map[string]any{"agent.model": "auto"}},
		{name: "left", answers: map[string][]string{"brain": {"server"}, "server": {"!leave"}}, err: ErrLeft},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, out := newOptions(t)
			ask := &script{answers: tt.answers}
			if err := Run(t.Context(), o, ask, "brain"); !errors.Is(err, tt.err) {
				t.Fatal(err, ask.asked)
			}
			if left := ask.unusedAnswers(); len(left) > 0 {
				t.Errorf("unused answers: %v", left)
			}
			if tt.err != nil {
				if _, err := os.Stat(o.Paths.ConfigFile()); err == nil {
					t.Error("the configuration was written")
				}
				return
			}
			c := writtenConfig(t, o)
			for key, want := range tt.want {
				if got, err := c.Get(key); got != want || err != nil {
					t.Errorf("%s = %v %v, want %v", key, got, err, want)
				}
			}
			for _, key := range []string{"sk-good", "sk-bad", "sk-poor"} {
				checkSecretAbsent(t, o.Paths.Home, key)
				if strings.Contains(out.String(), key) {
					t.Error("the key was shown")
				}
			}
			if p, ok := c.Provider("server"); ok {
				if got, err := o.Secrets.Resolve(t.Context(), p.APIKey); err != nil || !strings.HasPrefix(got.Reveal(), "sk-") {
					t.Error(got.Reveal(), err)
				}
			}
		})
	}
}

// Setup finds a local server, which needs no key.
func TestModel_OffersLocalServers(t *testing.T) {
	o, _ := newOptions(t)
	s := llmtest.NewServer(t, llmtest.Options{Models: []string{"llama", "nomic-embed-text"}})
	o.Servers = []llmall.Server{{Name: "lmstudio", BaseURL: "http://127.0.0.1:1/v1"}, {Name: "ollama", Title: "Ollama", BaseURL: s.URL + "/v1"}}
	ask := &script{answers: map[string][]string{"brain": {"ollama"}}}
	if err := Run(t.Context(), o, ask, "brain"); err != nil {
		t.Fatal(err)
	}
	q := ask.pages[0].Questions[0]
	if !strings.Contains(q.About, "ollama") || !slices.Contains(q.Options, Option{"ollama", "Ollama on this machine: 2 models"}) || q.hasOption("lmstudio") {
		t.Errorf("%+v", q)
	}
	if got := writtenConfig(t, o).Agent.Model; got != "ollama/llama" {
		t.Error(got)
	}
}

// Pressing Enter changes nothing, even if another section or an agent sets the model.
func TestModel_EnterChangesNothing(t *testing.T) {
	o, _ := newOptions(t)
	const text = "[agent]\nmodel = \"work/large\"\n\n[providers.work] # mine\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\n"
	if err := os.WriteFile(o.Paths.ConfigFile(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Config = writtenConfig(t, o)
	if err := Run(t.Context(), o, &script{}, "brain"); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(o.Paths.ConfigFile()); string(b) != text {
		t.Errorf("%v %s", err, b)
	}
}

// A key in the environment is used without storing it, and the key of another provider is not used.
func TestModel_KeyInTheEnvironment(t *testing.T) {
	o, _ := newOptions(t)
	o.Secrets.Getenv = func(name string) string { return map[string]string{"OPENAI_API_KEY": "sk-env"}[name] }
	p, _ := providerOf("openai")
	if got := o.keyNow(p); got != "env:OPENAI_API_KEY" {
		t.Error(got)
	}
	p, _ = providerOf("anthropic")
	q := o.askAccess(p, Answers{})[0]
	if err := q.Verify(""); err == nil {
		t.Error("Verify accepts an empty key")
	}
}

// Setup offers a cap for a model with costs; a local model needs none.
func TestBudget_OffersACap(t *testing.T) {
	for _, tt := range []struct {
		name, address, answer string
		want                  float64
		asked                 bool
	}{
		{"a cap", "https://llm.example/v1", "$2.50", 2.5, true},
		{"no cap", "https://llm.example/v1", "0", 0, true},
		{"on this machine", "http://127.0.0.1:9/v1", "", 0, false},
	} {
		o, _ := newOptions(t)
		a := Answers{"brain": "server", "server": tt.address, "key": "", untested: "true"}
		qs, err := nextOfBrain(t.Context(), o, a)
		if err != nil || (len(qs) == 2) != tt.asked {
			t.Fatalf("%s: nextOfBrain = %v %v", tt.name, qs, err)
		}
		if tt.asked {
			for _, bad := range []string{"much", "-1", "nan", ""} {
				if qs[1].Verify(bad) == nil {
					t.Errorf("%q is an amount", bad)
				}
			}
		}
		a["model"], a["daily_usd"] = "m", tt.answer
		d, err := applyBrain(t.Context(), o, a)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.applyResult(t.Context(), "brain", d); err != nil {
			t.Fatal(err)
		}
		if got := writtenConfig(t, o).Budget.DailyUSD; got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Each of the small steps writes its answers to the configuration.
func TestSteps(t *testing.T) {
	there := t.TempDir()
	for _, tt := range []struct {
		step, name string
		before     string // configuration before the step
		answers    map[string][]string
		want       map[string]any
		err        string
	}{
		{step: "you", name: "a name", answers: map[string][]string{"name": {"Robin"}, "timezone": {"Europe/Vilnius"}}, want: map[string]any{"agent.name": "Robin", "agent.timezone": "Europe/Vilnius"}},
		{step: "you", name: "no zone", answers: map[string][]string{"timezone": {"Mars"}}, err: "Mars"},
		{step: "you", name: "left unchanged", before: "[agent] # mine\nname = \"Wren\" # keep\n", want: map[string]any{"agent.name": "Wren"}},
		{step: "folders", name: "another one", answers: map[string][]string{"folders": {there}}, want: map[string]any{"files.allowed": []any{there}}},
		{step: "folders", name: "a missing one", answers: map[string][]string{"folders": {filepath.Join(there, "no")}}, err: "not found; create it first"},
		{step: "quiet", name: "hours", answers: map[string][]string{"quiet_hours": {"22:00-07:00"}}, want: map[string]any{"notify.quiet_hours.start": "22:00", "notify.quiet_hours.end": "07:00"}},
		{step: "quiet", name: "as people write", answers: map[string][]string{"quiet_hours": {"9 to 17:30"}}, want: map[string]any{"notify.quiet_hours.start": "09:00", "notify.quiet_hours.end": "17:30"}},
		{step: "quiet", name: "no hours", answers: map[string][]string{"quiet_hours": {"25-26"}}, err: "not a time of day"},
		{step: "quiet", name: "off again", before: "[notify.quiet_hours]\nstart = \"22:00\"\nend = \"07:00\"\n", answers: map[string][]string{"quiet_hours": {"off"}}, want: map[string]any{"notify.quiet_hours.start": ""}},
		{step: "quiet", name: "several stay", before: "[[notify.quiet_hours]]\nstart = \"22:00\"\nend = \"07:00\"\n[[notify.quiet_hours]]\nstart = \"00:00\"\nend = \"24:00\"\ndays = [\"sat\"]\n"},
		{step: "features", name: "fewer", answers: map[string][]string{"features": {"plan,autonomy"}}, want: map[string]any{"browser.enabled": false, "tray.enabled": "off", "plan.at": "07:00", "knowledge.pictures": "off", "autonomy.enabled": true}},
		{step: "features", name: "on again", before: "[plan]\nat = \"\"\n[browser]\nenabled = false\n", answers: map[string][]string{"features": {"plan,browser"}}, want: map[string]any{"browser.enabled": true, "plan.at": "07:00"}},
		{step: "features", name: "unchanged settings", before: "[plan]\nat = \"06:10\"\n", want: map[string]any{"plan.at": "06:10"}},
		{step: "features", name: "none of these", answers: map[string][]string{"features": {"plam"}}, err: `did you mean "plan"?`},
		{step: "channels", name: "a webhook", answers: map[string][]string{"channels": {"webhook"}, "webhook_url": {"https://example.org/hob"}, "webhook_secret": {"s3cr3t-hook"}, "notify": {"webhook"}}, want: map[string]any{
			"channels.webhook.url": "https://example.org/hob", "channels.webhook.secret": "keychain:channel-webhook", "notify.channel": "webhook",
		}},
		{step: "channels", name: "no address", answers: map[string][]string{"channels": {"webhook"}, "webhook_url": {"here"}}, err: "such as https://example.org/hob"},
		{step: "channels", name: "off", before: "[channels.webhook]\nurl = \"https://example.org/hob\"\n", answers: map[string][]string{"channels": {""}}, want: map[string]any{"channels.webhook.enabled": false}},
		{step: "search", name: "not offered", answers: map[string][]string{"search": {"duckduckgo"}}, want: map[string]any{"search.provider": "duckduckgo"}},
		{step: "autostart", name: "no installed program"},
		{step: "template", name: "none found"},
	} {
		t.Run(tt.step+"/"+tt.name, func(t *testing.T) {
			o, _ := newOptions(t)
			if tt.before != "" {
				if err := os.WriteFile(o.Paths.ConfigFile(), []byte(tt.before), 0o600); err != nil {
					t.Fatal(err)
				}
				o.Config = writtenConfig(t, o)
			}
			err := Run(t.Context(), o, &script{answers: tt.answers}, tt.step)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			c := writtenConfig(t, o)
			for key, want := range tt.want {
				if got, err := c.Get(key); fmt.Sprint(got) != fmt.Sprint(want) || err != nil {
					t.Errorf("%s = %v %v, want %v", key, got, err, want)
				}
			}
			if text, err := os.ReadFile(o.Paths.ConfigFile()); tt.before != "" && len(tt.answers) == 0 && string(text) != tt.before {
				t.Errorf("%v: %s", err, text)
			}
			checkSecretAbsent(t, o.Paths.Home, "s3cr3t-hook")
		})
	}
}

// Setup rejects a search service without a key or with a wrong key.
func TestSearch_IsTested(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, `{"results":[]}`) }))
	t.Cleanup(s.Close)
	o, out := newOptions(t)
	ask := &script{answers: map[string][]string{"search": {"searxng", "searxng"}, "search_url": {"http://127.0.0.1:1", s.URL}, "what_now": {"again"}}}
	if err := Run(t.Context(), o, ask, "search"); err != nil || len(ask.unusedAnswers()) > 0 {
		t.Fatal(err, ask.unusedAnswers())
	}
	if c := writtenConfig(t, o); c.Search.Provider != "searxng" || c.Search.BaseURL != s.URL || !strings.Contains(out.String(), "The test search worked") {
		t.Error(c.Search, out)
	}
}

// A setup that is stopped at any step continues at that step and keeps the answers.
func TestRun_ContinuesAfterAStop(t *testing.T) {
	o, _ := newOptions(t)
	o.Templates = func() ([]Option, string, error) { return []Option{{"coach", "coach"}}, "", nil }
	used := ""
	o.UseTemplate = func(_ context.Context, name string) error { used = name; return nil }
	started := false
	o.Starts = func(context.Context) (bool, bool) { return started, true }
	o.Autostart = func(_ context.Context, on bool) error { started = on; return nil }
	first := map[string]string{
		"brain": "brain", "channels": "channels", "account": "mail", "quiet": "quiet_hours", "autostart": "autostart",
	}
	before := ""
	for _, name := range Names() {
		key, asked := first[name]
		if !asked { // an extra step, or the permissions step, which this system does not have
			continue
		}
		ask := &script{answers: map[string][]string{"quiet_hours": {"21-6"}}}
		ask.answers[key] = []string{"!leave"}
		if err := Run(t.Context(), o, ask); !errors.Is(err, ErrLeft) {
			t.Fatal(name, err)
		}
		if before != "" && ask.pages[0].Step != before || ask.pages[len(ask.pages)-1].Step != name {
			t.Errorf("%s: %v", name, ask.asked)
		}
		before = name
		var err error
		if o.Config, err = config.Load(o.Paths.ConfigFile()); err != nil {
			t.Fatal(err)
		}
	}
	if fi, err := os.Stat(progressFile(o.Paths)); err != nil || fi.Mode().Perm() != 0o600 {
		t.Error(fi, err)
	}
	if err := Run(t.Context(), o, &script{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(progressFile(o.Paths)); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the progress file still exists", err)
	}
	if c := writtenConfig(t, o); c.Agent.Model != "auto" || used != "" || !started || len(c.Notify.Quiet) != 1 || c.Notify.Quiet[0].Start != "21:00" {
		t.Errorf("%+v %q %v", c.Agent, used, started)
	}
}

// Each step can be skipped without changing anything.
func TestRun_StepsCanBeSkipped(t *testing.T) {
	o, out := newOptions(t)
	o.Templates = func() ([]Option, string, error) { return []Option{{"coach", "coach"}}, "", nil }
	o.Starts = func(context.Context) (bool, bool) { return false, true }
	ask := &script{answers: map[string][]string{}}
	for _, k := range questionKeys() {
		ask.answers[k] = []string{"!skip"}
	}
	if err := Run(t.Context(), o, ask); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(o.Paths.ConfigFile()); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the configuration was written")
	}
	if n := strings.Count(out.String(), "unchanged"); n != len(ask.pages) || n != 5 {
		t.Error(n, out)
	}
}

// On macOS, setup checks each permission again after it opened the settings.
func TestPermissions(t *testing.T) {
	o, out := newOptions(t)
	access := permission.Permission{ID: "accessibility", Name: "Accessibility", Why: "Hob clicks.", Pane: "pane:a", For: "iTerm"}
	disk := permission.Permission{ID: "disk", Name: "Full Disk Access", Why: "Hob reads Mail.", Pane: "pane:d", For: "iTerm", Restart: true}
	screen := permission.Permission{ID: "screen", Name: "Screen Recording", Pane: "pane:s", For: "iTerm", Given: true}
	var opened []string
	o.Permissions = func(context.Context) ([]permission.Permission, error) {
		access.Given = len(opened) > 1
		return []permission.Permission{access, disk, screen}, nil
	}
	o.Open = func(_ context.Context, address string) error {
		opened = append(opened, address)
		return nil
	}
	ask := &script{answers: map[string][]string{"what_now": {"again"}}}
	if err := Run(t.Context(), o, ask, "permissions"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(opened, " "); got != "pane:a pane:a pane:d" {
		t.Error(got)
	}
	q := ask.pages[0].Questions[0]
	if !strings.Contains(q.About, "iTerm") || !strings.Contains(q.About, "pane:a") || slices.Contains(ask.asked, "permission_screen") {
		t.Errorf("%+v %v", q, ask.asked)
	}
	if !strings.Contains(out.String(), "restart Hob to apply it") {
		t.Error(out)
	}
}

// Other interfaces can rely on this: each question has a unique key, which an answers file may
// contain.
func TestQuestions_KeysAreUnique(t *testing.T) {
	all := questionKeys()
	slices.Sort(all)
	if len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Error(all)
	}
	if _, err := (Options{}).selectSteps(t.Context(), []string{"chanels"}); err == nil || !strings.Contains(err.Error(), `did you mean "channels"?`) {
		t.Error(err)
	}
}

// A key is sent to its own server, and to no other.
func TestModel_KeyGoesOnlyToItsServer(t *testing.T) {
	var got []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"object":"list","data":[{"id":"m","object":"model"}]}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"OK\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(other.Close)
	at := other.URL + "/v1"
	for _, tt := range []struct {
		name, before string
		answers      map[string][]string
		auth, key    string // the key that the server receives and that is then stored
	}{
		{"another server has its own, or none", "[providers.server]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\napi_key = \"env:K\"\n", map[string][]string{"brain": {"server"}, "server": {at}}, "", ""},
		{"the same server keeps its own", "[providers.server]\nkind = \"openai\"\nbase_url = \"" + at + "\"\napi_key = \"env:K\"\n", map[string][]string{"brain": {"server"}}, "Bearer sk-k", "env:K"},
		{"a proxy's goes to the proxy", "[providers.openai]\nkind = \"openai\"\nbase_url = \"" + at + "\"\napi_key = \"env:K\"\n", map[string][]string{"brain": {"openai"}, "model": {"m"}}, "Bearer sk-k", "env:K"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, out := newOptions(t)
			o.Secrets.Getenv = func(name string) string { return map[string]string{"K": "sk-k"}[name] }
			if err := os.WriteFile(o.Paths.ConfigFile(), []byte(tt.before), 0o600); err != nil {
				t.Fatal(err)
			}
			o.Config, got = writtenConfig(t, o), nil
			name := tt.answers["brain"][0]
			if err := Run(t.Context(), o, &script{answers: tt.answers}, "brain"); err != nil || !strings.Contains(out.String(), "The model answers.") {
				t.Fatal(err, out)
			}
			p, _ := writtenConfig(t, o).Provider(name)
			if p.BaseURL != at || p.APIKey != tt.key || len(got) < 2 {
				t.Errorf("%+v %q", p, got)
			}
			for _, auth := range got {
				if auth != tt.auth {
					t.Errorf("the server got %q, want %q", got, tt.auth)
				}
			}
		})
	}
}

// A complete setup with a key asks at most 8 questions, proposes quiet hours for the night, works
// without a model that answers, and names three things to try.
func TestRun_AsksAtMostEightQuestions(t *testing.T) {
	for name, ask := range map[string]*script{
		"enter everywhere":              {},
		"a server that does not answer": {answers: map[string][]string{"brain": {"server"}, "server": {"http://127.0.0.1:1/v1"}, "what_now": {"keep"}, "model": {"m"}}},
	} {
		o, out := newOptions(t)
		o.Starts = func(context.Context) (bool, bool) { return false, true }
		o.Autostart = func(context.Context, bool) error { return nil }
		if err := Run(t.Context(), o, ask); err != nil {
			t.Fatal(name, err, out)
		}
		if asked := slices.DeleteFunc(slices.Clone(ask.asked), func(k string) bool { return k == "what_now" }); len(asked) > 8 {
			t.Errorf("%s: %d questions: %v", name, len(asked), asked)
		}
		if c := writtenConfig(t, o); len(c.Notify.Quiet) != 1 || c.Notify.Quiet[0].Start != "22:00" || c.Notify.Quiet[0].End != "07:00" {
			t.Errorf("%s: quiet hours %+v", name, c.Notify.Quiet)
		}
		for _, want := range []string{"Setup is complete. Try these next:", "hob chat", "hob reminder add", "hob open"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is missing in %s", name, want, out)
			}
		}
	}
}
