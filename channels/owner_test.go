package channels_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"

	"hob/channels"
	"hob/channels/channelstest"
)

func TestSenderID(t *testing.T) {
	for in, want := range map[string]string{
		"42": "42", " 42 ": "42", "+1 (555) 01-00": "+15550100", "Ada@Example.ORG": "ada@example.org", "Ada": "Ada",
		"": "", "   ": "", "ada\u200b": "", "ada\u202e": "", "a\nb": "", "\xff": "", "e\u0301": "\u00e9",
		"\u212aate@example.org": "", "adm\u0130n@example.org": "adm\u0130n@example.org", "\u00c4da@example.org": "\u00c4da@example.org",
	} {
		if got := channels.SenderID(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// CVE-2026-28446: an empty caller id and a suffix of an allowed number were admitted, and an
// invalid allow list admitted everyone.
func TestIncidentI11(t *testing.T) {
	for name, c := range map[string]struct {
		allow  []string
		sender string
		heard  bool
	}{
		"as listed":             {[]string{"+1 555 0100"}, "+1-555-0100", true},
		"an empty caller":       {[]string{"+15550100"}, "", false},
		"an empty entry":        {[]string{""}, "", false},
		"blanks":                {[]string{" "}, " ", false},
		"a suffix":              {[]string{"+15550100"}, "5550100", false},
		"with a prefix":         {[]string{"+15550100"}, "9+15550100", false},
		"with a suffix":         {[]string{"+15550100"}, "+155501001", false},
		"characters not seen":   {[]string{"+15550100"}, "+15550100\u200b", false},
		"an entry not seen":     {[]string{"\u200b"}, "\u200b", false},
		"a star":                {[]string{"*"}, "eve", false},
		"an empty list":         {nil, "eve", false},
		"another case, address": {[]string{"Ada@example.org"}, "ada@EXAMPLE.org", true},
		"another case, name":    {[]string{"Ada"}, "ada", false},
		"a domain":              {[]string{"@example.org"}, "ada@example.org", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := &talkingChannel{allow: c.allow, say: channels.Inbound{Chat: "7", Sender: c.sender, Text: "hello"}}
				h := startManager(t, channelstest.NewOutbox(), map[string]channels.Channel{"x": k}, channels.Options{})
				synctest.Wait()
				if heard := len(h.inbox.Heard()) == 1; heard != c.heard || !heard && !errors.Is(k.err, channels.ErrStranger) {
					t.Errorf("received = %v (%v)", heard, k.err)
				}
				h.stopManager(t)
			})
		})
	}
}

// admissionChannel is a channel that asks for each sender in ask whether messages would be admitted.
type admissionChannel struct {
	allow []string
	ask   []string
	got   map[string]bool
}

func (d *admissionChannel) Allow() []string { return d.allow }

func (*admissionChannel) Send(context.Context, channels.Delivery) (channels.Receipt, error) {
	return channels.Receipt{}, nil
}

func (d *admissionChannel) Run(ctx context.Context, r channels.Receiver) error {
	for _, who := range d.ask {
		name, text, _ := strings.Cut(who, " ")
		yes, err := r.(channels.SenderFilter).AdmitsSender(ctx, channels.Inbound{Chat: "7", Sender: name, Text: text})
		if err == nil {
			d.got[who] = yes
		}
	}
	<-ctx.Done()
	return nil
}

// fixedPairing accepts the sender "me" as the owner, and the text "code" as a pairing code.
type fixedPairing struct{}

func (fixedPairing) IsOwner(_ context.Context, _, sender string) (bool, error) {
	return sender == "me", nil
}

func (fixedPairing) Pair(context.Context, channels.Inbound) (bool, error) { return false, nil }

func (fixedPairing) Pairs(_ context.Context, in channels.Inbound) (bool, error) {
	return in.Text == "code", nil
}

// TestAdmitsSender checks that AdmitsSender admits the owner, allowed senders and pairing codes,
// and no one else.
func TestAdmitsSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &admissionChannel{allow: []string{"guest"}, ask: []string{"me", "guest", "eve", "eve code", ""}, got: map[string]bool{}}
		h := startManager(t, channelstest.NewOutbox(), map[string]channels.Channel{"x": d}, channels.Options{Owners: fixedPairing{}})
		synctest.Wait()
		if want := map[string]bool{"me": true, "guest": true, "eve": false, "eve code": true, "": false}; !maps.Equal(d.got, want) {
			t.Errorf("%v", d.got)
		}
		h.stopManager(t)
	})
}

// TestManager_AcceptsMessagesWithoutText checks that a mention alone, or only forwarded text, is accepted as a message. The
// platform would redeliver a rejected message forever.
func TestManager_AcceptsMessagesWithoutText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &talkingChannel{allow: []string{"ada"}, say: channels.Inbound{Chat: "7", Sender: "ada", Group: true, Mentioned: true, Outside: []string{"Bob: hello"}}}
		h := startManager(t, channelstest.NewOutbox(), map[string]channels.Channel{"x": k}, channels.Options{})
		synctest.Wait()
		if heard := h.inbox.Heard(); len(heard) != 1 || heard[0].Text != "[no words]" {
			t.Errorf("received %+v", heard)
		}
		h.stopManager(t)
	})
}
