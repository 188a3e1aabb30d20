package channels_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/platform/text/redact"
)

const sentence = "This is an answer of more than forty characters. "

func startDrafting(t *testing.T, opt channels.Options) (*managerFixture, *channelstest.Drafting, *channelstest.Drafts) {
	t.Helper()
	f := &channelstest.Drafting{Fake: &channelstest.Fake{Limit: channels.Limits{MaxText: 1000}}}
	kept := &channelstest.Drafts{}
	opt.Drafts = kept
	h := startManager(t, channelstest.NewOutbox(), map[string]channels.Channel{"x": f}, opt)
	synctest.Wait()
	return h, f, kept
}

func TestDraft_GrowsIntoTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, f, kept := startDrafting(t, channels.Options{})
		s := h.Show(t.Context(), "e1", "x", "7")
		for range 100 { // for ten seconds
			s.Add("word ")
			time.Sleep(100 * time.Millisecond)
		}
		got := f.Drafts()
		if len(got) < 4 || len(got) > 8 {
			t.Errorf("%d drafts in 10 s", len(got))
		}
		for i, d := range got {
			if !strings.HasSuffix(d, " …") || len([]rune(d)) > 1000 || i > 0 && len(d) < len(got[i-1]) {
				t.Errorf("draft %d = %q", i, d)
			}
		}
		s.Stop()
		id, _ := kept.Draft(t.Context(), "e1", "x", "7")
		d := h.out.Put(channels.Delivery{Channel: "x", Chat: "7", Text: "the whole answer", Kind: channels.Reply, Draft: id})
		synctest.Wait()
		if h.out.Row(d).State != channels.Sent || f.Shown(id) != "the whole answer" {
			t.Errorf("message of the draft = %q", f.Shown(id))
		}
		h.stopManager(t)
	})
}

func TestDraft_NotForShortOrFastAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, f, _ := startDrafting(t, channels.Options{})
		s := h.Show(t.Context(), "e1", "x", "7")
		s.Add("Yes.")
		time.Sleep(time.Minute)
		s.Stop()
		s = h.Show(t.Context(), "e2", "x", "7")
		s.Add(sentence)
		time.Sleep(time.Second)
		s.Stop()
		if got := f.Drafts(); len(got) != 0 {
			t.Errorf("drafts %q", got)
		}
		h.stopManager(t)
	})
}

// Between two steps of a turn, no text of the answer is known. The draft keeps its current text.
func TestDraft_IsNeverEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, f, _ := startDrafting(t, channels.Options{})
		s := h.Show(t.Context(), "e1", "x", "7")
		s.Add(sentence)
		time.Sleep(5 * time.Second)
		s.Reset()
		s.Add(" \n\n")
		time.Sleep(5 * time.Second)
		s.Add("At last. ")
		time.Sleep(5 * time.Second)
		s.Stop()
		if got := f.Drafts(); len(got) != 2 || got[1] != "At last. …" {
			t.Errorf("drafts %q", got)
		}
		h.stopManager(t)
	})
}

// Text that is removed from the complete answer is never visible in a draft.
func TestDraft_ContainsNoSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		secrets := []string{"ghp_0123456789abcdefghijABCDEFGHIJ012345", "4111 1111 1111 1111", "-----BEGIN PRIVATE KEY-----\nMIIEvQ\nIBADAN\n-----END PRIVATE KEY-----"}
		h, f, _ := startDrafting(t, channels.Options{Redact: redact.Shapes})
		s := h.Show(t.Context(), "e1", "x", "7")
		for _, secret := range secrets {
			for _, r := range sentence + "密码是 " + secret + " and more, " + secret {
				s.Add(string(r))
				time.Sleep(draftStep)
			}
			s.Add(", as you know. ")
			s.Break()
			time.Sleep(5 * time.Second)
		}
		s.Stop()
		if n := len(f.Drafts()); n < 20 {
			t.Errorf("only %d drafts", n)
		}
		for _, d := range f.Drafts() {
			for _, part := range []string{"ghp_0", "4111", "MIIE", "IBADAN"} {
				if strings.Contains(d, part) {
					t.Fatalf("draft = %q", d)
				}
			}
		}
		h.stopManager(t)
	})
}

// draftStep is longer than the time between two drafts.
const draftStep = 2 * time.Second

func TestDraft_NotWhereDisabledOrUnsupported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _, _ := startDrafting(t, channels.Options{Choices: map[string]channels.ChannelOverride{"x": {Whole: true}}})
		if h.Show(t.Context(), "e1", "x", "7") != nil {
			t.Error("Show drafts although the user wants complete answers")
		}
		h.stopManager(t)
		h = startManager(t, channelstest.NewOutbox(), map[string]channels.Channel{"x": &channelstest.Fake{}}, channels.Options{Drafts: &channelstest.Drafts{}})
		synctest.Wait()
		if h.Show(t.Context(), "e1", "x", "7") != nil || h.Show(t.Context(), "e1", "y", "7") != nil {
			t.Error("Show drafts on a channel without drafts")
		}
		h.stopManager(t)
	})
}

func TestDraft_ContinuesAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, f, kept := startDrafting(t, channels.Options{})
		s := h.Show(t.Context(), "e1", "x", "7")
		s.Add(sentence)
		time.Sleep(2 * time.Second)
		s.Stop()
		before, _ := kept.Draft(t.Context(), "e1", "x", "7")
		s = h.Show(t.Context(), "e1", "x", "7") // the turn restarts
		s.Add("Another " + sentence)
		time.Sleep(2 * time.Second)
		s.Stop()
		after, _ := kept.Draft(t.Context(), "e1", "x", "7")
		if before == "" || after != before || !strings.HasPrefix(f.Shown(before), "Another") {
			t.Errorf("draft ids %q and %q, text %q", before, after, f.Shown(before))
		}
		h.stopManager(t)
	})
}

// Text before a question stays above the question, complete. Text after the answer is shown below.
func TestDraft_EndsAtAQuestion(t *testing.T) {
	for _, suspended := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			h, f, kept := startDrafting(t, channels.Options{})
			s := h.Show(t.Context(), "e1", "x", "7")
			s.Add(sentence)
			time.Sleep(2 * time.Second)
			first, _ := kept.Draft(t.Context(), "e1", "x", "7")
			s.Add("The end.")
			s.Break()
			if suspended { // the turn ends with the question
				s.Stop()
				s = h.Show(t.Context(), "e1", "x", "7")
			}
			s.Add("After it: " + sentence)
			time.Sleep(5 * time.Second)
			s.Stop()
			second, _ := kept.Draft(t.Context(), "e1", "x", "7")
			if first == "" || second == "" || first == second || f.Shown(first) != sentence+"The end." {
				t.Errorf("suspended %v: %q shows %q, %q shows %q", suspended, first, f.Shown(first), second, f.Shown(second))
			}
			h.stopManager(t)
		})
	}
}

func TestDraft_SlowPlatformGetsFewerUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, f, _ := startDrafting(t, channels.Options{})
		asked := 0
		f.Wrong = func() error {
			asked++
			return channels.Errorf(channels.Later, "slow down")
		}
		s := h.Show(t.Context(), "e1", "x", "7")
		for range 600 {
			s.Add("word ")
			time.Sleep(100 * time.Millisecond)
		}
		s.Stop()
		if asked > 7 {
			t.Errorf("%d updates in 1 min", asked)
		}
		h.stopManager(t)
	})
}

// If the platform accepted the first draft, but Hob crashed or got no response before it could
// record the message, the message is found again, whether the turn continues to draft its answer or
// is answered immediately.
func TestDraft_IsFoundAgainAfterALostResponse(t *testing.T) {
	for _, how := range []string{"draft continues", "answered", "request lost", "no lookup"} {
		synctest.Test(t, func(t *testing.T) {
			f := &channelstest.Drafting{Fake: &channelstest.Fake{Limit: channels.Limits{MaxText: 1000}}}
			var ch channels.Channel = channelstest.FindingDrafts{Drafting: f}
			if how == "no lookup" {
				ch = f
			}
			kept, out := &channelstest.Drafts{}, channelstest.NewOutbox()
			h := startManager(t, out, map[string]channels.Channel{"x": ch}, channels.Options{Drafts: kept})
			synctest.Wait()
			lost := &channels.Error{MaybeSent: true, Err: errors.New("the connection broke")}
			f.Cut = func() error {
				f.Cut = nil
				return lost
			}
			s := h.Show(t.Context(), "e1", "x", "7")
			s.Add(sentence)
			time.Sleep(2 * time.Second)
			if how == "request lost" || how == "no lookup" {
				s.Add("And more.")
				time.Sleep(20 * time.Second)
			}
			s.Stop()
			id, _ := kept.Draft(t.Context(), "e1", "x", "7")
			if how != "request lost" && !strings.HasPrefix(id, "?") {
				t.Errorf("%s: stored draft id = %q", how, id)
			}
			if how == "draft continues" {
				s = h.Show(t.Context(), "e1", "x", "7")
				s.Add("Anew: " + sentence)
				time.Sleep(2 * time.Second)
				s.Stop()
				if id, _ = kept.Draft(t.Context(), "e1", "x", "7"); id != "7/1" || !strings.HasPrefix(f.Shown(id), "Anew") {
					t.Errorf("stored draft id = %q, text %q", id, f.Shown(id))
				}
			}
			row := out.Put(channels.Delivery{Channel: "x", Chat: "7", Event: "e1", Text: "the answer", Kind: channels.Reply, Draft: id})
			synctest.Wait()
			want := map[bool]string{false: "the answer", true: sentence[:len(sentence)-1] + " …"}[how == "no lookup"]
			if len(f.Arrived()) != 1 || f.Shown("7/1") != want || f.Shown("7/2") != "" || h.out.Row(row).State != channels.Sent {
				t.Errorf("%s: sent %q, draft message %q", how, f.Arrived(), f.Shown("7/1"))
			}
			h.stopManager(t)
		})
	}
}

// If a reader deletes the message with the draft, the answer is sent as a new message.
func TestDraft_DeletedDraftDoesNotLoseTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, f, _ := startDrafting(t, channels.Options{})
		d := h.out.Put(channels.Delivery{Channel: "x", Chat: "7", Text: "the answer", Kind: channels.Reply, Draft: "gone"})
		synctest.Wait()
		if got := f.Arrived(); h.out.Row(d).State != channels.Sent || len(got) != 1 || got[0] != "the answer" {
			t.Errorf("%s, arrived %q", h.out.Row(d).State, got)
		}
		h.stopManager(t)
	})
}

// If Hob was interrupted while it replaced a draft by the answer, it replaces the draft again and
// does not mark the answer as repeated.
func TestDraft_IsReplacedAgainAfterAnInterruption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &channelstest.Drafting{Fake: &channelstest.Fake{}}
		id, _ := f.Draft(t.Context(), channels.Delivery{ID: "draft", Chat: "7", Text: "growing"})
		out := channelstest.NewOutbox()
		out.PutCutOff(channels.Delivery{Channel: "x", Chat: "7", Text: "the answer", Kind: channels.Reply, Draft: id})
		h := startManager(t, out, map[string]channels.Channel{"x": f}, channels.Options{})
		synctest.Wait()
		if f.Shown(id) != "the answer" {
			t.Errorf("draft message = %q", f.Shown(id))
		}
		h.stopManager(t)
	})
}
