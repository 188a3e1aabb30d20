// Package discordtest simulates Discord for one bot in tests: the HTTP API, the gateway and the
// file hosts, as described at https://discord.com/developers/docs in "Gateway", "Opcodes and Status
// Codes", "Rate Limits", "Receiving and Responding" and the resources Message and Application
// Command. Driver returns a driver whose channel connects to the simulation.
package discordtest

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/discord"
	"hob/platform/text/sorting"
)

// The ids and secrets in the simulated Discord.
const (
	BotID   = "4200000000000000001"
	RoleID  = "4200000000000000002" // role of the bot
	GuildID = "4200000000000000003" // a server with the channel "g1" and the thread "thread1"
	AppID   = "4200000000000000004"
	Token   = "MTk4NjIyNDgz.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs"
	// Secret is the prefix of interaction tokens.
	Secret = "SECRETINTERACTION"

	base = "http://discord.example.com/api/v10"
)

// Object is a JSON object.
type Object = map[string]any

// Frame is a gateway payload.
type Frame struct {
	Op   int    `json:"op"`
	Data any    `json:"d"`
	Seq  *int   `json:"s,omitempty"`
	Type string `json:"t,omitempty"`
}

// Request is a request received by the HTTP API.
type Request struct {
	Method, Path string
	Body         Object
	Files        map[string]string
}

// Server is the fake Discord. Lock it to read or change its fields.
type Server struct {
	*channelstest.Site
	sockets channelstest.Sockets

	sync.Mutex
	Chats    map[string][]Object // messages as returned by the API, oldest first
	Posts    []Object            // the bot's messages, without duplicates
	Requests []Request
	// Fails holds the responses to the next requests that change a chat. If FailsAll is set, they
	// apply to the next requests of any kind.
	Fails       []func(http.ResponseWriter)
	FailsAll    bool
	Forgets     bool // the time limit of enforce_nonce (a few minutes) has passed
	HidesNonces bool // messages are returned without their nonces
	Indexing    int  // number of searches that report an index that is not ready

	Interactions map[string]Object // keyed by token: the original answer
	FollowUps    []Object
	Acks         []Object

	// The state and behavior of the gateway.
	Live       *channelstest.Socket // the accepted connection; nil if there is none
	Ever       bool                 // whether a sign-in was ever accepted
	Session    string
	Gateway    string // address of the gateway
	Every      int    // heartbeat_interval in milliseconds
	Deaf       bool   // heartbeats are not acknowledged
	Silent     bool   // the gateway sends no hello
	CloseWith  int    // close code sent instead of READY
	Invalid    []bool // responses for the next clients that sign in or resume
	Identifies int
	Resumes    int
	Beats      int
	Intents    float64

	groups   map[string]bool // chats of the server
	nextID   int
	nonces   map[string]Object
	typed    int
	sessions int
	log      []Frame // events of the session, for replay
	saidLast Object
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	w := &Server{
		Chats: map[string][]Object{}, groups: map[string]bool{}, nonces: map[string]Object{}, nextID: 5000,
		Interactions: map[string]Object{}, Every: 40000, Gateway: "ws://gateway.example.com",
	}
	w.Site = channelstest.NewSite(t, w)
	t.Cleanup(w.Cut)
	return w
}

// Options returns options that connect a channel to this server.
func (*Server) Options() discord.Options {
	return discord.Options{
		API: base, Gateway: []string{"gateway.example.com"}, Files: []string{"cdn.example.com"},
		Pause: func(d time.Duration) time.Duration { return d / 1000 },
	}
}

// Open creates a channel with Deps.
func (w *Server) Open() *discord.Channel {
	w.T.Helper()
	ch, err := discord.New(discord.Config{Token: Token, Allow: w.Allow}, w.Deps, w.Options())
	if err != nil {
		w.T.Fatal(err)
	}
	return ch
}

// Driver returns a discord.Driver that connects to this server instead of the real Discord.
func (w *Server) Driver() channels.Driver {
	return channelstest.Driver(w.Site, discord.Name, func(c discord.Config, deps channels.Deps) (*discord.Channel, error) {
		return discord.New(c, deps, w.Options())
	})
}

// ID returns a new id. The caller has locked w.
func (w *Server) ID() string {
	w.nextID++
	return strconv.FormatInt((time.Now().UnixMilli()-1420070400000)<<22+int64(w.nextID), 10) // Discord calls such ids snowflakes
}

// ServeHTTP serves the API, the gateway and the files.
func (w *Server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
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

func (w *Server) serveAPI(rw http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/api/v10")
	req := Request{Method: r.Method, Path: path, Body: Object{}}
	raw, _ := io.ReadAll(r.Body)
	if kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "multipart/form-data" {
		form, err := multipart.NewReader(strings.NewReader(string(raw)), params["boundary"]).ReadForm(32 << 20)
		if err != nil {
			w.T.Errorf("a form that cannot be read: %v", err)
			return
		}
		raw = []byte(form.Value["payload_json"][0])
		req.Files = map[string]string{}
		for _, f := range form.File {
			file, _ := f[0].Open()
			b, _ := io.ReadAll(file)
			req.Files[f[0].Filename] = string(b)
		}
	}
	_ = json.Unmarshal(raw, &req.Body)
	public := strings.HasPrefix(path, "/interactions/") || strings.HasPrefix(path, "/webhooks/")
	if got := r.Header.Get("Authorization"); !public && got != "Bot "+Token || public && got != "" {
		w.T.Errorf("%s %s with the authorization %q", r.Method, path, got)
	}
	if !strings.HasPrefix(r.UserAgent(), "DiscordBot (") {
		w.T.Errorf("the agent %q", r.UserAgent())
	}
	if r.Method != http.MethodGet && w.Stalled(r.Context()) != nil {
		return
	}
	w.Lock()
	defer w.Unlock()
	w.Requests = append(w.Requests, req)
	if len(w.Fails) > 0 && (w.FailsAll || strings.HasPrefix(path, "/channels/") && r.Method != http.MethodGet) {
		f := w.Fails[0]
		w.Fails = w.Fails[1:]
		f(rw)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	code, answer := w.answerRequest(req, r)
	rw.WriteHeader(code)
	if answer != nil {
		_ = json.NewEncoder(rw).Encode(answer)
	}
}

func notFound(code int) (int, any) { return 404, Object{"message": "Unknown", "code": code} }

// answerRequest implements the API. The caller has locked w.
func (w *Server) answerRequest(req Request, r *http.Request) (int, any) {
	parts := strings.Split(strings.Trim(req.Path, "/"), "/")
	switch {
	case req.Path == "/gateway/bot":
		return 200, Object{"url": w.Gateway, "shards": 1, "session_start_limit": Object{"total": 1000, "remaining": 999, "reset_after": 14400000, "max_concurrency": 1}}
	case req.Path == "/users/@me":
		return 200, Object{"id": BotID, "username": "hob", "bot": true}
	case req.Path == "/applications/@me":
		return 200, Object{"id": AppID, "name": "Hob", "flags": 1 << 19, "bot": Object{"id": BotID, "username": "hob"}}
	case req.Path == "/users/@me/channels":
		return 200, Object{"id": "dm" + fmt.Sprint(req.Body["recipient_id"])}
	case parts[0] == "guilds" && parts[2] == "messages":
		return w.searchGuild(r.URL.Query())
	case parts[0] == "applications" && req.Method == http.MethodPut:
		return 200, []any{}
	case parts[0] == "interactions" && len(parts) == 4:
		w.Acks = append(w.Acks, req.Body)
		if req.Body["type"] == 5.0 {
			flags := 128
			if data, ok := req.Body["data"].(Object); ok && data["flags"] == 64.0 {
				flags |= 64
			}
			w.Interactions[parts[2]] = Object{"id": w.ID(), "flags": flags, "content": "", "author": Object{"id": BotID}}
		}
		return 204, nil
	case parts[0] == "webhooks" && len(parts) == 3:
		w.FollowUps = append(w.FollowUps, req.Body)
		return 200, Object{"id": w.ID(), "channel_id": "hook"}
	case parts[0] == "webhooks":
		m := w.Interactions[parts[2]]
		if m == nil {
			if req.Body["components"] != nil { // the message has buttons
				return 200, Object{"id": w.ID()}
			}
			return notFound(10015)
		}
		if req.Method == http.MethodDelete {
			delete(w.Interactions, parts[2])
			return 204, nil
		}
		if req.Method == http.MethodPatch {
			m["content"], m["flags"] = req.Body["content"], m["flags"].(int)&^128
			m["components"] = req.Body["components"]
		}
		return 200, m
	case parts[0] == "channels" && parts[2] == "typing":
		w.typed++
		return 204, nil
	case parts[0] == "channels" && parts[2] == "messages":
		return w.handleMessages(req, r, parts)
	}
	w.T.Errorf("unknown endpoint: %s %s", req.Method, req.Path)
	return notFound(0)
}

// searchGuild implements "Search Guild Messages": messages that mention the given user, latest
// first.
func (w *Server) searchGuild(q url.Values) (int, any) {
	if w.Indexing > 0 {
		w.Indexing--
		return 202, Object{"message": "Index not yet available. Try again later", "code": 110000, "documents_indexed": 0, "retry_after": 2}
	}
	var hits []Object
	for chat := range w.groups {
		for _, m := range w.Chats[chat] {
			if m["id"].(string) > q.Get("min_id") && (q.Has("mentions") && strings.Contains(fmt.Sprint(m["mentions"]), q.Get("mentions")) || q.Has("mentions_role_id") && strings.Contains(fmt.Sprint(m["mention_roles"]), q.Get("mentions_role_id"))) {
				hits = append(hits, m)
			}
		}
	}
	sorting.ByFunc(hits, func(a, b Object) int { return strings.Compare(b["id"].(string), a["id"].(string)) })
	limit, _ := strconv.Atoi(q.Get("limit"))
	offset, _ := strconv.Atoi(q.Get("offset"))
	out := [][]Object{}
	for _, m := range hits[min(offset, len(hits)):min(offset+limit, len(hits))] {
		out = append(out, []Object{m})
	}
	return 200, Object{"doing_deep_historical_index": false, "total_results": len(hits), "messages": out}
}

// handleMessages implements "Get Channel Messages", "Create Message", "Edit Message" and "Delete
// Message".
func (w *Server) handleMessages(req Request, r *http.Request, parts []string) (int, any) {
	chat := parts[1]
	if len(parts) == 4 {
		i := slices.IndexFunc(w.Chats[chat], func(m Object) bool { return m["id"] == parts[3] })
		if i < 0 {
			return notFound(10008)
		}
		m := w.Chats[chat][i]
		if req.Method == http.MethodDelete {
			w.Chats[chat] = slices.Delete(w.Chats[chat], i, i+1)
			return 204, nil
		}
		for k, v := range req.Body {
			m[k] = v
		}
		return 200, m
	}
	if req.Method == http.MethodGet {
		if chat == "closed" {
			return 403, Object{"message": "Missing Access", "code": 50001}
		}
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		var out []Object
		for _, m := range w.Chats[chat] {
			if after := r.URL.Query().Get("after"); after == "" || m["id"].(string) > after {
				out = append(out, m)
			}
		}
		if r.URL.Query().Get("after") != "" {
			out = out[:min(len(out), limit)]
		} else {
			out = out[max(0, len(out)-limit):]
		}
		slices.Reverse(out) // newest first
		return 200, append([]Object{}, out...)
	}
	if n, _ := req.Body["nonce"].(string); n != "" && req.Body["enforce_nonce"] == true && !w.Forgets {
		if len(n) > 25 {
			return 400, Object{"message": "Invalid Form Body", "code": 50035}
		}
		if m := w.nonces[n]; m != nil {
			return 200, m
		}
	}
	if text := fmt.Sprint(req.Body["content"]); len([]rune(text)) > 2000 {
		return 400, Object{"message": "Invalid Form Body", "code": 50035}
	}
	m := Object{"id": w.ID(), "type": 0, "channel_id": chat, "author": Object{"id": BotID, "bot": true}, "timestamp": time.Now().UTC().Format(time.RFC3339Nano)}
	for k, v := range req.Body {
		m[k] = v
	}
	if w.HidesNonces {
		delete(m, "nonce")
	}
	if n, _ := req.Body["nonce"].(string); n != "" {
		w.nonces[n] = m
	}
	w.Chats[chat] = append(w.Chats[chat], m)
	w.Posts = append(w.Posts, m)
	return 200, m
}

// Person posts a message from a person. The fields in more are added to the message.
func (w *Server) Person(chat, sender, text string, group bool, more Object) {
	w.Lock()
	defer w.Unlock()
	m := Object{
		"id": w.ID(), "type": 0, "channel_id": chat, "author": Object{"id": sender, "username": "user-" + sender, "global_name": "User " + sender},
		"content": text, "timestamp": time.Now().UTC().Format(time.RFC3339Nano), "mentions": []Object{}, "attachments": []Object{},
	}
	for k, v := range more {
		m[k] = v
	}
	w.Chats[chat] = append(w.Chats[chat], m)
	live := Object{}
	for k, v := range m {
		live[k] = v
	}
	if group { // gateway events include the server, API responses do not
		w.groups[chat] = true
		live["guild_id"] = GuildID
	}
	w.saidLast = live
	if w.Live != nil {
		w.Dispatch("MESSAGE_CREATE", live)
	}
}

// Command sends a slash command from a user, in the server's channel "g1" or, if group is false, in
// a direct message. It returns the id of the interaction.
func (w *Server) Command(name, text, sender string, group bool) string {
	data := Object{"name": name}
	if text != "" {
		data["options"] = []Object{{"name": "text", "type": 3, "value": text}}
	}
	return w.sendInteraction(Object{"type": 2, "channel_id": "g1", "data": data}, sender, group)
}

// sendInteraction sends an interaction of a user.
func (w *Server) sendInteraction(d Object, sender string, group bool) string {
	w.Lock()
	defer w.Unlock()
	id := w.ID()
	d["id"], d["application_id"], d["token"] = id, AppID, Secret+id
	who := Object{"id": sender, "username": "u" + sender}
	if group {
		d["guild_id"], d["member"] = GuildID, Object{"user": who}
	} else {
		d["user"] = who
	}
	w.Dispatch("INTERACTION_CREATE", d)
	return id
}

// PressOn sends a user's press of a button in message m.
func (w *Server) PressOn(chat, button, sender string, m Object, group bool) {
	w.sendInteraction(Object{"type": 3, "channel_id": chat, "data": Object{"custom_id": button, "component_type": 2}, "message": m}, sender, group)
}

// Press simulates a press of Approve or Deny in the latest message of a chat that has buttons. It
// returns false if there is none.
func (w *Server) Press(chat, sender string, yes bool) bool {
	w.Lock()
	var m Object
	button := ""
	for _, said := range w.Chats[chat] {
		rows, _ := said["components"].([]any)
		if len(rows) == 0 {
			continue
		}
		keys := rows[0].(Object)["components"].([]any)
		key := keys[len(keys)-1].(Object)
		if yes {
			key = keys[0].(Object)
		}
		button, m = fmt.Sprint(key["custom_id"]), Object{"id": said["id"], "timestamp": said["timestamp"]}
	}
	w.Unlock()
	if m != nil {
		w.PressOn(chat, button, sender, m, false)
	}
	return m != nil
}

// Original returns the first answer to an interaction, or nil before it exists.
func (w *Server) Original(id string) Object {
	w.Lock()
	defer w.Unlock()
	return w.Interactions[Secret+id]
}

// Told returns the responses after the first one, for example the text for the person who pressed a
// button. It includes the flags (64: only that person sees the text).
func (w *Server) Told() []string {
	w.Lock()
	defer w.Unlock()
	var out []string
	for _, m := range w.FollowUps {
		out = append(out, fmt.Sprint(m["content"], " ", m["flags"]))
	}
	return out
}
