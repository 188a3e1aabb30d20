//go:build unix

package crash

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

type object = map[string]any

// postedMessage is a message from Hob on one of the platforms, in its current form.
type postedMessage struct {
	platform, chat, id, text string
	mark                     string // Hob's own id for the message, stored by the platform
	file                     []byte
	name                     string
	at                       time.Time
}

// platforms simulates the parts of Telegram, Slack and Discord that Hob needs for chats. It
// responds shortly after it has stored a message, so that a kill can occur in between.
type platforms struct {
	srv  *httptest.Server
	held atomic.Bool // whether Telegram received a poll for updates

	mu      sync.Mutex
	posts   []*postedMessage
	updates []object // Telegram updates that are not confirmed yet
	news    chan struct{}
	n       int
	files   map[string][]byte
}

func newPlatforms(t *testing.T) *platforms {
	p := &platforms{news: make(chan struct{}), files: map[string][]byte{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/tg/", p.serveTelegram)
	mux.HandleFunc("/slack/", p.serveSlack)
	mux.HandleFunc("/discord/", p.serveDiscord)
	p.srv = httptest.NewServer(mux)
	t.Cleanup(func() {
		p.srv.CloseClientConnections()
		p.srv.Close()
	})
	return p
}

// listEnv returns the variables that make a program with failpoints use these platforms.
func (p *platforms) listEnv() []string {
	return []string{
		"HOB_FAILPOINT_AT_TELEGRAM=" + p.srv.URL + "/tg", "HOB_FAILPOINT_AT_SLACK=" + p.srv.URL + "/slack/", "HOB_FAILPOINT_AT_DISCORD=" + p.srv.URL + "/discord",
	}
}

func (p *platforms) listPosts() []postedMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []postedMessage
	for _, m := range p.posts {
		out = append(out, *m)
	}
	return out
}

// hasText reports whether some message of a platform contains a text.
func (p *platforms) hasText(platform, text string) bool {
	for _, m := range p.listPosts() {
		if m.platform == platform && strings.Contains(m.text, text) {
			return true
		}
	}
	return false
}

// storePost stores a new message. If drops is set, it returns an existing message with the same mark
// instead.
func (p *platforms) storePost(m postedMessage, drops bool) postedMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	if drops && m.mark != "" {
		for _, old := range p.posts {
			if old.platform == m.platform && old.chat == m.chat && old.mark == m.mark {
				return *old
			}
		}
	}
	p.n++
	m.id, m.at = strconv.Itoa(1000+p.n), time.Now()
	if m.platform == "slack" {
		m.id = fmt.Sprintf("%d.%06d", m.at.Unix(), p.n)
	}
	p.posts = append(p.posts, &m)
	return m
}

// changePost edits a message in place.
func (p *platforms) changePost(platform, id, text, mark string) (postedMessage, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.posts {
		if m.platform == platform && m.id == id {
			m.text = text
			if mark != "" {
				m.mark = mark
			}
			return *m, true
		}
	}
	return postedMessage{}, false
}

func respondJSON(w http.ResponseWriter, v any) {
	time.Sleep(5 * time.Millisecond) // the message is stored but the response is not sent yet
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// addMessage simulates a message from a person to the bot.
func (p *platforms) addMessage(who int, text, file string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	m := object{
		"message_id": 1000 + p.n, "date": time.Now().Unix(), "text": text,
		"from": object{"id": who, "first_name": "Ada"}, "chat": object{"id": who, "type": "private"},
	}
	if file != "" {
		delete(m, "text")
		m["caption"], m["document"] = text, object{"file_id": file, "file_name": file, "mime_type": "text/plain", "file_size": len(p.files[file])}
	}
	p.updates = append(p.updates, object{"update_id": p.n, "message": m})
	close(p.news)
	p.news = make(chan struct{})
}

// serveTelegram follows https://core.telegram.org/bots/api.
func (p *platforms) serveTelegram(w http.ResponseWriter, r *http.Request) {
	if _, file, ok := strings.Cut(r.URL.Path, "/tg/file/"); ok {
		p.mu.Lock()
		b := p.files[path.Base(file)]
		p.mu.Unlock()
		w.Header().Set("Content-Length", strconv.Itoa(len(b)))
		_, _ = w.Write(b[:len(b)/2])
		w.(http.Flusher).Flush()
		time.Sleep(10 * time.Millisecond)
		_, _ = w.Write(b[len(b)/2:])
		return
	}
	grant := func(result any) { respondJSON(w, object{"ok": true, "result": result}) }
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		if m, ok := readUpload(r); ok {
			grant(object{"message_id": p.storePost(m, false).parseID()})
		}
		return
	}
	var in struct {
		Chat    any     `json:"chat_id"`
		Text    string  `json:"text"`
		Message int     `json:"message_id"`
		Offset  int     `json:"offset"`
		Timeout float64 `json:"timeout"`
		File    string  `json:"file_id"`
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil {
		return // cut off
	}
	switch path.Base(r.URL.Path) {
	case "getUpdates":
		grant(p.pollUpdates(r, in.Offset, time.Duration(in.Timeout)*time.Second))
	case "getMe":
		grant(object{"id": 1, "is_bot": true, "first_name": "Hob", "username": "HobBot"})
	case "getFile":
		grant(object{"file_id": in.File, "file_path": "documents/" + in.File})
	case "sendMessage":
		grant(object{"message_id": p.storePost(postedMessage{platform: "telegram", chat: fmt.Sprint(in.Chat), text: in.Text}, false).parseID()})
	case "editMessageText":
		if m, ok := p.changePost("telegram", strconv.Itoa(in.Message), in.Text, ""); ok {
			grant(object{"message_id": m.parseID()})
		} else {
			respondJSON(w, object{"ok": false, "error_code": 400, "description": "Bad Request: message to edit not found"})
		}
	default:
		grant(true)
	}
}

func (m postedMessage) parseID() int {
	n, _ := strconv.Atoi(m.id)
	return n
}

// readUpload reads a message with a file. It returns false if the upload was cut off.
func readUpload(r *http.Request) (postedMessage, bool) {
	if r.ParseMultipartForm(32<<20) != nil {
		return postedMessage{}, false
	}
	m := postedMessage{platform: "telegram", chat: r.FormValue("chat_id"), text: r.FormValue("caption")}
	for _, fs := range r.MultipartForm.File {
		f, err := fs[0].Open()
		if err != nil {
			return m, false
		}
		m.name = fs[0].Filename
		if m.file, err = io.ReadAll(f); err != nil {
			return m, false
		}
		_ = f.Close()
	}
	return m, true
}

func (p *platforms) pollUpdates(r *http.Request, offset int, hold time.Duration) []object {
	late := time.After(hold)
	if hold > 0 {
		p.held.Store(true)
	}
	for {
		p.mu.Lock()
		for offset > 0 && len(p.updates) > 0 && p.updates[0]["update_id"].(int) < offset {
			p.updates = p.updates[1:]
		}
		news, out := p.news, append([]object{}, p.updates...)
		p.mu.Unlock()
		if len(out) > 0 || hold == 0 {
			return out
		}
		select {
		case <-news:
		case <-late:
			return out
		case <-r.Context().Done():
			return out
		}
	}
}

// serveSlack follows docs.slack.dev/reference/methods.
func (p *platforms) serveSlack(w http.ResponseWriter, r *http.Request) {
	if r.ParseForm() != nil {
		return
	}
	var mark struct {
		Payload struct {
			ID string `json:"id"`
		} `json:"event_payload"`
	}
	_ = json.Unmarshal([]byte(r.FormValue("metadata")), &mark) // most calls have no metadata
	chat, text := r.FormValue("channel"), r.FormValue("text")
	switch path.Base(r.URL.Path) {
	case "apps.connections.open":
		<-r.Context().Done()
	case "chat.postMessage":
		m := p.storePost(postedMessage{platform: "slack", chat: chat, text: text, mark: mark.Payload.ID}, false)
		respondJSON(w, object{"ok": true, "channel": chat, "ts": m.id})
	case "chat.update":
		m, ok := p.changePost("slack", r.FormValue("ts"), text, mark.Payload.ID)
		respondJSON(w, object{"ok": ok, "error": "message_not_found", "channel": chat, "ts": m.id})
	case "conversations.history":
		list := []object{}
		for _, m := range p.listPosts() {
			if m.platform == "slack" && m.chat == chat {
				list = append(list, object{"type": "message", "bot_id": "B1", "ts": m.id, "text": m.text, "metadata": object{"event_type": "hob", "event_payload": object{"id": m.mark}}})
			}
		}
		respondJSON(w, object{"ok": true, "messages": list})
	default:
		respondJSON(w, object{"ok": true, "user_id": "UHOB", "team_id": "T1", "bot_id": "B1"})
	}
}

// serveDiscord follows https://docs.discord.com/developers/resources/message.
func (p *platforms) serveDiscord(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/discord/"), "/")
	shown := func(m postedMessage) object {
		return object{"id": m.id, "channel_id": m.chat, "content": m.text, "nonce": m.mark, "timestamp": m.at.UTC().Format(time.RFC3339Nano), "author": object{"id": "1", "bot": true}}
	}
	var in struct{ Content, Nonce string }
	if r.Method != http.MethodGet && r.ContentLength > 0 && json.NewDecoder(r.Body).Decode(&in) != nil {
		return
	}
	switch {
	case r.URL.Path == "/discord/gateway/bot":
		<-r.Context().Done()
	case len(parts) == 3 && r.Method == http.MethodPost && parts[2] == "messages":
		respondJSON(w, shown(p.storePost(postedMessage{platform: "discord", chat: parts[1], text: in.Content, mark: in.Nonce}, true)))
	case len(parts) == 4 && r.Method == http.MethodPatch:
		if m, ok := p.changePost("discord", parts[3], in.Content, ""); ok {
			respondJSON(w, shown(m))
		} else {
			w.WriteHeader(http.StatusNotFound)
			respondJSON(w, object{"code": 10008, "message": "Unknown Message"})
		}
	case len(parts) == 3 && r.Method == http.MethodGet:
		list := []object{}
		for _, m := range p.listPosts() {
			if m.platform == "discord" && m.chat == parts[1] {
				list = append([]object{shown(m)}, list...)
			}
		}
		respondJSON(w, list[:min(len(list), 50)])
	case r.URL.Path == "/discord/users/@me":
		respondJSON(w, object{"id": "1", "username": "hob", "bot": true})
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}
