package desktop

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/dop251/goja"
)

const hostile = "\"'`); doShellScript('x') \\ <b>&</b> $(x) %s é 世界 👋\nsecond"

// mac is as much of JavaScript for Automation as banner.js uses.
type mac struct {
	vm    *goja.Runtime
	shown []string // text and its parameters
	fail  goja.Value
}

func newMac(t *testing.T, stdin []byte) *mac {
	t.Helper()
	m := &mac{vm: goja.New()}
	set := func(name string, v any) {
		if err := m.vm.Set(name, v); err != nil {
			t.Fatal(err)
		}
	}
	set("stdin", string(stdin))
	set("show", func(text string, how map[string]any) {
		if m.fail != nil {
			panic(m.fail)
		}
		b, err := json.Marshal(how)
		if err != nil {
			t.Fatal(err)
		}
		m.shown = append(m.shown, text, string(b))
	})
	if _, err := m.vm.RunString(`
		var imported = false;
		var ObjC = { import: function (n) { if (n !== 'Foundation') throw new Error(n); imported = true; } };
		var $ = { NSFileHandle: { fileHandleWithStandardInput: { readDataToEndOfFile: stdin } },
			NSString: { alloc: { initWithDataEncoding: function (d, e) { if (!imported || e !== 4) throw new Error('encoding'); return { js: d }; } } } };
		var standard = { set includeStandardAdditions(on) { if (on) this.displayNotification = show; } };
		var Application = { currentApplication: function () { return standard; } };`); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *mac) run(t *testing.T) []byte {
	t.Helper()
	if _, err := m.vm.RunScript("banner.js", bannerScript); err != nil {
		t.Fatal(err)
	}
	v, err := m.vm.RunString("run()")
	if err != nil {
		t.Fatal(err)
	}
	return []byte(v.String() + "\n")
}

func TestBanner(t *testing.T) {
	in, err := ascii(newBanner("Hob", Note{Title: "Hob asks", Body: hostile, Urgency: Critical}))
	if err != nil {
		t.Fatal(err)
	}
	m := newMac(t, in)
	if err := readBanner(m.run(t)); err != nil {
		t.Error(err)
	}
	if len(m.shown) != 2 || m.shown[0] != hostile || m.shown[1] != `{"soundName":"Ping","subtitle":"Hob asks","withTitle":"Hob"}` {
		t.Errorf("shown %q", m.shown)
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
		"anything else": {-2700, nil, "-2700"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMac(t, []byte(`{"app":"Hob","body":"x"}`))
			v, err := m.vm.RunString(`var e = new Error('Zugriff verweigert – nö'); e`)
			if err != nil {
				t.Fatal(err)
			}
			if err := v.ToObject(m.vm).Set("errorNumber", c.number); err != nil {
				t.Fatal(err)
			}
			m.fail = v
			if err := readBanner(m.run(t)); err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %v", err)
			}
		})
	}
	if err := readBanner([]byte("no JSON")); err == nil {
		t.Error("what is no answer was taken for one")
	}
}

func TestToast(t *testing.T) {
	n := Note{ID: "n1", Title: "Hob", Body: hostile, Urgency: Critical, Actions: []Action{
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
	in, err := ascii(r)
	if err != nil {
		t.Fatal(err)
	}
	var back toastRequest
	if err := json.Unmarshal(in, &back); err != nil || back != r || bytes.ContainsFunc(in, func(r rune) bool { return r > 0x7e }) {
		t.Errorf("the request does not survive: %v\n%s", err, in)
	}
	if other, err := newToast("Hob", Note{ID: n.ID}); err != nil || other.Tag != r.Tag || len(r.Tag) > 64 {
		t.Errorf("tag %q, %v; want that of the note whose place it takes, %q", other.Tag, err, r.Tag)
	}
}

func TestToastAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		said string
		want error
		text string
	}{
		"taken":       {"a profile prints\r\n\n--hob--\n" + `{"ok":true}`, nil, ""},
		"off":         {"\n--hob--\n" + `{"ok":false,"reason":"setting","number":1}`, ErrNoServer, "Settings"},
		"all off":     {"\n--hob--\n" + `{"ok":false,"reason":"setting","number":2}`, ErrNoServer, "Settings"},
		"by policy":   {"\n--hob--\n" + `{"ok":false,"reason":"setting","number":3}`, ErrNoServer, "administrator"},
		"constrained": {"\n--hob--\n" + `{"ok":false,"reason":"language"}`, ErrNoServer, "Constrained"},
		"an HRESULT":  {"\n--hob--\n" + `{"ok":false,"reason":"error","number":-2143420155,"message":"x"}`, errors.ErrUnsupported, "0x803e0105"},
		"nothing":     {"", errors.ErrUnsupported, "something else"},
		"no mark":     {`{"ok":true}`, errors.ErrUnsupported, "something else"},
	} {
		t.Run(name, func(t *testing.T) {
			err := readToast([]byte(c.said))
			if (err == nil) != (c.want == nil) || c.want != nil && !errors.Is(c.want, errors.ErrUnsupported) && !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if err != nil && !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %q lacks %q", err, c.text)
			}
		})
	}
}

// TestScriptsAreConstant: nothing is ever put into a script, and they hold what
// their engines can read whatever the code page.
func TestScriptsAreConstant(t *testing.T) {
	for name, s := range map[string]string{"banner.js": bannerScript, "toast.ps1": toastScript} {
		if i := strings.IndexFunc(s, func(r rune) bool { return r > 0x7e }); i >= 0 {
			t.Errorf("%s: not ASCII at %d", name, i)
		}
		for _, bad := range []string{"%s", "{{", "Invoke-Expression", "iex ", "console.error", "eval("} {
			if strings.Contains(s, bad) {
				t.Errorf("%s holds %q", name, bad)
			}
		}
		for _, pair := range []string{"{}", "()", "[]"} {
			if a, b := strings.Count(s, pair[:1]), strings.Count(s, pair[1:]); a != b {
				t.Errorf("%s: %d %q and %d %q", name, a, pair[:1], b, pair[1:])
			}
		}
	}
	args := toastArgs()
	raw, err := base64.StdEncoding.DecodeString(args[len(args)-1])
	if err != nil || len(strings.Join(args, " ")) > 32_000 {
		t.Fatalf("%d characters, %v", len(strings.Join(args, " ")), err)
	}
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = uint16(raw[2*i]) | uint16(raw[2*i+1])<<8
	}
	if string(utf16.Decode(units)) != toastScript {
		t.Error("the encoded script is another one")
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{"abc": "abc", "äbcdéf": "äbc…", "abcd": "abcd", "a\x00b": "a\uFFFDb", "\xff": "\uFFFD", "a\r\nb": "a\nb", "\u2066x": "\uFFFDx"} {
		if got := clean(in, 4); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}
