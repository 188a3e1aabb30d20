// Package telegramtest implements a Bot API server (https://core.telegram.org/bots/api) for tests
// of the channel and the daemon. A channel with the token Token uses this server. Driver returns a
// driver that creates such channels.
package telegramtest

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/telegram"
)

// The ids that the server knows: its bot, and the person in Private.
const (
	Token  = "123456:AAsecretsecretsecret_-x"
	Secret = "AAsecretsecretsecret_-x" //nolint:gosec // the secret part of Token
	Me     = 123456
	Owner  = 7
)

// Object is a JSON object in the Bot API.
type Object = map[string]any

// Post is a message that the bot has posted or edited.
type Post struct {
	Method, Chat string
	Text         string // as people see it
	Raw          string // as the bot wrote it
	ID           int
	Params       Object
	File         []byte
	Filename     string
}

// Server keeps updates until a poll passes a higher offset. A poll with the negative offset -n
// drops all but the last n updates. A second poll ends the first one with status 409, and a webhook
// ends all polls. Read or change the exported fields only inside With.
type Server struct {
	*channelstest.Site

	mu sync.Mutex
	// Read or change these fields only inside With.
	Updates   []Object // updates that the bot has not fetched yet
	Webhook   string
	ReadsAll  bool
	Texts     map[int]string // message texts, as people see them
	Calls     map[string]int
	Commands  []any
	Answers   []Object                      // answers to presses of buttons
	Fails     []func(w http.ResponseWriter) // failures for the next posts
	PollFails []func(w http.ResponseWriter) // failures for the next polls
	NoHTML    bool                          // whether the server rejects HTML formatting
	Files     map[string][]byte             // keyed by path
	FilePath  string                        // path that getFile returns
	Migrated  map[string]int64              // groups that became supergroups, with their new ids
	allowed   []any                         // kinds of updates that the client requested
	boards    map[int]any                   // the buttons of each message
	changed   chan struct{}                 // closed when there are new updates
	nextID    int
	polling   chan struct{} // closed to end the open poll
	posts     []Post
	previews  int
	signs     int
	last      Object // last message
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{
		changed: make(chan struct{}), nextID: 1000, Texts: map[int]string{}, boards: map[int]any{}, Calls: map[string]int{},
		Files: map[string][]byte{}, Migrated: map[string]int64{}, FilePath: "photos/file_1.jpg",
	}
	s.Site = channelstest.NewSite(t, s)
	return s
}

// Options returns options that connect a channel to this server.
func (*Server) Options() telegram.Options {
	return telegram.Options{Base: "http://telegram.example.com", Poll: 5 * time.Second, Pause: time.Millisecond}
}

// Open creates a channel with s.Deps.
func (s *Server) Open() *telegram.Channel { return s.OpenAt(s.Options()) }

// OpenAt creates a channel with s.Deps and the given options.
func (s *Server) OpenAt(o telegram.Options) *telegram.Channel {
	s.T.Helper()
	ch, err := telegram.New(telegram.Config{Token: Token, Allow: s.Allow}, s.Deps, o)
	if err != nil {
		s.T.Fatal(err)
	}
	return ch
}

// Driver returns a telegram.Driver that connects to this server instead of the real Telegram.
func (s *Server) Driver() channels.Driver {
	return channelstest.Driver(s.Site, telegram.Name, func(c telegram.Config, deps channels.Deps) (*telegram.Channel, error) {
		return telegram.New(c, deps, s.Options())
	})
}

// Refuse responds with an error.
func Refuse(w http.ResponseWriter, code int, said string, parameters Object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	o := Object{"ok": false, "error_code": code, "description": said}
	if parameters != nil {
		o["parameters"] = parameters
	}
	_ = json.NewEncoder(w).Encode(o)
}

// Grant responds with a result.
func Grant(w http.ResponseWriter, result any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(Object{"ok": true, "result": result})
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, isFile := strings.CutPrefix(r.URL.Path, "/file")
	rest, ok := strings.CutPrefix(path, "/bot"+Token+"/")
	if !ok {
		Refuse(w, 401, "Unauthorized", nil)
		return
	}
	if isFile {
		s.mu.Lock()
		b, ok := s.Files[rest]
		s.mu.Unlock()
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(b)
		return
	}
	p := Object{}
	var content []byte
	var filename string
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		if err := r.ParseMultipartForm(32 << 20); err != nil {
			Refuse(w, 400, "Bad Request: "+err.Error(), nil)
			return
		}
		for k, v := range r.MultipartForm.Value {
			p[k] = v[0]
		}
		for _, fs := range r.MultipartForm.File {
			f, err := fs[0].Open()
			if err == nil {
				content, _ = io.ReadAll(f)
				_ = f.Close()
			}
			filename = fs[0].Filename
		}
	} else if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
		Refuse(w, 400, "Bad Request: "+err.Error(), nil)
		return
	}
	s.mu.Lock()
	s.Calls[rest]++
	s.mu.Unlock()
	switch rest {
	case "getUpdates":
		s.getUpdates(w, r, p)
	case "getMe":
		s.mu.Lock()
		defer s.mu.Unlock()
		Grant(w, Object{"id": Me, "is_bot": true, "first_name": "Hob", "username": "HobBot", "can_read_all_group_messages": s.ReadsAll})
	case "getWebhookInfo":
		s.mu.Lock()
		defer s.mu.Unlock()
		Grant(w, Object{"url": s.Webhook})
	case "deleteWebhook":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.Webhook = ""
		Grant(w, true)
	case "setMyCommands":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.Commands, _ = p["commands"].([]any)
		Grant(w, true)
	case "answerCallbackQuery":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.Answers = append(s.Answers, p)
		Grant(w, true)
	case "getFile":
		s.mu.Lock()
		defer s.mu.Unlock()
		Grant(w, Object{"file_id": p["file_id"], "file_path": s.FilePath})
	default:
		s.postMessage(w, r, rest, p, content, filename)
	}
}

// getUpdates implements getUpdates (https://core.telegram.org/bots/api#getupdates).
func (s *Server) getUpdates(w http.ResponseWriter, r *http.Request, p Object) {
	s.mu.Lock()
	if s.polling != nil {
		close(s.polling)
	}
	ended := make(chan struct{})
	s.polling = ended
	if list, ok := p["allowed_updates"].([]any); ok {
		s.allowed = list
	}
	offset, has := p["offset"].(float64)
	switch {
	case len(s.PollFails) > 0:
		f := s.PollFails[0]
		s.PollFails = s.PollFails[1:]
		s.mu.Unlock()
		f(w)
		return
	case s.Webhook != "":
		s.mu.Unlock()
		Refuse(w, 409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first", nil)
		return
	case has && offset < 0:
		s.Updates = s.Updates[max(0, len(s.Updates)+int(offset)):]
	case has:
		s.Updates = slices.DeleteFunc(s.Updates, func(u Object) bool { return u["update_id"].(int) < int(offset) })
	}
	until := time.NewTimer(time.Duration(p["timeout"].(float64)) * time.Second)
	defer until.Stop()
	late := false
	for len(s.Updates) == 0 && !late {
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-until.C:
			late = true
		case <-r.Context().Done():
			return
		case <-ended:
			Refuse(w, 409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running", nil)
			return
		}
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	if s.polling == ended {
		s.polling = nil
	}
	Grant(w, s.Updates[:min(len(s.Updates), 100)])
}

var tag = regexp.MustCompile(`<[^>]*>`)

// visibleText returns the visible part of the text in a field, or why the server rejects it.
func visibleText(p Object, field string) (text string, why string) {
	text, _ = p[field].(string)
	if p["parse_mode"] == "HTML" {
		var open []string
		for _, x := range tag.FindAllString(text, -1) {
			name := strings.Fields(strings.Trim(x, "</>"))[0]
			switch {
			case !slices.Contains([]string{"b", "i", "u", "s", "a", "code", "pre", "blockquote"}, name):
				return "", "unsupported start tag \"" + name + "\""
			case !strings.HasPrefix(x, "</"):
				open = append(open, name)
			case len(open) == 0 || open[len(open)-1] != name:
				return "", "unexpected end tag"
			default:
				open = open[:len(open)-1]
			}
		}
		if len(open) > 0 {
			return "", "can't find end tag"
		}
		if strings.Contains(tag.ReplaceAllString(text, ""), "<") {
			return "", "unclosed start tag"
		}
		text = html.UnescapeString(tag.ReplaceAllString(text, ""))
	}
	return text, ""
}

// postMessage implements the methods that post and edit messages.
func (s *Server) postMessage(w http.ResponseWriter, r *http.Request, method string, p Object, content []byte, filename string) {
	if s.Stalled(r.Context()) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.Fails) > 0 {
		f := s.Fails[0]
		s.Fails = s.Fails[1:]
		f(w)
		return
	}
	chat := fmt.Sprint(p["chat_id"])
	if to, ok := s.Migrated[chat]; ok {
		Refuse(w, 400, "Bad Request: group chat was upgraded to a supergroup chat", Object{"migrate_to_chat_id": to})
		return
	}
	field := "text"
	if content != nil {
		field = "caption"
	}
	text, bad := visibleText(p, field)
	id := 0
	if n, ok := p["message_id"].(float64); ok {
		id = int(n)
	}
	switch {
	case bad != "" || s.NoHTML && p["parse_mode"] != nil:
		Refuse(w, 400, "Bad Request: can't parse entities: "+bad, nil)
		return
	case len(utf16.Encode([]rune(text))) > 4096:
		Refuse(w, 400, "Bad Request: message is too long", nil)
		return
	}
	switch method {
	case "sendChatAction":
		s.signs++
		Grant(w, true)
		return
	case "sendMessage", "sendDocument", "sendPhoto":
		if method == "sendMessage" && strings.TrimSpace(text) == "" {
			Refuse(w, 400, "Bad Request: message text is empty", nil)
			return
		}
		s.nextID++
		id = s.nextID
	case "editMessageText", "editMessageReplyMarkup":
		old, ok := s.Texts[id]
		switch {
		case !ok:
			Refuse(w, 400, "Bad Request: message to edit not found", nil)
			return
		case method == "editMessageText" && old == text && p["reply_markup"] == nil:
			Refuse(w, 400, "Bad Request: message is not modified: specified new message content and reply markup are exactly the same", nil)
			return
		case method == "editMessageReplyMarkup":
			text = old
		}
	default:
		Refuse(w, 404, "Not Found", nil)
		return
	}
	s.Texts[id] = text
	s.boards[id] = p["reply_markup"]
	raw, _ := p[field].(string)
	o, _ := p["link_preview_options"].(Object)
	if off, _ := o["is_disabled"].(bool); !off && strings.Contains(text, "://") {
		s.previews++
	}
	s.posts = append(s.posts, Post{Method: method, Chat: chat, Text: text, Raw: raw, ID: id, Params: p, File: content, Filename: filename})
	Grant(w, Object{"message_id": id, "date": time.Now().Unix(), "chat": Object{"id": 1, "type": "private"}})
}

// Add adds an update if the bot subscribed to its kind. It sets the message id if it is missing.
func (s *Server) Add(kind string, what Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextID++
	if _, ok := what["message_id"]; !ok && kind == "message" {
		what["message_id"] = s.nextID
	}
	if len(s.allowed) > 0 && !slices.Contains(s.allowed, any(kind)) {
		return
	}
	s.Updates = append(s.Updates, Object{"update_id": s.nextID, kind: what})
	close(s.changed)
	s.changed = make(chan struct{})
}

// Write adds a text message from Owner in a private chat.
func (s *Server) Write(text string) { s.Add("message", Private(text)) }

// Edit changes the text of an earlier message, as if its sender had edited it the given number of
// seconds later.
func (s *Server) Edit(m Object, text string, after int) {
	edited := maps.Clone(m)
	edited["text"], edited["edit_date"] = text, m["date"].(int)+after
	s.Add("edited_message", edited)
}

// Private returns a text message from Owner to the bot.
func Private(text string) Object {
	return Object{
		"date": 1700000000, "text": text, "from": Object{"id": Owner, "first_name": "Ada", "last_name": "L"},
		"chat": Object{"id": Owner, "type": "private"},
	}
}

// Posts lists the messages that the bot has posted or edited.
func (s *Server) Posts() []Post {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.posts)
}

// Called returns how often a method was called.
func (s *Server) Called(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Calls[method]
}

// With runs f while holding the server's lock.
func (s *Server) With(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// Board returns the keyboard below a message.
func (s *Server) Board(id int) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.boards[id]
}
