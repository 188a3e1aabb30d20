//go:build unix

package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/autonomy/llm/llmtest"
	"hob/platform/pim/pimtest"
)

// delayPoints lists the failpoints around the moment of sending, each with the maximum number of
// hits.
var delayPoints = []struct {
	name string
	upTo int
}{
	{"delayed.send.before", 4},
	{"delayed.commit.before", 4},
	{"delayed.commit.after", 3},
	{"delayed.accept.before", 3},
	{"delayed.accept.after", 3},
	{"delayed.send.after", 4},
	{"channel.send.before", 8},
	{"channel.send.after", 8},
	{"store.commit.before", 40},
	{"store.commit.after", 40},
}

// delayedSend is a mail or a message that the model was told to send.
type delayedSend struct {
	word      string // mail or hook
	n         int
	event     string
	cancelled bool // the user was told that it was not sent
	maybe     bool // the user was told that an earlier attempt may have arrived
}

// delayFixture sends mails over SMTP and messages over the webhook channel, and cancels a third of
// them.
type delayFixture struct {
	*daemonFixture
	smtp *pimtest.SMTP

	mu    sync.Mutex
	sends []delayedSend
}

// TestDelayOverKills kills the daemon around the time at which delayed sends are due. No send is
// lost or repeated, and no canceled send is sent. A mail with an unknown outcome is reported and
// not repeated. HOB_CRASH_DELAY_KILLS sets the number of kills (default 6).
func TestDelayOverKills(t *testing.T) {
	t.Parallel()
	kills := envNumber("HOB_CRASH_DELAY_KILLS", 6)
	w := &delayFixture{daemonFixture: newFixture(t, uint64(envNumber("HOB_CRASH_SEED", 1))), smtp: pimtest.StartSMTP(t)}
	w.replies = sendingModel
	account := fmt.Sprintf("smtp = %q\nca = %q\n", w.smtp.URL, w.smtp.CA)
	if _, err := exec.LookPath("dovecot"); err == nil { // Hob finds mails in the sent folder
		d := pimtest.StartDovecot(t, "")
		account = fmt.Sprintf("imap = %q\nsmtp = %q\nca = %q\n", d.IMAPS, w.smtp.URL, pimtest.Both(t, d.CA, w.smtp.CA))
	}
	w.addConfig(fmt.Sprintf(`[autonomy]
level = "trusted"
recipients = ["ada@example.org", "webhook:"]
send_delay = "600ms"
[accounts.work]
%saddress = "tester@test.local"
user = "tester"
password = %q
`, account, pimtest.Secret))
	w.daemonUp()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Minute)
	defer cancel()
	feeding, stop := context.WithCancel(ctx)
	var feeders sync.WaitGroup
	for i, word := range []string{"mail", "hook", "mail", "hook", "mail"} {
		feeders.Go(func() { w.feedSends(feeding, ctx, word, i) })
	}
	began := time.Now()
	for n := range kills {
		w.killAroundSending(n)
	}
	took := time.Since(began)
	w.daemonUp()
	stop()
	feeders.Wait()
	w.verifySends(ctx, kills, took)
	w.Stop()
}

var sendWord = regexp.MustCompile(`(mail|hook) (\d+)`)

// sendingModel returns the answer of a model that sends what the user requests.
func sendingModel(r llmtest.Request) (llmtest.Answer, bool) {
	all := sendWord.FindAllStringSubmatch(r.LastUser, -1)
	if all == nil {
		return llmtest.Answer{Text: "what?"}, true
	}
	m := all[len(all)-1]
	text := fmt.Sprintf("%s %s.", m[1], m[2])
	if len(r.Results) > 0 {
		return llmtest.Answer{Text: fmt.Sprintf("answer to %s %s", text, r.Results[0].Text)}, true
	}
	name, args := "send_message", map[string]any{"channel": "webhook", "text": text}
	if m[1] == "mail" {
		name, args = "send_email", map[string]any{"to": []string{"ada@example.org"}, "subject": text, "text": "Hello."}
	}
	b, _ := json.Marshal(map[string]any{"name": name, "arguments": args})
	return llmtest.Answer{Calls: []llmtest.Call{{Name: "use_tool", Args: string(b)}}}, true
}

// killAroundSending starts the daemon and kills it: in three of four cases at a failpoint,
// otherwise at a random instant.
func (w *delayFixture) killAroundSending(n int) {
	w.Kill()
	point := ""
	if n%4 != 3 {
		p := delayPoints[(n-n/4)%len(delayPoints)]
		point = fmt.Sprintf("%s:%d", p.name, 1+w.rnd.IntN(p.upTo))
	}
	w.startDaemon(point)
	life := time.Duration(300+w.rnd.IntN(1400)) * time.Millisecond
	if point != "" {
		life = 4 * time.Second
	}
	select {
	case <-w.Exited():
		name, _, _ := strings.Cut(point, ":")
		if name == "" {
			w.t.Error("the daemon ended by itself")
		}
		w.points[name]++
	case <-time.After(life):
		w.Kill()
		w.random++
	}
}

var undoCall = regexp.MustCompile(`hob undo (\S+)`)

// feedSends requests one send after the other and cancels about a third of them.
func (w *delayFixture) feedSends(feeding, ctx context.Context, word string, feeder int) {
	rnd := rand.New(rand.NewPCG(5, uint64(feeder)))
	for n := feeder; feeding.Err() == nil; n += 10 {
		s := delayedSend{word: word, n: n}
		s.event = w.sendTo(ctx, fmt.Sprintf("webhook:%s%d", word, n%70), fmt.Sprintf("%s %d", word, n))
		answer := w.answerOf(ctx, s.event)
		m := undoCall.FindStringSubmatch(answer)
		if m == nil {
			w.t.Errorf("%s %d was not sent: %q", word, n, answer)
			return
		}
		if rnd.IntN(3) == 0 {
			pauseFor(ctx, time.Duration(rnd.IntN(650))*time.Millisecond)
			s.cancelled, s.maybe = w.cancelSend(ctx, m[1])
		}
		w.mu.Lock()
		w.sends = append(w.sends, s)
		w.mu.Unlock()
	}
}

// answerOf waits for the answer to an event.
func (w *delayFixture) answerOf(ctx context.Context, event string) string {
	for ctx.Err() == nil {
		var s struct{ State, Answer string }
		if w.Call(ctx, http.MethodGet, "/api/v1/inbox/"+event, nil, &s) == nil && s.State == "done" {
			return s.Answer
		}
		pauseFor(ctx, 15*time.Millisecond)
	}
	return ""
}

// cancelSend undoes a call, across crashes, and reports whether it was canceled.
func (w *delayFixture) cancelSend(ctx context.Context, call string) (cancelled, maybe bool) {
	for ctx.Err() == nil {
		var r struct{ Text, Error string }
		err := w.Call(ctx, http.MethodPost, "/api/v1/tools/undo", map[string]any{"session": "home", "arguments": map[string]string{"id": call}}, &r)
		said := r.Text + r.Error
		if isRefused(err) {
			said += err.Error()
		}
		switch {
		case strings.Contains(said, "may have arrived"):
			return false, true
		case strings.Contains(said, "Canceled"), strings.Contains(said, "already undone"), strings.Contains(said, "has just undone"):
			return true, false
		case strings.Contains(said, "too late"), strings.Contains(said, "cannot cancel"), strings.Contains(said, "cannot be undone"):
			return false, false
		case err == nil:
			w.t.Logf("undo of %s: %+v", call, r)
		}
		pauseFor(ctx, 20*time.Millisecond)
	}
	return false, false
}

// mailOutcome returns the ledger's record of the mail of an event.
func (w *delayFixture) mailOutcome(ctx context.Context, event string) (state, text string) {
	var s struct {
		Tools []struct{ Text, State string }
	}
	if err := w.Call(ctx, http.MethodGet, "/api/v1/inbox/"+event, nil, &s); err != nil || len(s.Tools) != 1 {
		return "", fmt.Sprint(err)
	}
	return s.Tools[0].State, s.Tools[0].Text
}

// verifySends waits until every send has ended, and counts.
func (w *delayFixture) verifySends(ctx context.Context, kills int, took time.Duration) {
	t := w.t
	w.waitUntil(ctx, "every mail to end", func() bool {
		for _, s := range w.sends {
			if state, text := w.mailOutcome(ctx, s.event); s.word == "mail" && !s.cancelled && (state == "" || state == "done" && strings.Contains(text, " will be sent at ")) {
				return false
			}
		}
		return true
	})
	time.Sleep(2 * time.Second) // time for sends that must not happen
	hooks, mails, notices := map[string]int{}, map[string]int{}, 0
	for _, d := range w.receiver.All() {
		switch d.Kind {
		case "send":
			hooks[d.Text]++
		case "notice":
			if !strings.HasPrefix(d.Text, "Outcome unknown: the email ") {
				t.Errorf("unexpected notice: %q", d.Text)
			}
			notices++
		}
	}
	for _, m := range w.smtp.Mails() {
		if x := sendWord.FindString(m.Mail); x != "" {
			mails[x+"."]++
		}
	}
	var rows []struct {
		Event         string
		MaybeRepeated bool `json:"maybe_repeated"`
	}
	failOnError(t, w.Call(ctx, http.MethodGet, "/api/v1/deliveries?limit=100000&state=cancelled", nil, &rows))
	warned := map[string]bool{} // sends that were reported to the user, possibly in an answer that a kill interrupted
	for _, r := range rows {
		warned[r.Event] = r.MaybeRepeated
	}
	sent, cancelled, unknown, unknownSent, lost, doubled, afterCancel := 0, 0, 0, 0, 0, 0, 0
	for _, s := range w.sends {
		if warned[s.event] {
			s.maybe, s.cancelled = true, false
		}
		text := fmt.Sprintf("%s %d.", s.word, s.n)
		state, count := "done", hooks[text]
		if s.word == "mail" {
			count = mails[text]
			state, _ = w.mailOutcome(ctx, s.event)
		}
		switch {
		case count > 1:
			doubled++
			t.Errorf("%d times: %s", count, text)
		case s.cancelled:
			cancelled++
			if count > 0 {
				afterCancel++
				t.Errorf("sent after it was canceled: %s", text)
			}
		case s.maybe: // not counted as canceled
		case state == "unknown":
			unknown++
			unknownSent += count
		case count == 0:
			lost++
			t.Errorf("lost: %s, in the ledger as %s", text, state)
		default:
			sent++
		}
	}
	if notices != unknown {
		t.Errorf("%d notices about unknown outcomes, want %d", notices, unknown)
	}
	t.Logf("%d kills in %s: at failpoints %v, %d at random instants", kills, took.Round(time.Second), w.points, w.random)
	t.Logf("%d sends: %d sent once, %d canceled, %d with an unknown outcome, which was reported (%d of them had arrived)", len(w.sends), sent, cancelled, unknown, unknownSent)
	t.Logf("%d lost, %d doubled, %d sent after a cancel; the webhook dropped %d copies by their key", lost, doubled, afterCancel, w.receiver.Copied)
}
