package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"hob/autonomy/api"
	"hob/knowledge/embed"
	"hob/knowledge/embed/embedtest"
	"hob/platform/host/system"
)

// vectorFixture is a Hob whose embedder knows synonyms.
type vectorFixture struct {
	*daemonFixture
	srv  *embedtest.Server
	dir  string
	more string
}

func synonymOptions() embedtest.Options {
	return embedtest.Options{Same: []string{"car automobile vehicle", "keys key", "doctor physician"}}
}

func openMeant(t *testing.T, more string) *vectorFixture {
	t.Helper()
	m := &vectorFixture{srv: embedtest.New(t, synonymOptions()), dir: t.TempDir(), more: more}
	m.startHob(t, "hash")
	return m
}

// startHob starts Hob, or restarts it with another embedding model.
func (m *vectorFixture) startHob(t *testing.T, model string) {
	t.Helper()
	if m.daemonFixture != nil {
		m.stop()
	}
	hob := filepath.Join(m.dir, "hob")
	paths, err := system.ResolvePaths(runtime.GOOS, m.dir, func(name string) string { return map[string]string{"HOB_HOME": hob}[name] })
	failOnError(t, err)
	m.daemonFixture = openWith(t, m.dir, Options{Paths: paths, UserHome: m.dir}, fmt.Sprintf(`
[agent]
model = "offline"
timezone = "UTC"
[web]
listen = "127.0.0.1:0"
[knowledge]
embeddings = "vec/%s"
query_timeout = "20s"
[providers.vec]
kind = "openai"
base_url = %q
%s`, model, m.srv.URL, m.more))
}

func (m *vectorFixture) rememberText(text string) {
	m.t.Helper()
	if code, body := m.callAPI(http.MethodPost, "/api/v1/tools/remember", map[string]any{"arguments": map[string]string{"text": text}}); code != http.StatusOK {
		m.t.Fatalf("remember: %d %s", code, body)
	}
}

// awaitVectors waits until this number of texts have vectors.
func (m *vectorFixture) awaitVectors(want int) embed.Stats {
	m.t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for {
		s, err := m.d.vectors.Stats(m.t.Context())
		failOnError(m.t, err)
		if s.Held == want && s.Behind == 0 {
			return s
		}
		if time.Now().After(deadline) {
			m.t.Fatalf("timed out: %d vectors expected, status %+v", want, s)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// awaitError waits until the status contains the embedder's error.
func (m *vectorFixture) awaitError(want string) {
	m.t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for {
		s, err := m.d.vectors.Stats(m.t.Context())
		failOnError(m.t, err)
		if strings.Contains(s.Trouble, want) {
			return
		}
		if time.Now().After(deadline) {
			m.t.Fatalf("timed out: no error with %q in %+v", want, s)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// searchMemory runs the same search as hob memory why.
func (m *vectorFixture) searchMemory(text string) (best, reasons string) {
	m.t.Helper()
	code, body := m.callAPI(http.MethodGet, "/api/v1/memory/why?meaning=1&q="+url.QueryEscape(text), nil)
	var out api.ExplainedSearch
	if err := json.Unmarshal(body, &out); code != http.StatusOK || err != nil {
		m.t.Fatalf("search: %d %s %v", code, body, err)
	}
	if len(out.Hits) > 0 {
		best = out.Hits[0].Text
	}
	return best, strings.Join(out.Route.Reasons, "\n")
}

func TestVectors_QuestionWithoutACommonWord(t *testing.T) {
	t.Parallel()
	m := openMeant(t, "")
	m.rememberText("The automobile stands behind the church")
	m.rememberText("Green tea is in the blue tin")
	m.awaitVectors(2)
	if best, why := m.searchMemory("my car"); !strings.Contains(best, "automobile") {
		t.Errorf("found %q, %s", best, why)
	}
	code, body := m.callAPI(http.MethodPost, "/api/v1/tools/smart_recall", map[string]any{"arguments": map[string]any{"query": "which vehicle", "limit": 1}})
	if code != http.StatusOK || !strings.Contains(string(body), "automobile") {
		t.Errorf("the tool finds %d %s", code, body)
	}
	if best, _ := m.searchMemory("green tea"); !strings.Contains(best, "tin") {
		t.Errorf("search by words finds %q", best)
	}
}

func TestVectors_EmbedderIsDown(t *testing.T) {
	t.Parallel()
	m := openMeant(t, "")
	m.rememberText("The automobile stands behind the church")
	m.awaitVectors(1)
	m.srv.Down(true)
	m.rememberText("Green tea is in the blue tin")
	m.awaitError("being loaded")
	best, why := m.searchMemory("green tea")
	if !strings.Contains(best, "tin") || !strings.Contains(why, "searched by words only") {
		t.Errorf("found %q: %s", best, why)
	}
	m.srv.Down(false)
	m.d.vectors.Changed()
	m.awaitVectors(2)
}

func TestVectors_BudgetIsSpent(t *testing.T) {
	t.Parallel()
	// A server on this machine costs nothing, unless the configuration sets a price.
	m := openMeant(t, "[budget]\ndaily_usd = 0.01\n[prices.\"vec/*\"]\ninput = 1000\noutput = 1000\n")
	m.rememberText("The automobile stands behind the church, where the old chestnut trees are, beside the wall of the garden")
	m.awaitError("is reached")
	if n := m.srv.Calls(); n != 0 {
		t.Errorf("%d calls beyond the cap", n)
	}
	if best, why := m.searchMemory("automobile"); !strings.Contains(best, "church") {
		t.Errorf("found %q, %s", best, why)
	}
}

func TestVectors_OtherEmbedder(t *testing.T) {
	t.Parallel()
	m := openMeant(t, "")
	m.rememberText("The automobile stands behind the church")
	m.rememberText("Green tea is in the blue tin")
	m.awaitVectors(2)
	calls := m.srv.Calls()
	m.startHob(t, "hash")
	m.awaitVectors(2)
	if n := m.srv.Calls() - calls; n != 0 {
		t.Errorf("%d calls after a restart", n)
	}
	m.srv.Numbers(96)
	m.startHob(t, "other")
	if s := m.awaitVectors(2); s.Numbers != 96 || s.Model != "vec/other" {
		t.Errorf("stats: %+v", s)
	}
	if best, why := m.searchMemory("my car"); !strings.Contains(best, "automobile") {
		t.Errorf("found %q, %s", best, why)
	}
}

func TestVectors_ForgetRemovesThem(t *testing.T) {
	t.Parallel()
	m := openMeant(t, "")
	const secret = "Kestrel opens the cabin by the lake"
	m.rememberText("Green tea is in the blue tin")
	m.rememberText(secret)
	m.awaitVectors(2)
	vector := packedVector(secret)
	if where := m.fileContaining(vector); where == "" {
		t.Fatal("the vector is missing before the test")
	}
	code, body := m.callAPI(http.MethodPost, "/api/v1/tools/forget", map[string]any{"arguments": map[string]string{"query": "Kestrel opens the cabin"}})
	var asks struct {
		Approvals []struct{ ID, Session string }
	}
	if err := json.Unmarshal(body, &asks); code != http.StatusAccepted || err != nil || len(asks.Approvals) != 1 {
		t.Fatalf("forget: %d %s", code, body)
	}
	yes := asks.Approvals[0]
	if code, body := m.callAPI(http.MethodPost, "/api/v1/sessions/"+yes.Session+"/approvals/"+yes.ID, map[string]bool{"approved": true}); code != http.StatusOK {
		t.Fatalf("approve: %d %s", code, body)
	}
	m.awaitVectors(1)
	deadline := time.Now().Add(60 * time.Second)
	for m.fileContaining(vector) != "" {
		if time.Now().After(deadline) {
			t.Fatalf("the vector is still in %s", m.fileContaining(vector))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Without an embedder no vectors remain, because erasures would not reach them.
func TestVectors_DisabledLeavesNone(t *testing.T) {
	t.Parallel()
	m := openMeant(t, "")
	m.rememberText("Green tea is in the blue tin")
	m.awaitVectors(1)
	path := filepath.Join(m.dir, "hob", "vectors.db")
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	o := m.d.opt
	m.stop()
	off := openWith(t, m.dir, Options{Paths: o.Paths, UserHome: m.dir}, "[agent]\nmodel = \"offline\"\n[web]\nlisten = \"127.0.0.1:0\"\n")
	if _, err := os.Stat(path); err == nil {
		t.Error("the vector file still exists")
	}
	if told, err := off.d.base.AckedChange(off.d.store.Reader(t.Context()), embed.Name); err != nil || told != 0 {
		t.Errorf("changes are stored without a consumer: %d, %v", told, err)
	}
}

// packedVector returns the stored form of a text's vector without the length.
func packedVector(text string) []byte { return embedtest.Packed(text, synonymOptions()) }

// fileContaining returns a file in the home that contains part of the bytes, or "".
func (m *vectorFixture) fileContaining(b []byte) (where string) {
	m.t.Helper()
	failOnError(m.t, filepath.WalkDir(m.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // the file was deleted in the meantime
		}
		have, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		for i := 0; i+16 <= len(b); i += 16 {
			if bytes.Contains(have, b[i:i+16]) {
				where = path
			}
		}
		return nil
	}))
	return where
}
