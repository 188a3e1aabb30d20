package pairing_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hob/autonomy/guard"
	"hob/autonomy/guard/pairing"
	"hob/channels"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

func failOnError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openPairings(t *testing.T) *pairing.Pairings {
	t.Helper()
	db, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), []store.MigrationSet{guard.Migrations(), pairing.Migrations()}, store.Options{})
	failOnError(t, err)
	t.Cleanup(func() { failOnError(t, db.Close()) })
	g, err := guard.New(db, guard.Options{})
	failOnError(t, err)
	failOnError(t, g.InitKeys(t.Context()))
	return pairing.New(db, g, pairing.Options{})
}

func sendCode(p *pairing.Pairings, t *testing.T, channel, sender, text string) bool {
	t.Helper()
	yes, err := p.Pair(t.Context(), channels.Inbound{Channel: channel, Chat: "7", Sender: sender, Text: text})
	failOnError(t, err)
	return yes
}

func isOwner(p *pairing.Pairings, t *testing.T, channel, sender string) bool {
	t.Helper()
	yes, err := p.IsOwner(t.Context(), channel, sender)
	failOnError(t, err)
	return yes
}

func TestCode_PairsOnce(t *testing.T) {
	p := openPairings(t)
	c, err := p.NewCode(t.Context(), "chat", "cli")
	failOnError(t, err)
	if len(c.Code) != 11 || time.Until(c.ExpiresAt) > 10*time.Minute {
		t.Errorf("%+v", c)
	}
	for text, want := range map[string]bool{c.Code: true, "AAAAA-AAAAA": true, "hello": false} { // does not count as a try
		if yes, err := p.Pairs(t.Context(), channels.Inbound{Channel: "chat", Sender: "ada", Text: text}); err != nil || yes != want {
			t.Errorf("%q: Pairs = %v, %v", text, yes, err)
		}
		if yes, err := p.Pairs(t.Context(), channels.Inbound{Channel: "other", Sender: "ada", Text: text}); err != nil || yes {
			t.Errorf("Pairs(%q) without an open code = %v, %v", text, yes, err)
		}
	}
	if sendCode(p, t, "chat", "", c.Code) || sendCode(p, t, "other", "ada", c.Code) {
		t.Error("an empty sender or another channel was paired")
	}
	if !sendCode(p, t, "chat", "ada", "  "+strings.ToLower(c.Code)+"\n") {
		t.Fatal("the valid code does not pair")
	}
	if sendCode(p, t, "chat", "eve", c.Code) || isOwner(p, t, "chat", "eve") {
		t.Error("a code pairs a second sender")
	}
	for sender, want := range map[string]bool{"ada": true, "xada": false, "ad": false, "ada ": false, "Ada": false, "": false, "%": false} {
		if got := isOwner(p, t, "chat", sender); got != want {
			t.Errorf("%q: isOwner = %v", sender, got)
		}
	}
	if isOwner(p, t, "other", "ada") {
		t.Error("the sender is paired on another channel too")
	}
	list, err := p.List(t.Context())
	failOnError(t, err)
	if len(list) != 1 || list[0].By != "cli" || list[0].Chat != "7" {
		t.Fatalf("%+v", list)
	}
	_, err = p.Remove(t.Context(), list[0].ID, "cli")
	failOnError(t, err)
	if isOwner(p, t, "chat", "ada") {
		t.Error("the sender is still the owner after Remove")
	}
	if _, err := p.Remove(t.Context(), list[0].ID, "cli"); err == nil {
		t.Error("a second Remove succeeds")
	}
}

func TestCode_IsInvalidAfterFiveGuesses(t *testing.T) {
	p := openPairings(t)
	c, err := p.NewCode(t.Context(), "chat", "cli")
	failOnError(t, err)
	for _, text := range []string{"hello", "the code is " + c.Code, c.Code + c.Code, strings.Repeat("2", 1000), "", "/pair"} {
		if sendCode(p, t, "chat", "eve", text) {
			t.Errorf("%q pairs", text)
		}
	}
	for range 5 {
		if sendCode(p, t, "chat", "eve", "22222-22222") {
			t.Fatal("a wrong code pairs")
		}
	}
	if sendCode(p, t, "chat", "ada", c.Code) {
		t.Error("the code works after 5 wrong guesses")
	}
	second, err := p.NewCode(t.Context(), "chat", "cli")
	failOnError(t, err)
	if sendCode(p, t, "chat", "ada", c.Code) || !sendCode(p, t, "chat", "ada", second.Code) {
		t.Error("want only the new code to pair")
	}
}

// A code that was written in a group is invalid, so that another member cannot use it before the
// owner does.
func TestCode_IsInvalidAfterUseInAGroup(t *testing.T) {
	p := openPairings(t)
	c, err := p.NewCode(t.Context(), "chat", "cli")
	failOnError(t, err)
	group := func(text string) bool {
		t.Helper()
		yes, err := p.Pair(t.Context(), channels.Inbound{Channel: "chat", Chat: "g", Sender: "ada", Group: true, Text: text})
		failOnError(t, err)
		return yes
	}
	if group("22222-22222") || !sendCode(p, t, "chat", "ada", c.Code) {
		t.Error("a message in a group invalidates the code")
	}
	c, err = p.NewCode(t.Context(), "chat", "cli")
	failOnError(t, err)
	if group(c.Code) || isOwner(p, t, "chat", "eve") || sendCode(p, t, "chat", "eve", c.Code) {
		t.Error("a code written in a group pairs")
	}
}

// Guesses that come at the same time, from many senders, are counted one by one.
func TestCode_CountsConcurrentGuesses(t *testing.T) {
	p := openPairings(t)
	c, err := p.NewCode(t.Context(), "chat", "cli")
	failOnError(t, err)
	var wg sync.WaitGroup
	var paired atomic.Int32
	for i := range 40 {
		wg.Go(func() {
			yes, err := p.Pair(t.Context(), channels.Inbound{Channel: "chat", Chat: "7", Sender: fmt.Sprint("eve", i), Text: fmt.Sprintf("2222-2222%02d", 22+i%8)})
			if err != nil || yes {
				paired.Add(1)
			}
		})
	}
	wg.Wait()
	if paired.Load() > 0 || sendCode(p, t, "chat", "ada", c.Code) {
		t.Error("the code is valid after 40 wrong guesses")
	}
	other, err := p.NewCode(t.Context(), "other", "cli")
	failOnError(t, err)
	for range 9 {
		sendCode(p, t, "chat", "eve", "22222-22222")
	}
	if !sendCode(p, t, "other", "ada", other.Code) {
		t.Error("guesses on one channel invalidate the code of another")
	}
}

func TestCode_Expires(t *testing.T) {
	p := openPairings(t)
	c, err := p.NewCode(t.Context(), "chat", "cli")
	failOnError(t, err)
	failOnError(t, p.Age(t.Context(), 10*time.Minute+time.Second))
	if sendCode(p, t, "chat", "ada", c.Code) {
		t.Error("the code works after it expired")
	}
}

func FuzzParseCode(f *testing.F) {
	for _, s := range []string{"ABCDE-FGHJK", "abcde fghjk", "ABCDEFGHJK", "", "ABCDE-FGHJ\u212A", "ＡＢＣＤＥＦＧＨＪＫ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		code, ok := pairing.ParseCode(s)
		if !ok {
			return
		}
		if len(code) != 10 || strings.Trim(code, "23456789ABCDEFGHJKLMNPQRSTUVWXYZ") != "" {
			t.Errorf("ParseCode(%q) = %q", s, code)
		}
		if again, ok := pairing.ParseCode(code); !ok || again != code {
			t.Errorf("ParseCode(%q) does not return the code itself", code)
		}
	})
}
