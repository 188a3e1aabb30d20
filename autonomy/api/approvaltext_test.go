package api

import (
	"encoding/json"
	"testing"
)

// encoding/json escapes <, > and & in arguments. People read them as they were written.
func TestCallText_ShowsArgumentsAsTheyWereWritten(t *testing.T) {
	for name, command := range map[string]string{
		"redirection":             `date > when.txt && cat < when.txt`,
		"backslash before escape": `printf '\u003e \\u0026'`,
		"quotes":                  `echo "a\nb" > c`,
	} {
		args, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		text := Approval{Tool: "run_command", Arguments: args}.CallText()
		var back map[string]string
		if err := json.Unmarshal([]byte(text[len("run_command "):]), &back); err != nil || back["command"] != command {
			t.Errorf("%s: CallText = %s, which means %q (%v), want %q", name, text, back["command"], err, command)
		}
	}
	const want = `run_command {"command":"date > when.txt"}`
	if got := (Approval{Tool: "run_command", Arguments: json.RawMessage(`{"command":"date \u003e when.txt"}`)}).CallText(); got != want {
		t.Errorf("CallText = %s, want %s", got, want)
	}
}
