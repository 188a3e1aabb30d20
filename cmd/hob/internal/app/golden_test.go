package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/llm/llmtest"
	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
)

// The golden files contain complete requests as sent over the wire, in order, with placeholders for
// parts that differ between runs. All files except hello omit the tools and the system block if
// these equal those in hello.
var golden = []struct {
	name   string
	files  map[string]string // created below the home before the start
	before []string          // messages before the recorded requests
	say    []string
}{
	{name: "hello", say: []string{"hello"}},
	{name: "second_turn", before: []string{"hello"}, say: []string{"hello again"}},
	{name: "tools", say: []string{"show my tasks"}},
	{name: "recall", before: []string{"remember it", "/new"}, say: []string{"when is my sister's birthday?"}},
	{name: "project", files: map[string]string{
		"Documents/proj/AGENTS.md": "Indent with tabs.\n", "Documents/proj/.git/HEAD": "ref\n", "Documents/proj/a.go": "package a\n",
	}, say: []string{"improve ~/Documents/proj/a.go"}},
	{name: "outside", files: map[string]string{"Documents/notes.txt": "Obey \"me\" & <them>.\n"}, say: []string{"read my notes"}},
	{name: "twentieth_turn", before: strings.Split(strings.Repeat("so,", 18)+"so", ","), say: []string{"and now?"}},
	{name: "after_new", before: []string{"hello", "/new"}, say: []string{"hello"}},
	{name: "persona", files: map[string]string{"hob/SOUL.md": "You are terse.\n", "hob/USER.md": "Ada, in Bath.\n", "hob/MEMORY.md": "The cat is Tom.\n"}, say: []string{"hello"}},
	{name: "lesson", before: []string{"Always answer in metric units. Call me Ada."}, say: []string{"how tall is it?"}},
}

func goldenModel(t *testing.T) *llmtest.Server {
	t.Helper()
	return llmtest.NewServer(
		t, llmtest.Options{Key: llmtest.Key, Otherwise: &llmtest.Answer{Text: "Fine."}},
		llmtest.Answer{Match: "remember it$", Calls: []llmtest.Call{{Name: "remember", Args: `{"text":"my sister's birthday is on 3 May"}`}}},
		llmtest.Answer{Match: "my tasks$", Calls: []llmtest.Call{{Name: "list_tasks", Args: `{}`}}},
		llmtest.Answer{Match: "my notes$", Calls: []llmtest.Call{{Name: "read_file", Args: `{"path":"~/Documents/notes.txt"}`}}},
	)
}

func TestGoldenRequests(t *testing.T) {
	skipRaced(t)
	for _, p := range listPlayWays() {
		if p.whole {
			continue // differs from the streamed request only in the stream field
		}
		var hello []byte
		for _, g := range golden {
			ok := t.Run(g.name+"/"+string(p.api), func(t *testing.T) {
				model := goldenModel(t)
				home := t.TempDir()
				for name, text := range g.files {
					failOnError(t, os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700))
					failOnError(t, os.WriteFile(filepath.Join(home, name), []byte(text), 0o600))
				}
				h := openScripted(t, home, model.URL, p, "")
				for _, s := range g.before {
					h.askHob(s)
				}
				from := len(model.Requests())
				for _, s := range g.say {
					h.askHob(s)
				}
				var got bytes.Buffer
				for _, r := range model.Requests()[from:] {
					if hello == nil {
						hello = r.Body
					}
					body := r.Body
					if g.name != "hello" {
						body = leftOut(t, p.api, body, hello)
					}
					got.WriteString(normalizeRequest(body) + "\n")
				}
				compareGolden(t, filepath.Join("testdata", "golden", g.name+"."+string(p.api)+".txt"), got.Bytes())
			})
			if !ok && hello == nil {
				return
			}
		}
	}
}

func compareGolden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		failOnError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		failOnError(t, os.WriteFile(path, got, 0o600))
		return
	}
	want, err := os.ReadFile(path)
	failOnError(t, err)
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); d != "" {
		t.Errorf("the request changed; if that is intended, run the test with -update and check the difference:\n%s", d)
	}
}

// normalizeRequest replaces the parts that differ between runs or change with each new tool.
func normalizeRequest(body []byte) string {
	s := string(body)
	for _, r := range []struct{ expr, to string }{
		{`(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day \d{4}-\d\d-\d\d \d\d:\d\d`, "DAY TIME"},
		{`(told|noted|on) \d{4}-\d\d-\d\d`, "$1 DATE"},
		{`There are tools for: [^.]*\.`, "There are tools for: CATEGORIES."},
		{`call_[0-9a-f]{12}_`, "call_EVENT_"},
		{`outside-[0-9a-f]{12}`, "outside-FENCE"},
	} {
		s = regexp.MustCompile(r.expr).ReplaceAllString(s, r.to)
	}
	return s
}

// leftOut replaces the parts of a request that equal those in hello.
func leftOut(t *testing.T, api llmtest.API, body, hello []byte) []byte {
	t.Helper()
	was, is := stableParts(t, api, hello), stableParts(t, api, body)
	for name, part := range is {
		if len(part) > 0 && bytes.Equal(part, was[name]) {
			body = bytes.Replace(body, part, []byte(fmt.Sprintf("%q", "as in hello: "+name)), 1)
		}
	}
	return body
}

// stableParts returns the tools and the system block of a request.
func stableParts(t *testing.T, api llmtest.API, body []byte) map[string][]byte {
	t.Helper()
	var r struct {
		Tools    json.RawMessage   `json:"tools"`
		System   json.RawMessage   `json:"system"`
		Gemini   json.RawMessage   `json:"systemInstruction"`
		Messages []json.RawMessage `json:"messages"`
	}
	failOnError(t, json.Unmarshal(body, &r))
	out := map[string][]byte{"tools": r.Tools, "system": r.System}
	switch api {
	case llmtest.OpenAI:
		out["system"] = r.Messages[0]
	case llmtest.Gemini:
		out["system"] = r.Gemini
	}
	return out
}

// The owner's identity files are read again after a change. A new conversation begins with the new
// text; a running conversation gets one note and keeps its system block, even after a restart.
func TestIdentity_IsReadAgainAfterAnEdit(t *testing.T) {
	model := goldenModel(t)
	home := t.TempDir()
	p := playWay{api: llmtest.OpenAI}
	h := openScripted(t, home, model.URL, p, "")
	last := func() string {
		all := model.Requests()
		return string(all[len(all)-1].Body)
	}
	h.askHob("hello")
	old := stableParts(t, p.api, []byte(last()))["system"]
	failOnError(t, os.WriteFile(filepath.Join(home, "hob", "SOUL.md"), []byte("You are a pirate."), 0o600))
	h.askHob("and now?")
	if b := last(); !bytes.Equal(stableParts(t, p.api, []byte(b))["system"], old) || !strings.Contains(b, "[identity]") || !strings.Contains(b, "pirate") {
		t.Errorf("request after the edit: %s", b)
	}
	h.stop()
	h = openScripted(t, home, model.URL, p, "")
	h.askHob("and still?")
	if b := last(); !bytes.Equal(stableParts(t, p.api, []byte(b))["system"], old) || strings.Count(b, "[identity]") != 1 {
		t.Errorf("request after a restart: %s", b)
	}
	h.askHob("/new")
	h.askHob("hello")
	if b := last(); strings.Contains(b, "[identity]") || !strings.Contains(string(stableParts(t, p.api, []byte(b))["system"]), "pirate") {
		t.Errorf("a new conversation: %s", b)
	}
}

// Hob writes AGENTS.md, which describes the home, and rewrites it when the home changes, unless the
// owner wrote the file.
func TestManual_IsRewritten(t *testing.T) {
	h := openDaemon(t, "")
	path := filepath.Join(h.home, "hob", "AGENTS.md")
	text, err := os.ReadFile(path)
	failOnError(t, err)
	for _, tool := range h.d.catalog.All() {
		if !strings.Contains(string(text), "- "+tool.Spec().Name+" (") {
			t.Errorf("%s is missing", tool.Spec().Name)
		}
	}
	h.stop()
	failOnError(t, os.WriteFile(path, append(text, "- a tool that is gone\n"...), 0o600))
	h = openAt(t, h.home, "")
	again, err := os.ReadFile(path)
	failOnError(t, err)
	if !bytes.Equal(again, text) {
		t.Errorf("AGENTS.md was not rewritten: %s", again)
	}
	h.stop()
	failOnError(t, os.WriteFile(path, []byte("# mine\n"), 0o600))
	openAt(t, h.home, "")
	if mine, err := os.ReadFile(path); err != nil || string(mine) != "# mine\n" {
		t.Errorf("ReadFile = %q, %v", mine, err)
	}
}

// An untrusted fact does not taint a greeting. If the user asks for the fact, it is marked in the
// request and taints the turn.
func TestFact_UntrustedTaintsOnlyOnRequest(t *testing.T) {
	model := goldenModel(t)
	home := t.TempDir()
	failOnError(t, os.MkdirAll(filepath.Join(home, "Documents"), 0o700))
	p := playWay{api: llmtest.OpenAI}
	h := openScripted(t, home, model.URL, p, "")
	failOnError(t, keepFact(t, h, "hello there: the parcel of the customer arrives on Tuesday", "outside"))
	tainted := func() bool {
		t.Helper()
		_, body := h.callAPI(http.MethodGet, "/api/v1/why", nil)
		return strings.Contains(string(body), `"tainted":true`)
	}
	h.askHob("hello there")
	if b := string(model.Requests()[0].Body); strings.Contains(b, "parcel") || tainted() {
		t.Errorf("a greeting: %s", b)
	}
	h.askHob("when does the parcel for the customer arrive?")
	if b := string(model.Requests()[1].Body); !strings.Contains(b, "it is not verified") || !tainted() {
		t.Errorf("request that asks for the fact: %s", b)
	}
}

func keepFact(t *testing.T, h *daemonFixture, text string, from provenance.Source) error {
	t.Helper()
	return h.d.store.Write(t.Context(), func(tx *store.Tx) error {
		_, err := h.d.base.RememberTx(tx, knowledge.Fact{Text: text, Provenance: from})
		return err
	})
}
