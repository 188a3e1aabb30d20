// Package approvaltest makes a complete Hob ask for approval on every channel, each with a real or
// simulated platform, and checks whose answers count: only the owner's, and only once. It contains
// only tests.
package approvaltest

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/autonomy/llm/llmtest"
	"hob/channels"
	"hob/platform/net/safehttp"
	"hob/tools"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil { // the tests mostly wait for the platforms
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// owner is the paired sender, and guest a sender on the allow list. Each place names other senders.
const (
	owner = "owner"
	guest = "guest"
)

// chatChannel is a channel and its simulated platform.
type chatChannel struct {
	// channel is the name of the channel; "" means the name of the test.
	channel string
	// section is the section of the channel in the configuration, and more the rest of the
	// configuration.
	section, more string
	driver        channels.Driver // nil means the driver in channels/all
	network       safehttp.Options
	// proven is set if the owner needs no pairing.
	proven bool
	// groups is set if questions are also tested in a group.
	groups bool
	// others lists the senders who try to answer, in addition to the guest if guests is set.
	others []string
	guests bool

	// say sends a message from a person; in a group, the message mentions Hob. It returns false if
	// the platform rejects the sender immediately.
	say func(who string, group bool, text string) bool
	// press simulates a button press by a person. It is nil if there are no buttons.
	press func(who string, group bool, question string, yes bool)
	// saw reports whether the owner received a text with this part.
	saw func(part string) bool
	// sayAlone sends a message from the owner that is not a reply. It is set if messages sent with
	// say are replies.
	sayAlone func(text string)
	// ask sends a request from the owner. If it is nil, say is used.
	ask func(text string)
	// trial is set if the test message of hob channel test NAME --send must arrive.
	trial bool
	// powerless is set if the owner's messages are received there but cannot answer approval
	// requests.
	powerless bool
	// mute is set if a second answer causes no message that the test could wait for.
	mute bool
	// between is set if Hob also answers messages from other people in the group, so that a bare
	// yes or no from the owner no longer refers to the request.
	between bool
	// reply computes the model's reply; nil means the function reply. tools are additional tools.
	reply func(llmtest.Request) (llmtest.Answer, bool)
	tools []tools.Tool
	// mail delivers a mail from the owner and adds From, To, Date and Message-ID. It is nil if
	// there is no mailbox.
	mail func(raw string)

	h *daemonFixture
}

// listChannels lists all channels. A place whose platform is not available is skipped.
func listChannels() []struct {
	name string
	open func(t *testing.T) *chatChannel
} {
	return []struct {
		name string
		open func(t *testing.T) *chatChannel
	}{
		{"web", openPage},
		{"terminal", openTerminal},
		{"webhook", openWebhook},
		{"alexa", openAlexa},
		{"email", openMail},
		{"email by signature", openSignedMail},
		{"imessage", openMac},
		{"telegram", openTelegram},
		{"discord", openDiscord},
		{"slack", openSlack},
		{"reminders", openReminders},
		{"notes", openNotes},
		{"notes of several", openSharedNotes},
		{"desktop", openDesktop},
	}
}

// TestAnswers_OnlyTheOwnersCount checks on every channel, in private chats and groups, that answers and
// button presses of unknown senders and allowed guests change nothing. The owner's "no" denies, the
// owner's "yes" runs the action once, and later answers of the owner change nothing.
func TestAnswers_OnlyTheOwnersCount(t *testing.T) {
	for _, c := range listChannels() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := c.open(t)
			p.h = openFixture(t, cmp.Or(p.channel, c.name), p)
			p.pairOwner(t)
			if p.trial {
				p.checkDelivery(t)
			}
			for _, group := range []bool{false, true} {
				for _, yes := range []bool{false, true} {
					if !group || p.groups {
						p.testRequest(t, group, yes)
					}
				}
			}
		})
	}
}

// pairOwner pairs the owner with the code that only the owner was shown.
func (p *chatChannel) pairOwner(t *testing.T) {
	t.Helper()
	h := p.h
	waitUntil(t, "the channel runs", func() bool { return h.channelStatus().State == "running" })
	if p.proven {
		return
	}
	var c struct{ Code string }
	h.postJSON("/api/v1/channels/"+h.channel+"/pair", struct{}{}, &c)
	said := time.Time{}
	waitUntil(t, "the owner is paired", func() bool {
		if time.Since(said) > time.Second { // repeat the code, because messages sent before the channel listens are lost
			p.say(owner, false, c.Code)
			said = time.Now()
		}
		return len(h.channelStatus().Pairings) == 1
	})
}

// checkDelivery sends the owner a test message, as hob channel test NAME --send does, and waits for it.
func (p *chatChannel) checkDelivery(t *testing.T) {
	t.Helper()
	var out struct {
		OK          bool
		Said, Cause string
	}
	p.h.postJSON("/api/v1/channels/"+p.h.channel+"/test", map[string]bool{"send": true}, &out)
	if !out.OK || !strings.Contains(out.Said, "test message sent") {
		t.Errorf("the test: %+v", out)
	}
	waitUntil(t, "the test has arrived", func() bool { return p.saw("This is a test: Hob can reach you on " + p.h.channel) })
}

// testRequest tests one approval request and its answer.
func (p *chatChannel) testRequest(t *testing.T, group, yes bool) {
	t.Helper()
	h := p.h
	mark := fmt.Sprintf("task-%v-%v", map[bool]string{true: "group", false: "alone"}[group], map[bool]string{true: "yes", false: "no"}[yes])
	order := "Please carry out " + mark
	if p.ask != nil {
		p.ask(order)
	} else {
		p.say(owner, group, order)
	}
	var q question
	waitUntil(t, mark+": Hob asks", func() bool {
		list := h.listQuestions()
		i := slices.IndexFunc(list, func(x question) bool { return strings.Contains(string(x.Arguments), mark) })
		if i >= 0 {
			q = list[i]
		}
		return i >= 0
	})
	waitUntil(t, mark+": the question arrives", func() bool { return p.saw(q.ID) && h.wasSent(q.ID) })
	p.showsParts(t, mark, q.ID)

	p.tryAnswers(t, group, q.ID, !yes)
	if now := h.findQuestion(q.ID); now.State != "pending" || h.countActions(mark) != 0 {
		t.Fatalf("%s: another sender's answer changed the request to %s by %q; the action ran %d times", mark, now.State, now.DecidedBy, h.countActions(mark))
	}

	if p.powerless {
		p.say(owner, group, "/yes "+q.ID)
		waitUntil(t, mark+": the owner is told where to answer", func() bool { return p.saw("does not count") })
		if now := h.findQuestion(q.ID); now.State != "pending" || h.countActions(mark) != 0 {
			t.Errorf("%s is %s; the action ran %d times", mark, now.State, h.countActions(mark))
		}
		h.postJSON("/api/v1/sessions/home/approvals/"+q.ID, map[string]bool{"approved": false}, &struct{}{})
		return
	}
	state, word, times := "denied", "Left: ", 0
	if yes {
		state, word, times = "approved", "Done: ", 1
	}
	answer := map[bool]string{true: "yes", false: "no"}[yes]
	switch {
	case p.press != nil:
		p.press(owner, group, q.ID, yes)
	case p.between && group:
		waitUntil(t, mark+": the replies to the others arrive", h.hasSentAll)
		p.say(owner, group, answer)
		waitUntil(t, mark+": the owner is told to name the question", func() bool { return p.saw("/yes " + q.ID + " or /no " + q.ID + ":") })
		if now := h.findQuestion(q.ID); now.State != "pending" || h.countActions(mark) != 0 {
			t.Fatalf("%s: a bare %s changed the request to %s", mark, answer, now.State)
		}
		p.say(owner, group, "/"+answer+" "+q.ID)
	case group && p.guests: // Hob's reply to a guest may reach the group before or after the owner's answer
		p.say(owner, group, answer)
		waitUntil(t, mark+": the owner's word is taken, or he is told to name the question", func() bool {
			return h.findQuestion(q.ID).State == state || p.saw("/yes "+q.ID+" or /no "+q.ID+":")
		})
		if h.findQuestion(q.ID).State != state {
			p.say(owner, group, "/"+answer+" "+q.ID)
		}
	default:
		p.say(owner, group, answer)
	}
	waitUntil(t, mark+": the owner's answer is taken", func() bool { return h.findQuestion(q.ID).State == state })
	waitUntil(t, mark+": Hob says what came of it", func() bool { return p.saw(word + mark) })

	// Later answers have no effect.
	if p.press != nil {
		p.press(owner, group, q.ID, true)
	}
	p.say(owner, group, "/yes "+q.ID)
	if !p.mute {
		waitUntil(t, mark+": he is told that it is too late", func() bool { return p.saw(q.ID + " is already " + state) })
	}
	if now := h.findQuestion(q.ID); now.State != state || h.countActions(mark) != times {
		t.Errorf("%s is %s; the action ran %d times", mark, now.State, h.countActions(mark))
	}
}

// showsParts checks that the channel shows the sentence, the consequence and the details of a request,
// in this order, and no JSON before the details.
func (p *chatChannel) showsParts(t *testing.T, mark, id string) {
	t.Helper()
	parts := []string{"carry out " + mark, "It sends something that cannot be recalled. It deletes data that cannot be restored.", "Details", "exactly: "}
	for _, part := range parts {
		waitUntil(t, mark+": the channel shows "+part, func() bool { return p.saw(part) })
	}
	text := p.h.deliveryText(id)
	for _, part := range parts {
		before, after, ok := strings.Cut(text, part)
		if !ok || strings.Contains(before, "{") {
			t.Errorf("the request does not show %q in order, or shows JSON before it:\n%s", part, p.h.deliveryText(id))
		}
		text = after
	}
}

// tryAnswers makes all other people answer and waits until Hob has processed their answers.
func (p *chatChannel) tryAnswers(t *testing.T, group bool, id string, yes bool) {
	t.Helper()
	h := p.h
	refused := h.channelStatus().Refused
	word := map[bool]string{true: "yes", false: "no"}[yes]
	texts := []string{word, "/" + word + " " + id}
	chats := []bool{false}
	if p.groups {
		chats = []bool{false, true}
	}
	for _, who := range p.others {
		for _, in := range chats {
			for _, text := range texts {
				if p.say(who, in, text) {
					refused++
				}
			}
		}
		if p.press != nil {
			p.press(who, group, id, yes)
		}
	}
	if p.guests {
		last := func(in bool) string { return fmt.Sprintf("Good night, says the guest of %s %v", id, in) }
		for _, in := range chats {
			for _, text := range texts {
				p.say(guest, in, text)
			}
			if p.press != nil {
				p.press(guest, in, id, yes)
			}
			p.say(guest, in, last(in))
		}
		for _, in := range chats {
			waitUntil(t, "the guest is heard", func() bool { return h.modelReceived(last(in)) })
		}
	}
	waitUntil(t, "the strangers are not heard", func() bool { return h.channelStatus().Refused >= refused })
}

// question is an approval request in the API.
type question struct {
	ID        string
	State     string
	Arguments json.RawMessage
	DecidedBy string `json:"decided_by"`
}

func (h *daemonFixture) listQuestions() (list []question) {
	h.t.Helper()
	h.getJSON("/api/v1/approvals", &list)
	return list
}

func (h *daemonFixture) findQuestion(id string) question {
	h.t.Helper()
	list := h.listQuestions()
	i := slices.IndexFunc(list, func(q question) bool { return q.ID == id })
	if i < 0 {
		h.t.Fatalf("request %s is missing in %+v", id, list)
	}
	return list[i]
}

// wasSent reports whether a delivery with this text has the state sent.
func (h *daemonFixture) wasSent(part string) bool { return h.deliveryText(part) != "" }

// deliveryText returns the first text with this part that was sent, or "".
func (h *daemonFixture) deliveryText(part string) string {
	h.t.Helper()
	var list []struct{ Text, State string }
	h.getJSON("/api/v1/deliveries", &list)
	slices.Reverse(list) // newest first
	for _, d := range list {
		if d.State == "sent" && strings.Contains(d.Text, part) {
			return d.Text
		}
	}
	return ""
}

// hasSentAll reports whether no delivery is waiting to be sent.
func (h *daemonFixture) hasSentAll() bool {
	h.t.Helper()
	var list []struct{ State string }
	h.getJSON("/api/v1/deliveries", &list)
	for _, d := range list {
		if d.State == "queued" || d.State == "sending" {
			return false
		}
	}
	return true
}

// channelRow is the channel in the API.
type channelRow struct {
	Name, State, Error string
	Refused            int
	Pairings           []struct{ ID, Sender string }
}

func (h *daemonFixture) channelStatus() channelRow {
	h.t.Helper()
	var list []channelRow
	h.getJSON("/api/v1/channels", &list)
	for _, r := range list {
		if r.Name != h.channel {
			continue
		}
		if r.State == "failed" || r.State == "stopped" {
			h.t.Fatalf("the channel has %s: %s", r.State, r.Error)
		}
		return r
	}
	h.t.Fatalf("channel %s does not exist", h.channel)
	return channelRow{}
}

// patience is the time limit for each wait.
const patience = 60 * time.Second

// waitUntil waits for a condition, with a time limit that suits a busy machine.
func waitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out: %s", what)
		}
	}
}

// refusedBy reports whether a status means that a sender is rejected. It fails the test on any
// other error status.
func refusedBy(t *testing.T, status int) bool {
	t.Helper()
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusTooManyRequests:
		return true
	case status >= 300 && status != http.StatusConflict:
		t.Errorf("the status is %d", status)
	}
	return false
}
