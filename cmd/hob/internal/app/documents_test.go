package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/autonomy/api"
	"hob/platform/host/system"
)

// listDocuments lists the documents in the API, one per line: "name: title".
func (h *daemonFixture) listDocuments() string {
	h.t.Helper()
	code, body := h.callAPI(http.MethodGet, "/api/v1/documents?limit=100", nil)
	if code != http.StatusOK {
		h.t.Fatalf("%d %s", code, body)
	}
	var list []api.Document
	failOnError(h.t, json.Unmarshal(body, &list))
	var out []string
	for _, d := range list {
		name, err := filepath.Rel(filepath.Join(h.home, "Notes"), strings.TrimPrefix(d.Source, "file:"))
		if err != nil {
			name = d.Source
		}
		line := filepath.ToSlash(name) + ": " + d.Title
		if d.Error != "" {
			line += d.Error
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// waitFor waits for a result of background work.
func (h *daemonFixture) waitFor(what string, is func() bool) {
	h.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatalf("timed out: %s; library:\n%s", what, h.listDocuments())
		}
	}
}

// findsChunk reports whether a search for query finds a document chunk with this text.
func (h *daemonFixture) findsChunk(query, text string) bool {
	h.t.Helper()
	code, body := h.callAPI(http.MethodGet, "/api/v1/memory?kind=chunk&q="+query, nil)
	if code != http.StatusOK {
		h.t.Fatalf("%d %s", code, body)
	}
	return strings.Contains(string(body), text)
}

func TestDocuments_FollowTheFolder(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir()) // sources are named by their resolved path
	failOnError(t, err)
	notes := filepath.Join(home, "Notes")
	start := func() *daemonFixture {
		paths, err := system.ResolvePaths(runtime.GOOS, home, func(name string) string { return map[string]string{"HOB_HOME": filepath.Join(home, "hob")}[name] })
		failOnError(t, err)
		return openWith(t, home, Options{Paths: paths, UserHome: home}, fmt.Sprintf("[agent]\nmodel = \"offline\"\n[web]\nlisten = \"127.0.0.1:0\"\n[knowledge]\nfolders = [%q]\n", notes))
	}
	write := func(name, text string) {
		t.Helper()
		failOnError(t, os.MkdirAll(filepath.Dir(filepath.Join(notes, name)), 0o700))
		failOnError(t, os.WriteFile(filepath.Join(notes, name), []byte(text), 0o600))
	}
	write("boiler.md", "# Boiler\n\nThe valve opens at three bar.\n")
	write("kept.md", "# Kept\n\nIt stays.\n")
	h := start()
	is := func(want ...string) func() bool {
		return func() bool { return h.listDocuments() == strings.Join(want, "\n") }
	}
	h.waitFor("the documents at the start", is("boiler.md: Boiler", "kept.md: Kept"))

	write("new/roof.md", "# Roof\n\nSlates from Wales.\n")
	h.waitFor("a new file in a new folder", is("boiler.md: Boiler", "kept.md: Kept", "new/roof.md: Roof"))
	h.waitFor("the new document in a search", func() bool { return h.findsChunk("slates", "Wales") })
	write("boiler.md", "# Boiler\n\nThe valve opens at seven bar.\n")
	h.waitFor("a change", func() bool { return h.findsChunk("valve", "seven bar") && !h.findsChunk("valve", "three bar") })
	failOnError(t, os.Rename(filepath.Join(notes, "boiler.md"), filepath.Join(notes, "heating.md")))
	h.waitFor("a renamed file", is("heating.md: Boiler", "kept.md: Kept", "new/roof.md: Roof"))
	failOnError(t, os.Rename(filepath.Join(notes, "new"), filepath.Join(notes, "old")))
	h.waitFor("a renamed folder", is("heating.md: Boiler", "kept.md: Kept", "old/roof.md: Roof"))
	failOnError(t, os.RemoveAll(filepath.Join(notes, "old")))
	h.waitFor("a removed folder", is("heating.md: Boiler", "kept.md: Kept"))
	if h.findsChunk("slates", "Wales") {
		t.Error("a removed document was found")
	}

	h.stop()
	write("late.md", "# Late\n\nIt came while Hob slept.\n")
	write("kept.md", "# Kept\n\nIt was changed while Hob slept.\n")
	failOnError(t, os.Remove(filepath.Join(notes, "heating.md")))
	h = start()
	h.waitFor("changes made while Hob was stopped", is("kept.md: Kept", "late.md: Late"))
	h.waitFor("what was changed meanwhile", func() bool { return h.findsChunk("slept", "changed while") && !h.findsChunk("valve", "bar") })
	write("after.md", "# After\n\nIt came later.\n")
	h.waitFor("changes after a restart", is("after.md: After", "kept.md: Kept", "late.md: Late"))
}

// The built-in brain answers from a document as from other stored text.
func TestDocuments_AnswerOfTheBuiltInBrain(t *testing.T) {
	h := openDaemon(t, "")
	manual := filepath.Join(h.home, "manual.md")
	failOnError(t, os.WriteFile(manual, []byte("# Boiler\n\nThe pressure of the boiler must stay between 1.2 and 1.8 bar.\n"), 0o600))
	code, body := h.callAPI(http.MethodPost, "/api/v1/memory/import", map[string]string{"path": manual})
	if code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	h.waitFor("the document in a search", func() bool { return h.findsChunk("pressure", "1.8 bar") })
	if got := h.askHob("what do you know about the boiler pressure?"); !strings.Contains(got, "1.8 bar") {
		t.Errorf("%q", got)
	}
}
