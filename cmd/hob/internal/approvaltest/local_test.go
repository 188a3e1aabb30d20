package approvaltest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/platform/net/hooksig"
)

// openPage opens the page and the API, where everyone with the token is the owner.
func openPage(t *testing.T) *chatChannel { return overAPI(t, "") }

// openTerminal opens the channel of hob chat, which uses the same API.
func openTerminal(t *testing.T) *chatChannel { return overAPI(t, "terminal") }

func overAPI(t *testing.T, channel string) *chatChannel {
	p := &chatChannel{proven: true, others: []string{"nobody", "a wrong token", "another page"}}
	headers := func(who string) http.Header {
		switch who {
		case owner:
			k := clientHeaders(p.h.token, channel)
			k.Set("X-Hob-Client", "owner")
			return k
		case "a wrong token":
			return clientHeaders(strings.Repeat("0", len(p.h.token)), channel)
		case "another page": // a page of another site in the owner's browser
			k := clientHeaders(p.h.token, channel)
			k.Set("Origin", "https://example.org")
			return k
		}
		return http.Header{"Content-Type": {"application/json"}}
	}
	post := func(who, path string, in any) bool {
		body, err := json.Marshal(in)
		failOnError(t, err)
		status, _ := p.h.callAPI(http.MethodPost, path, body, headers(who))
		if refused := refusedBy(t, status); refused != (who != owner) {
			t.Errorf("%s: the answer is %d", who, status)
		}
		return false
	}
	p.say = func(who string, _ bool, text string) bool {
		return post(who, "/api/v1/sessions/home/messages", map[string]string{"text": text})
	}
	p.press = func(who string, _ bool, question string, yes bool) {
		post(who, "/api/v1/sessions/home/approvals/"+question, map[string]bool{"approved": yes})
	}
	p.saw = func(part string) bool {
		var all []struct{ Text string }
		p.h.getJSON("/api/v1/deliveries", &all)
		for _, d := range all {
			if strings.Contains(d.Text, part) {
				return true
			}
		}
		return false
	}
	return p
}

const hookKey = "not-a-real-secret"

// openWebhook opens the webhook of a program of the owner, which posts texts signed with the shared
// secret. If a post names a sender, that person is the sender.
func openWebhook(t *testing.T) *chatChannel {
	var mu sync.Mutex
	var texts []string
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		texts = append(texts, string(b))
		mu.Unlock()
	}))
	t.Cleanup(srv.Close)
	p := &chatChannel{
		section: fmt.Sprintf("[channels.webhook]\nurl = %q\nsecret = %q\nallow = [\"guest\"]\n", srv.URL, hookKey), proven: true,
		groups: true, guests: true, others: []string{"nobody", "stranger"}, trial: true, between: true,
	}
	p.saw = func(part string) bool {
		mu.Lock()
		defer mu.Unlock()
		return strings.Contains(strings.Join(texts, "\n"), part)
	}
	n := 0
	p.say = func(who string, group bool, text string) bool {
		m := map[string]string{"text": text, "id": fmt.Sprint(n)}
		n++
		if group {
			m["chat"] = "house"
		}
		if who == guest || who == "stranger" {
			m["sender"] = who
		}
		body, err := json.Marshal(m)
		failOnError(t, err)
		key := hookKey
		if who == "nobody" {
			key = "a guess"
		}
		status, said := p.h.callAPI(http.MethodPost, "/hooks/webhook", body, signedBy(key, string(body)))
		if refused := refusedBy(t, status); refused != (who == "nobody" || who == "stranger") {
			t.Errorf("%s: the answer is %d %s", who, status, said)
		}
		return false
	}
	return p
}

// signedBy returns the headers of a post signed with key.
func signedBy(key, body string) http.Header {
	h := http.Header{}
	hooksig.Sign(h, []byte(key), rand.Text(), []byte(body), time.Now())
	return h
}
