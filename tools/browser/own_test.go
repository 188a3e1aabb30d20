package browser

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"hob/platform/host/browser/apps"
	"hob/platform/host/osrun"
	"hob/platform/net/safehttp"
	"hob/platform/provenance"
	"hob/tools"
)

// ownBrowser is a fake of the owner's browser with one tab. If front is set, a second tab with this
// address is active. If err is set, all actions fail.
type ownBrowser struct {
	at    string
	front string
	err   error
	did   int
}

func (m *ownBrowser) List(context.Context, apps.App) (apps.List, error) { return apps.List{}, m.err }

func (m *ownBrowser) Get(_ context.Context, _ apps.App, id string) (apps.Tab, error) {
	if id == "" && m.front != "" {
		return apps.Tab{ID: "1.2", URL: m.front}, m.err
	}
	return apps.Tab{ID: "1.1", Title: "Page", URL: m.at}, m.err
}

func (m *ownBrowser) Open(context.Context, apps.App, string) (apps.Tab, error) {
	m.did++
	return apps.Tab{}, m.err
}

func (m *ownBrowser) Close(context.Context, apps.App, apps.Tab) error { m.did++; return m.err }

func (m *ownBrowser) Switch(context.Context, apps.App, apps.Tab) error { m.did++; return m.err }

func (m *ownBrowser) Read(context.Context, apps.App, apps.Tab) (apps.Text, error) {
	m.did++
	return apps.Text{Text: "text"}, m.err
}

func (m *ownBrowser) Execute(context.Context, apps.App, apps.Tab, string) (apps.Text, error) {
	m.did++
	return apps.Text{Text: "value"}, m.err
}

func toolNamed(t *testing.T, d Deps, name string) tools.Tool {
	t.Helper()
	for _, x := range Tools(d) {
		if x.Spec().Name == name {
			return x
		}
	}
	t.Fatal("unknown tool " + name)
	return nil
}

// TestOwn checks that in the owner's browser every action except reading the open tabs needs
// approval, is bound to the current page, and runs on no other page.
func TestOwn(t *testing.T) {
	net, err := safehttp.New(safehttp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args    string
		effects tools.Effects
		bound   bool
	}{
		"browser_list_tabs":        {`{"browser":"safari"}`, 0, false},
		"browser_get_url":          {`{"browser":"safari"}`, 0, false},
		"browser_get_page_content": {`{"browser":"safari"}`, tools.Read | tools.Secret, true},
		"browser_execute_js":       {`{"browser":"chrome","script":"x"}`, acting, true},
		"browser_close_tab":        {`{"browser":"arc"}`, tools.Write | tools.Destroy, true},
		"browser_switch_tab":       {`{"browser":"edge","tab":"1.1"}`, tools.Write, true},
		"browser_open_tab":         {`{"browser":"brave","url":"https://example.org/"}`, tools.Egress | tools.Send, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := &ownBrowser{at: "https://one.example/"}
			d := Deps{Browser: tabsOnly{}, Network: net, Own: m}
			x, args := toolNamed(t, d, name), json.RawMessage(tc.args)
			j := tools.JudgmentOf(t.Context(), x, args)
			if j.Refused != nil || j.Effects != tc.effects || (j.Exact != "") != tc.bound || j.Pattern != "" || name != "browser_open_tab" && !j.Private {
				t.Fatalf("JudgmentOf = %+v", j)
			}
			if tc.effects != 0 && !strings.Contains(j.Why, "your own") {
				t.Errorf("the approval request says %q", j.Why)
			}
			if tc.bound {
				m.at = "https://two.example/"
				if _, err := x.Call(t.Context(), tools.Call{Args: args, Exact: j.Exact}); tools.CodeOf(err) != tools.Conflict || m.did != 0 {
					t.Errorf("call on another page: %v, %d actions", err, m.did)
				}
				m.at = "https://one.example/"
			}
			res, err := x.Call(t.Context(), tools.Call{Args: args, Exact: j.Exact})
			if err != nil || name != "browser_open_tab" && name != "browser_close_tab" && res.Source != provenance.Outside || len(res.Links) != 0 {
				t.Errorf("Call = %+v, %v", res, err)
			}
			m.err = &osrun.Error{Kind: osrun.Timeout, App: "Safari", Unknown: true}
			if _, err := x.Call(t.Context(), tools.Call{Args: args, Exact: j.Exact}); tools.CodeOf(err) != tools.OutcomeUnknown {
				t.Errorf("an unknown outcome: %v", err)
			}
			if j := tools.JudgmentOf(t.Context(), toolNamed(t, Deps{Browser: tabsOnly{}, Network: net}, name), args); tools.CodeOf(j.Refused) != tools.Unsupported || !strings.Contains(j.Refused.Error(), "macOS only") {
				t.Errorf("assessment on another system: %v", j.Refused)
			}
			var odd map[string]any
			if err := errors.Join(json.Unmarshal(args, &odd)); err != nil {
				t.Fatal(err)
			}
			odd["browser"] = "netscape\n"
			args, _ = json.Marshal(odd)
			if j := tools.JudgmentOf(t.Context(), x, args); tools.CodeOf(j.Refused) != tools.InvalidArguments {
				t.Errorf("an unknown browser: %v", j.Refused)
			}
		})
	}
}

// TestOwn_ApprovedOnTheDashboard checks that an approval given on the dashboard in the same browser applies to
// the tab that was active at the time of the request.
func TestOwn_ApprovedOnTheDashboard(t *testing.T) {
	for name, args := range map[string]string{"browser_get_page_content": `{"browser":"chrome"}`, "browser_execute_js": `{"browser":"chrome","script":"x"}`, "browser_close_tab": `{"browser":"chrome"}`} {
		m := &ownBrowser{at: "https://one.example/"}
		x := toolNamed(t, Deps{Browser: tabsOnly{}, Own: m}, name)
		asked := tools.JudgmentOf(t.Context(), x, json.RawMessage(args))
		m.front = "http://127.0.0.1:7717/"
		again := tools.JudgmentOf(tools.WithAsked(t.Context(), func() string { return asked.Exact }), x, json.RawMessage(args))
		if again.Refused != nil || again.Exact != asked.Exact {
			t.Fatalf("%s: after %+v: %+v", name, asked, again)
		}
		if _, err := x.Call(t.Context(), tools.Call{Args: json.RawMessage(args), Exact: again.Exact}); err != nil || m.did != 1 {
			t.Errorf("%s: %v, did %d", name, err, m.did)
		}
		other := tools.WithAsked(t.Context(), func() string { return strings.Replace(asked.Exact, "chrome", "safari", 1) })
		if j := tools.JudgmentOf(other, x, json.RawMessage(args)); j.Exact == asked.Exact {
			t.Errorf("%s: the approval covers a tab of another browser: %+v", name, j)
		}
	}
}

// TestOwn_RefusesTheDashboard checks that no tool reads or clicks the dashboard, where approvals are
// given and all chats are visible.
func TestOwn_RefusesTheDashboard(t *testing.T) {
	for at, refused := range map[string]bool{
		"http://127.0.0.1:7717/": true, "http://localhost:7717/chat": true, "http://LOCALHOST./": true, "http://hob.localhost/": true, "http://[::1]:7717/": true, "http://0.0.0.0:7717/": true,
		"http://[::ffff:127.0.0.1]/": true, "http://127.8.8.8:3000/": true, "https://hob.home.example/": true, "https://192.168.1.7:7717/": true, "view-source:http://127.0.0.1:7717/": true, "blob:http://127.0.0.1:7717/x": true, "http://%": true,
		"https://localhost.example/": false, "https://one.example/?u=http://127.0.0.1/": false, "about:blank": false, "": false, "https://192.168.1.8/": false,
	} {
		d := Deps{Browser: tabsOnly{}, Own: &ownBrowser{at: at}, Hosts: []string{"Hob.home.example", "192.168.1.7", ""}}
		for name, args := range map[string]string{"browser_get_page_content": `{"browser":"safari"}`, "browser_execute_js": `{"browser":"chrome","tab":"1.1","script":"x"}`} {
			j := tools.JudgmentOf(t.Context(), toolNamed(t, d, name), json.RawMessage(args))
			if (tools.CodeOf(j.Refused) == tools.PolicyDenied) != refused || (j.Refused != nil) != refused {
				t.Errorf("%s: %s: %v", at, name, j.Refused)
			}
		}
		if j := tools.JudgmentOf(t.Context(), toolNamed(t, d, "browser_close_tab"), json.RawMessage(`{"browser":"safari"}`)); j.Refused != nil {
			t.Errorf("%s: closing is refused: %v", at, j.Refused)
		}
	}
}

func TestStripQuery(t *testing.T) {
	for in, want := range map[string]string{
		"https://a.example/p?token=x": "https://a.example/p…", "https://u:p@a.example/#x": "https://a.example/…", "about:blank": "about:", "data:text/html,secret": "data:",
		"favorites://": "favorites:", "": ":", "https://a.example/": "https://a.example/", ":": "an invalid address", "file:///home/ada/x": "file:",
	} {
		if got := withoutQuery(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
