package app

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"hob/knowledge"
	"hob/knowledge/ingest"
	"hob/platform/host/system"
	"hob/tools"
)

// openWithDocuments creates the folder Notes with these files and starts Hob.
func openWithDocuments(t *testing.T, conf string, notes map[string]string) *daemonFixture {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir()) // sources are named by their resolved path
	failOnError(t, err)
	for name, text := range notes {
		path := filepath.Join(home, "Notes", name)
		failOnError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		failOnError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return documentsStart(t, home, conf)
}

func documentsStart(t *testing.T, home, conf string) *daemonFixture {
	t.Helper()
	paths, err := system.ResolvePaths(runtime.GOOS, home, func(name string) string { return map[string]string{"HOB_HOME": filepath.Join(home, "hob")}[name] })
	failOnError(t, err)
	conf = strings.ReplaceAll(conf, "{notes}", fmt.Sprintf("%q", filepath.Join(home, "Notes")))
	return openWith(t, home, Options{Paths: paths, UserHome: home}, "[agent]\nmodel = \"offline\"\n[web]\nlisten = \"127.0.0.1:0\"\n"+conf)
}

// ingestPath ingests a path as the tool does.
func (h *daemonFixture) ingestPath(path string) knowledge.DocumentResult {
	h.t.Helper()
	got, err := ingest.Requests{Library: h.d.documents, Sync: h.d.folders, Files: h.d.files, Network: h.d.network}.Ingest(h.t.Context(), tools.Call{Now: time.Now(), Progress: func(float64, string) {}}, knowledge.DocumentRequest{Path: filepath.Join(h.home, "Notes", path)})
	failOnError(h.t, err)
	return got
}

func (h *daemonFixture) takeBack(taken knowledge.DocumentResult) {
	h.t.Helper()
	failOnError(h.t, ingest.Requests{Library: h.d.documents, Sync: h.d.folders, Files: h.d.files, Network: h.d.network}.Forget(h.t.Context(), "", taken))
}

// Undoing a folder removes its documents, and nothing else.
func TestDocuments_UndoOfAFolder(t *testing.T) {
	notes := map[string]string{"key.txt": "The spare key is with Ana.", "house/boiler.txt": "The valve opens at three bar."}
	const allowed = "[files]\nallowed = [{notes}]\n"
	const both, boiler = "house/boiler.txt: boiler.txt\nkey.txt: key.txt", "house/boiler.txt: boiler.txt"
	tests := []struct {
		name, conf string
		run        func(h *daemonFixture)
		want       string
	}{
		{"all of it", allowed, func(h *daemonFixture) { h.takeBack(h.ingestPath("")) }, ""},
		{"a file that was asked for before", allowed, func(h *daemonFixture) {
			h.ingestPath("house/boiler.txt")
			h.takeBack(h.ingestPath(""))
		}, boiler},
		{"a file that was asked for since", allowed, func(h *daemonFixture) {
			all := h.ingestPath("")
			h.ingestPath("house/boiler.txt")
			h.takeBack(all)
		}, boiler},
		{"a folder within one that is kept", allowed, func(h *daemonFixture) {
			h.ingestPath("")
			h.takeBack(h.ingestPath("house"))
		}, both},
		{"a folder around one that is kept", allowed, func(h *daemonFixture) {
			all := h.ingestPath("")
			h.ingestPath("house")
			h.takeBack(all)
		}, boiler},
		{"a folder of the configuration", allowed + "[knowledge]\nfolders = [{notes}]\n", func(h *daemonFixture) {
			h.waitFor("both documents", func() bool { return h.listDocuments() == both })
			h.takeBack(h.ingestPath(""))
		}, both},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := openWithDocuments(t, tt.conf, notes)
			tt.run(h)
			h.waitFor("the documents to keep", func() bool { return h.listDocuments() == tt.want })
		})
	}
}

// A scan of the folder that runs during the undo does not add documents again.
func TestDocuments_UndoDuringAScan(t *testing.T) {
	notes := map[string]string{}
	for i := range 300 {
		notes[fmt.Sprintf("%d.txt", i)] = fmt.Sprintf("Note %d.", i)
	}
	h := openWithDocuments(t, "[files]\nallowed = [{notes}]\n", notes)
	path := filepath.Join(h.home, "Notes")
	taken, err := ingest.Requests{Library: h.d.documents, Sync: h.d.folders, Files: h.d.files, Network: h.d.network}.Ingest(t.Context(), tools.Call{Now: time.Now(), Progress: func(done float64, _ string) {
		if done == 0 {
			h.d.folders.Wake() // start the background scan at the same time
		}
	}}, knowledge.DocumentRequest{Path: path})
	failOnError(t, err)
	taken.Fresh = nil
	for i := range 300 { // so that the scan takes some time
		failOnError(t, os.WriteFile(filepath.Join(path, fmt.Sprintf("%d.txt", i)), []byte(fmt.Sprintf("Another note %d.", i)), 0o600))
	}
	h.d.folders.RescanAll()
	h.takeBack(taken)
	if got := h.listDocuments(); got != "" {
		t.Errorf("documents after the undo:\n%s", got)
	}
	h.stop()
	h = documentsStart(t, h.home, "")
	if got := h.listDocuments(); got != "" {
		t.Errorf("documents after a restart:\n%s", got)
	}
}

// The provenance of a document follows changes of the owner's trust settings even if the file stays
// the same.
func TestDocuments_FollowTrustSettings(t *testing.T) {
	const kept = "[knowledge]\nfolders = [{notes}]\n[files]\nallowed = [{notes}]\n"
	h := openWithDocuments(t, kept+"trusted = [{notes}]\n", map[string]string{"key.txt": "The spare key is with Ana."})
	var last string
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("last search: ", last)
		}
	})
	is := func(want string) func() bool {
		return func() bool {
			code, body := h.callAPI("GET", "/api/v1/memory?kind=chunk&q=spare+key", nil)
			last = fmt.Sprint(code, " ", string(body))
			return strings.Contains(string(body), `"provenance":"`+want+`"`)
		}
	}
	h.waitFor("a trusted folder", is("owner"))
	h.stop()
	h = documentsStart(t, h.home, kept)
	h.waitFor("a folder that is not trusted any more", is("outside"))
	code, body := h.callAPI("POST", "/api/v1/memory/import", map[string]any{"path": filepath.Join(h.home, "Notes", "key.txt"), "trust": true})
	if code != 200 || strings.Contains(string(body), "nothing new") || !is("owner")() {
		t.Errorf("vouched for: %d %s", code, body)
	}
	h.stop()
	h = documentsStart(t, h.home, kept)
	failOnError(t, os.WriteFile(filepath.Join(h.home, "Notes", "late.txt"), []byte("It came later."), 0o600))
	h.waitFor("the scan of the folder", func() bool { return strings.Contains(h.listDocuments(), "late.txt") })
	if !is("owner")() {
		t.Error("an unchanged document that the owner vouched for is untrusted again")
	}
	failOnError(t, os.WriteFile(filepath.Join(h.home, "Notes", "key.txt"), []byte("The spare key is with whoever writes here."), 0o600))
	h.waitFor("another content", is("outside"))
}

// Undoing the import of a card removes its facts about people.
func TestDocuments_UndoOfCards(t *testing.T) {
	card := func(name, org string) string {
		return "BEGIN:VCARD\nVERSION:3.0\nFN:" + name + "\nORG:" + org + "\nEND:VCARD\n"
	}
	var many strings.Builder
	for i := range 120 {
		many.WriteString(card(fmt.Sprintf("Person%d Novak", i), "Initech"))
	}
	h := openWithDocuments(t, "[knowledge]\nfolders = [{notes}]\n", map[string]string{"a.vcf": card("Ana Novak", "Initech") + card("Bea Koch", "Initech"), "many.vcf": many.String()})
	works := func(want map[string]string) func() bool {
		return func() bool {
			list := map[string]string{}
			rows, err := h.d.store.Reader(t.Context()).Query(`SELECT f.name, t.name FROM relations r JOIN entities f ON f.id = r.from_id JOIN entities t ON t.id = r.to_id WHERE r.name = 'works_at' AND f.name NOT LIKE 'Person%'`)
			failOnError(t, err)
			defer rows.Close()
			for rows.Next() {
				var from, to string
				failOnError(t, rows.Scan(&from, &to))
				list[from] = to
			}
			failOnError(t, rows.Err())
			return fmt.Sprint(list) == fmt.Sprint(want)
		}
	}
	count := func() (n int) {
		failOnError(t, h.d.store.Reader(t.Context()).QueryRow(`SELECT count(*) FROM relations WHERE source LIKE '%many.vcf'`).Scan(&n))
		return n
	}
	h.waitFor("all cards", func() bool {
		return works(map[string]string{"Ana Novak": "Initech", "Bea Koch": "Initech"})() && count() == 120
	})
	path := filepath.Join(h.home, "Notes", "a.vcf")
	failOnError(t, os.WriteFile(path, []byte(card("Ana Novak", "Globex")), 0o600))
	h.waitFor("a changed card", works(map[string]string{"Ana Novak": "Globex"}))
	failOnError(t, os.Remove(path))
	failOnError(t, os.Remove(filepath.Join(h.home, "Notes", "many.vcf")))
	failOnError(t, os.WriteFile(filepath.Join(h.home, "Notes", "c.txt"), []byte("The folder is not empty."), 0o600))
	h.waitFor("the removal of the cards", func() bool { return works(map[string]string{})() && count() == 0 })
}
