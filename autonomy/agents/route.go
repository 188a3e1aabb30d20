package agents

import (
	"path"
	"strings"

	"hob/autonomy/bus"
	"hob/autonomy/payload"
)

// MessageOrigin is the origin of a message, as reported by its channel.
type MessageOrigin struct {
	Session string
	Channel string
	Chat    string // id of the chat
	Name    string // name of the chat; "" if the channel has no names
	Server  string // id of the server or workspace
}

// MessageOriginOf returns the origin of a message event.
func MessageOriginOf(ev bus.Event, m payload.Message) MessageOrigin {
	return MessageOrigin{Session: ev.Session, Channel: ev.Channel, Chat: ev.Chat, Name: m.Title, Server: m.Server}
}

// Route assigns matching conversations to an agent. All fields that are set must match.
type Route struct {
	Agent   string
	Chat    string // "telegram:42", or a session
	Name    string // a path.Match pattern for the chat's name
	Server  string
	Channel string
}

// Ranks of routes. The most specific route applies, regardless of the order.
const (
	byChat = iota
	byName
	byServer
	byChannel
	ranks
)

func (r Route) specificity() int {
	switch {
	case r.Chat != "":
		return byChat
	case r.Name != "":
		return byName
	case r.Server != "":
		return byServer
	}
	return byChannel
}

func (r Route) matchesOrigin(p MessageOrigin) bool {
	switch {
	case r.Channel != "" && r.Channel != p.Channel:
		return false
	case r.Server != "" && r.Server != p.Server:
		return false
	case r.Chat != "" && r.Chat != p.Session && r.Chat != p.Channel+":"+p.Chat:
		return false
	}
	return r.Name == "" || matchesName(r.Name, p)
}

// matchesName compares the pattern with the chat's name, or with the session if the channel has no
// chat names. It ignores case.
func matchesName(pattern string, p MessageOrigin) bool {
	name := p.Name
	if name == "" {
		name = p.Session
	}
	ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(name))
	return ok && err == nil
}

// selectRoute returns the agent of the most specific matching route. Among equally specific routes,
// the first one applies.
func selectRoute(routes []Route, p MessageOrigin) (agent string, ok bool) {
	best := ranks
	for _, r := range routes {
		if k := r.specificity(); k < best && r.matchesOrigin(p) {
			agent, best = r.Agent, k
		}
	}
	return agent, best < ranks
}

// String describes the route's conditions, for example "chat telegram:42".
func (r Route) String() string {
	var out []string
	for _, f := range [][2]string{{"chat", r.Chat}, {"name", r.Name}, {"server", r.Server}, {"channel", r.Channel}} {
		if f[1] != "" {
			out = append(out, f[0]+" "+f[1])
		}
	}
	return strings.Join(out, ", ")
}
