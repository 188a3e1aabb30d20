package app

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hob/autonomy/llm/llmtest"
	"hob/platform/store/storetest"
)

// fault is a fault of a model API, and its effect.
type fault struct {
	name string
	// answers returns the server's answers, in order; later requests succeed.
	answers func(p playWay) []llmtest.Answer
	down    error  // error of every attempt to connect
	only    string // see playWay.wanted
	does    string // Hob's reaction, for the documentation
	sees    string // pattern that the answer to the owner matches
	calls   int    // requests that reach the server
	tasks   int    // number of tasks that were added
}

// well is the server's default answer.
const well = "All is well."

// TestFaults sends each fault through the complete program over each API, with virtual time, and
// checks what the owner sees. With the race detector, which is six times as slow, it tests each
// fault over one API.
func TestFaults(t *testing.T) {
	storetest.FileOnly(t, "the time is virtual, and the clock of a server is not")
	seen := make([]map[string]string, len(listPlayWays()))
	t.Run("all", func(t *testing.T) {
		for i, p := range listPlayWays() {
			seen[i] = map[string]string{}
			t.Run(p.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { playFaults(t, p, seen[i]) })
			})
		}
	})
	if !t.Failed() && !raceDetector {
		checkFaultsPage(t, seen)
	}
}

// modelAddress is an address on another machine, as most model servers have.
const modelAddress = "http://model.example"

func playFaults(t *testing.T, p playWay, seen map[string]string) {
	srv := llmtest.NewServer(t, llmtest.Options{Memory: true, Key: llmtest.Key, Otherwise: &llmtest.Answer{Text: well}})
	line := &wire{next: srv.Client().Transport}
	h := openScriptedWith(t, t.TempDir(), modelAddress, p, "", Options{InProcess: true, HTTP: &http.Client{Transport: line}})
	defer h.stop()
	for i, f := range allFaults() {
		ways := slices.DeleteFunc(listPlayWays(), func(p playWay) bool { return !p.isWanted(f.only) })
		if raceDetector {
			ways = ways[i%len(ways):][:1]
		}
		if !slices.Contains(ways, p) {
			continue
		}
		if f.answers != nil {
			srv.Add(f.answers(p)...)
		}
		line.down.Store(&f.down)
		before, tasks := srv.Count(), h.countTasks()
		session := fmt.Sprintf("fault-%d", i)
		answer := h.sayIn(session, "hello")
		line.down.Store(nil)
		seen[f.name] = answer
		f.checkAnswer(t, answer)
		if n := srv.Count() - before; n != f.calls {
			t.Errorf("%s: %d requests, want %d", f.name, n, f.calls)
		}
		if n := h.countTasks() - tasks; n != f.tasks {
			t.Errorf("%s: %d tasks were added, want %d", f.name, n, f.tasks)
		}
		if left := srv.Unused(); len(left) > 0 {
			t.Fatalf("%s: unused model answers: %+v", f.name, left)
		}
		// The conversation continues.
		time.Sleep(20 * time.Minute) // longer than the pause after a failure
		if got := h.sayIn(session, "and now?"); got != well {
			t.Errorf("%s: next answer = %q", f.name, got)
		}
	}
}

// checkAnswer checks the properties that every answer must have.
func (f *fault) checkAnswer(t *testing.T, answer string) {
	t.Helper()
	if !regexp.MustCompile(f.sees).MatchString(answer) {
		t.Errorf("%s: answer = %q, want %q", f.name, answer, f.sees)
	}
	for what, bad := range map[string]string{"the key": llmtest.Key, "JSON": `{"`, "quoted JSON": `{\"`, "an address of the API": "/models", "a web page": "<html", "words twice": "Good morning. Good morning."} {
		if strings.Contains(answer, bad) {
			t.Errorf("%s: the answer contains %s: %q", f.name, what, answer)
		}
	}
	if _, after, ok := strings.Cut(answer, "[cut off]\n"); ok {
		answer = after
	}
	if strings.HasPrefix(answer, "Sorry") && (strings.Contains(answer, "\n") || len(answer) > 700 || !strings.Contains(answer, "; ")) {
		t.Errorf("%s: the answer is not one sentence with a remedy: %q", f.name, answer)
	}
}

// wire is a transport to the server that can simulate a failed connection.
type wire struct {
	next http.RoundTripper
	down atomic.Pointer[error]
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := w.down.Load(); err != nil && *err != nil {
		return nil, *err
	}
	return w.next.RoundTrip(r)
}

func (h *daemonFixture) countTasks() int {
	h.t.Helper()
	_, body := h.callAPI(http.MethodGet, "/api/v1/tasks", nil)
	var list []json.RawMessage
	failOnError(h.t, json.Unmarshal(body, &list))
	return len(list)
}

func (h *daemonFixture) sayIn(session, text string) string {
	h.t.Helper()
	ctx, cancel := context.WithTimeoutCause(h.t.Context(), 2*time.Hour, errors.New("no answer after two hours"))
	defer cancel()
	body, err := json.Marshal(map[string]string{"text": text})
	failOnError(h.t, err)
	code, out := h.apiCtx(ctx, http.MethodPost, "/api/v1/sessions/"+session+"/messages", body)
	var r struct{ Answer string }
	if code != http.StatusOK || json.Unmarshal(out, &r) != nil {
		h.t.Fatalf("%s: %d %s", session, code, out)
	}
	return r.Answer
}

// answers for tables.

func oneAnswer(a llmtest.Answer) func(playWay) []llmtest.Answer {
	return func(playWay) []llmtest.Answer { return []llmtest.Answer{a} }
}

func everyTry(a llmtest.Answer) func(playWay) []llmtest.Answer {
	a.Times = 3 // number of Hob's attempts
	return oneAnswer(a)
}

func answersOf(list ...llmtest.Answer) func(playWay) []llmtest.Answer {
	return func(playWay) []llmtest.Answer { return list }
}

func statusAnswer(code int) llmtest.Answer { return llmtest.Answer{Status: code} }

func answerWithFault(a llmtest.Answer, f llmtest.Fault, after int) llmtest.Answer {
	a.Fault, a.After = f, after
	return a
}

// greetingAnswer returns an answer with text, and addsTask an answer that adds a task.
func greetingAnswer() llmtest.Answer { return llmtest.Answer{Text: "Good morning. How are you?"} }

func addsTask() llmtest.Answer {
	return llmtest.Answer{Calls: []llmtest.Call{{ID: "c1", Name: "create_task", Args: `{"title":"tea"}`}}}
}

// rawAnswer returns a valid text answer as bytes, modified by change.
func rawAnswer(header map[string]string, change func(string) string) func(playWay) []llmtest.Answer {
	return func(p playWay) []llmtest.Answer {
		body := llmtest.Render(p.api, !p.whole, llmtest.Answer{Text: well, Pieces: 1})
		return []llmtest.Answer{{Status: http.StatusOK, Header: header, Body: change(body)}}
	}
}

func gzipText(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s)) // cannot fail in memory
	_ = w.Close()
	return b.String()
}

// checkFaultsPage compares docs/faults.md with the observed results.
func checkFaultsPage(t *testing.T, seen []map[string]string) {
	t.Helper()
	var b strings.Builder
	b.WriteString(faultsHead)
	for i, f := range allFaults() {
		fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", i+1, f.name, f.does, reportCell(seen, f.name))
	}
	const file = "../../../../docs/faults.md"
	got, err := os.ReadFile(file)
	failOnError(t, err)
	_, rest, _ := strings.Cut(string(got), "\n\n## ") // the part that TestFaultTranscripts writes
	want := b.String() + "\n## " + rest
	if *update {
		failOnError(t, os.WriteFile(file, []byte(want), 0o644))
	} else if string(got) != want {
		t.Error("docs/faults.md is out of date; run: go test ./cmd/hob/internal/app -run TestFaults -update")
	}
}

// reportCell returns the text that the owner saw, from the first API to which the fault applies.
func reportCell(seen []map[string]string, name string) string {
	i := slices.IndexFunc(seen, func(m map[string]string) bool { return m[name] != "" })
	if i < 0 {
		return ""
	}
	s := strings.ReplaceAll(seen[i][name], "[providers.test]", "[providers.NAME]")
	s = regexp.MustCompile(`(?s)^Hello! I am Hob.*\n\n\(`).ReplaceAllString(s, "Hello! … (")
	if len(s) > 1000 {
		s = fmt.Sprintf("the whole answer (%d KB)", len(s)>>10)
	}
	return cmp.Or(strings.NewReplacer("|", `\|`, "\n", " ", "test:", "NAME:", " test ", " NAME ").Replace(s), " ")
}
