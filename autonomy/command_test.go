package autonomy

import "testing"

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
	} {
		if name, args := parseCommand(tc.text); name != tc.name || args != tc.args {
			t.Errorf("%q is %q with %q, want %q with %q", tc.text, name, args, tc.name, tc.args)
		}
	}
}
