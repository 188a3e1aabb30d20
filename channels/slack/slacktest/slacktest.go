// Package slacktest simulates Slack with one workspace for tests: the Web API, files and Socket
// Mode, as described at https://docs.slack.dev. Driver returns a driver whose channel connects to
// the simulation.
package slacktest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/slack"
	"hob/platform/text/sorting"
)

// The ids and secrets in the simulated workspace.
const (
	BotToken = "xoxb-111-222-botsecret"
	AppToken = "xapp-1-A1-333-appsecret"
	HobUser  = "U0HOB"
	Team     = "T0HOME"

	hobBot = "B0HOB"
	ticket = "ticketsecret"
)

// Object is a JSON object.
type Object = map[string]any

// Server is the fake Slack. Lock it to read or change its fields.
type Server struct {
	*channelstest.Site
	sockets channelstest.Sockets

	sync.Mutex
	Acks    map[string]any    // keyed by envelope id
	Reason  string            // why socket connections are rejected; "" means that they are accepted
	Granted string            // the scopes granted to the bot; "" means all scopes in the manifest
	Members map[string]Object // keyed by email address
	Files   map[string][]byte // uploaded files, by name
	Shown   []string          // files that were published

	last  time.Time
	said  map[string][]Object // messages by channel, oldest first
	ids   int
	calls []recordedCall
	fails map[string][]Failure // keyed by method
	last1 Object               // the last message, for Again
}

type recordedCall struct {
	method string
	args   url.Values
}

// Failure is a response that replaces the real one.
type Failure struct {
	Status int
	After  string // value of the Retry-After header
	Code   string
	Needed string // scope that is missing
	Late   bool   // whether the call takes effect despite the failure
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	d := &Server{said: map[string][]Object{}, Acks: map[string]any{}, fails: map[string][]Failure{}, Files: map[string][]byte{}}
	d.Site = channelstest.NewSite(t, http.HandlerFunc(d.serveHTTP))
	t.Cleanup(d.sockets.Cut)
	return d
}

// Options returns options that connect a channel to this server.
func (*Server) Options() slack.Options {
	return slack.Options{API: "http://slack.example.com/api/", Domain: "example.com", Plain: true, Pause: 5 * time.Millisecond}
}

// Open creates a channel with d.Deps.
func (d *Server) Open() *slack.Channel { return d.OpenAt(d.Options()) }

// OpenAt creates a channel with d.Deps and the given options.
func (d *Server) OpenAt(o slack.Options) *slack.Channel {
	d.T.Helper()
	c, err := slack.New(slack.Config{BotToken: BotToken, AppToken: AppToken, Allow: d.Allow}, d.Deps, o)
	if err != nil {
		d.T.Fatal(err)
	}
	return c
}

// Driver returns a slack.Driver that connects to this server instead of the real Slack.
func (d *Server) Driver() channels.Driver {
	return channelstest.Driver(d.Site, slack.Name, func(c slack.Config, deps channels.Deps) (*slack.Channel, error) {
		return slack.New(c, deps, d.Options())
	})
}

func (d *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/"):
		d.serveAPI(w, r, strings.TrimPrefix(r.URL.Path, "/api/"))
	case r.URL.Path == "/link":
		d.serveSocket(w, r)
	case strings.HasPrefix(r.URL.Path, "/upload/"):
		raw, _ := io.ReadAll(r.Body)
		d.Lock()
		d.Files[strings.TrimPrefix(r.URL.Path, "/upload/")] = raw
		d.Unlock()
	case strings.HasPrefix(r.URL.Path, "/files-pri/"):
		if r.Header.Get("Authorization") != "Bearer "+BotToken {
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

// serveSocket implements the server side of a socket.
func (d *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("ticket") != ticket {
		http.Error(w, "no", http.StatusForbidden)
		return
	}
	d.Lock()
	reason := d.Reason
	d.Unlock()
	d.sockets.Serve(w, r, func(say func(any)) {
		if reason != "" {
			say(Object{"type": "disconnect", "reason": reason})
			return
		}
		say(Object{"type": "hello", "num_connections": d.sockets.Len(), "connection_info": Object{"app_id": "A1"}, "debug_info": Object{"host": "x"}})
	}, func(_ *channelstest.Socket, raw []byte) {
		var m struct {
			ID      string `json:"envelope_id"`
			Payload any    `json:"payload"`
		}
		if json.Unmarshal(raw, &m) == nil {
			d.Lock()
			defer d.Unlock()
			d.Acks[m.ID] = m.Payload
		}
	})
}

// Live returns the newest connection, or nil if there is none.
func (d *Server) Live() *channelstest.Socket { return d.sockets.Last() }

// Connections returns the number of open connections.
func (d *Server) Connections() int { return d.sockets.Len() }

// Envelope sends an envelope and returns its id.
func (d *Server) Envelope(kind string, payload any, extra Object) string {
	d.Lock()
	d.ids++
	id := fmt.Sprintf("env-%d", d.ids)
	d.Unlock()
	e := Object{"type": kind, "envelope_id": id, "payload": payload, "accepts_response_payload": kind != "events_api"}
	for k, v := range extra {
		e[k] = v
	}
	if k := d.Live(); k != nil {
		_ = k.Write(e)
	}
	return id
}

// Acked reports whether an envelope was acknowledged.
func (d *Server) Acked(id string) bool {
	d.Lock()
	defer d.Unlock()
	_, ok := d.Acks[id]
	return ok
}

// TS formats a time in Slack's format. The times in these tests can be compared as strings.
func TS(t time.Time) string { return fmt.Sprintf("%d.%06d", t.Unix(), t.Nanosecond()/1000) }

// nextTS returns a new message timestamp. The caller has locked d.
func (d *Server) nextTS() string {
	now := time.Now().Truncate(time.Microsecond)
	if !now.After(d.last) {
		now = d.last.Add(time.Microsecond)
	}
	d.last = now
	return TS(now)
}

// Write stores a message and, if a client is connected, sends its event.
func (d *Server) Write(m Object) (env string) {
	d.Lock()
	if m["ts"] == nil {
		m["ts"] = d.nextTS()
	}
	m["type"] = "message"
	if m["team"] == nil {
		m["team"] = Team
	}
	ch := m["channel"].(string)
	d.said[ch] = append(d.said[ch], m)
	d.last1 = m
	d.Unlock()
	return d.Tell(m, nil)
}

// Tell sends an event, and returns the id of its envelope.
func (d *Server) Tell(m, extra Object) string {
	return d.Envelope("events_api", Object{"type": "event_callback", "team_id": Team, "event_id": "Ev1", "event": m}, extra)
}

func (d *Server) serveAPI(w http.ResponseWriter, r *http.Request, method string) {
	_ = r.ParseForm()
	d.Lock()
	d.calls = append(d.calls, recordedCall{method, r.PostForm})
	var f Failure
	if q := d.fails[method]; len(q) > 0 {
		f, d.fails[method] = q[0], q[1:]
	}
	d.Unlock()
	if method == "chat.postMessage" && d.Stalled(r.Context()) != nil {
		return
	}
	if f.Late {
		d.answerMethod(r.Context(), method, r.PostForm)
	}
	if f.After != "" {
		w.Header().Set("Retry-After", f.After)
	}
	if f.Status != 0 {
		w.WriteHeader(f.Status)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	d.Lock()
	granted := cmp.Or(d.Granted, strings.Join(manifestScopes(), ","))
	d.Unlock()
	w.Header().Set("X-OAuth-Scopes", granted)
	if method == "users.lookupByEmail" && !strings.Contains(granted, "users:read.email") {
		f = Failure{Code: "missing_scope", Needed: "users:read.email"}
	}
	want := BotToken
	if method == "apps.connections.open" {
		want = AppToken
	}
	out := Object{"ok": false, "error": cmp.Or(f.Code, "invalid_auth")}
	if f.Needed != "" {
		out["needed"] = f.Needed
	}
	if f.Code == "" && r.Header.Get("Authorization") == "Bearer "+want {
		out = d.answerMethod(r.Context(), method, r.PostForm)
	}
	_ = json.NewEncoder(w).Encode(out)
}

func errorReply(code string) Object { return Object{"ok": false, "error": code} }

func (d *Server) answerMethod(_ context.Context, method string, a url.Values) Object {
	d.Lock()
	defer d.Unlock()
	ch := a.Get("channel")
	switch method {
	case "auth.test":
		return Object{"ok": true, "team": "Home", "user": "hob", "team_id": Team, "user_id": HobUser, "bot_id": hobBot}
	case "apps.connections.open":
		return Object{"ok": true, "url": "ws://wss.example.com/link?ticket=" + ticket}
	case "users.info":
		return Object{"ok": true, "user": Object{"name": strings.ToLower(a.Get("user")), "profile": Object{"display_name": "Name of " + a.Get("user")}}}
	case "users.lookupByEmail":
		if u := d.Members[a.Get("email")]; u != nil {
			return Object{"ok": true, "user": u}
		}
		return errorReply("users_not_found")
	case "conversations.info":
		return Object{"ok": true, "channel": Object{"name": "general"}}
	case "conversations.open":
		return Object{"ok": true, "channel": Object{"id": "D" + strings.TrimPrefix(a.Get("users"), "U")}}
	case "users.conversations": // Hob is a member of all channels
		start := 0
		_, _ = fmt.Sscanf(a.Get("cursor"), "at%d", &start)
		all := slices.Sorted(maps.Keys(d.said))
		var page []Object
		for _, id := range all[min(start, len(all)):min(start+2, len(all))] { // Slack may return fewer entries than requested
			page = append(page, Object{"id": id, "is_im": strings.HasPrefix(id, "D")})
		}
		out := Object{"ok": true, "channels": page}
		if start+2 < len(all) {
			out["response_metadata"] = Object{"next_cursor": fmt.Sprintf("at%d", start+2)}
		}
		return out
	case "conversations.history", "conversations.replies":
		return d.historyPage(method, a)
	case "chat.postMessage":
		m := Object{"type": "message", "channel": ch, "user": HobUser, "bot_id": hobBot, "team": Team, "text": a.Get("text"), "ts": d.nextTS()}
		d.fillMessage(m, a)
		if th := a.Get("thread_ts"); th != "" {
			m["thread_ts"] = th
		}
		d.said[ch] = append(d.said[ch], m)
		return Object{"ok": true, "channel": ch, "ts": m["ts"], "message": m}
	case "chat.update":
		for _, m := range d.said[ch] {
			if m["ts"] == a.Get("ts") {
				m["text"] = a.Get("text")
				d.fillMessage(m, a)
				return Object{"ok": true, "channel": ch, "ts": m["ts"]}
			}
		}
		return errorReply("message_not_found")
	case "chat.delete":
		d.said[ch] = slices.DeleteFunc(d.said[ch], func(m Object) bool { return m["ts"] == a.Get("ts") })
		return Object{"ok": true}
	case "files.getUploadURLExternal":
		return Object{"ok": true, "upload_url": "http://files.example.com/upload/" + a.Get("filename"), "file_id": "F" + a.Get("length")}
	case "files.completeUploadExternal":
		d.Shown = append(d.Shown, a.Get("files"))
		return Object{"ok": true}
	case "chat.postEphemeral", "assistant.threads.setStatus":
		return Object{"ok": true}
	}
	return errorReply("unknown_method")
}

// fillMessage decodes the form values blocks and metadata, which contain JSON, into m.
func (d *Server) fillMessage(m Object, a url.Values) {
	for _, k := range []string{"blocks", "metadata"} {
		if a.Has(k) {
			var v any
			if err := json.Unmarshal([]byte(a.Get(k)), &v); err != nil {
				d.T.Errorf("%s is not JSON: %q", k, a.Get(k))
			}
			m[k] = v
		}
	}
	m["args"] = a
}

// historyPage returns a page of messages: a history begins with its latest messages, a thread with
// its first.
func (d *Server) historyPage(method string, a url.Values) Object {
	var all []Object
	for _, m := range d.said[a.Get("channel")] {
		th, _ := m["thread_ts"].(string)
		inThread := th != "" && th != m["ts"]
		own := m["ts"] == a.Get("ts")
		c := strings.Compare(m["ts"].(string), a.Get("oldest"))
		late := c > 0 || c == 0 && a.Get("inclusive") == "true"
		switch {
		case method == "conversations.history" && !inThread && late, method == "conversations.replies" && (own || th == a.Get("ts") && late):
			if a.Get("latest") == "" || strings.Compare(m["ts"].(string), a.Get("latest")) <= 0 || own {
				all = append(all, m)
			}
		}
	}
	if method == "conversations.history" {
		slices.Reverse(all)
	}
	start := 0
	_, _ = fmt.Sscanf(a.Get("cursor"), "at%d", &start)
	end := min(len(all), start+50) // Slack may return fewer entries than requested
	out := Object{"ok": true, "messages": all[min(start, end):end], "has_more": end < len(all)}
	if end < len(all) {
		out["response_metadata"] = Object{"next_cursor": fmt.Sprintf("at%d", end)}
	}
	return out
}

// Posts returns Hob's messages in their current form, in order.
func (d *Server) Posts() (out []Object) {
	d.Lock()
	defer d.Unlock()
	for _, all := range d.said {
		for _, m := range all {
			if m["bot_id"] == hobBot {
				out = append(out, maps.Clone(m))
			}
		}
	}
	sorting.ByFunc(out, func(a, b Object) int { return strings.Compare(a["ts"].(string), b["ts"].(string)) })
	return out
}

// Made returns the arguments of the calls to a method, in order.
func (d *Server) Made(method string) (out []url.Values) {
	d.Lock()
	defer d.Unlock()
	for _, c := range d.calls {
		if c.method == method {
			out = append(out, c.args)
		}
	}
	return out
}

// Escaped returns s with &, < and > escaped
// (docs.slack.dev/messaging/formatting-message-text#escaping).
func Escaped(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// shownText returns s as a person sees it: links are replaced by their address. It handles only the
// markup that the tests need.
func shownText(s string) string {
	s = regexp.MustCompile(`<(\w+:[^<>|]*)\|([^<>]*)>`).ReplaceAllString(s, "$2 ($1)")
	s = regexp.MustCompile(`<(\w+:[^<>|]*)>`).ReplaceAllString(s, "$1")
	return strings.TrimSpace(strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(s))
}

// manifestScopes returns the scopes of an app created from the manifest.
func manifestScopes() []string {
	var m struct {
		OAuth struct {
			Scopes struct {
				Bot []string `json:"bot"`
			} `json:"scopes"`
		} `json:"oauth_config"`
	}
	_ = json.Unmarshal([]byte(slack.Manifest("")), &m)
	return m.OAuth.Scopes.Bot
}
