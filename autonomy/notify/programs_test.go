//go:build unix

package notify

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/autonomy/hooks"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
)

// checkWaiting runs the notifier until no notice waits for a hook.
func (h *notifierFixture) checkWaiting() {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	done := make(chan error)
	go func() { done <- h.n.Run(ctx) }()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		rows, err := h.n.List(ctx, string(Checking), "", 10)
		if failOn(h.t, err); len(rows) == 0 {
			break
		}
	}
	cancel()
	failOn(h.t, <-done)
}

func newHookedFixture(t *testing.T) (h *notifierFixture, reports *[]string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "check")
	failOn(t, os.WriteFile(path, []byte(`#!/bin/sh
case "$(cat)" in
*secret*) echo "no secrets" >&2; exit 1 ;;
*scan*) echo '{"add": "scanned"}' ;;
esac
`), 0o700))
	programs := hooks.Open(hooks.Options{
		Pins:  filepath.Join(t.TempDir(), "hooks.pins"),
		Hooks: []config.Hook{{On: config.NoticeBefore, Command: []string{path}, Timeout: config.Duration{Duration: 10 * time.Second}}},
	})
	reports = new([]string)
	return newFixture(t, Options{Programs: programs, Refused: func(_ *store.Tx, r Notice, why string) error {
		*reports = append(*reports, r.ID+" "+why)
		return nil
	}}), reports
}

func TestPrograms_KeepARefusedNoticeUntilItIsReleased(t *testing.T) {
	h, reports := newHookedFixture(t)
	h.endWithNotice(watcherEvent("a"), "a plain notice")
	h.endWithNotice(watcherEvent("b"), "a secret notice")
	h.endWithText(watcherEvent("c"), bus.OutboxItem{Provenance: provenance.Hob, Delivery: channels.Delivery{Kind: channels.Notice, Session: "main", Channel: "web", Text: "scan this"}})
	h.endWithText(watcherEvent("d"), bus.OutboxItem{Provenance: provenance.Hob, Delivery: channels.Delivery{Kind: channels.Question, Session: "main", Channel: "web", Text: "a secret question?"}})
	h.endWithNotice(event{kind: bus.System, source: "hob"}, "a secret warning of Hob itself")
	if got := h.sentTexts(); len(got) != 2 || !strings.Contains(got[0]+got[1], "question") || !strings.Contains(got[0]+got[1], "warning") {
		t.Errorf("sent before the hook ran: %q", got)
	}
	h.restartNotifier() // a kill loses no notice
	h.checkWaiting()
	got := strings.Join(h.sentTexts(), "|")
	if !strings.Contains(got, "a plain notice") || !strings.Contains(got, "scan this\n\n[added by the hook check]\nscanned") || strings.Contains(got, "a secret notice") {
		t.Errorf("sent: %q", got)
	}
	rows, err := h.n.List(t.Context(), string(Refused), "", 10)
	failOn(t, err)
	if len(rows) != 1 || rows[0].Text != "a secret notice" || len(*reports) != 1 || !strings.Contains((*reports)[0], "no secrets") {
		t.Fatalf("refused notices: %+v, reports %q", rows, *reports)
	}
	if line := rows[0].Line(func(time.Time) string { return "" }); !strings.Contains(line, "no secrets") || !strings.Contains(line, "hob notify release "+rows[0].ID) {
		t.Error(line)
	}
	if _, err := h.n.Release(t.Context(), ""); err != nil { // all deferred notices, not those that a hook refused
		t.Error(err)
	}
	h.runDue()
	if got := strings.Join(h.sentTexts(), "|"); strings.Contains(got, "a secret notice") {
		t.Errorf("the release of all notices sent a refused one: %q", got)
	}
	_, err = h.n.Release(t.Context(), rows[0].ID)
	failOn(t, err)
	h.runDue()
	rows, err = h.n.List(t.Context(), string(Refused), "", 10)
	if failOn(t, err); len(rows) != 0 {
		t.Errorf("refused notices after the release: %+v", rows)
	}
	if got := strings.Join(h.sentTexts(), "|"); !strings.Contains(got, "a secret notice") {
		t.Errorf("sent after the release: %q", got)
	}
}

func TestPrograms_SendOneOfTwoEqualNotices(t *testing.T) {
	h, _ := newHookedFixture(t)
	for _, w := range []string{"w1", "w2"} { // two watchers report the same fact
		ev := watcherEvent("a")
		ev.source, ev.payload["watcher"], ev.payload["data"] = "watcher:"+w, w, map[string]string{"id": "mail-1"}
		h.endWithNotice(ev, "a plain notice")
	}
	h.checkWaiting()
	if got := h.sentTexts(); len(got) != 1 {
		t.Errorf("sent: %q, want one notice", got)
	}
}

// Notices that wait when the user removes the hooks are delivered.
func TestPrograms_DeliverWaitingNoticesWithoutHooks(t *testing.T) {
	h, _ := newHookedFixture(t)
	h.endWithNotice(watcherEvent("a"), "a plain notice")
	h.opt.Programs = nil
	h.restartNotifier()
	h.checkWaiting()
	if got := h.sentTexts(); len(got) != 1 || got[0] != "a plain notice" {
		t.Errorf("sent: %q", got)
	}
}
