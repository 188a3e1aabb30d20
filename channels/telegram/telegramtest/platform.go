package telegramtest

import (
	"context"
	"fmt"
	"hash/fnv"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/platform/retry"
)

// Arrived implements channelstest.Platform.
func (s *Server) Arrived() (out []string) {
	for _, m := range s.Posts() {
		if m.Method == "sendMessage" {
			out = append(out, m.Text)
		}
	}
	return out
}

// Fail implements channelstest.Platform.
func (s *Server) Fail(c channels.Class, n int) bool {
	f := map[channels.Class]func(w http.ResponseWriter){
		channels.Temporary: func(w http.ResponseWriter) { http.Error(w, "<html>bad gateway", http.StatusBadGateway) },
		channels.Later: func(w http.ResponseWriter) {
			Refuse(w, 429, "Too Many Requests: retry after 60", Object{"retry_after": 60})
		},
		channels.Permanent:    func(w http.ResponseWriter) { Refuse(w, 403, "Forbidden: bot was blocked by the user", nil) },
		channels.Unauthorized: func(w http.ResponseWriter) { Refuse(w, 401, "Unauthorized", nil) },
	}[c]
	if c == channels.Temporary { // simulate a failed connection: a message that was certainly not sent is not marked as repeated
		s.Net.Fail(n)
		return true
	}
	if f == nil {
		return false
	}
	s.With(func() {
		for range n {
			s.Fails = append(s.Fails, f)
		}
	})
	return true
}

// Previewed implements channelstest.Previewer.
func (s *Server) Previewed() int { s.mu.Lock(); defer s.mu.Unlock(); return s.previews }

// Typed implements channelstest.Sign.
func (s *Server) Typed() int { s.mu.Lock(); defer s.mu.Unlock(); return s.signs }

// Say implements channelstest.Speaker. A numeric chat or sender is used as the id; in a group, the
// chat id is negated.
func (s *Server) Say(_ context.Context, chat, sender, text string, group bool) bool {
	if s.Called("getUpdates") < 2 {
		return false // a message sent before the first poll is not received
	}
	m := Private(text)
	m["from"] = Object{"id": chatNumber(sender), "first_name": sender}
	m["chat"] = Object{"id": chatNumber(chat), "type": "private"}
	if group {
		m["chat"] = Object{"id": -chatNumber(chat), "type": "supergroup", "title": chat}
	}
	s.With(func() { s.last = m })
	s.Add("message", m)
	return true
}

func chatNumber(s string) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(s))
	return int(h.Sum32())
}

// Asked returns the newest message with buttons.
func (s *Server) Asked() (Post, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range slices.Backward(s.posts) {
		if len(buttonData(s.boards[m.ID])) > 0 {
			return m, true
		}
	}
	return Post{}, false
}

// buttonData maps the labels of the buttons below a message to their data.
func buttonData(board any) map[string]string {
	out := map[string]string{}
	b, _ := board.(Object)
	rows, _ := b["inline_keyboard"].([]any)
	for _, row := range rows {
		list, _ := row.([]any)
		for _, one := range list {
			o, _ := one.(Object)
			out[fmt.Sprint(o["text"])] = fmt.Sprint(o["callback_data"])
		}
	}
	return out
}

// Press simulates a press of the button of message m whose label contains word, and returns the
// reply. As on the real platform, only existing buttons can be pressed.
func (s *Server) Press(ctx context.Context, sender string, m Post, word string) (string, error) {
	data := ""
	for words, d := range buttonData(s.Board(m.ID)) {
		if strings.Contains(words, word) {
			data = d
		}
	}
	if data == "" {
		return "", fmt.Errorf("there is no button %q under %q", word, m.Text)
	}
	kind := "private"
	if strings.HasPrefix(m.Chat, "-") {
		kind = "supergroup"
	}
	s.mu.Lock()
	s.nextID++
	id := strconv.Itoa(s.nextID)
	s.mu.Unlock()
	s.Add("callback_query", Object{
		"id": id, "from": Object{"id": chatNumber(sender), "first_name": sender}, "data": data,
		"message": Object{"message_id": m.ID, "date": time.Now().Unix(), "text": m.Text, "chat": Object{"id": chatNumber(m.Chat), "type": kind}},
	})
	for {
		s.mu.Lock()
		for _, a := range s.Answers {
			if a["callback_query_id"] == id {
				s.mu.Unlock()
				return fmt.Sprint(a["text"]), nil
			}
		}
		s.mu.Unlock()
		if err := retry.Sleep(ctx, 5*time.Millisecond); err != nil {
			return "", err
		}
	}
}

// Reopen implements channelstest.Reopener.
func (s *Server) Reopen(*testing.T) channels.Channel { return s.Open() }

// Again implements channelstest.Repeater.
func (s *Server) Again(context.Context) bool {
	s.mu.Lock()
	m := s.last
	s.mu.Unlock()
	if m == nil {
		return false
	}
	s.Add("message", m)
	return true
}

// Secrets implements channelstest.Secrets.
func (s *Server) Secrets() []string { return []string{Token, Secret} }

var (
	codes   = regexp.MustCompile(`(?s)<pre>.*?</pre>|<code[^>]*>.*?</code>`)
	mention = regexp.MustCompile(`(?:^|[^\w/])@\w{3,32}`)
	hrefs   = regexp.MustCompile(`href="([^"]*)"`)
)

// Rendered implements channelstest.Renderer. As in Telegram's apps, an @name or a link to a user
// notifies a person.
func (s *Server) Rendered() (out []string) {
	for _, m := range s.Posts() {
		shown := m.Raw
		if m.Params["parse_mode"] == "HTML" {
			for _, x := range hrefs.FindAllStringSubmatch(shown, -1) {
				if to := html.UnescapeString(x[1]); !strings.HasPrefix(to, "http://") && !strings.HasPrefix(to, "https://") && !strings.HasPrefix(to, "mailto:") {
					out = append(out, "link "+to)
				}
			}
			shown = html.UnescapeString(tag.ReplaceAllString(codes.ReplaceAllString(shown, " "), ""))
		}
		for _, at := range mention.FindAllString(shown, -1) {
			out = append(out, "mention "+at)
		}
	}
	return out
}

// Last returns the last message sent with Say.
func (s *Server) Last() Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}
