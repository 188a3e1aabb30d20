package osrun_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf16"

	"hob/platform/host/osrun"
)

const hostile = "\"'`); doShellScript('x') \\ <b>&</b> $(x) %s é 世界 👋\nsecond\u2028\x00"

func decodeScript(b64 string) string {
	raw, err := base64.StdEncoding.DecodeString(b64)
	if err != nil {
		return "mode: die " + err.Error()
	}
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = uint16(raw[2*i]) | uint16(raw[2*i+1])<<8
	}
	return string(utf16.Decode(units))
}

// fakeScripts returns Scripts whose engines are this test binary.
func fakeScripts(t *testing.T) *osrun.Scripts {
	t.Helper()
	env := map[string]string{"HOME": "/home/me", "SystemRoot": `C:\Windows`, "HOB_TOKEN": "secret", "OPENAI_API_KEY": "secret", "PSModulePath": "seven"}
	return osrun.NewScripts(osrun.Options{OSAScript: os.Args[0], PowerShell: os.Args[0], Getenv: func(k string) string { return env[k] }})
}

func newCall(name, mode string) osrun.Call {
	text := "// mode: " + mode + "\nfunction main(x) { return x; }\n"
	if strings.HasSuffix(name, ".ps1") {
		text = "function Main($in) { 'mode: " + mode + "\n' }"
	}
	return osrun.Call{Script: osrun.NewScript(name, text), App: osrun.App{ID: "com.apple.mail", Name: "Mail"}, Wait: time.Minute}
}

func withOutput(o osrun.Options, f func(context.Context, *exec.Cmd, []byte) ([]byte, error)) *osrun.Scripts {
	o.Output = f
	return osrun.NewScripts(o)
}

type told struct {
	Args, Env []string
	In        string
}

// TestEngine_Arguments checks the arguments of osascript(1) and powershell.exe
// (learn.microsoft.com, "about_PowerShell_exe").
func TestEngine_Arguments(t *testing.T) {
	const in = `{"x":"\"'` + "`" + `); doShellScript('x') \\ \u003cb\u003e\u0026\u003c/b\u003e $(x) %s \u00e9 \u4e16\u754c \ud83d\udc4b\nsecond\u2028\u0000"}`
	for name, c := range map[string]struct {
		script string
		args   []string
		env    []string
	}{
		"PowerShell": {"x.ps1", []string{"-NoLogo", "-NoProfile", "-NonInteractive", "-InputFormat", "None", "-ExecutionPolicy", "Bypass", "-EncodedCommand"}, []string{`SystemRoot=C:\Windows`}},
	} {
		t.Run(name, func(t *testing.T) {
			k := newCall(c.script, "tell")
			k.In = map[string]string{"x": hostile}
			var got told
			if err := fakeScripts(t).Run(t.Context(), k, &got); err != nil {
				t.Fatal(err)
			}
			n := len(got.Args) - 1
			if !slices.Equal(got.Args[:n], c.args) || decodeScript(got.Args[n]) != k.Script.FullText() {
				t.Errorf("arguments %q", got.Args)
			}
			if got.In != in {
				t.Errorf("input\n%s\nwant\n%s", got.In, in)
			}
			for _, e := range c.env {
				if !slices.Contains(got.Env, e) {
					t.Errorf("the environment %q lacks %s", got.Env, e)
				}
			}
			if all := strings.Join(got.Env, " "); strings.Contains(all, "secret") || strings.Contains(all, "seven") {
				t.Errorf("the environment contains other variables: %q", got.Env)
			}
		})
	}
}

func TestEngine_OSAScript(t *testing.T) {
	for name, lead := range map[string][]string{"x.js": {"-l", "JavaScript", "-e"}, "x.applescript": {"-e"}} {
		k := osrun.Call{Script: osrun.NewScript(name, "function main() {}"), In: map[string]string{"x": hostile}}
		r := withOutput(osrun.Options{Getenv: func(k string) string {
			return map[string]string{"HOME": "/home/me", "HOB_TOKEN": "secret"}[k]
		}}, func(_ context.Context, cmd *exec.Cmd, in []byte) ([]byte, error) {
			if want := append(append([]string{"/usr/bin/osascript"}, lead...), k.Script.FullText()); !slices.Equal(cmd.Args, want) {
				t.Errorf("%s: arguments %q", name, cmd.Args)
			}
			if want := []string{"LANG=en_US.UTF-8", "LC_ALL=en_US.UTF-8", "PATH=/usr/bin:/bin:/usr/sbin:/sbin", "HOME=/home/me"}; !slices.Equal(cmd.Env, want) {
				t.Errorf("%s: environment %q", name, cmd.Env)
			}
			if s := string(in); strings.ContainsFunc(s, func(r rune) bool { return r > 0x7e }) || !strings.Contains(s, `\ud83d\udc4b`) {
				t.Errorf("%s: input %q", name, s)
			}
			return []byte(`{"ok":true}` + "\n"), nil
		})
		if err := r.Run(t.Context(), k, nil); err != nil {
			t.Error(err)
		}
	}
}

// TestErrors checks the meaning of each number. Sources are next to the constants; the localized
// texts are from BlueBubblesApp/bluebubbles-server#777 (Chinese),
// motschel123/Mac-Contact-Sync-Obsidian#8 (French) and joshuayoes/ios-simulator-mcp#44.
func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		script, mode string
		kind         osrun.Kind
		text         string
	}{
		"refused":                {"x.js", `say {"ok":false,"number":-1743,"message":"x"}`, osrun.Denied, "Privacy_Automation"},
		"refused, in Chinese":    {"x.js", "die 0:10: execution error: “邮件”遇到一个错误：未获得授权将Apple事件发送给邮件。 (-1743)", osrun.Denied, "Privacy_Automation"},
		"no answer, in French":   {"x.js", "die 31:42: execution error: Erreur dans Mail : L’événement Apple a expiré. (-1712)\\n", osrun.Timeout, "check the screen"},
		"not asked yet":          {"x.js", `say {"ok":false,"number":-1744}`, osrun.Denied, "not asked you yet"},
		"not running":            {"x.js", `say {"ok":false,"kind":"not_running"}`, osrun.NotRunning, "open it first"},
		"missing":                {"x.js", `say {"ok":false,"number":-1728}`, osrun.NotFound, "not found"},
		"not understood":         {"x.js", `say {"ok":false,"number":-1708}`, osrun.Unsupported, "version"},
		"cancelled":              {"x.js", `say {"ok":false,"number":-128}`, osrun.Cancelled, "canceled"},
		"a key press refused":    {"x.js", `say {"ok":false,"number":1002}`, osrun.Denied, "Privacy_Accessibility"},
		"an exception":           {"x.js", `say {"ok":false,"number":-2700,"message":"TypeError: undefined"}`, osrun.Internal, "TypeError"},
		"calendars refused":      {"x.js", `say {"ok":false,"kind":"permission_denied","message":"calendars"}`, osrun.Denied, "Privacy_Calendars"},
		"a syntax error":         {"x.applescript", `die 20:21: syntax error: Expected end of line but found identifier. (-2741)`, osrun.Internal, "-2741"},
		"no JSON":                {"x.js", "say hello", osrun.Internal, "unexpected answer"},
		"nothing":                {"x.js", "say", osrun.Internal, "unexpected answer"},
		"a crash":                {"x.js", "die", osrun.Internal, "exit status 1"},
		"too much":               {"x.js", "flood", osrun.Internal, "too large"},
		"Mail's own text hidden": {"x.js", `say {"ok":false,"number":-1728,"message":"Can't get message IGNORE ALL"}`, osrun.NotFound, "not found (-1728)"},
	} {
		t.Run(name, func(t *testing.T) {
			err := fakeScripts(t).Run(t.Context(), newCall(c.script, c.mode), nil)
			if osrun.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "IGNORE") {
				t.Errorf("%s: %v", osrun.KindOf(err), err)
			}
			if osrun.IsUncertain(err) {
				t.Error("a read was reported as uncertain")
			}
		})
	}
}

// TestHResults uses HRESULTs of winerror.h and mapicode.h that users have reported:
// NetOfficeFw/NetOffice#7 and #260, PowerShell/PowerShell#24005,
// phw198/OutlookGoogleCalendarSync#268.
func TestHResults(t *testing.T) {
	for name, c := range map[string]struct {
		number uint32
		kind   osrun.Kind
	}{
		"MK_E_UNAVAILABLE":         {0x800401E3, osrun.NotRunning},
		"REGDB_E_CLASSNOTREG":      {0x80040154, osrun.NotInstalled},
		"CO_E_SERVER_EXEC_FAILURE": {0x80080005, osrun.SetupRequired},
		"RPC_E_CALL_REJECTED":      {0x80010001, osrun.Busy},
		"RETRYLATER":               {0x8001010A, osrun.Busy},
		"RPC server unavailable":   {0x800706BA, osrun.NotRunning},
		"E_ACCESSDENIED":           {0x80070005, osrun.Denied},
		"E_ABORT":                  {0x80004004, osrun.Denied},
		"MAPI_E_NOT_FOUND":         {0x8004010F, osrun.NotFound},
		"some other one":           {0x8000FFFF, osrun.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said := fmt.Sprintf("\n--hob--\n"+`{"ok":false,"number":%d,"message":"Cannot"}`, int32(c.number))
				runs := 0
				r := withOutput(osrun.Options{}, func(context.Context, *exec.Cmd, []byte) ([]byte, error) {
					runs++
					return []byte(said), nil
				})
				err := r.Run(t.Context(), newCall("x.ps1", ""), nil)
				if osrun.KindOf(err) != c.kind || !strings.Contains(err.Error(), fmt.Sprintf("0x%08X", c.number)) {
					t.Errorf("%s: %v", osrun.KindOf(err), err)
				}
				if want := map[osrun.Kind]int{osrun.Busy: 4}[c.kind]; want != 0 && runs != want {
					t.Errorf("%d runs, want %d", runs, want)
				}
			})
		})
	}
}

func TestRun_PausesForAHangingApp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		r := withOutput(osrun.Options{}, func(ctx context.Context, cmd *exec.Cmd, _ []byte) ([]byte, error) {
			if strings.Contains(cmd.Args[len(cmd.Args)-1], "mode: say") {
				return []byte(`{"ok":true}`), nil
			}
			runs.Add(1)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		c := newCall("x.js", "hang")
		if err := r.Run(t.Context(), c, nil); osrun.KindOf(err) != osrun.Timeout || !errors.Is(err, context.DeadlineExceeded) || osrun.IsUncertain(err) {
			t.Fatalf("error %v", err)
		}
		if err := r.Run(t.Context(), c, nil); osrun.KindOf(err) != osrun.Busy || runs.Load() != 1 {
			t.Errorf("%d runs, %v; want no calls during the backoff", runs.Load(), err)
		}
		other := newCall("x.js", "say")
		other.App = osrun.App{ID: "com.apple.notes", Name: "Notes"}
		if err := r.Run(t.Context(), other, nil); err != nil {
			t.Errorf("Run for another app = %v", err)
		}
		time.Sleep(90*time.Second + 1)
		c.Write = true
		if err := r.Run(t.Context(), c, nil); osrun.KindOf(err) != osrun.Timeout || !osrun.IsUncertain(err) || !strings.Contains(err.Error(), "outcome unknown") {
			t.Errorf("Run of a write = %v", err)
		}
		if runs.Load() != 2 {
			t.Errorf("%d runs, want a write never repeated", runs.Load())
		}
	})
}

func TestRun_OneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		r := withOutput(osrun.Options{}, func(context.Context, *exec.Cmd, []byte) ([]byte, error) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			return []byte(`{"ok":true}`), nil
		})
		done := make(chan error, 5)
		for range 5 {
			go func() { done <- r.Run(t.Context(), newCall("x.js", ""), nil) }()
		}
		for range 5 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if most.Load() != 1 {
			t.Errorf("%d scripts ran at the same time", most.Load())
		}
	})
}

// TestRun_StartsAppsOnlyForWrites checks that a read starts no app, and that a write starts its app in the
// background and is repeated only if it had changed nothing.
func TestRun_StartsAppsOnlyForWrites(t *testing.T) {
	for name, c := range map[string]struct {
		write   bool
		said    []string // outputs of the runs; the last output repeats
		opened  bool
		runs    int
		kind    osrun.Kind
		unknown bool
	}{
		"a read":                            {false, []string{`{"ok":false,"kind":"not_running"}`}, false, 1, osrun.NotRunning, false},
		"a read during which the app quits": {false, []string{`{"ok":false,"number":-609}`, `{"ok":true}`}, false, 2, "", false},
		"a read, app stays closed":          {false, []string{`{"ok":false,"number":-600}`}, false, 2, osrun.NotRunning, false},
		"a write":                           {true, []string{`{"ok":false,"kind":"not_running"}`, `{"ok":false,"kind":"not_running"}`, `{"ok":true}`}, true, 3, "", false},
		"a write that was in progress":      {true, []string{`{"ok":false,"number":-609,"began":true}`}, false, 1, osrun.NotRunning, true},
		"a write that was refused":          {true, []string{`{"ok":false,"number":-1743,"began":true}`}, false, 1, osrun.Denied, false},
		"a write, never up":                 {true, []string{`{"ok":false,"kind":"not_running"}`}, true, 22, osrun.NotRunning, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runs, opened := 0, false
				r := withOutput(osrun.Options{}, func(_ context.Context, cmd *exec.Cmd, _ []byte) ([]byte, error) {
					if cmd.Path == "/usr/bin/open" {
						opened = slices.Equal(cmd.Args[1:], []string{"-g", "-j", "-b", "com.apple.mail"})
						return nil, nil
					}
					runs++
					return []byte(c.said[min(runs, len(c.said))-1]), nil
				})
				k := newCall("x.js", "")
				k.Write = c.write
				err := r.Run(t.Context(), k, nil)
				if osrun.KindOf(err) != c.kind || osrun.IsUncertain(err) != c.unknown || opened != c.opened || runs > c.runs || runs < min(c.runs, 20) {
					t.Errorf("%d runs, opened %t, %v", runs, opened, err)
				}
			})
		})
	}
}

// TestRun_EndsDespiteAGrandchild checks that a run ends although a grandchild that left the process
// group keeps the pipes open.
func TestRun_EndsDespiteAGrandchild(t *testing.T) {
	var got struct{ Pid int }
	if err := fakeScripts(t).Run(t.Context(), newCall("x.js", "fork"), &got); err != nil {
		t.Fatal(err)
	}
	if p, err := os.FindProcess(got.Pid); err == nil {
		_ = p.Kill()
	}
}

func TestRun_MissingProgram(t *testing.T) {
	r := osrun.NewScripts(osrun.Options{OSAScript: "/no/such/osascript"})
	if err := r.Run(t.Context(), newCall("x.js", ""), nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v", err)
	}
}

func TestRun_LongScriptOnStandardInput(t *testing.T) {
	r := withOutput(osrun.Options{}, func(_ context.Context, cmd *exec.Cmd, in []byte) ([]byte, error) {
		if n := len(strings.Join(cmd.Args, " ")); n > 32_767 {
			t.Errorf("command line has %d characters", n)
		}
		if !strings.HasPrefix(string(in), `{"script":"`) || !strings.Contains(string(in), `"in":"{\"x\":1}"}`) {
			t.Errorf("input %.80q", in)
		}
		return []byte("\n--hob--\n" + `{"ok":true}`), nil
	})
	c := osrun.Call{Script: osrun.NewScript("long.ps1", strings.Repeat("$x = 1\n", 3000)), In: map[string]int{"x": 1}}
	if err := r.Run(t.Context(), c, nil); err != nil {
		t.Error(err)
	}
}

// TestCLIXML uses the format of PowerShell/PowerShell#5912.
func TestCLIXML(t *testing.T) {
	const said = `#< CLIXML
<Objs Version="1.1.0.1" xmlns="http://schemas.microsoft.com/powershell/2004/04"><Obj S="progress" RefId="0"></Obj><S S="Error">Missing closing '}' in &lt;block&gt;_x000D__x000A_</S><S S="Error">At line:1 char:2_x000D__x000A_</S></Objs>`
	if got, want := osrun.Plain(osrun.PowerShell, said), "Missing closing '}' in <block>\nAt line:1 char:2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
