package discord_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/discord"
	"hob/channels/discord/discordtest"
)

func lastRequest(w *discordtest.Server) discordtest.Request {
	w.Lock()
	defer w.Unlock()
	return w.Requests[len(w.Requests)-1]
}

// TestSend checks the wire format of a text.
func TestSend(t *testing.T) {
	w := discordtest.New(t)
	ch := w.Open()
	r, err := ch.Send(t.Context(), channels.Delivery{ID: "d1", Chat: "g1", Text: "@everyone **hi**", Cause: json.RawMessage(`{"m":"77"}`), Kind: channels.Reply})
	if err != nil || r.ID == "" {
		t.Fatal(r, err)
	}
	want := object{
		"content": "@\u200beveryone **hi**", "nonce": discord.Nonce("d1"), "enforce_nonce": true, "flags": 4.0, "components": []any{},
		"allowed_mentions":  object{"parse": []any{}, "replied_user": false},
		"message_reference": object{"message_id": "77", "fail_if_not_exists": false},
	}
	if diff := cmp.Diff(want, lastRequest(w).Body); diff != "" {
		t.Error(diff)
	}
	for _, chat := range []string{"", "../users/@me", "1/messages", "a b", strings.Repeat("1", 200)} {
		if _, err := ch.Send(t.Context(), channels.Delivery{ID: "d2", Chat: chat, Text: "x"}); channels.ClassOf(err) != channels.Permanent {
			t.Errorf("%q: Send = %v", chat, err)
		}
	}
}

// TestDraft checks that an answer is written in one message, which stays. A deleted message is
// posted again.
func TestDraft(t *testing.T) {
	w := discordtest.New(t)
	ch := w.Open()
	id, err := ch.Draft(t.Context(), channels.Delivery{ID: "draft", Chat: "c1", Text: "I thi"})
	if err != nil || lastRequest(w).Body["flags"] != float64(4|1<<12) {
		t.Fatal(err, lastRequest(w))
	}
	first := channels.Delivery{ID: "draft", Chat: "c1", CreatedAt: time.Now().Add(-time.Minute)}
	if r, found, err := ch.Find(t.Context(), first); err != nil || !found || r.ID != id { // as after a crash
		t.Error(r, found, err)
	}
	first.ID = "other"
	if r, found, err := ch.Find(t.Context(), first); err != nil || found {
		t.Error(r, found, err)
	}
	if same, err := ch.Draft(t.Context(), channels.Delivery{ID: "draft", Chat: "c1", Draft: id, Text: "I think"}); err != nil || same != id {
		t.Fatal(same, err)
	}
	d := channels.Delivery{ID: "d1", Chat: "c1", Text: "I think so.", Draft: id}
	if r, err := ch.Send(t.Context(), d); err != nil || r.ID != id {
		t.Fatal(r, err)
	}
	if got := w.Arrived(); len(got) != 1 || got[0] != "I think so." {
		t.Errorf("arrived %q", got)
	}
	if r, found, err := ch.Find(t.Context(), d); err != nil || !found || r.ID != id {
		t.Error(r, found, err)
	}
	d.ID, d.Draft, d.Text = "d2", "999", "Again."
	if r, err := ch.Send(t.Context(), d); err != nil || r.ID == id {
		t.Error(r, err)
	}
}

// TestFiles: files are sent with the text, ten in a message.
func TestFiles(t *testing.T) {
	w := discordtest.New(t)
	w.Deps.Network = w.Net.Impatient(t) // a large file takes longer than other requests are allowed to
	ch := w.Open()
	dir := t.TempDir()
	var files []channels.Attachment
	for i := range 12 {
		name := fmt.Sprintf("file \"%d\".txt", i)
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, channels.Attachment{Name: name, MIME: "text/plain", Size: int64(len(name)), Path: path})
	}
	for range 2 { // the second time is a repetition
		if _, err := ch.Send(t.Context(), channels.Delivery{ID: "d1", Chat: "c1", Text: "here", Files: files}); err != nil {
			t.Fatal(err)
		}
	}
	find := func(want bool) {
		t.Helper()
		if _, found, err := ch.Find(t.Context(), channels.Delivery{ID: "d1", Chat: "c1", Text: "here", Files: files}); found != want || err != nil {
			t.Errorf("found %v, %v", found, err)
		}
	}
	w.Lock()
	if a, _ := w.Requests[0].Body["attachments"].([]any); len(a) != 10 || a[3].(object)["id"] != 3.0 {
		t.Errorf("attachments %v", a)
	}
	if len(w.Requests) != 4 || len(w.Posts) != 2 || len(w.Requests[0].Files) != 10 || len(w.Requests[1].Files) != 2 || w.Requests[0].Files["file \"3\".txt"] != "file \"3\".txt" {
		t.Errorf("%d requests, %d messages, files %v", len(w.Requests), len(w.Posts), w.Requests[0].Files)
	}
	w.Unlock()
	find(true)
	w.Lock()
	w.Chats["c1"] = w.Chats["c1"][:1]
	w.Unlock()
	find(false) // the rest of the files has not arrived
	for _, bad := range []channels.Attachment{{Name: "gone", Path: filepath.Join(dir, "gone")}, {Name: "large", Size: 11 << 20, Path: files[0].Path}} {
		if _, err := ch.Send(t.Context(), channels.Delivery{ID: "d2", Chat: "c1", Text: "x", Files: []channels.Attachment{bad}}); channels.ClassOf(err) != channels.Permanent || !strings.Contains(err.Error(), bad.Name) {
			t.Error(err)
		}
	}
}

// TestFind checks that a text is found by its nonce regardless of its age, and by its content if
// Discord does not show the nonce.
func TestFind(t *testing.T) {
	w := discordtest.New(t)
	ch := w.Open()
	d := channels.Delivery{ID: "d1", Chat: "c1", Text: "hello", CreatedAt: time.Now()}
	find := func(d channels.Delivery, want bool) {
		t.Helper()
		if _, found, err := ch.Find(t.Context(), d); err != nil || found != want {
			t.Errorf("found %v, %v", found, err)
		}
	}
	find(d, false)
	w.Person("c1", "7", "hello", false, nil) // somebody else
	find(d, false)
	if _, err := ch.Send(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	old := d
	old.CreatedAt = time.Now().Add(time.Hour)
	find(old, true)
	other := d
	other.ID = "d2"
	find(other, false)
	w.Lock()
	w.HidesNonces = true
	w.Unlock()
	d.ID, d.Text = "d3", "bye"
	if _, err := ch.Send(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	find(d, true)
	d.CreatedAt = time.Now().Add(time.Hour)
	find(d, false)
	if _, found, err := ch.Find(t.Context(), channels.Delivery{ID: "d1", Chat: "closed"}); found || err != nil {
		t.Error(found, err) // Send reports the error
	}
}

// TestLimits checks 429s and announced limits ("Rate Limits").
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func() (code int, body string, header []string)
		wait   time.Duration // 0: the manager chooses
		all    bool
	}{
		{"of a route", func() (int, string, []string) {
			return 429, `{"message":"limited","retry_after":64.57,"global":false}`, []string{"Retry-After", "65"}
		}, 64 * time.Second, false},
		{"of all", func() (int, string, []string) {
			return 429, `{"message":"limited","retry_after":30,"global":true}`, []string{"X-RateLimit-Global", "true"}
		}, 30 * time.Second, true},
		{"of a proxy", func() (int, string, []string) { return 429, "<html>", []string{"Retry-After", "3600"} }, time.Hour, false},
		{"without a time", func() (int, string, []string) { return 429, "", nil }, 0, false},
		{"nonsense", func() (int, string, []string) { return 429, `{"retry_after":-1e99}`, []string{"Retry-After", "soon"} }, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := discordtest.New(t)
			ch := w.Open()
			code, body, header := c.answer()
			w.Fails = append(w.Fails, discordtest.AnswerWith(code, body, header...))
			_, err := ch.Send(t.Context(), channels.Delivery{ID: "d1", Chat: "c1", Text: "x"})
			e, ok := errors.AsType[*channels.Error](err)
			if !ok || e.Class != channels.Later || e.MaybeSent {
				t.Fatalf("%v", err)
			}
			if c.wait == 0 {
				if !e.RetryAt.IsZero() {
					t.Errorf("RetryAt = %v, want none", e.RetryAt)
				}
				return
			}
			if left := time.Until(e.RetryAt); left < c.wait-10*time.Second || left > c.wait+10*time.Second {
				t.Errorf("RetryAt in %v", left)
			}
			// Until then no request is sent where the limit applies.
			n := len(w.Requests)
			if _, err := ch.Send(t.Context(), channels.Delivery{ID: "d1", Chat: "c1", Text: "x"}); channels.ClassOf(err) != channels.Later || len(w.Requests) != n {
				t.Errorf("Send before RetryAt = %v, want no request", err)
			}
			if _, err := ch.Send(t.Context(), channels.Delivery{ID: "d2", Chat: "c2", Text: "x"}); (channels.ClassOf(err) == channels.Later && err != nil) != c.all {
				t.Errorf("Send to another chat = %v", err)
			}
		})
	}
	t.Run("drafts leave the last request to the final text", func(t *testing.T) {
		w := discordtest.New(t)
		ch := w.Open()
		id, err := ch.Draft(t.Context(), channels.Delivery{ID: "draft", Chat: "c1", Text: "I thi"})
		if err != nil {
			t.Fatal(err)
		}
		w.Fails = append(w.Fails, discordtest.AnswerWith(200, `{"id":"5"}`, "X-RateLimit-Remaining", "1", "X-RateLimit-Reset-After", "40.5"))
		if _, err := ch.Draft(t.Context(), channels.Delivery{ID: "draft", Chat: "c1", Draft: id, Text: "I think"}); err != nil {
			t.Fatal(err)
		}
		n := len(w.Requests)
		if _, err := ch.Draft(t.Context(), channels.Delivery{ID: "draft", Chat: "c1", Draft: id, Text: "I think s"}); channels.ClassOf(err) != channels.Later || len(w.Requests) != n {
			t.Errorf("Draft after a refusal = %v, want no request", err)
		}
		if r, err := ch.Send(t.Context(), channels.Delivery{ID: "d1", Chat: "c1", Text: "I think so.", Draft: id}); err != nil || r.ID != id {
			t.Errorf("Send of the complete text = %+v, %v", r, err)
		}
	})
	t.Run("of all but interactions", func(t *testing.T) {
		w := discordtest.New(t)
		ch := w.Open()
		w.Fails = append(w.Fails, discordtest.AnswerWith(429, `{"retry_after":30,"global":true}`))
		if _, err := ch.Send(t.Context(), channels.Delivery{ID: "d1", Chat: "c1", Text: "x"}); channels.ClassOf(err) != channels.Later {
			t.Fatal(err)
		}
		w.Interactions["tok"] = object{"id": "9", "flags": 128}
		cause, _ := json.Marshal(object{"i": "1", "a": discordtest.AppID, "t": "tok", "u": "7", "e": time.Now().Add(time.Minute)})
		if _, err := ch.Send(t.Context(), channels.Delivery{ID: "d2", Chat: "c1", Text: "y", Cause: cause}); err != nil || w.Interactions["tok"]["content"] != "y" {
			t.Errorf("error %v, response %v", err, w.Interactions["tok"])
		}
	})
	t.Run("told beforehand", func(t *testing.T) {
		w := discordtest.New(t)
		ch := w.Open()
		w.Fails = append(w.Fails, discordtest.AnswerWith(200, `{"id":"5"}`, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset-After", "40.5"))
		if _, err := ch.Send(t.Context(), channels.Delivery{ID: "d1", Chat: "c1", Text: "x"}); err != nil {
			t.Fatal(err)
		}
		if _, err := ch.Send(t.Context(), channels.Delivery{ID: "d2", Chat: "c1", Text: "x"}); channels.ClassOf(err) != channels.Later || len(w.Requests) != 1 {
			t.Errorf("Send = %v", err)
		}
	})
}

// TestRefusals checks that errors name the cause, and the remedy if there is one.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		code  int
		body  string
		class channels.Class
		maybe bool
		says  string
	}{
		{403, `{"message":"Cannot send messages to this user","code":50007}`, channels.Permanent, false, "allow direct messages"},
		{403, `{"message":"Missing Access","code":50001}`, channels.Permanent, false, "invite the bot"},
		{404, `{"message":"Unknown Channel","code":10003}`, channels.Permanent, false, "Unknown Channel (10003)"},
		{500, ``, channels.Temporary, true, "500"},
		{502, `<html>`, channels.Temporary, false, "502"},
		{503, ``, channels.Temporary, false, "503"},
		{400, `{"message":"a\u0007b\nsecond line","code":1}`, channels.Permanent, false, "a b (1)"},
	} {
		w := discordtest.New(t)
		w.Fails = append(w.Fails, discordtest.AnswerWith(c.code, c.body))
		_, err := w.Open().Send(t.Context(), channels.Delivery{ID: "d1", Chat: "c1", Text: "x"})
		e, ok := errors.AsType[*channels.Error](err)
		if !ok || e.Class != c.class || e.MaybeSent != c.maybe || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "second line") {
			t.Errorf("%d: %v (%+v)", c.code, err, e)
		}
	}
}

func TestConfig(t *testing.T) {
	decode := func(c discord.Config) func(any) error {
		return func(v any) error {
			*v.(*discord.Config) = c
			return nil
		}
	}
	deps := channels.Deps{Keep: &channelstest.Keeper{}, Secret: func(ref string) (string, error) {
		if ref == "env:NOPE" {
			return "", errors.New("not set")
		}
		return ref, nil
	}}
	for _, c := range []struct {
		name string
		cfg  discord.Config
		want string
	}{
		{"good", discord.Config{Token: discordtest.Token, Allow: []string{"80351110224678912"}}, ""},
		{"with the word before it", discord.Config{Token: " Bot " + discordtest.Token + "\n"}, ""},
		{"none", discord.Config{}, "token is missing"},
		{"not set", discord.Config{Token: "env:NOPE"}, "the token: not set"},
		{"two lines", discord.Config{Token: "a\nb"}, "token contains invalid characters"},
		{"a name for an id", discord.Config{Token: discordtest.Token, Allow: []string{"ada"}}, `"ada" is not a user id`},
	} {
		_, err := discord.Driver{}.New(decode(c.cfg), deps)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), discordtest.Token)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
