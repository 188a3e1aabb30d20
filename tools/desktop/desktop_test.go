package desktop

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"hob/platform/host/desktop/apps"
	"hob/platform/host/desktop/clipboard"
	"hob/platform/host/desktop/session"
	"hob/tools"
)

type board struct {
	held clipboard.Content
	err  error
}

func (b *board) Read(context.Context) (clipboard.Content, error) { return b.held, b.err }

func (b *board) Write(_ context.Context, text string) error {
	if b.err == nil {
		b.held = clipboard.Content{Text: text}
	}
	return b.err
}

type menuOf struct {
	apps    []apps.App
	started []string
}

func (m *menuOf) Find(_ context.Context, name string) (apps.App, error) {
	for _, a := range m.apps {
		if a.Name == name {
			return a, nil
		}
	}
	return apps.App{}, apps.ErrNone
}

func (m *menuOf) List(context.Context) ([]apps.App, error) { return m.apps, nil }

func (m *menuOf) Start(_ context.Context, a apps.App, item string) error {
	m.started = append(m.started, strings.TrimSpace(a.ID+" "+item))
	return nil
}

func toolNamed(t *testing.T, d Deps, name string) tools.Tool {
	t.Helper()
	for _, x := range Tools(d) {
		if x.Spec().Name == name {
			return x
		}
	}
	t.Fatalf("unknown tool %s", name)
	return nil
}

func callTool(t *testing.T, x tools.Tool, args, exact string) (tools.Result, error) {
	t.Helper()
	return x.Call(t.Context(), tools.Call{ID: "c", Args: json.RawMessage(args), Exact: exact})
}

// A possible password is revealed only with approval, and only the approved content.
func TestClipboard_Secrets(t *testing.T) {
	for name, tc := range map[string]struct {
		held   clipboard.Content
		secret bool
	}{
		"plain text":           {clipboard.Content{Text: "see you at 8"}, false},
		"empty":                {clipboard.Content{}, false},
		"an address":           {clipboard.Content{Text: "https://example.org/Path?x=1"}, false},
		"a mail address":       {clipboard.Content{Text: "Ada.L33@example.org"}, false},
		"a path":               {clipboard.Content{Text: "/home/Ada/File1.txt"}, false},
		"a number":             {clipboard.Content{Text: "+37061234567"}, false},
		"one word":             {clipboard.Content{Text: "Donaudampfschiff"}, false},
		"marked as a secret":   {clipboard.Content{Text: "correct horse", Hidden: true}, true},
		"looks like a secret":  {clipboard.Content{Text: "Tr0ub4dor&3"}, true},
		"a file's name":        {clipboard.Content{Text: "invoice-march.pdf"}, false},
		"a token":              {clipboard.Content{Text: "9f86d081884c7d659a2feaa0c55ad015"}, true},
		"a key":                {clipboard.Content{Text: "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n-----END OPENSSH PRIVATE KEY-----\n"}, true},
		"a card":               {clipboard.Content{Text: "4111 1111 1111 1111"}, true},
		"a secret with an end": {clipboard.Content{Text: "aB3$x9Qz!\n"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			x := toolNamed(t, Deps{Clipboard: &board{held: tc.held}, Key: []byte("k")}, "get_clipboard")
			j := tools.JudgmentOf(t.Context(), x, json.RawMessage(`{}`))
			if secret := j.Effects&tools.Secret != 0; secret != tc.secret || !j.Private {
				t.Errorf("%+v", j)
			}
			if tc.secret && (strings.Contains(j.Exact+j.Why, tc.held.Text) || j.Exact == "") {
				t.Errorf("the question contains the secret: %+v", j)
			}
			if _, err := callTool(t, x, `{}`, j.Exact); err != nil {
				t.Error(err)
			}
		})
	}
	b := &board{held: clipboard.Content{Text: "see you at 8"}}
	x := toolNamed(t, Deps{Clipboard: b, Key: []byte("k")}, "get_clipboard")
	j := tools.JudgmentOf(t.Context(), x, json.RawMessage(`{}`))
	b.held = clipboard.Content{Text: "pw", Hidden: true}
	if r, err := callTool(t, x, `{}`, j.Exact); tools.CodeOf(err) != tools.Conflict || r.Text != "" {
		t.Errorf("the call returned a text copied after the approval: %+v, %v", r, err)
	}
}

func TestClipboard_Undo(t *testing.T) {
	b := &board{held: clipboard.Content{Text: "before"}}
	x := toolNamed(t, Deps{Clipboard: b}, "set_clipboard")
	r, err := callTool(t, x, `{"text":"after"}`, "")
	if err != nil || r.Undo == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	b.held.Text = "newer"
	if _, err := x.(tools.Undoer).Undo(t.Context(), r.Undo.Data); tools.CodeOf(err) != tools.Conflict || b.held.Text != "newer" {
		t.Errorf("Undo = %v, clipboard %q", err, b.held.Text)
	}
	b.held.Text = "after\n"
	if _, err := x.(tools.Undoer).Undo(t.Context(), r.Undo.Data); err != nil || b.held.Text != "before" {
		t.Errorf("Undo = %v, clipboard %q", err, b.held.Text)
	}
	b.held = clipboard.Content{Text: "pw", Hidden: true}
	if r, err = callTool(t, x, `{"text":"after"}`, ""); err != nil || r.Undo != nil {
		t.Errorf("the undo record contains a password: %+v, %v", r, err)
	}
}

// Starting an app needs no approval if it equals a click in the menu. It needs approval if the
// program is installed for this account only, raises permissions or ends the session.
func TestOpen_WithoutApproval(t *testing.T) {
	m := &menuOf{apps: []apps.App{
		{ID: "ff", Name: "Firefox", Command: []string{"firefox"}, Shared: true},
		{ID: "own", Name: "Own", Command: []string{"/home/x/evil"}},
		{ID: "sudo", Name: "Root", Command: []string{"/usr/bin/pkexec", "sh"}, Shared: true},
		{ID: "bye", Name: "Log Out", Command: []string{"xfce4-session-logout"}, Shared: true},
	}}
	x := toolNamed(t, Deps{Apps: m}, "open_app")
	for name, listed := range map[string]bool{"Firefox": true, "Own": false, "Root": false, "Log Out": false} {
		if j := tools.JudgmentOf(t.Context(), x, json.RawMessage(`{"name":"`+name+`"}`)); j.Listed != listed || j.Effects != tools.Exec || j.Refused != nil {
			t.Errorf("%s: JudgmentOf = %+v", name, j)
		}
	}
	if j := tools.JudgmentOf(t.Context(), x, json.RawMessage(`{"name":"None"}`)); tools.CodeOf(j.Refused) != tools.NotFound {
		t.Errorf("JudgmentOf = %+v", j)
	}
	j := tools.JudgmentOf(t.Context(), x, json.RawMessage(`{"name":"Firefox"}`))
	m.apps[0].Command = []string{"/tmp/evil"}
	if _, err := callTool(t, x, `{"name":"Firefox"}`, j.Exact); tools.CodeOf(err) != tools.Conflict || m.started != nil {
		t.Errorf("%v, started %q", err, m.started)
	}
}

// Opening an item with an application always needs approval. The item is an accessible file
// or an address that only opens pages and mails.
func TestOpen_WithAnApplication(t *testing.T) {
	m := &menuOf{apps: []apps.App{{ID: "ff", Name: "Firefox", Command: []string{"firefox"}, Shared: true, Opens: apps.Addresses}, {ID: "ed", Name: "Editor", Command: []string{"ed"}, Shared: true, Opens: apps.Files}}}
	d := Deps{Apps: m, Reach: func(path string) (string, error) {
		if path != "letter.txt" && path != "/home/x/letter.txt" {
			return "", tools.Errorf(tools.PolicyDenied, "out of reach")
		}
		return "/home/x/letter.txt", nil
	}}
	x := toolNamed(t, d, "open_app")
	args := func(app, item string) string {
		b, err := json.Marshal(map[string]string{"name": app, "item": item})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for name, tc := range map[string]struct {
		app, item, opened string
		url               bool
	}{
		"a page":                                {"Firefox", "https://example.org/a?b=c", "https://example.org/a?b=c", true},
		"a page in capitals":                    {"Firefox", "HTTP://example.org", "http://example.org", true},
		"a mail":                                {"Firefox", "mailto:ada@example.org?subject=Hello", "mailto:ada@example.org?subject=Hello", false},
		"a file":                                {"Editor", "letter.txt", "/home/x/letter.txt", false},
		"a mail with a file":                    {"Firefox", "mailto:ada@example.org?attach=/etc/passwd", "", false},
		"a file outside of the allowed folders": {"Editor", "/etc/shadow", "", false},
		"a file URL":                            {"Firefox", "file:///etc/passwd", "", false},
		"a script":                              {"Firefox", "javascript:alert(1)", "", false},
		"settings":                              {"Firefox", "x-apple.systempreferences:com.apple.preference.security", "", false},
		"a handler of Windows":                  {"Firefox", "ms-msdt:/id", "", false},
		"an address with a secret":              {"Firefox", "https://ada:pw@example.org", "", false},
		"no host":                               {"Firefox", "https:///x", "", false},
		"an option":                             {"Firefox", "--profile=/tmp", "", false},
		"an invalid address":                    {"Firefox", "https://[::1", "", false},
		"several lines":                         {"Firefox", "https://x.org\n--x", "", false},
		"an app that opens no addresses":        {"Editor", "https://example.org", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			m.started = nil
			j := tools.JudgmentOf(t.Context(), x, json.RawMessage(args(tc.app, tc.item)))
			if (j.Refused == nil) != (tc.opened != "") || j.Listed || (len(j.URLs) == 1) != tc.url {
				t.Fatalf("JudgmentOf = %+v", j)
			}
			if j.Refused != nil {
				if _, err := callTool(t, x, args(tc.app, tc.item), j.Exact); err == nil || m.started != nil {
					t.Errorf("the call opened %q", m.started)
				}
				return
			}
			if _, err := callTool(t, x, args(tc.app, tc.item), j.Exact); err != nil || len(m.started) != 1 || !strings.HasSuffix(m.started[0], " "+tc.opened) {
				t.Errorf("%v, opened %q", err, m.started)
			}
			plain := tools.JudgmentOf(t.Context(), x, json.RawMessage(args(tc.app, "")))
			if _, err := callTool(t, x, args(tc.app, tc.item), plain.Exact); tools.CodeOf(err) != tools.Conflict {
				t.Errorf("an approval for %s alone allows it to open an item: %v", tc.app, err)
			}
		})
	}
}

func TestOpen_ErrorsNameTheCause(t *testing.T) {
	for code, err := range map[tools.Code]error{tools.Unsupported: session.ErrNone, tools.TimedOut: clipboard.ErrBusy, tools.OutcomeUnknown: clipboard.ErrUnsure, tools.Failed: errors.New("x")} {
		x := toolNamed(t, Deps{Clipboard: &board{err: err}}, "get_clipboard")
		if _, got := callTool(t, x, `{}`, ""); tools.CodeOf(got) != code || !errors.Is(got, err) {
			t.Errorf("%v: %v", err, got)
		}
	}
}
