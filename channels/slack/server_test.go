package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/platform/safehttp/safehttptest"
)

const (
	botToken = "xoxb-111-222-botsecret"
	appToken = "xapp-1-A1-333-appsecret"
	ticket   = "ticketsecret"
	hobUser  = "U0HOB"
	team     = "T0HOME"
)

// slackd is a Slack of one workspace: the Web API, files and Socket Mode as
// docs.slack.dev describes them.
type slackd struct {
	t    *testing.T
	net  *safehttptest.Internet
	keep *channelstest.Keeper
	box  *channelstest.Buttons

	mu      sync.Mutex
	last    time.Time
	said    map[string][]object // by channel, oldest first
	sockets []*wire
	ever    bool // somebody was connected
	ids     int
	acks    map[string]any // by envelope id
	calls   []called
	fails   map[string][]failure // by method
	stall   chan struct{}
	down    bool
	reason  string
	granted string
	last1   object // said last, for Again
	files   map[string][]byte
	shown   []string // files that were shown
}

type called struct {
	method string
	args   url.Values
}

type failure struct {
	status int
	after  string
	code   string
	needed string
	late   bool // it happens all the same
}

// wire is one socket.
type wire struct {
	mu   sync.Mutex
	conn *websocket.Conn
}

func (w *wire) write(v any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
	return w.conn.WriteJSON(v)
}

func newSlackd(t *testing.T) *slackd {
	t.Helper()
	d := &slackd{
		t: t, keep: &channelstest.Keeper{}, said: map[string][]object{}, acks: map[string]any{}, fails: map[string][]failure{}, files: map[string][]byte{},
	}
	d.net = safehttptest.New(t, http.HandlerFunc(d.serve))
	t.Cleanup(d.cutAll)
	return d
}

func (d *slackd) place() place {
	return place{api: "http://slack.example.com/api/", domain: "example.com", plain: true, pause: 5 * time.Millisecond}
}

func (d *slackd) channel() *Channel {
	d.t.Helper()
	return d.channelAt(d.place())
}

func (d *slackd) channelAt(p place) *Channel {
	d.t.Helper()
	deps := channels.Deps{Log: slog.New(slog.DiscardHandler), Network: d.net.Client(d.t), Keep: d.keep}
	if d.box != nil {
		deps.Buttons = d.box
	}
	c, err := newChannel(Config{BotToken: botToken, AppToken: appToken}, deps, p)
	if err != nil {
		d.t.Fatal(err)
	}
	return c
}

func (d *slackd) serve(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	down := d.down
	d.mu.Unlock()
	if down {
		panic(http.ErrAbortHandler)
	}
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/"):
		d.api(w, r, strings.TrimPrefix(r.URL.Path, "/api/"))
	case r.URL.Path == "/link":
		d.link(w, r)
	case strings.HasPrefix(r.URL.Path, "/upload/"):
		raw, _ := io.ReadAll(r.Body)
		d.mu.Lock()
		d.files[strings.TrimPrefix(r.URL.Path, "/upload/")] = raw
		d.mu.Unlock()
	case strings.HasPrefix(r.URL.Path, "/files-pri/"):
		if r.Header.Get("Authorization") != "Bearer "+botToken {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<html>sign in</html>")
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = io.WriteString(w, "content of "+strings.TrimPrefix(r.URL.Path, "/files-pri/"))
	default:
		http.NotFound(w, r)
	}
}

// link is the other side of a socket.
func (d *slackd) link(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("ticket") != ticket {
		http.Error(w, "no", http.StatusForbidden)
		return
	}
	conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	k := &wire{conn: conn}
	d.mu.Lock()
	reason := d.reason
	d.mu.Unlock()
	if reason != "" {
		_ = k.write(object{"type": "disconnect", "reason": reason})
		_ = conn.Close()
		return
	}
	if k.write(object{"type": "hello", "num_connections": 1, "connection_info": object{"app_id": "A1"}, "debug_info": object{"host": "x"}}) != nil {
		return
	}
	d.mu.Lock()
	d.sockets = append(d.sockets, k)
	d.ever = true
	d.mu.Unlock()
	for {
		var m struct {
			ID      string `json:"envelope_id"`
			Payload any    `json:"payload"`
		}
		if err := conn.ReadJSON(&m); err != nil {
			break
		}
		d.mu.Lock()
		d.acks[m.ID] = m.Payload
		d.mu.Unlock()
	}
	_ = conn.Close()
	d.mu.Lock()
	d.sockets = slices.DeleteFunc(d.sockets, func(o *wire) bool { return o == k })
	d.mu.Unlock()
}

// cutAll ends all connections without a word.
func (d *slackd) cutAll() {
	d.mu.Lock()
	all := slices.Clone(d.sockets)
	d.mu.Unlock()
	for _, k := range all {
		_ = k.conn.Close()
	}
}

// live returns the newest connection.
func (d *slackd) live() *wire {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.sockets) == 0 {
		return nil
	}
	return d.sockets[len(d.sockets)-1]
}

func (d *slackd) connections() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.sockets)
}

// envelope sends one, and returns its id.
func (d *slackd) envelope(kind string, payload any, extra object) string {
	d.mu.Lock()
	d.ids++
	id := fmt.Sprintf("env-%d", d.ids)
	d.mu.Unlock()
	e := object{"type": kind, "envelope_id": id, "payload": payload, "accepts_response_payload": kind != "events_api"}
	for k, v := range extra {
		e[k] = v
	}
	if k := d.live(); k != nil {
		_ = k.write(e)
	}
	return id
}

func (d *slackd) acked(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.acks[id]
	return ok
}

// ts makes the time of a message; d.mu is held.
func (d *slackd) ts() string {
	now := time.Now().Truncate(time.Microsecond)
	if !now.After(d.last) {
		now = d.last.Add(time.Microsecond)
	}
	d.last = now
	return ts(now)
}

// write stores a message and, when somebody is connected, tells of it.
func (d *slackd) write(m object) (env string) {
	d.mu.Lock()
	if m["ts"] == nil {
		m["ts"] = d.ts()
	}
	m["type"] = "message"
	if m["team"] == nil {
		m["team"] = team
	}
	ch := m["channel"].(string)
	d.said[ch] = append(d.said[ch], m)
	d.last1 = m
	d.mu.Unlock()
	return d.tell(m, nil)
}

func (d *slackd) tell(m, extra object) string {
	return d.envelope("events_api", object{"type": "event_callback", "team_id": team, "event_id": "Ev1", "event": m}, extra)
}

func (d *slackd) api(w http.ResponseWriter, r *http.Request, method string) {
	_ = r.ParseForm()
	d.mu.Lock()
	d.calls = append(d.calls, called{method, r.PostForm})
	stall := d.stall
	var f failure
	if q := d.fails[method]; len(q) > 0 {
		f, d.fails[method] = q[0], q[1:]
	}
	d.mu.Unlock()
	if stall != nil && method == "chat.postMessage" {
		select {
		case <-stall:
		case <-r.Context().Done():
			return
		}
	}
	if f.late {
		d.answer(r.Context(), method, r.PostForm)
	}
	if f.after != "" {
		w.Header().Set("Retry-After", f.after)
	}
	if f.status != 0 {
		w.WriteHeader(f.status)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	d.mu.Lock()
	w.Header().Set("X-OAuth-Scopes", cmp.Or(d.granted, strings.Join(scopes(), ",")))
	d.mu.Unlock()
	want := botToken
	if method == "apps.connections.open" {
		want = appToken
	}
	out := object{"ok": false, "error": cmp.Or(f.code, "invalid_auth")}
	if f.needed != "" {
		out["needed"] = f.needed
	}
	if f.code == "" && r.Header.Get("Authorization") == "Bearer "+want {
		out = d.answer(r.Context(), method, r.PostForm)
	}
	_ = json.NewEncoder(w).Encode(out)
}

func no(code string) object { return object{"ok": false, "error": code} }

func (d *slackd) answer(_ context.Context, method string, a url.Values) object {
	d.mu.Lock()
	defer d.mu.Unlock()
	ch := a.Get("channel")
	switch method {
	case "auth.test":
		return object{"ok": true, "team": "Home", "user": "hob", "team_id": team, "user_id": hobUser, "bot_id": "B0HOB"}
	case "apps.connections.open":
		return object{"ok": true, "url": "ws://wss.example.com/link?ticket=" + ticket}
	case "users.info":
		return object{"ok": true, "user": object{"name": strings.ToLower(a.Get("user")), "profile": object{"display_name": "Name of " + a.Get("user")}}}
	case "conversations.info":
		return object{"ok": true, "channel": object{"name": "general"}}
	case "conversations.open":
		return object{"ok": true, "channel": object{"id": "D" + strings.TrimPrefix(a.Get("users"), "U")}}
	case "conversations.list":
		var ims []object
		for id := range d.said {
			if strings.HasPrefix(id, "D") {
				ims = append(ims, object{"id": id})
			}
		}
		return object{"ok": true, "channels": ims}
	case "conversations.history", "conversations.replies":
		return d.history(method, a)
	case "chat.postMessage":
		m := object{"type": "message", "channel": ch, "user": hobUser, "bot_id": "B0HOB", "team": team, "text": a.Get("text"), "ts": d.ts()}
		d.fill(m, a)
		if th := a.Get("thread_ts"); th != "" {
			m["thread_ts"] = th
		}
		d.said[ch] = append(d.said[ch], m)
		return object{"ok": true, "channel": ch, "ts": m["ts"], "message": m}
	case "chat.update":
		for _, m := range d.said[ch] {
			if m["ts"] == a.Get("ts") {
				m["text"] = a.Get("text")
				d.fill(m, a)
				return object{"ok": true, "channel": ch, "ts": m["ts"]}
			}
		}
		return no("message_not_found")
	case "chat.delete":
		d.said[ch] = slices.DeleteFunc(d.said[ch], func(m object) bool { return m["ts"] == a.Get("ts") })
		return object{"ok": true}
	case "files.getUploadURLExternal":
		return object{"ok": true, "upload_url": "http://files.example.com/upload/" + a.Get("filename"), "file_id": "F" + a.Get("length")}
	case "files.completeUploadExternal":
		d.shown = append(d.shown, a.Get("files"))
		return object{"ok": true}
	case "chat.postEphemeral", "assistant.threads.setStatus":
		return object{"ok": true}
	}
	return no("unknown_method")
}

// fill takes blocks and metadata over, which are JSON in forms.
func (d *slackd) fill(m object, a url.Values) {
	for _, k := range []string{"blocks", "metadata"} {
		if a.Has(k) {
			var v any
			if err := json.Unmarshal([]byte(a.Get(k)), &v); err != nil {
				d.t.Errorf("%s is no JSON: %q", k, a.Get(k))
			}
			m[k] = v
		}
	}
	m["args"] = a
}

// history answers with pages: a history's latest messages first, a thread's first.
func (d *slackd) history(method string, a url.Values) object {
	var all []object
	for _, m := range d.said[a.Get("channel")] {
		th, _ := m["thread_ts"].(string)
		inThread := th != "" && th != m["ts"]
		own := m["ts"] == a.Get("ts")
		c := cmpTS(m["ts"].(string), a.Get("oldest"))
		late := c > 0 || c == 0 && a.Get("inclusive") == "true"
		switch {
		case method == "conversations.history" && !inThread && late, method == "conversations.replies" && (own || th == a.Get("ts") && late):
			if a.Get("latest") == "" || cmpTS(m["ts"].(string), a.Get("latest")) <= 0 || own {
				all = append(all, m)
			}
		}
	}
	if method == "conversations.history" {
		slices.Reverse(all)
	}
	start := 0
	_, _ = fmt.Sscanf(a.Get("cursor"), "at%d", &start)
	end := min(len(all), start+50) // Slack gives fewer than were asked for when it likes
	out := object{"ok": true, "messages": all[min(start, end):end], "has_more": end < len(all)}
	if end < len(all) {
		out["response_metadata"] = object{"next_cursor": fmt.Sprintf("at%d", end)}
	}
	return out
}

// posts are Hob's messages, in order.
func (d *slackd) posts() (out []object) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, all := range d.said {
		for _, m := range all {
			if m["bot_id"] == "B0HOB" {
				out = append(out, m)
			}
		}
	}
	slices.SortFunc(out, func(a, b object) int { return cmpTS(a["ts"].(string), b["ts"].(string)) })
	return out
}

func (d *slackd) made(method string) (out []url.Values) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.calls {
		if c.method == method {
			out = append(out, c.args)
		}
	}
	return out
}

// Arrived implements channelstest.Platform.
func (d *slackd) Arrived() (out []string) {
	for _, m := range d.posts() {
		text, _ := plain(m["text"].(string), "", func(string) string { return "" })
		out = append(out, text)
	}
	return out
}

// Fail implements channelstest.Platform.
func (d *slackd) Fail(c channels.Class, n int) bool {
	f, ok := map[channels.Class]failure{
		channels.Temporary: {code: "service_unavailable"}, channels.Later: {status: 429, after: "1"},
		channels.Permanent: {code: "is_archived"}, channels.Unauthorised: {code: "token_revoked"},
	}[c]
	if ok {
		d.failing("chat.postMessage", slices.Repeat([]failure{f}, n)...)
	}
	return ok
}

func (d *slackd) failing(method string, f ...failure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fails[method] = append(d.fails[method], f...)
}

// Stall implements channelstest.Platform.
func (d *slackd) Stall() func() {
	ch := make(chan struct{})
	d.mu.Lock()
	d.stall = ch
	d.mu.Unlock()
	return sync.OnceFunc(func() {
		d.mu.Lock()
		d.stall = nil
		d.mu.Unlock()
		close(ch)
	})
}

// Down implements channelstest.Outage.
func (d *slackd) Down() {
	d.mu.Lock()
	d.down = true
	d.mu.Unlock()
	d.cutAll()
}

// Up implements channelstest.Outage.
func (d *slackd) Up() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = false
}

// Previewed implements channelstest.Previewer.
func (d *slackd) Previewed() (n int) {
	for _, m := range d.posts() {
		a := m["args"].(url.Values)
		if strings.Contains(a.Get("text"), "http") && (a.Get("unfurl_links") != "false" || a.Get("unfurl_media") != "false") {
			n++
		}
	}
	return n
}

// Rendered implements channelstest.Renderer.
func (d *slackd) Rendered() (out []string) {
	acts := regexp.MustCompile(`<[@!#][^>]*>|<(?:javascript|data|vbscript|file):[^>]*>`)
	for _, m := range d.posts() {
		a := m["args"].(url.Values)
		out = append(out, acts.FindAllString(a.Get("text")+a.Get("blocks"), -1)...)
		if a.Get("link_names") != "false" || a.Get("parse") != "none" {
			out = append(out, "names become mentions")
		}
	}
	return out
}

// Secrets implements channelstest.Secrets.
func (*slackd) Secrets() []string { return []string{botToken, appToken, ticket} }

// Reopen implements channelstest.Reopener.
func (d *slackd) Reopen(*testing.T) channels.Channel { return d.channel() }

// Again implements channelstest.Repeater.
func (d *slackd) Again(context.Context) bool {
	d.mu.Lock()
	m := d.last1
	d.mu.Unlock()
	if m == nil || d.live() == nil {
		return false
	}
	d.tell(m, object{"retry_attempt": 1, "retry_reason": "timeout"})
	return true
}

// Say implements channelstest.Speaker.
func (d *slackd) Say(_ context.Context, chat, sender, text string, group bool) bool {
	d.mu.Lock()
	ever := d.ever
	d.mu.Unlock()
	if !ever {
		return false
	}
	m := object{"channel": "D0" + strings.ToUpper(chat), "channel_type": "im", "user": "U0" + strings.ToUpper(sender), "text": escaped(text)}
	if group {
		m["channel"], m["channel_type"] = "C0"+strings.ToUpper(chat), "channel"
		m["text"], m["thread_ts"], m["parent_user_id"] = "<@"+hobUser+"> "+escaped(text), "1600000000.000001", "U0BOB"
	}
	d.write(m)
	return true
}

func TestConform(t *testing.T) {
	channelstest.Conform(t, func(t *testing.T) (channels.Channel, channelstest.Platform) {
		d := newSlackd(t)
		return d.channel(), d
	})
}
