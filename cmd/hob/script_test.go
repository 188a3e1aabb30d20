package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"hob/autonomy/guard/rules"
	"hob/autonomy/llm/llmtest"
	"hob/channels/web"
	"hob/platform/host/command"
	"hob/platform/host/system"
	"hob/platform/net/hooksig"
	"hob/platform/retry"
	"hob/platform/text/document"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == document.Helper {
		syscall.Exit(document.Serve(os.Stdin, os.Stdout)) // with the race detector, os.Exit takes a second longer
	}
	if len(os.Args) == 2 && os.Args[1] == command.Helper {
		syscall.Exit(command.Serve(os.Stdin, os.Stdout, os.Stderr))
	}
	testscript.Main(m, map[string]func(){"hob": main, "poster": runPoster, "post": postFile, "mcpserver": serveExample, "mcptools": listTools, driverName: conformanceDriver})
}

// runPoster is an API client other than hob. It posts with the daemon's token and prints the response
// status. With -approve it approves all open requests. With -hook it posts its arguments to the
// webhook, in order.
func runPoster() {
	p, err := system.DefaultPaths()
	if err != nil {
		panic(err)
	}
	h, _, err := system.Probe(p.LockFile())
	if err != nil {
		panic(err)
	}
	d, err := addressOf(p, h.PID)
	if err != nil {
		panic(err)
	}
	do := func(method, path string, body []byte) int {
		r, err := http.NewRequestWithContext(context.Background(), method, d.base+path, bytes.NewReader(body))
		if err != nil {
			panic(err)
		}
		r.Header.Set("Authorization", "Bearer "+d.token.Reveal())
		r.Header.Set("X-Hob-Channel", "terminal")
		r.Header.Set(web.ClientHeader, "poster")
		if path == "/hooks/webhook" {
			hooksig.Sign(r.Header, []byte("not-a-real-secret"), rand.Text(), body, time.Now())
		}
		resp, err := d.transport.Do(r)
		if err != nil {
			panic(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	switch {
	case os.Args[1] == "-approve":
		fmt.Println(do(http.MethodPost, "/api/v1/sessions/cli/approvals/any", []byte(`{"approved":true}`)))
	case os.Args[1] == "-hook":
		for _, body := range os.Args[2:] {
			fmt.Println(do(http.MethodPost, "/hooks/webhook", []byte(body)))
		}
	case len(os.Args) > 2:
		fmt.Println(do(http.MethodPost, os.Args[1], []byte(os.Args[2])))
	default:
		fmt.Println(do(http.MethodGet, os.Args[1], nil))
	}
}

// TestScripts runs testdata/script/*.txtar. Each script has its own home, the built-in brain and a
// port that the system chooses.
func TestScripts(t *testing.T) {
	model := llmtest.NewServer(t, llmtest.Options{Models: []string{"scripted", "tiny"}, Otherwise: &llmtest.Answer{Text: "Hi from the model."}})
	services := exampleServices(t)
	sdkScript, err := filepath.Abs("testdata/openai_sdk.mjs")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", ContinueOnError: true,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "user")
			e.Setenv("HOME", home)
			e.Setenv("USERPROFILE", home)
			e.Setenv("HOB_HOME", filepath.Join(e.WorkDir, "hob"))
			e.Setenv("TZ", "UTC")
			e.Setenv("MODEL_URL", model.URL+"/v1") // an OpenAI-compatible server that always answers "hi"
			e.Setenv("SERVICES_URL", services)     // see exampleServices
			e.Setenv("OPENAI_SDK", openAISDK())
			e.Setenv("OPENAI_SDK_SCRIPT", sdkScript)
			e.Setenv("NO_COLOR", "1")
			e.Setenv("GORACE", "atexit_sleep_ms=0") // otherwise each command takes a second longer
			e.Defer(func() { stopLeftover(t, filepath.Join(e.WorkDir, "hob", "hob.lock")) })
			for _, d := range []string{home, filepath.Join(e.WorkDir, "hob")} {
				if err := os.MkdirAll(d, 0o700); err != nil {
					return err
				}
			}
			if err := writeDocExamples(e.WorkDir); err != nil {
				return err
			}
			conf := "[agent]\nmodel = \"offline\"\ntimezone = \"UTC\"\n\n[web]\nlisten = \"127.0.0.1:0\"\n"
			return os.WriteFile(filepath.Join(e.WorkDir, "hob", "config.toml"), []byte(conf), 0o600)
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "race":
				return raceDetector, nil
			case "rego":
				return rules.Rego(), nil
			case "openai-sdk":
				return openAISDK() != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": checkCode, "eventually": runUntilMatch, "replace": replaceText, "capture": captureText, "endpoint": findEndpoint,
		},
	})
}

// stopLeftover stops a daemon that a script has left running.
func stopLeftover(t *testing.T, lock string) {
	h, held, err := system.Probe(lock)
	if err != nil {
		t.Error(err)
	}
	if !held {
		return
	}
	if h.PID != 0 { // otherwise it is stopping: it has removed its name but still holds the lock
		if err := system.Terminate(h.PID); err != nil && system.ProcessExists(h.PID) {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	for held && retry.Sleep(ctx, 10*time.Millisecond) == nil {
		_, held, _ = system.Probe(lock)
	}
	if held {
		t.Errorf("the daemon %d did not stop", h.PID)
	}
}

// checkCode runs a program and checks the exit code, for example: code 3 hob status.
func checkCode(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if neg || err != nil || len(args) < 2 {
		ts.Fatalf("usage: code N program args...")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		x, ok := err.(*exec.ExitError) //nolint:errorlint // Exec does not wrap the error
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = x.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// runUntilMatch repeats a program until its output matches: eventually RE program args...
func runUntilMatch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually regexp program args...")
	}
	re, err := regexp.Compile(args[0])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	for {
		err := ts.Exec(args[1], args[2:]...)
		if err == nil && re.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if retry.Sleep(ctx, 50*time.Millisecond) != nil {
			ts.Fatalf("%q was not printed: %s", args[0], ts.ReadFile("stdout"))
		}
	}
}

// Control sequences in an error text from a server do not reach the terminal.
func TestExplain(t *testing.T) {
	var out bytes.Buffer
	a := &cli{err: &out}
	a.printError(&failure{cause: "nothing was kept: \x1b]52;c;aGk=\ais no name", remedy: "ask \u202eadmin"}, exitFailed, "hob")
	if want := "hob: nothing was kept: ]52;c;aGk=is no name\n     ask admin\n"; out.String() != want {
		t.Errorf("got %q", out.String())
	}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	a := &cli{out: &out}
	type item struct {
		ID   string    `json:"id"`
		N    float64   `json:"n"`
		List []string  `json:"list"`
		At   time.Time `json:"at"`
		Text string    `json:"text"`
	}
	t.Setenv("HOB_HOME", t.TempDir())
	cells := func(x item) []any { return []any{x.ID, countOrNone(int(x.N)), x.N, x.List, x.At, x.Text} }
	list := []item{{"1", 3.5, []string{"x", "y"}, time.Date(2020, 5, 3, 10, 0, 0, 0, time.UTC), "a\nb\x1b[31m"}, {ID: "22"}}
	err := printList(a, list, "", "ID|COUNT|N|LIST|AT|TEXT", cells)
	want := "ID  COUNT  N    LIST  AT                 TEXT\n1   3      3.5  x, y  3 May 2020, 10:00  a b[31m\n22         0\n"
	if out.String() != want || err != nil {
		t.Errorf("got %q %v", out.String(), err)
	}
	out.Reset()
	if err := printList[item](a, nil, "Nothing.", "ID", cells); err != nil || out.String() != "Nothing.\n" {
		t.Errorf("got %q %v", out.String(), err)
	}
	a.asJSON = true
	out.Reset()
	if err := printList[item](a, nil, "Nothing.", "ID", cells); err != nil || out.String() != "[]\n" {
		t.Errorf("got %q %v", out.String(), err)
	}
}

// The window of a list loses details before it loses what the list is about.
func TestFitColumns(t *testing.T) {
	heads := []string{"TASK", "DUE", "ID", "PRIORITY", "PROJECT"}
	for _, c := range []struct {
		name       string
		want, fits []int
		window     int
	}{
		{"pipe", []int{84, 5, 10, 8, 15}, []int{84, 5, 10, 8, 15}, 0},
		{"wide enough", []int{20, 5, 10, 8, 15}, []int{20, 5, 10, 8, 15}, 80},
		{"80 columns", []int{84, 5, 10, 8, 15}, []int{51, 5, 10, 8, 0}, 80},
		{"60 columns", []int{84, 5, 10, 8, 15}, []int{41, 5, 10, 0, 0}, 60},
		{"long ID", []int{84, 5, 36, 8, 15}, []int{40, 0, 36, 0, 0}, 78},
		{"no room for the ID", []int{84, 5, 36, 8, 15}, []int{33, 5, 0, 0, 0}, 40},
		{"short content", []int{6, 5, 10, 8, 80}, []int{6, 5, 10, 8, 43}, 80},
		{"40 columns", []int{84, 5, 10, 8, 15}, []int{28, 0, 10, 0, 0}, 40},
	} {
		got := fitColumns(heads, c.want, c.window)
		if !slices.Equal(got, c.fits) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.fits)
		}
	}
}
