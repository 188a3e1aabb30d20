package app

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"hob/knowledge"
	"hob/platform/host/system"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/credential"
)

// TestContradictions tells the built-in brain one fact after the other
// (knowledge/testdata/corrections.txt). An outdated fact is never the answer; it is shown when the
// user asks for earlier facts, and in the list of all facts.
func TestContradictions(t *testing.T) {
	raw, err := os.ReadFile(filepath.FromSlash("../../../../knowledge/testdata/corrections.txt"))
	failOnError(t, err)
	n := 0
	for block := range strings.SplitSeq(string(raw), "\n\n") {
		lines := strings.Split(strings.TrimSpace(block), "\n")
		if lines[0][0] == '#' {
			continue
		}
		n++
		t.Run(lines[0], func(t *testing.T) {
			t.Parallel()
			checkCorrections(t, lines[1:])
		})
	}
	if n < 50 {
		t.Errorf("%d contradictions, 50 are wanted", n)
	}
}

// openOffline opens a Hob with the built-in brain that reads nothing from the
// environment.
func openOffline(t *testing.T) *daemonFixture {
	t.Helper()
	home := t.TempDir()
	paths, err := system.ResolvePaths(runtime.GOOS, home, func(name string) string { return map[string]string{"HOB_HOME": filepath.Join(home, "hob")}[name] })
	failOnError(t, err)
	return openWith(t, home, Options{Paths: paths, UserHome: home}, "[agent]\nmodel = \"offline\"\ntimezone = \"UTC\"\n[web]\nlisten = \"127.0.0.1:0\"\n")
}

func checkCorrections(t *testing.T, lines []string) {
	h := openOffline(t)
	said := func(text string) string {
		t.Helper()
		code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/main/messages", map[string]string{"text": text})
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", text, code, body)
		}
		return string(body)
	}
	var question, answer string
	for _, line := range lines {
		mark, rest, _ := strings.Cut(line, " ")
		switch mark {
		case "+":
			said("remember that " + rest)
		case "x":
			failOnError(t, h.d.store.Write(t.Context(), func(tx *store.Tx) error {
				_, err := h.d.base.RememberTx(tx, knowledge.Fact{Text: rest, Provenance: provenance.Outside})
				return err
			}))
		case "?":
			question = rest
			answer = said(rest)
		case "=":
			if !regexp.MustCompile(rest).MatchString(answer) {
				t.Errorf("%s is missing in the answer: %s", rest, answer)
			}
		case "!":
			h.checkRetired(t, rest, answer)
			checkHistory(t, rest, pastQuestion(question), said)
		}
	}
}

// checkRetired checks that the answer contains no retired fact that matches a pattern, and that such a
// fact is kept as history.
func (h *daemonFixture) checkRetired(t *testing.T, pattern, answer string) {
	t.Helper()
	old := regexp.MustCompile(pattern)
	all, err := h.d.base.ListFacts(t.Context(), 100, true)
	failOnError(t, err)
	kept := 0
	for _, f := range all {
		switch {
		case f.RetiredAt.IsZero() || !old.MatchString(f.Text):
		case strings.Contains(answer, f.Text):
			t.Errorf("the answer contains a retired fact: %s", answer)
		default:
			kept++
			code, body := h.callAPI(http.MethodGet, "/api/v1/memory/"+f.ID, nil)
			if code != http.StatusOK || !strings.Contains(string(body), "retired_at") {
				t.Errorf("the retired fact is not shown on request: %d %s", code, body)
			}
		}
	}
	if kept == 0 {
		t.Errorf("no retired fact matches %s", pattern)
	}
}

// pastQuestion converts a question about the present to one about the past.
func pastQuestion(question string) string {
	q := strings.NewReplacer(" is ", " was ", " are ", " were ", " do ", " did ", " does ", " did ").Replace(" " + strings.TrimSuffix(question, "?") + " before?")
	return strings.Replace(strings.TrimSpace(q), "am I ", "was I ", 1)
}

// checkHistory checks that an answer to a question about the past contains it as history.
func checkHistory(t *testing.T, pattern, question string, said func(string) string) {
	t.Helper()
	answer := said(question)
	_, before, found := strings.Cut(answer, "No longer so:")
	pattern = strings.NewReplacer("^", "", "I am ", "(I am|you are) ", "I ", "(I|you) ", "my ", "(my|your) ").Replace(pattern)
	if !found || !regexp.MustCompile("(?i)"+pattern).MatchString(before) || !strings.Contains(before, "until today") {
		t.Errorf("%s: history does not show %s: %s", question, pattern, answer)
	}
}

// TestBefore asks the built-in brain about the present and the past.
func TestBefore(t *testing.T) {
	h := openOffline(t)
	say := func(text string) string {
		t.Helper()
		code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/main/messages", map[string]string{"text": text})
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", text, code, body)
		}
		return string(body)
	}
	for _, told := range []string{"the cabin wifi password is Kestrel-1", "my address is 5 Elm Road", "my cat is called Rex"} {
		say("remember that " + told)
	}
	say("I wrote Kestrel-1 on the wall of the cabin, where the wifi password belongs")
	say("remember that the cabin wifi password is now Heron-2")
	say("remember that my address is 7 Oak Lane")
	const history = "No longer so:"
	for _, tc := range []struct{ ask, now, before string }{
		{"what is the wifi password of the cabin?", "Heron-2", ""},
		{"what was the wifi password of the cabin before?", "Heron-2", "Kestrel-1"},
		{"what was my old address?", "7 Oak Lane", "5 Elm Road"},
		{"what was my previous address?", "7 Oak Lane", "5 Elm Road"},
		{"what did you know about me before?", "", "5 Elm Road"},
		{"what is my cat called?", "Rex", ""},
	} {
		now, before, _ := strings.Cut(say(tc.ask), history)
		if !strings.Contains(now, tc.now) || tc.before != "" && strings.Contains(now, tc.before) || !strings.Contains(before, tc.before) || tc.before == "" && before != "" || strings.Contains(before, "Rex") {
			t.Errorf("%s: answer %q, history %q", tc.ask, now, before)
		}
	}
	for _, q := range []string{"altes Passwort cabin wifi vorher", "ancien cabin wifi password"} {
		a, err := h.d.base.RetrieveNow(t.Context(), knowledge.Request{Text: q, Kinds: []string{knowledge.KindFact}, Strict: true, Viewer: credential.Everything()})
		failOnError(t, err)
		if len(a.Hits) == 0 || !strings.Contains(a.Hits[0].Text, "Heron-2") || len(a.History) == 0 || !strings.Contains(a.History[0].Text, "Kestrel-1") || a.History[0].Until.IsZero() {
			t.Errorf("%s: hits %+v, history %+v", q, a.Hits, a.History)
		}
	}
	failOnError(t, h.d.library.Index(t.Context()))
	a, err := h.d.base.RetrieveNow(t.Context(), knowledge.Request{Text: "wifi password of the cabin", Limit: 100, Viewer: credential.Everything()})
	failOnError(t, err)
	repeats, behind := 0, false
	for _, x := range a.Hits {
		old := strings.Contains(x.Text, "Kestrel-1") && !strings.Contains(x.Text, "Heron-2") && !strings.Contains(x.Text, history) // stated before the correction
		if behind && !old || old && x.Until.IsZero() {
			t.Errorf("a message that repeats the retired fact comes first or has no mark: %+v", x)
		}
		if behind = behind || old; old {
			repeats++
		}
	}
	if repeats == 0 {
		t.Errorf("the message that repeats the retired fact was not found: %+v", a.Hits)
	}
}
