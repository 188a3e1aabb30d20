package chattext

import "testing"

func TestParseCommand(t *testing.T) {
	for _, tc := range []struct{ text, name, args string }{
		{"/stop", "stop", ""},
		{" !Kill now ", "stop", "now"},
		{"/undo@hobbot 3", "undo", "3"},
		{"/nonsense", Unknown, "/nonsense"},
		{"/nonsense with words", "", ""},
		{"/etc/hosts is gone", "", ""},
		{"/home/me/a.txt", "", ""},
		{"!nonsense", "", ""},
		{"/", "", ""},
		{"and/or", "", ""},
		{"stop", "", ""},
		{"Hob, /stop now", "stop", "now"},
		{"@hob /stop", "stop", ""},
		{"hobby /stop", "", ""},
	} {
		if name, args := ParseCommand(tc.text); name != tc.name || args != tc.args {
			t.Errorf("%q parses as %q with %q, want %q with %q", tc.text, name, args, tc.name, tc.args)
		}
	}
}

// In a group of Messages, Hob reads only messages that name it.
func TestParseAnswer_WithHobsName(t *testing.T) {
	for text, yes := range map[string]bool{"yes": true, "Hob, yes!": true, "hob no": false, "@Hob: ja": true, "Sí.": true, "NON": false, "y": true, "Hob no": false} {
		if s, ok := ParseAnswer(text); !ok || s.Yes != yes {
			t.Errorf("%q is %+v, %v", text, s, ok)
		}
	}
	for _, text := range []string{"ok", "OK!", "sure", "go ahead", "do it", "yep", "Hob, okay", "confirm"} {
		if s, ok := ParseAnswer(text); !ok || !s.Talk || s.Yes {
			t.Errorf("%q parses as %+v, %v, want no command", text, s, ok)
		}
	}
	for _, text := range []string{"hobyes", "Hob", "Hob, yes but later", "tell Hob yes"} {
		if s, ok := ParseAnswer(text); ok {
			t.Errorf("%q parses as the answer %+v", text, s)
		}
	}
}
