package permission

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestList(t *testing.T) {
	env := func(name string) string {
		return map[string]string{"TERM_PROGRAM": "iTerm.app", "XPC_SERVICE_NAME": "0"}[name]
	}
	no, yes, fails := func() (bool, error) { return false, nil }, func() (bool, error) { return true, nil }, func() (bool, error) { return false, errors.New("no such function") }
	got := listPermissions(Options{Home: t.TempDir(), Getenv: env, Trusted: no, MayCapture: fails})
	if len(got) != 1 || got[0].ID != "accessibility" || got[0].Given || got[0].For != "iTerm" || got[0].Pane != "x-apple.systempreferences:com.apple.preference.security?Privacy_Accessibility" {
		t.Errorf("listPermissions = %+v", got)
	}
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "Library", "Messages"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "Library", "Messages", "chat.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got = listPermissions(Options{Home: home, Getenv: env, Trusted: yes, MayCapture: yes})
	if len(got) != 3 || !got[0].Given || !got[1].Given || !got[2].Given || !got[2].Restart {
		t.Errorf("listPermissions = %+v", got)
	}
}

func TestResponsible(t *testing.T) {
	for _, tt := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"the session", map[string]string{"XPC_SERVICE_NAME": "local.hob.assistant"}, "Hob"},
		{"Homebrew", map[string]string{"XPC_SERVICE_NAME": "homebrew.mxcl.hob"}, "Hob"},
		{"a job of another program", map[string]string{"XPC_SERVICE_NAME": "com.example.hobbyist", "TERM_PROGRAM": "Hobby"}, "Hobby"},
		{"Terminal", map[string]string{"XPC_SERVICE_NAME": "0", "TERM_PROGRAM": "Apple_Terminal"}, "Terminal"},
		{"a window of a program that is called so", map[string]string{"XPC_SERVICE_NAME": "application.com.example.hobbyterm.123", "TERM_PROGRAM": "Hobby"}, "Hobby"},
		{"kitty", map[string]string{"KITTY_WINDOW_ID": "1"}, "kitty"},
		{"from afar", map[string]string{"SSH_CONNECTION": "192.0.2.1 5 192.0.2.2 22", "TERM_PROGRAM": "Apple_Terminal"}, "sshd-keygen-wrapper"},
		{"tmux hides it", map[string]string{"TERM_PROGRAM": "tmux"}, "the terminal that started Hob"},
	} {
		if got := Responsible(func(n string) string { return tt.env[n] }); got != tt.want {
			t.Errorf("%s: Responsible = %q", tt.name, got)
		}
	}
}
