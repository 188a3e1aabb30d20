package slacktest

import (
	"context"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hob/channels"
)

// Arrived implements channelstest.Platform.
func (d *Server) Arrived() (out []string) {
	for _, m := range d.Posts() {
		out = append(out, shownText(m["text"].(string)))
	}
	return out
}

// Fail implements channelstest.Platform.
func (d *Server) Fail(c channels.Class, n int) bool {
	f, ok := map[channels.Class]Failure{
		channels.Temporary: {Code: "service_unavailable"}, channels.Later: {Status: 429, After: "1"},
		channels.Permanent: {Code: "is_archived"}, channels.Unauthorized: {Code: "token_revoked"},
	}[c]
	if ok {
		d.Failing("chat.postMessage", slices.Repeat([]Failure{f}, n)...)
	}
	return ok
}

// Failing replaces the responses to the next calls of a method.
func (d *Server) Failing(method string, f ...Failure) {
	d.Lock()
	defer d.Unlock()
	d.fails[method] = append(d.fails[method], f...)
}

// Previewed implements channelstest.Previewer.
func (d *Server) Previewed() (n int) {
	for _, m := range d.Posts() {
		a := m["args"].(url.Values)
		if strings.Contains(a.Get("text"), "http") && (a.Get("unfurl_links") != "false" || a.Get("unfurl_media") != "false") {
			n++
		}
	}
	return n
}

// Rendered implements channelstest.Renderer.
func (d *Server) Rendered() (out []string) {
	acts := regexp.MustCompile(`<[@!#][^>]*>|<(?:javascript|data|vbscript|file):[^>]*>`)
	for _, m := range d.Posts() {
		a := m["args"].(url.Values)
		out = append(out, acts.FindAllString(a.Get("text")+a.Get("blocks"), -1)...)
		if a.Get("link_names") != "false" || a.Get("parse") != "none" {
			out = append(out, "names become mentions")
		}
	}
	return out
}

// Secrets implements channelstest.Secrets.
func (*Server) Secrets() []string { return []string{BotToken, AppToken, ticket} }

// Reopen implements channelstest.Reopener.
func (d *Server) Reopen(*testing.T) channels.Channel { return d.Open() }

// Again implements channelstest.Repeater.
func (d *Server) Again(context.Context) bool {
	d.Lock()
	m := d.last1
	d.Unlock()
	if m == nil || d.Live() == nil {
		return false
	}
	d.Tell(m, Object{"retry_attempt": 1, "retry_reason": "timeout"})
	return true
}

// Press simulates a press of Approve or Deny in the latest message of a chat ("C1", "C1/thread")
// that has buttons. It returns the id of the envelope, or "" if there are no buttons.
func (d *Server) Press(chat, user string, yes bool) string {
	channel, thread, _ := strings.Cut(chat, "/")
	at := func(m Object) bool {
		in, _ := m["thread_ts"].(string)
		return m["channel"] == channel && in == thread
	}
	for _, m := range slices.Backward(d.Posts()) {
		blocks, _ := m["blocks"].([]any)
		if len(blocks) == 0 || !at(m) {
			continue
		}
		last := blocks[len(blocks)-1].(Object)
		if last["type"] != "actions" {
			continue
		}
		keys := last["elements"].([]any)
		if yes {
			return d.PressOn(m, user, keys[0].(Object))
		}
		return d.PressOn(m, user, keys[len(keys)-1].(Object))
	}
	return ""
}

// PressOn sends a user's press of a button in a message
// (docs.slack.dev/reference/interaction-payloads/block_actions-payload).
func (d *Server) PressOn(m Object, user string, button Object) string {
	shown := Object{}
	for _, k := range []string{"type", "user", "bot_id", "ts", "thread_ts", "text", "blocks", "team"} {
		if v, ok := m[k]; ok {
			shown[k] = v
		}
	}
	return d.Envelope("interactive", Object{
		"type": "block_actions", "user": Object{"id": user, "username": "ada", "team_id": Team}, "team": Object{"id": Team}, "channel": Object{"id": m["channel"], "name": "x"},
		"container": Object{"type": "message", "message_ts": m["ts"], "channel_id": m["channel"]}, "message": shown, "trigger_id": "1.2.3", "response_url": "https://hooks.slack.com/actions/secret",
		"actions": []Object{{"type": "button", "action_id": button["action_id"], "block_id": "hob", "value": button["value"], "action_ts": "1700000000.1"}},
	}, nil)
}

// Say implements channelstest.Speaker.
func (d *Server) Say(_ context.Context, chat, sender, text string, group bool) bool {
	if !d.sockets.Ever() {
		return false
	}
	m := Object{"channel": "D0" + strings.ToUpper(chat), "channel_type": "im", "user": "U0" + strings.ToUpper(sender), "text": Escaped(text)}
	if group {
		m["channel"], m["channel_type"] = "C0"+strings.ToUpper(chat), "channel"
		m["text"], m["thread_ts"], m["parent_user_id"] = "<@"+HobUser+"> "+Escaped(text), "1600000000.000001", "U0BOB"
	}
	d.Write(m)
	return true
}
