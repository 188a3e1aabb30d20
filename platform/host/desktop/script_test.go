package desktop

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"hob/platform/host/osrun"
	"hob/platform/host/osrun/osruntest"
)

const hostile = "\"'`); doShellScript('x') \\ <b>&</b> $(x) %s é 世界 👋\nsecond"

// showBanner shows a notification on a simulated Mac.
func showBanner(m *osruntest.Mac, n Notification) error {
	return bannerError(m.Run(context.Background(), osrun.Call{Script: bannerScript(), In: newBanner("Hob", n), Write: true, Wait: time.Second}, nil))
}

func TestBanner(t *testing.T) {
	m := osruntest.NewMac(t, map[string]any{})
	if err := showBanner(m, Notification{Title: "Hob asks", Body: hostile, Urgency: Critical}); err != nil {
		t.Error(err)
	}
	body, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(body))
	if got, want := m.Events(), `additions displayNotification [`+plain+`,{"withTitle":"Hob","subtitle":"Hob asks","soundName":"Ping"}]`; len(got) != 1 || got[0] != want {
		t.Errorf("shown\n%q\nwant\n%q", got, want)
	}
}

func TestBannerErrors(t *testing.T) {
	for name, c := range map[string]struct {
		number int
		want   error
		text   string
	}{
		"not allowed":   {-1743, ErrNoServer, "System Settings"},
		"no answer":     {-1712, ErrUnsure, "did not answer"},
		"anything else": {-2700, ErrUnsure, "-2700"},
	} {
		t.Run(name, func(t *testing.T) {
			m := osruntest.NewMac(t, map[string]any{})
			m.Fail("displayNotification", c.number)
			if err := showBanner(m, Notification{Body: "x"}); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %v", err)
			}
		})
	}
	m := osruntest.NewMac(t, map[string]any{})
	m.Hang("displayNotification")
	if err := showBanner(m, Notification{Body: "x"}); !errors.Is(err, ErrUnsure) {
		t.Errorf("error %v", err)
	}
}

func TestToast(t *testing.T) {
	n := Notification{ID: "n1", Title: "Hob", Body: hostile, Urgency: Critical, Actions: []Action{
		{Key: Default, URL: "http://127.0.0.1:7777/#a&b"}, {Key: "yes", Label: "Approve"}, {Key: "open", Label: `O"p<en`, URL: "http://127.0.0.1:7777/"},
	}}
	r, err := newToast("Hob", n)
	if err != nil {
		t.Fatal(err)
	}
	const want = `<toast scenario="reminder" activationType="protocol" launch="http://127.0.0.1:7777/#a&amp;b"><visual><binding template="ToastGeneric"><text>Hob</text><text>` +
		"&#34;&#39;`); doShellScript(&#39;x&#39;) \\ &lt;b&gt;&amp;&lt;/b&gt; $(x) %s é 世界 👋&#xA;second" +
		`</text></binding></visual><actions><action content="O&#34;p&lt;en" activationType="protocol" arguments="http://127.0.0.1:7777/"></action></actions></toast>`
	if r.XML != want {
		t.Errorf("xml\n%s\nwant\n%s", r.XML, want)
	}
	for d := xml.NewDecoder(strings.NewReader(r.XML)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	in, err := osrun.ASCII(r)
	if err != nil {
		t.Fatal(err)
	}
	var back toastRequest
	if err := json.Unmarshal(in, &back); err != nil || back != r || bytes.ContainsFunc(in, func(r rune) bool { return r > 0x7e }) {
		t.Errorf("the request changes when it is encoded and decoded: %v\n%s", err, in)
	}
	if other, err := newToast("Hob", Notification{ID: n.ID}); err != nil || other.Tag != r.Tag || len(r.Tag) > 64 {
		t.Errorf("tag %q, %v; want that of the replaced notification, %q", other.Tag, err, r.Tag)
	}
}

func TestToastAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		said string
		want error
		text string
	}{
		"taken":       {"a profile prints\r\n\n--hob--\n" + `{"ok":true,"data":{"setting":0}}`, nil, ""},
		"off":         {"\n--hob--\n" + `{"ok":true,"data":{"setting":1}}`, ErrNoServer, "Settings"},
		"all off":     {"\n--hob--\n" + `{"ok":true,"data":{"setting":2}}`, ErrNoServer, "Settings"},
		"by policy":   {"\n--hob--\n" + `{"ok":true,"data":{"setting":3}}`, ErrNoServer, "administrator"},
		"constrained": {"\n--hob--\n" + `{"ok":false,"kind":"policy_blocked"}`, ErrNoServer, "Constrained"},
		"an HRESULT":  {"\n--hob--\n" + `{"ok":false,"number":-2143420155,"message":"x"}`, errors.ErrUnsupported, "0x803E0105"},
		"unsure":      {"\n--hob--\n" + `{"ok":false,"number":-2143420155,"message":"x","began":true}`, ErrUnsure, "0x803E0105"},
		"nothing":     {"", ErrUnsure, "unexpected answer"},
		"no mark":     {`{"ok":true}`, ErrUnsure, "unexpected answer"},
	} {
		t.Run(name, func(t *testing.T) {
			r := osrun.NewScripts(osrun.Options{Output: func(context.Context, *exec.Cmd, []byte) ([]byte, error) { return []byte(c.said), nil }})
			var a toastAnswer
			err := r.Run(t.Context(), osrun.Call{Script: toastScript(), In: toastRequest{}, Write: true}, &a)
			err = toastError(a, err)
			if (err == nil) != (c.want == nil) || c.want != nil && !errors.Is(c.want, errors.ErrUnsupported) && !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if err != nil && !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %q lacks %q", err, c.text)
			}
		})
	}
}

func TestScripts(t *testing.T) { osruntest.Check(t, bannerScript(), toastScript()) }

func TestClean(t *testing.T) {
	for in, want := range map[string]string{"abc": "abc", "äbcdéf": "äbc…", "abcd": "abcd", "a\x00b": "a\uFFFDb", "\xff": "\uFFFD", "a\r\nb": "a\nb", "\u2066x": "\uFFFDx"} {
		if got := sanitizeText(in, 4); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}
