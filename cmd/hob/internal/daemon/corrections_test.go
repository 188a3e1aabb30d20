package daemon

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"hob/knowledge"
	"hob/knowledge/store"
	"hob/platform/provenance"
	"hob/platform/system"
)

// TestContradictions tells the built-in brain one thing after the other
// (knowledge/testdata/corrections.txt). What no longer holds is never the
// answer; asked for what was before, it is shown, and so it is in the list of
// everything.
func TestContradictions(t *testing.T) {
	raw, err := os.ReadFile(filepath.FromSlash("../../../../knowledge/testdata/corrections.txt"))
	fatal(t, err)
	n := 0
	for block := range strings.SplitSeq(string(raw), "\n\n") {
		lines := strings.Split(strings.TrimSpace(block), "\n")
		if lines[0][0] == '#' {
			continue
		}
		n++
		t.Run(lines[0], func(t *testing.T) {
			t.Parallel()
			contradict(t, lines[1:])
		})
	}
	if n < 50 {
		t.Errorf("%d contradictions, 50 are wanted", n)
	}
}

// openOffline opens a Hob with the built-in brain that reads nothing from the
// environment.
func openOffline(t *testing.T) *house {
	t.Helper()
	home := t.TempDir()
	paths, err := system.ResolvePaths(runtime.GOOS, home, func(name string) string { return map[string]string{"HOB_HOME": filepath.Join(home, "hob")}[name] })
	fatal(t, err)
	return openWith(t, home, Options{Paths: paths, UserHome: home}, "[agent]\nmodel = \"offline\"\ntimezone = \"UTC\"\n[web]\nlisten = \"127.0.0.1:0\"\n")
}

func contradict(t *testing.T, lines []string) {
	h := openOffline(t)
	said := func(text string) string {
		t.Helper()
		code, body := h.api(http.MethodPost, "/api/v1/sessions/main/messages", map[string]string{"text": text})
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
			fatal(t, h.d.store.Write(t.Context(), func(tx *store.Tx) error {
				_, err := h.d.base.RememberTx(tx, knowledge.Fact{Text: rest, Provenance: provenance.Outside})
				return err
			}))
		case "?":
			question = rest
			answer = said(rest)
		case "=":
			if !regexp.MustCompile(rest).MatchString(answer) {
				t.Errorf("%s is not in the answer: %s", rest, answer)
			}
		case "!":
			h.retired(t, rest, answer)
			bygone(t, rest, past(question), said)
		}
	}
}

// retired: what a pattern fits is no fact in force, is not in the answer, and
// is kept as history.
func (h *house) retired(t *testing.T, pattern, answer string) {
	t.Helper()
	old := regexp.MustCompile(pattern)
	all, err := h.d.base.Facts(t.Context(), 100, true)
	fatal(t, err)
	kept := 0
	for _, f := range all {
		switch {
		case f.RetiredAt.IsZero() || !old.MatchString(f.Text):
		case strings.Contains(answer, f.Text):
			t.Errorf("the answer has what no longer holds: %s", answer)
		default:
			kept++
			code, body := h.api(http.MethodGet, "/api/v1/memory/"+f.ID, nil)
			if code != http.StatusOK || !strings.Contains(string(body), "retired_at") {
				t.Errorf("asked for, it is not shown: %d %s", code, body)
			}
		}
	}
	if kept == 0 {
		t.Errorf("nothing that fits %s is kept as history", pattern)
	}
}

// past makes a question about what was so before of one about what is so.
func past(question string) string {
	q := strings.NewReplacer(" is ", " was ", " are ", " were ", " do ", " did ", " does ", " did ").Replace(" " + strings.TrimSuffix(question, "?") + " before?")
	return strings.Replace(strings.TrimSpace(q), "am I ", "was I ", 1)
}

// bygone: asked for what was so before, the answer has it as history.
func bygone(t *testing.T, pattern, question string, said func(string) string) {
	t.Helper()
	answer := said(question)
	_, before, found := strings.Cut(answer, "No longer so:")
	pattern = strings.NewReplacer("^", "", "I am ", "(I am|you are) ", "I ", "(I|you) ", "my ", "(my|your) ").Replace(pattern)
	if !found || !regexp.MustCompile("(?i)"+pattern).MatchString(before) || !strings.Contains(before, "until today") {
		t.Errorf("%s: %s is not shown as history: %s", question, pattern, answer)
	}
}
