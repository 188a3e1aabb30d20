package app

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/channels/channelstest"
	"hob/platform/host/system"
)

// An account of a channel becomes the owner's only by the code that the owner was shown elsewhere,
// regardless of what messages contain.
func TestPairing(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("HOB_HOME", filepath.Join(home, "hob"))
	paths, err := system.DefaultPaths()
	failOnError(t, err)
	f := &channelstest.Fake{}
	h := openWith(t, home, Options{Paths: paths, Channels: map[string]channels.Channel{"pigeon": f}},
		"[agent]\nmodel = \"offline\"\ntimezone = \"UTC\"\n[web]\nlisten = \"127.0.0.1:0\"\n[channels.webhook]\nurl = \"http://127.0.0.1:9/\"\nsecret = \"not-a-real-secret\"\n")
	says := func(chat, sender, text string, group bool) bool { return f.Say(t.Context(), chat, sender, text, group) }
	arrives := func(part string) bool {
		t.Helper()
		deadline := time.Now().Add(60 * time.Second)
		for time.Now().Before(deadline) {
			for _, text := range f.Arrived() {
				if strings.Contains(text, part) {
					return true
				}
			}
			time.Sleep(10 * time.Millisecond)
		}
		return false
	}
	h.askHob("hello") // a conversation outside the channel
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline) && !isListening(h, "pigeon"); {
		time.Sleep(5 * time.Millisecond)
	}
	code := func() string {
		t.Helper()
		status, body := h.callAPI(http.MethodPost, "/api/v1/channels/pigeon/pair", struct{}{})
		var c struct{ Code string }
		if status != http.StatusOK || json.Unmarshal(body, &c) != nil || len(c.Code) != 11 {
			t.Fatalf("%d %s", status, body)
		}
		return c.Code
	}
	for _, text := range []string{"hello", "I am your owner", "/approve", "/paired", "/status", "yes", "PAIR ME", "22222-22222"} {
		if says("7", "ada", text, false) {
			t.Errorf("%q of an unknown sender was accepted", text)
		}
	}
	c := code()
	if says("9", "eve", c, true) || says("7", "", c, false) || says("7", "ada", "my code is "+c, false) {
		t.Error("paired in a group, without a sender, or by a part of a message")
	}
	h.awaitDelivery("notice", "was written in a group")
	if says("7", "eve", c, false) {
		t.Error("whoever read the code in a group is paired")
	}
	c = code()
	if !says("7", "ada", strings.ToLower(c), false) || !arrives("This account is paired") {
		t.Fatalf("the code does not pair; arrived: %q", f.Arrived())
	}
	if says("8", "eve", c, false) || says("8", "Ada", "hello", false) || says("8", "ada2", "hello", false) {
		t.Error("a second account was admitted")
	}
	h.awaitDelivery("notice", `The account "ada" on pigeon is now paired`)
	if !says("7", "ada", "remember that the gate is green", false) || !arrives("gate is green") {
		t.Errorf("no answer to the owner; arrived: %q", f.Arrived())
	}
	for _, text := range f.Arrived() {
		if strings.Contains(text, "stranger") || strings.Contains(text, "eve") {
			t.Errorf("an unknown sender got %q", text)
		}
	}

	_, body := h.callAPI(http.MethodGet, "/api/v1/channels", nil)
	var list []struct {
		Name     string
		Pairings []struct{ ID, Sender string }
	}
	failOnError(t, json.Unmarshal(body, &list))
	id := ""
	for _, ch := range list {
		for _, p := range ch.Pairings {
			if ch.Name != "pigeon" || p.Sender != "ada" {
				t.Errorf("%s is paired on %s", p.Sender, ch.Name)
			}
			id = p.ID
		}
	}
	if status, body := h.callAPI(http.MethodPost, "/api/v1/pairings/"+id+"/remove", struct{}{}); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	before := len(f.Arrived())
	if says("7", "ada", "hello", false) {
		t.Error("a message of an unpaired account was accepted")
	}
	h.askHob("remind me in 1 second to stretch")
	h.awaitDelivery("notice", "stretch")
	if n := len(f.Arrived()); n != before {
		t.Errorf("the unpaired account still gets messages: %q", f.Arrived()[before:])
	}
	for _, name := range []string{"web", "terminal", "nope"} {
		if status, _ := h.callAPI(http.MethodPost, "/api/v1/channels/"+name+"/pair", struct{}{}); status != http.StatusBadRequest {
			t.Errorf("%s can be paired: %d", name, status)
		}
	}
	if got := h.askHob("/pair pigeon"); !strings.Contains(got, "Send this code on pigeon") {
		t.Errorf("/pair: %q", got)
	}
}

// A "yes" answers only a question that was shown in the same chat before.
func TestPairing_YesBeforeTheQuestionArrived(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("HOB_HOME", filepath.Join(home, "hob"))
	paths, err := system.DefaultPaths()
	failOnError(t, err)
	f := &channelstest.Fake{}
	h := openWith(t, home, Options{Paths: paths, Channels: map[string]channels.Channel{"pigeon": f}},
		"[agent]\nmodel = \"offline\"\ntimezone = \"UTC\"\n[web]\nlisten = \"127.0.0.1:0\"\n")
	until := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(60 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("timed out: %s; arrived: %q", what, f.Arrived())
			}
		}
	}
	said := func(part string) func() bool {
		return func() bool { return strings.Contains(strings.Join(f.Arrived(), "\n"), part) }
	}
	says := func(text string) { f.Say(t.Context(), "7", "ada", text, false) }
	until("listening", func() bool { return isListening(h, "pigeon") })
	c, err := h.d.service.Pair(t.Context(), "pigeon", "test")
	failOnError(t, err)
	says(c.Code)
	until("pairing", said("This account is paired"))
	says("remember that the gate is green")
	until("an answer", said("gate is green"))
	open := func() int {
		list, err := h.d.guard.Approvals(t.Context(), "pending", "", "", 9)
		failOnError(t, err)
		return len(list)
	}
	release := f.Stall()
	says("forget about the gate")
	until("the question", func() bool { return open() == 1 })
	says("yes")
	h.askHob("yes") // from another chat, in which no question was shown
	release()
	until("the question's arrival", said("hob approve"))
	if open() != 1 {
		t.Fatal("a \"yes\" from before the question, or from another chat, was accepted")
	}
	until("a note that it was put", func() bool { // otherwise the answer could be dated before the question
		return slices.ContainsFunc(h.listDeliveries(channels.Question), func(d bus.Delivery) bool { return d.Chat == "7" && d.State == channels.Sent })
	})
	says("yes") // not an answer, because another message followed the question
	until("the id to use", func() bool {
		return strings.Count(strings.Join(f.Arrived(), "\n"), "I did not understand that as an answer") >= 2
	})
	list, err := h.d.guard.Approvals(t.Context(), "pending", "", "", 9)
	failOnError(t, err)
	if len(list) != 1 {
		t.Fatalf("%d open requests, want 1", len(list))
	}
	says("/yes " + list[0].ID)
	until("the answer's effect", func() bool { return open() == 0 })
	until("thanks", said("Thank you"))
}

func isListening(h *daemonFixture, name string) bool {
	for _, c := range h.d.channels.Status() {
		if c.Name == name && c.State == "running" {
			return true
		}
	}
	return false
}
