package telegram_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
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
	"hob/platform/safehttp"
)

const (
	token  = "123456:AAsecretsecretsecret_-x"
	secret = "AAsecretsecretsecret_-x"
	me     = 123456
	owner  = 7
)

type object = map[string]any

// sent is what the bot has posted or changed.
type sent struct {
	method, chat, text, raw string // text as people see it
	id                      int
	params                  object
	file                    []byte
	filename                string
}

// botAPI is a Bot API server of the published protocol
// (https://core.telegram.org/bots/api): updates are kept until a poll with a higher
// offset, a negative offset forgets all but the last ones, a second poll ends the
// first one with 409, as a webhook does all of them.
type botAPI struct {
	t   *testing.T
	srv *httptest.Server

	mu       sync.Mutex
	changed  chan struct{} // closed when there is news
	updates  []object
	nextID   int
	polls    int
	polling  chan struct{} // closed to end the poll that is held
	offsets  []string
	webhook  string
	readsAll bool
	sent     []sent
	texts    map[int]string // of messages, as people see them
	boards   map[int]any
	calls    map[string]int
	commands []any
	pressed  []object
	fails    []func(w http.ResponseWriter)
	pollFail []func(w http.ResponseWriter)
	stall    chan struct{}
	noHTML   bool
	files    map[string][]byte
	path     string // of getFile
	migrated map[string]int64
	previews int
	signs    int
	last     object // what was said last
	down     bool
	noDial   int // how many connections do not come about
	conns    []net.Conn
	it       *bot // the first bot of this server
}

func newAPI(t *testing.T) *botAPI {
	a := &botAPI{
		t: t, changed: make(chan struct{}), nextID: 1000, texts: map[int]string{}, boards: map[int]any{}, calls: map[string]int{},
		files: map[string][]byte{}, migrated: map[string]int64{}, path: "photos/file_1.jpg",
	}
	a.srv = httptest.NewServer(a)
	t.Cleanup(a.srv.Close)
	return a
}

func refuse(w http.ResponseWriter, code int, said string, parameters object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	o := object{"ok": false, "error_code": code, "description": said}
	if parameters != nil {
		o["parameters"] = parameters
	}
	_ = json.NewEncoder(w).Encode(o)
}

func grant(w http.ResponseWriter, result any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object{"ok": true, "result": result})
}

func (a *botAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, isFile := strings.CutPrefix(r.URL.Path, "/file")
	rest, ok := strings.CutPrefix(path, "/bot"+token+"/")
	if !ok {
		refuse(w, 401, "Unauthorized", nil)
		return
	}
	if isFile {
		a.mu.Lock()
		b, ok := a.files[rest]
		a.mu.Unlock()
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(b)
		return
	}
	p := object{}
	var content []byte
	var filename string
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		if err := r.ParseMultipartForm(32 << 20); err != nil {
			refuse(w, 400, "Bad Request: "+err.Error(), nil)
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
		refuse(w, 400, "Bad Request: "+err.Error(), nil)
		return
	}
	a.mu.Lock()
	a.calls[rest]++
	a.mu.Unlock()
	switch rest {
	case "getUpdates":
		a.getUpdates(w, r, p)
	case "getMe":
		a.mu.Lock()
		defer a.mu.Unlock()
		grant(w, object{"id": me, "is_bot": true, "first_name": "Hob", "username": "HobBot", "can_read_all_group_messages": a.readsAll})
	case "getWebhookInfo":
		a.mu.Lock()
		defer a.mu.Unlock()
		grant(w, object{"url": a.webhook})
	case "setMyCommands":
		a.mu.Lock()
		defer a.mu.Unlock()
		a.commands, _ = p["commands"].([]any)
		grant(w, true)
	case "answerCallbackQuery":
		a.mu.Lock()
		defer a.mu.Unlock()
		a.pressed = append(a.pressed, p)
		grant(w, true)
	case "getFile":
		a.mu.Lock()
		defer a.mu.Unlock()
		grant(w, object{"file_id": p["file_id"], "file_path": a.path})
	default:
		a.post(w, r, rest, p, content, filename)
	}
}

// getUpdates, see https://core.telegram.org/bots/api#getupdates.
func (a *botAPI) getUpdates(w http.ResponseWriter, r *http.Request, p object) {
	a.mu.Lock()
	a.polls++
	if a.polling != nil {
		close(a.polling)
	}
	ended := make(chan struct{})
	a.polling = ended
	offset, has := p["offset"].(float64)
	a.offsets = append(a.offsets, fmt.Sprint(p["offset"]))
	switch {
	case len(a.pollFail) > 0:
		f := a.pollFail[0]
		a.pollFail = a.pollFail[1:]
		a.mu.Unlock()
		f(w)
		return
	case a.webhook != "":
		a.mu.Unlock()
		refuse(w, 409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first", nil)
		return
	case has && offset < 0:
		a.updates = a.updates[max(0, len(a.updates)+int(offset)):]
	case has:
		a.updates = slices.DeleteFunc(a.updates, func(u object) bool { return u["update_id"].(int) < int(offset) })
	}
	until := time.NewTimer(time.Duration(p["timeout"].(float64)) * time.Second)
	defer until.Stop()
	late := false
	for len(a.updates) == 0 && !late {
		changed := a.changed
		a.mu.Unlock()
		select {
		case <-changed:
		case <-until.C:
			late = true
		case <-r.Context().Done():
			return
		case <-ended:
			refuse(w, 409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running", nil)
			return
		}
		a.mu.Lock()
	}
	defer a.mu.Unlock()
	if a.polling == ended {
		a.polling = nil
	}
	grant(w, a.updates[:min(len(a.updates), 100)])
}

var tag = regexp.MustCompile(`<[^>]*>`)

// seen returns what people see of a text, or why it is refused.
func seen(p object, field string) (text string, why string) {
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

// post does what posts and changes messages.
func (a *botAPI) post(w http.ResponseWriter, r *http.Request, method string, p object, content []byte, filename string) {
	a.mu.Lock()
	stall := a.stall
	a.mu.Unlock()
	if stall != nil {
		select {
		case <-stall:
		case <-r.Context().Done():
			return
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.fails) > 0 {
		f := a.fails[0]
		a.fails = a.fails[1:]
		f(w)
		return
	}
	chat := fmt.Sprint(p["chat_id"])
	if to, ok := a.migrated[chat]; ok {
		refuse(w, 400, "Bad Request: group chat was upgraded to a supergroup chat", object{"migrate_to_chat_id": to})
		return
	}
	field := "text"
	if content != nil {
		field = "caption"
	}
	text, bad := seen(p, field)
	id := 0
	if n, ok := p["message_id"].(float64); ok {
		id = int(n)
	}
	switch {
	case bad != "" || a.noHTML && p["parse_mode"] != nil:
		refuse(w, 400, "Bad Request: can't parse entities: "+bad, nil)
		return
	case len(utf16.Encode([]rune(text))) > 4096:
		refuse(w, 400, "Bad Request: message is too long", nil)
		return
	}
	switch method {
	case "sendChatAction":
		a.signs++
		grant(w, true)
		return
	case "sendMessage", "sendDocument", "sendPhoto":
		if method == "sendMessage" && strings.TrimSpace(text) == "" {
			refuse(w, 400, "Bad Request: message text is empty", nil)
			return
		}
		a.nextID++
		id = a.nextID
	case "editMessageText", "editMessageReplyMarkup":
		old, ok := a.texts[id]
		switch {
		case !ok:
			refuse(w, 400, "Bad Request: message to edit not found", nil)
			return
		case method == "editMessageText" && old == text && p["reply_markup"] == nil:
			refuse(w, 400, "Bad Request: message is not modified: specified new message content and reply markup are exactly the same", nil)
			return
		case method == "editMessageReplyMarkup":
			text = old
		}
	default:
		refuse(w, 404, "Not Found", nil)
		return
	}
	a.texts[id] = text
	a.boards[id] = p["reply_markup"]
	raw, _ := p[field].(string)
	o, _ := p["link_preview_options"].(object)
	if off, _ := o["is_disabled"].(bool); !off && strings.Contains(text, "://") {
		a.previews++
	}
	a.sent = append(a.sent, sent{method: method, chat: chat, text: text, raw: raw, id: id, params: p, file: content, filename: filename})
	grant(w, object{"message_id": id, "date": time.Now().Unix(), "chat": object{"id": 1, "type": "private"}})
}

// add makes an update, and returns its id.
func (a *botAPI) add(kind string, what object) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.nextID++
	a.updates = append(a.updates, object{"update_id": a.nextID, kind: what})
	close(a.changed)
	a.changed = make(chan struct{})
	return a.nextID
}

// write is a text in a private chat.
func (a *botAPI) write(text string) int { return a.add("message", private(a.t, text)) }

var messages struct {
	sync.Mutex
	n int
}

func private(t *testing.T, text string) object {
	t.Helper()
	messages.Lock()
	defer messages.Unlock()
	messages.n++
	return object{
		"message_id": messages.n, "date": 1700000000, "text": text, "from": object{"id": owner, "first_name": "Ada", "last_name": "L"},
		"chat": object{"id": owner, "type": "private"},
	}
}

func (a *botAPI) posts() []sent {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.sent)
}

func (a *botAPI) called(method string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.calls[method]
}

func (a *botAPI) with(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
}

func (a *botAPI) board(id int) any {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.boards[id]
}

// Arrived implements channelstest.Platform.
func (a *botAPI) Arrived() (out []string) {
	for _, s := range a.posts() {
		if s.method == "sendMessage" {
			out = append(out, s.text)
		}
	}
	return out
}

// Fail implements channelstest.Platform.
func (a *botAPI) Fail(c channels.Class, n int) bool {
	f := map[channels.Class]func(w http.ResponseWriter){
		channels.Temporary: func(w http.ResponseWriter) { http.Error(w, "<html>bad gateway", http.StatusBadGateway) },
		channels.Later: func(w http.ResponseWriter) {
			refuse(w, 429, "Too Many Requests: retry after 60", object{"retry_after": 60})
		},
		channels.Permanent:    func(w http.ResponseWriter) { refuse(w, 403, "Forbidden: bot was blocked by the user", nil) },
		channels.Unauthorised: func(w http.ResponseWriter) { refuse(w, 401, "Unauthorized", nil) },
	}[c]
	if c == channels.Temporary { // certainly not sent, so that it is not marked
		a.with(func() { a.noDial += n })
		return true
	}
	if f == nil {
		return false
	}
	a.with(func() {
		for range n {
			a.fails = append(a.fails, f)
		}
	})
	return true
}

// Stall implements channelstest.Platform.
func (a *botAPI) Stall() func() {
	c := make(chan struct{})
	a.with(func() { a.stall = c })
	return sync.OnceFunc(func() {
		a.with(func() { a.stall = nil })
		close(c)
	})
}

// Previewed implements channelstest.Previewer, Typed channelstest.Sign.
func (a *botAPI) Previewed() int { a.mu.Lock(); defer a.mu.Unlock(); return a.previews }

// Typed implements channelstest.Sign.
func (a *botAPI) Typed() int { a.mu.Lock(); defer a.mu.Unlock(); return a.signs }

// Say implements channelstest.Speaker.
func (a *botAPI) Say(_ context.Context, chat, sender, text string, group bool) bool {
	if a.called("getUpdates") < 2 {
		return false // what is written before the first poll is not heard
	}
	m := private(a.t, text)
	m["from"] = object{"id": number(sender), "first_name": sender}
	m["chat"] = object{"id": number(chat), "type": "private"}
	if group {
		m["chat"] = object{"id": -number(chat), "type": "supergroup", "title": chat}
	}
	a.with(func() { a.last = m })
	a.add("message", m)
	return true
}

func number(s string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s))
	return int(h.Sum32())
}

// bot is a channel that talks to the server.
type bot struct {
	deps channels.Deps
	conf telegram.Config
	opt  telegram.Options
}

func (a *botAPI) bot() *bot {
	network, err := safehttp.New(safehttp.Options{Dial: a.dial})
	if err != nil {
		a.t.Fatal(err)
	}
	b := &bot{
		deps: channels.Deps{Network: network, Keep: &channelstest.Keeper{}, Log: slog.New(slog.DiscardHandler)}, conf: telegram.Config{Token: token},
		opt: telegram.Options{Base: a.srv.URL, Poll: 5 * time.Second, Pause: time.Millisecond},
	}
	a.it = cmp.Or(a.it, b)
	return b
}

// dial connects to the server, unless it is down.
func (a *botAPI) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	a.mu.Lock()
	down := a.down || a.noDial > 0
	a.noDial = max(0, a.noDial-1)
	a.mu.Unlock()
	if down {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("network is unreachable")}
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", to.String())
	if err == nil {
		a.with(func() { a.conns = append(a.conns, conn) })
	}
	return conn, err
}

// Down implements channelstest.Outage.
func (a *botAPI) Down() {
	a.with(func() {
		a.down = true
		for _, c := range a.conns {
			_ = c.Close()
		}
		a.conns = nil
	})
}

// Up implements channelstest.Outage.
func (a *botAPI) Up() { a.with(func() { a.down = false }) }

// Again implements channelstest.Repeater.
func (a *botAPI) Again(context.Context) bool {
	a.mu.Lock()
	m := a.last
	a.mu.Unlock()
	if m == nil {
		return false
	}
	a.add("message", m)
	return true
}

// Reopen implements channelstest.Reopener.
func (a *botAPI) Reopen(t *testing.T) channels.Channel { return a.it.open(t) }

// Secrets implements channelstest.Secrets.
func (a *botAPI) Secrets() []string { return []string{token, secret} }

var (
	codes   = regexp.MustCompile(`(?s)<pre>.*?</pre>|<code[^>]*>.*?</code>`)
	mention = regexp.MustCompile(`(?:^|[^\w/])@\w{3,32}`)
	hrefs   = regexp.MustCompile(`href="([^"]*)"`)
)

// Rendered implements channelstest.Renderer, as the apps do: an @name rings somebody,
// and a link to a user is one.
func (a *botAPI) Rendered() (out []string) {
	for _, s := range a.posts() {
		shown := s.raw
		if s.params["parse_mode"] == "HTML" {
			for _, x := range hrefs.FindAllStringSubmatch(shown, -1) {
				if to := html.UnescapeString(x[1]); !strings.HasPrefix(to, "http://") && !strings.HasPrefix(to, "https://") && !strings.HasPrefix(to, "mailto:") {
					out = append(out, "link "+to)
				}
			}
			shown = html.UnescapeString(tag.ReplaceAllString(codes.ReplaceAllString(shown, " "), ""))
		}
		for _, m := range mention.FindAllString(shown, -1) {
			out = append(out, "mention "+m)
		}
	}
	return out
}

func (b *bot) open(t *testing.T) *telegram.Channel {
	t.Helper()
	ch, err := telegram.New(b.conf, b.deps, b.opt)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// run runs a channel; what it returns ends that.
func run(t *testing.T, ch channels.Channel, r channels.Receiver) (end func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- ch.Run(ctx, r) }()
	end = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = end() })
	return end
}

// eventually waits until f is true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	until := time.Now().Add(20 * time.Second)
	for !f() {
		if time.Now().After(until) {
			t.Fatal("waited in vain: " + what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// listening waits until the channel has passed what was written before it was there.
func (a *botAPI) listening(t *testing.T) {
	t.Helper()
	eventually(t, "the bot listens", func() bool { return a.called("getUpdates") >= 2 })
}
