package discord_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/discord"
	"hob/platform/safehttp/safehttptest"
)

const (
	botID   = "4200000000000000001"
	roleID  = "4200000000000000002"
	guildID = "4200000000000000003"
	appID   = "4200000000000000004"
	token   = "MTk4NjIyNDgz.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs"
	base    = "http://discord.example.com/api/v10"
)

type object = map[string]any

// frame is a payload of the gateway.
type frame struct {
	Op   int    `json:"op"`
	Data any    `json:"d"`
	Seq  *int   `json:"s,omitempty"`
	Type string `json:"t,omitempty"`
}

// request is one that arrived at the HTTP API.
type request struct {
	method, path string
	body         object
	files        map[string]string
}

// world is a Discord of one bot. It follows https://discord.com/developers/docs: topics
// "Gateway", "Opcodes and Status Codes", "Rate Limits", "Receiving and Responding", and
// the resources Message and Application Command.
type world struct {
	t    *testing.T
	net  *safehttptest.Internet
	keep *channelstest.Keeper
	deps channels.Deps

	mu       sync.Mutex
	nextID   int
	chats    map[string][]object // messages as the API shows them, oldest first
	arrived  []object            // what the bot said, without second copies
	nonces   map[string]object
	forgets  bool // the few minutes of enforce_nonce are over
	hides    bool // nonces do not come back with messages
	typed    int
	fails    []func(http.ResponseWriter)
	failsAll bool // not only what sends a text
	stall    chan struct{}
	down     bool
	requests []request

	interactions map[string]object // by token: the original answer
	followUps    []object
	acks         []object

	session  string
	sessions int
	log      []frame // of the session, to be replayed
	live     *websocket.Conn
	ever     bool
	saidLast object
	// What the gateway does.
	every       int // heartbeat_interval, ms
	deaf        bool
	identifies  int
	resumes     int
	beats       int
	closeWith   int // instead of READY
	invalid     []bool
	hello       bool
	gateway     string
	seenIntents float64
}

func newWorld(t *testing.T) *world {
	w := &world{
		t: t, keep: &channelstest.Keeper{}, chats: map[string][]object{}, nonces: map[string]object{}, nextID: 5000,
		interactions: map[string]object{}, every: 40000, hello: true, gateway: "ws://gateway.example.com",
	}
	w.net = safehttptest.New(t, w)
	t.Cleanup(w.cut)
	w.deps = channels.Deps{Log: slog.New(slog.DiscardHandler), Network: w.net.Client(t), Keep: w.keep}
	return w
}

func (w *world) open() *discord.Channel {
	w.t.Helper()
	ch, err := discord.New(discord.Config{Token: token}, w.deps, discord.Options{
		API: base, Gateway: []string{"gateway.example.com"}, Files: []string{"cdn.example.com"},
		Pause: func(d time.Duration) time.Duration { return d / 1000 },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return ch
}

func (w *world) id() string {
	w.nextID++
	return strconv.Itoa(1000000000000000000 + w.nextID)
}

// ServeHTTP is the API, the gateway and the place of files.
func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	down := w.down
	w.mu.Unlock()
	if down {
		if conn, _, err := rw.(http.Hijacker).Hijack(); err == nil {
			_ = conn.Close()
		}
		return
	}
	switch {
	case r.Host == "gateway.example.com":
		w.serveGateway(rw, r)
	case r.Host == "cdn.example.com":
		if r.URL.Path == "/elsewhere" {
			http.Redirect(rw, r, "http://evil.example.com/x", http.StatusFound)
			return
		}
		_, _ = io.WriteString(rw, "the file "+r.URL.Path)
	case strings.HasPrefix(r.URL.Path, "/api/v10/"):
		w.serveAPI(rw, r)
	default:
		_, _ = io.WriteString(rw, "elsewhere")
	}
}

func (w *world) serveAPI(rw http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/api/v10")
	req := request{method: r.Method, path: path, body: object{}}
	raw, _ := io.ReadAll(r.Body)
	if kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "multipart/form-data" {
		form, err := multipart.NewReader(strings.NewReader(string(raw)), params["boundary"]).ReadForm(32 << 20)
		if err != nil {
			w.t.Errorf("a form that cannot be read: %v", err)
			return
		}
		raw = []byte(form.Value["payload_json"][0])
		req.files = map[string]string{}
		for _, f := range form.File {
			file, _ := f[0].Open()
			b, _ := io.ReadAll(file)
			req.files[f[0].Filename] = string(b)
		}
	}
	_ = json.Unmarshal(raw, &req.body)
	public := strings.HasPrefix(path, "/interactions/") || strings.HasPrefix(path, "/webhooks/")
	if got := r.Header.Get("Authorization"); !public && got != "Bot "+token || public && got != "" {
		w.t.Errorf("%s %s with the authorization %q", r.Method, path, got)
	}
	if !strings.HasPrefix(r.UserAgent(), "DiscordBot (") {
		w.t.Errorf("the agent %q", r.UserAgent())
	}
	w.mu.Lock()
	stall := w.stall
	w.mu.Unlock()
	if stall != nil && r.Method != http.MethodGet {
		select {
		case <-stall:
		case <-r.Context().Done():
			return
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = append(w.requests, req)
	if len(w.fails) > 0 && (w.failsAll || strings.HasPrefix(path, "/channels/") && r.Method != http.MethodGet) {
		f := w.fails[0]
		w.fails = w.fails[1:]
		f(rw)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	code, answer := w.answer(req, r)
	rw.WriteHeader(code)
	if answer != nil {
		_ = json.NewEncoder(rw).Encode(answer)
	}
}

func notFound(code int) (int, any) { return 404, object{"message": "Unknown", "code": code} }

// answer is what the API does; w.mu is held.
func (w *world) answer(req request, r *http.Request) (int, any) {
	parts := strings.Split(strings.Trim(req.path, "/"), "/")
	switch {
	case req.path == "/gateway/bot":
		return 200, object{"url": w.gateway, "shards": 1, "session_start_limit": object{"total": 1000, "remaining": 999, "reset_after": 14400000, "max_concurrency": 1}}
	case req.path == "/users/@me":
		return 200, object{"id": botID, "username": "hob", "bot": true}
	case req.path == "/applications/@me":
		return 200, object{"id": appID, "name": "Hob", "flags": 1 << 19, "bot": object{"id": botID, "username": "hob"}}
	case req.path == "/users/@me/channels":
		return 200, object{"id": "dm" + fmt.Sprint(req.body["recipient_id"])}
	case parts[0] == "applications" && req.method == http.MethodPut:
		return 200, []any{}
	case parts[0] == "interactions" && len(parts) == 4:
		w.acks = append(w.acks, req.body)
		if req.body["type"] == 5.0 {
			flags := 128
			if data, ok := req.body["data"].(object); ok && data["flags"] == 64.0 {
				flags |= 64
			}
			w.interactions[parts[2]] = object{"id": w.id(), "flags": flags, "content": "", "author": object{"id": botID}}
		}
		return 204, nil
	case parts[0] == "webhooks" && len(parts) == 3:
		w.followUps = append(w.followUps, req.body)
		return 200, object{"id": w.id(), "channel_id": "hook"}
	case parts[0] == "webhooks":
		m := w.interactions[parts[2]]
		if m == nil {
			if req.body["components"] != nil { // the message of a button
				return 200, object{"id": w.id()}
			}
			return notFound(10015)
		}
		if req.method == http.MethodPatch {
			m["content"], m["flags"] = req.body["content"], m["flags"].(int)&^128
			m["components"] = req.body["components"]
		}
		return 200, m
	case parts[0] == "channels" && parts[2] == "typing":
		w.typed++
		return 204, nil
	case parts[0] == "channels" && parts[2] == "messages":
		return w.messages(req, r, parts)
	}
	w.t.Errorf("nobody knows %s %s", req.method, req.path)
	return notFound(0)
}

// messages are "Get Channel Messages", "Create Message", "Edit Message" and "Delete Message".
func (w *world) messages(req request, r *http.Request, parts []string) (int, any) {
	chat := parts[1]
	if len(parts) == 4 {
		i := slices.IndexFunc(w.chats[chat], func(m object) bool { return m["id"] == parts[3] })
		if i < 0 {
			return notFound(10008)
		}
		m := w.chats[chat][i]
		if req.method == http.MethodDelete {
			w.chats[chat] = slices.Delete(w.chats[chat], i, i+1)
			return 204, nil
		}
		for k, v := range req.body {
			m[k] = v
		}
		return 200, m
	}
	if req.method == http.MethodGet {
		if chat == "closed" {
			return 403, object{"message": "Missing Access", "code": 50001}
		}
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		var out []object
		for _, m := range w.chats[chat] {
			if after := r.URL.Query().Get("after"); after == "" || m["id"].(string) > after {
				out = append(out, m)
			}
		}
		if r.URL.Query().Get("after") != "" {
			out = out[:min(len(out), limit)]
		} else {
			out = out[max(0, len(out)-limit):]
		}
		slices.Reverse(out) // the newest first
		return 200, append([]object{}, out...)
	}
	if n, _ := req.body["nonce"].(string); n != "" && req.body["enforce_nonce"] == true && !w.forgets {
		if len(n) > 25 {
			return 400, object{"message": "Invalid Form Body", "code": 50035}
		}
		if m := w.nonces[n]; m != nil {
			return 200, m
		}
	}
	if text := fmt.Sprint(req.body["content"]); len([]rune(text)) > 2000 {
		return 400, object{"message": "Invalid Form Body", "code": 50035}
	}
	m := object{"id": w.id(), "type": 0, "channel_id": chat, "author": object{"id": botID, "bot": true}, "timestamp": time.Now().UTC().Format(time.RFC3339Nano)}
	for k, v := range req.body {
		m[k] = v
	}
	if w.hides {
		delete(m, "nonce")
	}
	if n, _ := req.body["nonce"].(string); n != "" {
		w.nonces[n] = m
	}
	w.chats[chat] = append(w.chats[chat], m)
	w.arrived = append(w.arrived, m)
	return 200, m
}

// serveGateway is one connection.
func (w *world) serveGateway(rw http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("v") != "10" || r.URL.Query().Get("encoding") != "json" {
		w.t.Errorf("the gateway was asked for %q", r.URL.RawQuery)
	}
	up := websocket.Upgrader{}
	ws, err := up.Upgrade(rw, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = ws.Close() }()
	w.mu.Lock()
	hello, every := w.hello, w.every
	w.mu.Unlock()
	if hello {
		w.write(ws, frame{Op: 10, Data: object{"heartbeat_interval": every}})
	}
	for {
		var f struct {
			Op   int             `json:"op"`
			Data json.RawMessage `json:"d"`
		}
		if ws.ReadJSON(&f) != nil {
			w.mu.Lock()
			if w.live == ws {
				w.live = nil
			}
			w.mu.Unlock()
			return
		}
		switch f.Op {
		case 1:
			w.mu.Lock()
			w.beats++
			deaf := w.deaf
			w.mu.Unlock()
			if !deaf {
				w.write(ws, frame{Op: 11})
			}
		case 2:
			w.signIn(ws, f.Data)
		case 6:
			w.resume(ws, f.Data)
		}
	}
}

func (w *world) write(ws *websocket.Conn, f frame) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = ws.WriteJSON(f)
}

// dispatch numbers an event, keeps it for who resumes, and sends it; w.mu is held.
func (w *world) dispatch(kind string, data any) {
	n := len(w.log) + 1
	f := frame{Op: 0, Type: kind, Data: data, Seq: &n}
	w.log = append(w.log, f)
	if w.live != nil {
		_ = w.live.WriteJSON(f)
	}
}

func (w *world) bye(ws *websocket.Conn, code int) {
	_ = ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(time.Second))
	_ = ws.Close()
}

func (w *world) signIn(ws *websocket.Conn, data json.RawMessage) {
	var d struct {
		Token   string  `json:"token"`
		Intents float64 `json:"intents"`
	}
	_ = json.Unmarshal(data, &d)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.identifies++
	w.seenIntents = d.Intents
	switch {
	case d.Token != token:
		w.bye(ws, 4004)
	case w.closeWith != 0:
		w.bye(ws, w.closeWith)
	case len(w.invalid) > 0:
		_ = ws.WriteJSON(frame{Op: 9, Data: w.invalid[0]})
		w.invalid = w.invalid[1:]
	default:
		w.sessions++
		w.session, w.log, w.live, w.ever = fmt.Sprintf("session%d", w.sessions), nil, ws, true
		w.dispatch("READY", object{"v": 10, "user": object{"id": botID, "username": "hob", "bot": true}, "session_id": w.session, "resume_gateway_url": w.gateway, "guilds": []object{{"id": guildID, "unavailable": true}}})
		w.dispatch("GUILD_CREATE", object{
			"id": guildID, "name": "Home", "channels": []object{{"id": "g1", "name": "general"}}, "threads": []object{{"id": "thread1", "name": "plans"}},
			"roles": []object{{"id": roleID, "tags": object{"bot_id": botID}}}, "members": []object{},
		})
	}
}

func (w *world) resume(ws *websocket.Conn, data json.RawMessage) {
	var d struct {
		Token   string `json:"token"`
		Session string `json:"session_id"`
		Seq     int    `json:"seq"`
	}
	_ = json.Unmarshal(data, &d)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.resumes++
	switch {
	case d.Token != token:
		w.bye(ws, 4004)
	case len(w.invalid) > 0:
		_ = ws.WriteJSON(frame{Op: 9, Data: w.invalid[0]})
		w.invalid = w.invalid[1:]
	case d.Session != w.session:
		_ = ws.WriteJSON(frame{Op: 9, Data: false})
	case d.Seq > len(w.log):
		w.bye(ws, 4007)
	default:
		for _, f := range w.log[d.Seq:] {
			_ = ws.WriteJSON(f)
		}
		w.live = ws
		w.dispatch("RESUMED", object{})
	}
}

// cut breaks the connection to the gateway.
func (w *world) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.live != nil {
		_ = w.live.Close()
		w.live = nil
	}
}

func (w *world) connected() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.live != nil
}

// person writes a message; what is in more goes into it.
func (w *world) person(chat, sender, text string, group bool, more object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := object{
		"id": w.id(), "type": 0, "channel_id": chat, "author": object{"id": sender, "username": "user-" + sender, "global_name": "User " + sender},
		"content": text, "timestamp": time.Now().UTC().Format(time.RFC3339Nano), "mentions": []object{}, "attachments": []object{},
	}
	for k, v := range more {
		m[k] = v
	}
	w.chats[chat] = append(w.chats[chat], m)
	live := object{}
	for k, v := range m {
		live[k] = v
	}
	if group { // events name the server, the API does not
		live["guild_id"] = guildID
	}
	w.saidLast = live
	if w.live != nil {
		w.dispatch("MESSAGE_CREATE", live)
	}
}

// Say implements channelstest.Speaker.
func (w *world) Say(_ context.Context, chat, sender, text string, group bool) bool {
	w.mu.Lock()
	ever := w.ever
	w.mu.Unlock()
	if !ever {
		return false
	}
	if group {
		w.person(chat, sender, "<@"+botID+"> "+text, true, object{"mentions": []object{{"id": botID, "username": "hob"}}})
	} else {
		w.person(chat, sender, text, false, nil)
	}
	return true
}

// Again implements channelstest.Repeater.
func (w *world) Again(context.Context) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.live == nil {
		return false
	}
	w.dispatch("MESSAGE_CREATE", w.saidLast)
	return true
}

// Reopen implements channelstest.Reopener.
func (w *world) Reopen(*testing.T) channels.Channel { return w.open() }

// Arrived implements channelstest.Platform.
func (w *world) Arrived() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, m := range w.arrived {
		out = append(out, shown(fmt.Sprint(m["content"])))
	}
	return out
}

// shown is a text as people see it, as far as the tests need it: without the marks that
// keep the next one from being read.
func shown(s string) string {
	return regexp.MustCompile(`\\([[:punct:]])`).ReplaceAllString(s, "$1")
}

// Typed implements channelstest.Sign.
func (w *world) Typed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.typed
}

// Previewed implements channelstest.Previewer.
func (w *world) Previewed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, m := range w.arrived {
		if flags, _ := m["flags"].(float64); int(flags)&4 == 0 {
			n += strings.Count(fmt.Sprint(m["content"]), "https://")
		}
	}
	return n
}

// Rendered implements channelstest.Renderer: what rings somebody is what allowed_mentions
// lets ring; without it, everything.
func (w *world) Rendered() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, m := range w.arrived {
		allowed, ok := m["allowed_mentions"].(object)
		parse, is := allowed["parse"].([]any)
		if !ok || !is || len(parse) > 0 || allowed["users"] != nil || allowed["roles"] != nil || allowed["replied_user"] == true {
			out = append(out, "mention")
		}
		for _, link := range regexp.MustCompile(`(^|[^\\])\]\(\s*(\w+):`).FindAllStringSubmatch(fmt.Sprint(m["content"]), -1) {
			if link[2] != "http" && link[2] != "https" {
				out = append(out, "link "+link[2])
			}
		}
	}
	return out
}

// Secrets implements channelstest.Secrets.
func (*world) Secrets() []string { return []string{token, "SECRETINTERACTION"} }

func answerWith(code int, body string, header ...string) func(http.ResponseWriter) {
	return func(rw http.ResponseWriter) {
		for i := 0; i+1 < len(header); i += 2 {
			rw.Header().Set(header[i], header[i+1])
		}
		rw.WriteHeader(code)
		_, _ = io.WriteString(rw, body)
	}
}

// Fail implements channelstest.Platform. What Discord says has the token in it, as no
// real one does.
func (w *world) Fail(class channels.Class, n int) bool {
	f := map[channels.Class]func(http.ResponseWriter){
		channels.Temporary:    answerWith(502, "<html>bad gateway "+token),
		channels.Later:        answerWith(429, `{"message":"You are being rate limited. `+token+`","retry_after":0.05,"global":false}`, "Retry-After", "1"),
		channels.Permanent:    answerWith(400, `{"message":"Cannot send an empty message `+token+`","code":50006}`),
		channels.Unauthorised: answerWith(401, `{"message":"401: Unauthorized `+token+`","code":0}`),
	}[class]
	w.mu.Lock()
	defer w.mu.Unlock()
	for range n {
		w.fails = append(w.fails, f)
	}
	return f != nil
}

// Stall implements channelstest.Platform.
func (w *world) Stall() func() {
	c := make(chan struct{})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stall = c
	return sync.OnceFunc(func() {
		w.mu.Lock()
		w.stall = nil
		w.mu.Unlock()
		close(c)
	})
}

// Down implements channelstest.Outage.
func (w *world) Down() {
	w.mu.Lock()
	w.down = true
	w.mu.Unlock()
	w.cut()
}

// Up implements channelstest.Outage.
func (w *world) Up() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = false
}
