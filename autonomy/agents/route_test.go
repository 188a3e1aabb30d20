package agents

import "testing"

func TestRoutes_MostExactWins(t *testing.T) {
	routes := []Route{
		{Agent: "channel", Channel: "slack"},
		{Agent: "server", Server: "T1"},
		{Agent: "name", Name: "work-*"},
		{Agent: "second name", Name: "work-x"},
		{Agent: "narrow", Name: "team*", Channel: "discord"},
		{Agent: "chat", Chat: "slack:C7"},
		{Agent: "session", Chat: "home"},
	}
	tests := []struct {
		name string
		at   MessageOrigin
		want string
	}{
		{"exact chat before everything", MessageOrigin{Channel: "slack", Chat: "C7", Name: "work-x", Server: "T1"}, "chat"},
		{"a session is a chat", MessageOrigin{Session: "home", Channel: "web", Chat: "home"}, "session"},
		{"name before server", MessageOrigin{Channel: "slack", Chat: "C1", Name: "Work-Plans", Server: "T1"}, "name"},
		{"the first of two names", MessageOrigin{Channel: "irc", Chat: "1", Name: "work-x"}, "name"},
		{"server before channel", MessageOrigin{Channel: "slack", Chat: "C1", Name: "fun", Server: "T1"}, "server"},
		{"channel", MessageOrigin{Channel: "slack", Chat: "C1", Name: "fun", Server: "T2"}, "channel"},
		{"all set fields must match", MessageOrigin{Channel: "slack", Chat: "C1", Name: "team", Server: "T2"}, "channel"},
		{"a narrowed name", MessageOrigin{Channel: "discord", Chat: "C1", Name: "team-1"}, "narrow"},
		{"no name: the session's", MessageOrigin{Session: "work-1", Channel: "web", Chat: "work-1"}, "name"},
		{"a pattern does not cross a slash", MessageOrigin{Session: "work-1/t-1", Channel: "web"}, ""},
		{"none", MessageOrigin{Session: "x", Channel: "web", Chat: "x"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, _ := selectRoute(routes, tt.at); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
