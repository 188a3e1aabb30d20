package social

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/platform/pim"
	"hob/tools"
)

// memory is a StateStore.
type memory struct {
	mu sync.Mutex
	m  map[string][]byte
}

func (m *memory) Get(_ context.Context, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.m[key], nil
}

func (m *memory) Set(_ context.Context, key string, v []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.m[key] = v
	return nil
}

// autoBox is a mailbox that can mark replies as automatic.
type autoBox struct {
	box
	sent *[]pim.OutgoingMail
}

func (autoBox) MarksAuto() {}

func (b autoBox) SendMail(_ context.Context, l pim.OutgoingMail) (pim.Receipt, error) {
	*b.sent = append(*b.sent, l)
	return pim.Receipt{Outcome: pim.Sent, ID: l.ID}, nil
}

// newArrival returns a mail that arrives now.
func newArrival(id, from string, change func(*pim.Message)) pim.Message {
	m := newMail(id, from, "Question "+id, "Are you there?", 0)
	m.ID, m.Received = id, time.Now().Add(time.Minute)
	if change != nil {
		change(&m)
	}
	return m
}

type replyBench struct {
	t       *testing.T
	d       Deps
	state   *memory
	in      []pim.Message
	sent    []pim.OutgoingMail
	notices []string
	denied  string
}

func newReplyBench(t *testing.T) *replyBench {
	b := &replyBench{t: t, d: newDeps(t), state: &memory{m: map[string][]byte{}}}
	b.d.Replies = b.newReplier()
	return b
}

func (b *replyBench) newReplier() *Replier {
	return NewReplier(ReplierOptions{
		State: b.state, Mailers: func() []pim.Mailer { return []pim.Mailer{autoBox{box{in: b.in}, &b.sent}} }, Zone: func() *time.Location { return time.UTC }, Log: slog.New(slog.DiscardHandler),
		People: func(_ context.Context, words string) ([]pim.Contact, error) {
			if words == "ada@example.org" {
				return []pim.Contact{{Name: "Ada", Addresses: []string{"ada@example.org"}}}, nil
			}
			return nil, nil
		},
		Allowed: func(_ context.Context, to, _, _ string) error {
			if to == b.denied {
				return errors.New("a rule forbids it")
			}
			return nil
		},
		Paused: func(context.Context) (bool, error) { return false, nil },
		Notify: func(_ context.Context, _, text string) error { b.notices = append(b.notices, text); return nil },
	})
}

func (b *replyBench) setReply(args string) tools.Result {
	b.t.Helper()
	for _, x := range Tools(b.d) {
		if x.Spec().Name == "set_auto_reply" {
			r, err := x.Call(b.t.Context(), tools.Call{ID: fmt.Sprintf("c%d", len(args)), Args: json.RawMessage(args), Now: time.Now()})
			if err != nil {
				b.t.Fatalf("%s: %v", args, err)
			}
			return r
		}
	}
	b.t.Fatal("no tool set_auto_reply")
	return tools.Result{}
}

func (b *replyBench) answerNew() (on bool) {
	b.t.Helper()
	on, err := b.d.Replies.answerNew(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return on
}

func (b *replyBench) listAnswered() (out []string) {
	for _, l := range b.sent {
		out = append(out, l.To[0].Address)
	}
	return out
}

func TestReplier_AnswersPeopleOnceAndNoMachines(t *testing.T) {
	b := newReplyBench(t)
	b.denied = "enemy@example.org"
	b.in = []pim.Message{
		newArrival("m1", "ada@example.org", nil), newArrival("m2", "ada@example.org", nil), newArrival("m3", "enemy@example.org", nil),
		newArrival("m4", "list@example.org", func(m *pim.Message) { m.List = "x" }),
		newArrival("m5", "bot@example.org", func(m *pim.Message) { m.Auto = "auto-replied" }),
		newArrival("m6", "no-reply@example.org", nil), newArrival("m7", "me@example.org", nil),
		newArrival("m8", "eve@example.org", func(m *pim.Message) { m.To = []pim.Person{{Address: "team@example.org"}} }),
		newArrival("m9", "machine@example.org", func(m *pim.Message) { m.Refers = []string{"auto.1234@example.org"} }),
		newArrival("m10", "old@example.org", func(m *pim.Message) { m.Received = time.Now().Add(-time.Hour) }),
	}
	b.setReply(`{"enabled":true,"message":"I am away until Monday.","duration_minutes":60,"contacts_only":false}`)
	if !b.answerNew() {
		t.Fatal("the rule is not on")
	}
	b.d.Replies = b.newReplier() // after a restart
	b.answerNew()
	if got := b.listAnswered(); !slices.Equal(got, []string{"ada@example.org"}) {
		t.Fatalf("answered %q, want ada once", got)
	}
	if l := b.sent[0]; l.Auto != "auto-replied" || l.Text != "I am away until Monday." || l.Answers == "" || !strings.HasPrefix(l.Subject, "Re: Question") {
		t.Errorf("reply = %+v", l)
	}
	report := b.setReply(`{}`).Text
	for _, want := range []string{"The automatic replies are on", "Answered: 1\n- ada@example.org", "Not answered: 4 (sent by a program)", "Not answered: 1 (sent to a list", "Not answered: 1 (not addressed to you)", "Not answered: 1 (already answered)", "Not answered: 1 (forbidden by the policy)"} {
		if !strings.Contains(report, want) {
			t.Errorf("%q is missing in\n%s", want, report)
		}
	}
}

func TestReplier_KeepsToContactsLimitAndEnd(t *testing.T) {
	b := newReplyBench(t)
	b.in = []pim.Message{newArrival("m1", "stranger@example.org", nil), newArrival("m2", "ada@example.org", nil)}
	b.setReply(`{"enabled":true,"message":"Away.","limit":1}`)
	if b.answerNew() || !slices.Equal(b.listAnswered(), []string{"ada@example.org"}) {
		t.Errorf("answered %q; the rule must be off", b.listAnswered())
	}
	if len(b.notices) != 1 || !strings.Contains(b.notices[0], "the limit of 1 replies is reached") {
		t.Errorf("notices = %q", b.notices)
	}
	b.in = append(b.in, newArrival("m3", "ada@example.org", nil))
	if b.answerNew(); len(b.sent) != 1 || len(b.notices) != 1 {
		t.Errorf("after the end: %q, %q", b.listAnswered(), b.notices)
	}
}

func TestSetAutoReply_CanBeUndoneAndTurnedOff(t *testing.T) {
	b := newReplyBench(t)
	r := b.setReply(`{"enabled":true,"message":"Away."}`)
	text, err := b.d.setAutoReply().(tools.Undoer).Undo(t.Context(), r.Undo.Data)
	if err != nil || text != "The automatic replies are off again." {
		t.Fatalf("undo: %q, %v", text, err)
	}
	b.setReply(`{"enabled":true,"message":"Away again."}`)
	if r = b.setReply(`{"enabled":false}`); !strings.Contains(r.Text, "Turned off") || b.answerNew() {
		t.Errorf("turned off: %s", r.Text)
	}
	if _, err = b.d.setAutoReply().(tools.Undoer).Undo(t.Context(), r.Undo.Data); err != nil || !b.answerNew() {
		t.Errorf("undo of turning off: %v", err)
	}
	for _, bad := range []string{`{"enabled":true}`, `{"enabled":true,"message":"x","hours":"late"}`, `{"enabled":true,"message":"x","people":["Ada"]}`, `{"enabled":true,"message":"x","duration_minutes":100000}`, `{"enabled":true,"message":"x","limit":1000}`} {
		if _, err := b.d.setAutoReply().Call(t.Context(), tools.Call{Args: json.RawMessage(bad), Now: time.Now()}); tools.CodeOf(err) != tools.InvalidArguments {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// The user is never asked to approve a rule that cannot be set.
func TestAutoReply_RefusesBeforeApproval(t *testing.T) {
	b := newReplyBench(t)
	judge := func(args string) error {
		for _, x := range Tools(b.d) {
			if x.Spec().Name == "set_auto_reply" {
				return tools.JudgmentOf(t.Context(), x, json.RawMessage(args)).Refused
			}
		}
		return nil
	}
	for _, args := range []string{`{"enabled":true}`, `{"enabled":true,"message":"x","hours":"25-8"}`, `{"enabled":true,"message":"x","duration_minutes":999999}`, `{"enabled":true,"message":"x","people":["Bob"]}`} {
		if err := judge(args); tools.CodeOf(err) != tools.InvalidArguments {
			t.Errorf("%s: refused with %v, want invalid arguments", args, err)
		}
	}
	for _, args := range []string{`{}`, `{"enabled":false}`, `{"enabled":true,"message":"x","until":"tomorrow at 8:00"}`} {
		if err := judge(args); err != nil {
			t.Errorf("%s: refused with %v", args, err)
		}
	}
}
