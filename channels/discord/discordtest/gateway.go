package discordtest

import (
	"encoding/json"
	"fmt"
	"net/http"

	"hob/channels/channelstest"
)

// serveGateway serves one gateway connection of the bot.
func (w *Server) serveGateway(rw http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("v") != "10" || r.URL.Query().Get("encoding") != "json" {
		w.T.Errorf("the gateway was asked for %q", r.URL.RawQuery)
	}
	w.Lock()
	silent, every := w.Silent, w.Every
	w.Unlock()
	var ws *channelstest.Socket
	w.sockets.Serve(rw, r, func(say func(any)) {
		if !silent {
			say(Frame{Op: 10, Data: Object{"heartbeat_interval": every}})
		}
	}, func(k *channelstest.Socket, raw []byte) {
		ws = k
		w.handleFrame(k, raw)
	})
	w.Lock()
	defer w.Unlock()
	if ws != nil && w.Live == ws {
		w.Live = nil
	}
}

// handleFrame handles a frame that the bot sends to the gateway.
func (w *Server) handleFrame(ws *channelstest.Socket, raw []byte) {
	var f struct {
		Op   int             `json:"op"`
		Data json.RawMessage `json:"d"`
	}
	if json.Unmarshal(raw, &f) != nil {
		ws.Close(4002)
		return
	}
	w.Lock()
	defer w.Unlock()
	switch f.Op {
	case 1:
		w.Beats++
		if !w.Deaf {
			_ = ws.Write(Frame{Op: 11})
		}
	case 2:
		w.signIn(ws, f.Data)
	case 6:
		w.resumeSession(ws, f.Data)
	}
}

// Dispatch assigns a sequence number to an event, stores the event for clients that resume, and
// sends it. The caller has locked w.
func (w *Server) Dispatch(kind string, data any) {
	n := len(w.log) + 1
	f := Frame{Op: 0, Type: kind, Data: data, Seq: &n}
	w.log = append(w.log, f)
	if w.Live != nil {
		_ = w.Live.Write(f)
	}
}

func (w *Server) signIn(ws *channelstest.Socket, data json.RawMessage) {
	var d struct {
		Token   string  `json:"token"`
		Intents float64 `json:"intents"`
	}
	_ = json.Unmarshal(data, &d)
	w.Identifies++
	w.Intents = d.Intents
	switch {
	case d.Token != Token:
		ws.Close(4004)
	case w.CloseWith != 0:
		ws.Close(w.CloseWith)
	case w.isInvalid(ws):
	default:
		w.sessions++
		w.Session, w.log, w.Live, w.Ever = fmt.Sprintf("session%d", w.sessions), nil, ws, true
		w.Dispatch("READY", Object{"v": 10, "user": Object{"id": BotID, "username": "hob", "bot": true}, "session_id": w.Session, "resume_gateway_url": w.Gateway, "guilds": []Object{{"id": GuildID, "unavailable": true}}})
		w.Dispatch("GUILD_CREATE", Object{
			"id": GuildID, "name": "Home", "channels": []Object{{"id": "g1", "name": "general"}}, "threads": []Object{{"id": "thread1", "name": "plans"}},
			"roles": []Object{{"id": RoleID, "tags": Object{"bot_id": BotID}}}, "members": []Object{{"user": Object{"id": BotID}, "roles": []string{RoleID, "99"}}},
		})
	}
}

// isInvalid sends the next "Invalid Session" if one is due, and reports whether it did.
func (w *Server) isInvalid(ws *channelstest.Socket) bool {
	if len(w.Invalid) == 0 {
		return false
	}
	_ = ws.Write(Frame{Op: 9, Data: w.Invalid[0]})
	w.Invalid = w.Invalid[1:]
	return true
}

func (w *Server) resumeSession(ws *channelstest.Socket, data json.RawMessage) {
	var d struct {
		Token   string `json:"token"`
		Session string `json:"session_id"`
		Seq     int    `json:"seq"`
	}
	_ = json.Unmarshal(data, &d)
	w.Resumes++
	switch {
	case d.Token != Token:
		ws.Close(4004)
	case w.isInvalid(ws):
	case d.Session != w.Session:
		_ = ws.Write(Frame{Op: 9, Data: false})
	case d.Seq > len(w.log):
		ws.Close(4007)
	default:
		for _, f := range w.log[d.Seq:] {
			_ = ws.Write(f)
		}
		w.Live = ws
		w.Dispatch("RESUMED", Object{})
	}
}

// Cut breaks the connection to the gateway.
func (w *Server) Cut() {
	w.Lock()
	defer w.Unlock()
	w.sockets.Cut()
	w.Live = nil
}

// Connected reports whether the bot is signed in to the gateway.
func (w *Server) Connected() bool {
	w.Lock()
	defer w.Unlock()
	return w.Live != nil
}
