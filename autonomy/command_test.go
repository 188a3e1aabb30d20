package autonomy

import (
	"context"
	"testing"

	"hob/autonomy/bus"
	"hob/autonomy/payload"
)

func TestParseCommand(t *testing.T) {
	for _, tc := range []struct{ text, name, args string }{
		{"/stop", "stop", ""},
		{" !Kill now ", "stop", "now"},
		{"/undo@hobbot 3", "undo", "3"},
		{"/nonsense", unknownCommand, "/nonsense"},
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
		if name, args := parseCommand(tc.text); name != tc.name || args != tc.args {
			t.Errorf("%q is %q with %q, want %q with %q", tc.text, name, args, tc.name, tc.args)
		}
	}
}

// In a group of Messages, Hob reads only messages that name it.
func TestAnswersThatNameHob(t *testing.T) {
	for text, yes := range map[string]bool{"yes": true, "Hob, yes!": true, "hob no": false, "@Hob: ja": true, "Sí.": true, "NON": false, "y": true, "Hob no": false} {
		if s, ok := parseAnswer(text); !ok || s.yes != yes {
			t.Errorf("%q is %+v, %v", text, s, ok)
		}
	}
	for _, text := range []string{"ok", "OK!", "sure", "go ahead", "do it", "yep", "Hob, okay", "confirm"} {
		if s, ok := parseAnswer(text); !ok || !s.talk || s.yes {
			t.Errorf("%q is %+v, %v, want talk", text, s, ok)
		}
	}
	for _, text := range []string{"hobyes", "Hob", "Hob, yes but later", "tell Hob yes"} {
		if s, ok := parseAnswer(text); ok {
			t.Errorf("%q is the answer %+v", text, s)
		}
	}
}

// Anyone who reads a code may be the first to send it.
func TestNoCodeIsShownToAGroup(t *testing.T) {
	l := &Loop{o: Options{Pair: func(context.Context, string, string) (string, error) { return "2345A-BCDEF", nil }}}
	for shared, shown := range map[bool]bool{false: true, true: false} {
		got, err := l.cmdPair(t.Context(), bus.Event{Payload: mustJSON(payload.Message{Shared: shared})}, "pigeon")
		if (err == nil) != shown || (got != "") != shown {
			t.Errorf("shared %v: %q, %v", shared, got, err)
		}
	}
}
