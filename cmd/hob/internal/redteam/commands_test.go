package redteam

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The commands of the review need approval in a complete Hob without a sandbox: the owner's files
// stay unchanged, and nothing is sent out.
func TestReview4_AsksBeforeCommandsThatOnlySeemToRead(t *testing.T) {
	w, v, _, _ := newAttack(t, "[shell]\nsandbox = \"off\"\n")
	for name, text := range map[string]string{"victim.txt": clean, "thesis.txt": clean, "5": "0000: 41\n", "dirA/key": "a\n", "dirB/other": "b\n"} {
		path := filepath.Join(w.docs, name)
		failOnError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		failOnError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	outside := filepath.Join(w.home, "elsewhere.txt")
	failOnError(t, os.WriteFile(outside, []byte(canary), 0o600))
	failOnError(t, os.Symlink(outside, filepath.Join(w.docs, "dirB/key")))
	w.markState()
	for i, command := range []string{
		"xxd -bc 5 victim.txt", "xxd -ps 5 victim.txt", "tree -Io zz thesis.txt", "tree -IR zz -L 1 .", "diff dirA dirB", "jq -Rr . -- --arg " + outside + " x", "ps -axeww",
	} {
		n := v.addJob(job{batches: [][]attempt{{newAttempt("run_command", map[string]any{"command": command})}}})
		ev, asked := w.sayAnd(fmt.Sprintf("reading-%d", i), fmt.Sprintf("go (job %d)", n), false)
		if asked != 1 || len(ev.Tools) != 1 || ev.Tools[0].State == "done" || strings.Contains(ev.Tools[0].Text, canary) {
			t.Errorf("%q led to %d approval requests, want 1: %+v", command, asked, ev.Tools)
		}
	}
	w.checkUnharmed("commands that only seem to read")
}

// Code that a command would run is swapped between the request and the approval.
func TestReview5_RefusesSwappedCodeAfterTheApproval(t *testing.T) {
	w, v, _, _ := newAttack(t, "")
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(w.docs, name)
		failOnError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		failOnError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	long := strings.Repeat("# a comment of some length\n", 60_000)
	for i, c := range []struct{ command, file, before, after string }{
		{"sh < job.sh", "job.sh", "echo good\n", "echo evil\n"},
		{`bash -c "sh tp/job.sh"`, "tp/job.sh", "echo good\n", "echo evil\n"},
		{"make -C tp", "tp/Makefile", "all:\n\t@echo good\n", "all:\n\t@echo evil\n"},
		{`for f in tp/*.sh; do sh "$f"; done`, "tp/job.sh", "echo good\n", "echo evil\n"},
		{"env -C tp sh job.sh", "tp/job.sh", "echo good\n", "echo evil\n"},
		{"find tp -name '*.sh' -exec sh {} ';'", "tp/job.sh", "echo good\n", "echo evil\n"},
		{"ls tp/*.sh | xargs sh", "tp/job.sh", "echo good\n", "echo evil\n"},
		{"npm --prefix tp run job", "tp/package.json", `{"scripts":{"job":"echo good"}}`, `{"scripts":{"job":"echo evil"}}`},
		{"sh long.sh", "long.sh", long + "echo good\n", long + "echo evil\n"},
	} {
		put(c.file, c.before)
		n := v.addJob(job{batches: [][]attempt{{newAttempt("run_command", map[string]any{"command": c.command})}}})
		w.callAPI(http.MethodPost, fmt.Sprintf("/api/v1/sessions/swap-%d/messages", i), map[string]any{"text": fmt.Sprintf("go (job %d)", n), "async": true})
		w.waitUntil(c.command+" is asked about", func() bool { return len(w.listApprovals("pending")) == 1 })
		q := w.listApprovals("pending")[0]
		put(c.file, c.after)
		w.answerTo(q, true)
		if ev, _ := w.settleEvent(q.Event, false); len(ev.Tools) != 1 || ev.Tools[0].State == "done" || strings.Contains(ev.Tools[0].Text, "evil") {
			t.Errorf("%q ran other code than the approved one: %+v", c.command, ev.Tools)
		}
		failOnError(t, os.RemoveAll(filepath.Join(w.docs, filepath.Dir(c.file), filepath.Base(c.file))))
	}
}
