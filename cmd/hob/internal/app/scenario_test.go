package app

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"hob/autonomy/llm/acp/acptest"
	"hob/autonomy/llm/llmtest"
	"hob/platform/host/system"
	"hob/platform/net/safehttp/safehttptest"
	"hob/tools"
)

// Each file in testdata is a conversation that TestScenarios runs through the whole program. A
// scripted model answers in each of the real wire formats, both streamed and in one piece (see
// llmtest.ParseScript for the sections model/NAME). The section talk holds one step per line. A
// pattern is a regular expression.
//
//	> message from the owner
//	>NAME message from the owner in the conversation NAME
//	< pattern that the answer matches
//	? pattern that the approval request matches; {id} in a later line is its id
//	! pattern that a notice matches
//	~ pattern that a later reply matches
//	@ pattern that the last request of a turn to the model matches
//	- pattern that this request does not match
//	^ message that the owner sends once the next answer has begun to arrive
//	& message that the owner sends while the next request to the model is open
//	% number of times that the conversation has been compacted so far
//	* pattern for all web requests so far, as "GET http://host/path" one after the other
//	= PATH: content that a file below the home gets; empty if the file must not exist
//	# new title of the window (see window)
//	+ pattern for the facts, one per line as "PROVENANCE [KIND] [was] TEXT", after facts were
//	  extracted from all turns and forgotten text was erased
//	/ pattern that these facts do not match
//
// Other sections:
//
//	web/HOST/PATH, dns  the web pages and the addresses of hosts (see webOf)
//	home/PATH           a file that exists at the start; home64/PATH is the same in base64
//	config              added to the end of the configuration; lines before the first [section]
//	                    are added to [agent]; {home} is the home
//	provider            added to the section of the model's provider
//	tools               web adds open_page and look_up, which contact no network; hands adds tap
//	                    and fill_in, which act on no screen
//	window              title of a terminal on a separate screen; lines typed in the terminal are
//	                    written to the file typed below the home
//	only                limits the wire formats and modes: openai anthropic gemini streamed whole
//	session             the players, battery and sound server (see sessionOf)
//
// An external agent whose own model is the scripted one also runs each scenario with tool calls
// over ACP, unless notOverACP contains the scenario. The agent calls Hob's tools over MCP. Its
// context counts as untrusted, so calls before a line < are approved automatically. If that leads
// to other approval requests, the section talk/acp replaces talk.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	failOnError(t, err)
	for i, file := range files {
		a, err := txtar.ParseFile(file)
		failOnError(t, err)
		ways := slices.DeleteFunc(append(listPlayWays(), playWay{api: acpWay}), func(p playWay) bool {
			return p.api == acpWay && !playsOverACP(a, file) || p.api != acpWay && !p.isWanted(readSection(a, "only"))
		})
		if n := countPlayWays(); n < len(ways) {
			ways = append(ways[i%len(ways):], ways...)[:n]
		}
		for _, p := range ways {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+p.String(), func(t *testing.T) {
				t.Parallel()
				playTalk(t, a, p)
			})
		}
	}
}

// playWay is a combination of wire format and streaming mode.
type playWay struct {
	api   llmtest.API
	whole bool
	more  string // further lines of the provider's section
}

func (p playWay) String() string {
	if p.whole {
		return string(p.api) + "/whole"
	}
	return string(p.api) + "/streamed"
}

// countPlayWays returns in how many ways each scenario is played: in all of them in a long run,
// otherwise in two that change from scenario to scenario, and in one with the race detector, which
// takes six times as long.
func countPlayWays() int {
	switch {
	case raceDetector:
		return 1
	case os.Getenv("HOB_TEST_LONG") == "":
		return 2
	}
	return math.MaxInt
}

// listPlayWays returns all combinations.
func listPlayWays() []playWay {
	var out []playWay
	for _, api := range []llmtest.API{llmtest.OpenAI, llmtest.Anthropic, llmtest.Gemini} {
		out = append(out, playWay{api: api}, playWay{api: api, whole: true})
	}
	return out
}

// acpWay selects an external agent whose own model is the scripted one.
const acpWay llmtest.API = "acp"

// notOverACP lists the scenarios with calls that an external agent cannot run, with the reason.
var notOverACP = map[string]string{
	"agents": "external agents have no agents of Hob", "delegate": "external agents have no agents of Hob", "delegate_background": "external agents have no agents of Hob",
	"delegate_taint": "external agents have no agents of Hob", "guard_delegate": "external agents have no agents of Hob",
	"approve_batch": "an agent's calls run one after another, so none are asked for together", "guard_batch": "each change of a file is asked for, not only the 21st",
	"many_calls": "the limit of 64 calls is for an answer of a model; an agent's calls come alone",
	"budget":     "Hob does not count an agent's tokens", "token_ceiling": "an agent has its own limits", "rounds": "an agent has its own limits", "nudge": "an agent has its own limits",
	"claims": "Hob does not correct an agent's answer", "cut_arguments": "the agent reads its model's arguments", "documents_picture": "Hob does not let an agent describe pictures",
	"screen_type":     "Hob does not type into a terminal once a conversation is untrusted, as an agent's is",
	"extract_outside": "an agent extracts no facts", "forget_command": "the agent's own conversation keeps what Hob forgets", "history": "credentials stay hidden from an agent",
	"lesson_mistake": "Hob learns no lessons from untrusted conversations", "recall": "what an agent remembers is untrusted, so it is not added as memory of the user",
	"summary": "an agent shortens its own conversation", "steer": "the protocol cannot add a message to a running turn", "notice_urgency": "an agent does not rate notices",
	"signature": "the wire format of a model", "small_model": "the wire format of a model", "thoughts": "the wire format of a model",
}

// playsOverACP reports whether a scenario has calls and an external agent can run it.
func playsOverACP(a *txtar.Archive, file string) bool {
	_, not := notOverACP[strings.TrimSuffix(filepath.Base(file), ".txtar")]
	return !not && strings.Contains(string(txtar.Format(a)), "\ncall: ")
}

// isWanted reports whether the section only allows this combination. A section that names no wire
// format, or no mode, allows all of them.
func (p playWay) isWanted(only string) bool {
	apis, modes := 0, 0
	api, mode := false, false
	own := map[bool]string{true: "whole", false: "streamed"}[p.whole]
	for _, w := range strings.Fields(only) {
		if w == "streamed" || w == "whole" {
			modes++
			mode = mode || w == own
			continue
		}
		apis++
		api = api || w == string(p.api)
	}
	return (apis == 0 || api) && (modes == 0 || mode)
}

// providerConfig returns the section of the configuration that names the model server.
func (p playWay) providerConfig(url, keyFile string) string {
	switch p.api {
	case llmtest.OpenAI:
		url += "/v1"
	case acpWay:
		exe, err := os.Executable()
		if err != nil {
			panic(err) // cannot happen: this test runs from the working directory
		}
		args, _ := json.Marshal(acptest.Args("http", "script="+url)) // strings always encode
		return fmt.Sprintf("[providers.test]\nkind = \"acp\"\ncommand = %q\nargs = %s\nenv = [%q]\n", exe, args, acptest.KeyVariable+"=file:"+keyFile) + p.more
	}
	return fmt.Sprintf("[providers.test]\nkind = %q\nbase_url = %q\napi_key = %q\nstream = %v\n", p.api, url, "file:"+keyFile, !p.whole) + p.more
}

func readSection(a *txtar.Archive, name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func playTalk(t *testing.T, a *txtar.Archive, p playWay) {
	script, err := llmtest.ParseScript(a)
	failOnError(t, err)
	model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key}, script...)
	home := t.TempDir()
	for _, f := range a.Files {
		name, ok := strings.CutPrefix(f.Name, "home/")
		if coded, is := strings.CutPrefix(f.Name, "home64/"); is {
			name, ok = coded, true
			f.Data, err = base64.StdEncoding.DecodeString(strings.TrimSpace(string(f.Data)))
			failOnError(t, err)
		}
		if ok {
			failOnError(t, os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700))
			failOnError(t, os.WriteFile(filepath.Join(home, name), f.Data, 0o600))
		}
	}
	p.more = readSection(a, "provider")
	s := &scenarioRun{model: model}
	var extra []tools.Tool
	switch strings.TrimSpace(readSection(a, "tools")) {
	case "web":
		extra = webTools()
	case "hands":
		extra = handTools(func(ctx context.Context) (bool, error) { return s.daemonFixture.d.guard.HasOpenApproval(ctx) })
	}
	s.net = webOf(t, a)
	config := strings.ReplaceAll(readSection(a, "config"), "{home}", filepath.ToSlash(home))
	o := Options{Tools: extra, Network: s.net.Options(), Session: sessionOf(t, a)}
	if title := strings.TrimSpace(readSection(a, "window")); title != "" {
		s.window = showWindow(t, title, filepath.Join(home, "typed"))
		o.Screen, o.Session = true, s.window.lookupEnv
	}
	talk := readSection(a, "talk")
	if p.api == acpWay {
		talk = cmp.Or(readSection(a, "talk/acp"), talk)
	}
	s.daemonFixture = openScriptedWith(t, home, s.interjectMessage(t, model.URL, talk), p, config, o)
	lines := strings.Split(talk, "\n")
	for i, line := range lines {
		s.external = p.api == acpWay && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "<")
		s.runLine(strings.TrimSpace(line))
	}
	s.aside.Wait()
	for _, left := range model.Unused() {
		t.Errorf("unused model answer: %+v", left)
	}
}

// openScripted opens a Hob whose only model is served at url. It reads nothing from the
// environment, so that tests can run in parallel.
func openScripted(t *testing.T, home, url string, p playWay, more string, extra ...tools.Tool) *daemonFixture {
	t.Helper()
	return openScriptedWith(t, home, url, p, more, Options{Tools: extra})
}

func openScriptedWith(t *testing.T, home, url string, p playWay, more string, o Options) *daemonFixture {
	t.Helper()
	docs := filepath.Join(home, "Documents")
	failOnError(t, os.MkdirAll(docs, 0o700))
	hob := filepath.Join(home, "hob")
	failOnError(t, os.MkdirAll(hob, 0o700))
	key := filepath.Join(hob, "test.key")
	failOnError(t, os.WriteFile(key, []byte(llmtest.Key), 0o600))
	paths, err := system.ResolvePaths(runtime.GOOS, home, func(name string) string { return map[string]string{"HOB_HOME": hob}[name] })
	failOnError(t, err)
	agent, more := cutSection(more)
	conf := "[agent]\nmodel = \"test/scripted\"\ntimezone = \"UTC\"\n" + agent + "[web]\nlisten = \"127.0.0.1:0\"\n" + p.providerConfig(url, key)
	if !strings.Contains(more, "[files]") {
		conf += fmt.Sprintf("[files]\nallowed = [%q]\ndrop = %q\n", docs, filepath.Join(docs, "Hob"))
	}
	o.Paths, o.UserHome = paths, home
	return openWith(t, home, o, conf+more)
}

// cutSection splits a configuration before its first section.
func cutSection(conf string) (before, after string) {
	if i := strings.Index("\n"+conf, "\n["); i >= 0 {
		return conf[:i], conf[i:]
	}
	return conf, ""
}

// questionID matches the id of an approval request.
var questionID = regexp.MustCompile(`\b(all-)?[0-9a-f]{8}\b`)

type scenarioRun struct {
	*daemonFixture
	model  *llmtest.Server
	net    *safehttptest.Internet
	window *shownWindow
	answer string
	asked  string // id of the approval request that matched last

	external bool // whether requests of an external agent are approved automatically

	aside sync.WaitGroup // messages sent besides the talk

	mu   sync.Mutex
	said []string // messages to send while the next request is open
}

// lastRequest returns the last request of a turn, ignoring the later request that extracts facts
// from the turn.
func (s *scenarioRun) lastRequest() (body string) {
	for _, r := range s.model.Requests() {
		if !strings.Contains(string(r.Body), "You note what a user says in passing") {
			body = string(r.Body)
		}
	}
	return body
}

func (s *scenarioRun) runLine(line string) {
	s.t.Helper()
	mark, rest, _ := strings.Cut(strings.ReplaceAll(line, "{id}", s.asked), " ")
	fits := func(what, text string) {
		s.t.Helper()
		if !regexp.MustCompile(rest).MatchString(text) {
			s.t.Errorf("%s: %s %q does not match", line, what, text)
		}
	}
	session := "home"
	if name, ok := strings.CutPrefix(mark, ">"); ok && name != "" {
		mark, session = ">", name
	}
	switch mark {
	case ">":
		code, body := s.callAPI(http.MethodPost, "/api/v1/sessions/"+session+"/messages", map[string]string{"text": rest})
		s.answer = ""
		if code != http.StatusOK && code != http.StatusAccepted {
			s.t.Fatalf("%s: %d %s", line, code, body)
		}
		s.answer = string(body)
		if code == http.StatusAccepted && s.external {
			s.answer = s.approveAll(body)
		}
	case "^":
		s.onceBegun(rest)
	case "&":
		s.mu.Lock()
		s.said = append(s.said, rest)
		s.mu.Unlock()
	case "<":
		fits("the answer", s.answer)
	case "?":
		q := s.awaitDelivery("question", rest)
		s.asked = questionID.FindString(q.Text[strings.LastIndexByte(q.Text, '\n')+1:])
	case "!":
		s.awaitDelivery("notice", rest)
	case "~":
		s.awaitDelivery("reply", rest)
	case "@":
		fits("the last request", s.lastRequest())
	case "-":
		if body := s.lastRequest(); regexp.MustCompile(rest).MatchString(body) {
			s.t.Errorf("%s: the last request %q matches", line, body)
		}
	case "%":
		s.awaitCompactions(rest)
	case "*":
		s.checkVisited(rest)
	case "=":
		name, want, _ := strings.Cut(rest, ": ")
		b, err := os.ReadFile(filepath.Join(s.home, name))
		for end := time.Now().Add(60 * time.Second); want != "" && strings.TrimSpace(string(b)) != want && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			b, err = os.ReadFile(filepath.Join(s.home, name)) // another program may write it
		}
		if want == "" && os.IsNotExist(err) {
			return
		}
		if got := strings.TrimSpace(string(b)); got != want {
			s.t.Errorf("content of %s = %q, want %q (%v)", name, got, want, err)
		}
	case "#":
		s.window.changeTitle(s.t, rest)
	case "+", "/":
		kept := s.listFacts()
		if fits := regexp.MustCompile(rest).MatchString(kept); fits != (mark == "+") {
			s.t.Errorf("%s: stored facts:\n%s", line, kept)
		}
	case "":
	default:
		s.t.Fatalf("unknown mark %q of a scenario line", mark)
	}
}

// approveAll approves all requests of a message until there is an answer, and returns the event.
// The context of an external agent is untrusted, so it needs approvals that other models do not
// need.
func (s *scenarioRun) approveAll(body []byte) string {
	s.t.Helper()
	var sent struct{ Event string }
	failOnError(s.t, json.Unmarshal(body, &sent))
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		_, body = s.callAPI(http.MethodGet, "/api/v1/inbox/"+sent.Event, nil)
		var e struct {
			State     string
			Approvals []struct{ ID, Event string }
		}
		failOnError(s.t, json.Unmarshal(body, &e))
		if e.State == "done" || e.State == "dead" {
			return string(body)
		}
		_, open := s.callAPI(http.MethodGet, "/api/v1/approvals?state=pending", nil)
		failOnError(s.t, json.Unmarshal(open, &e.Approvals))
		for _, q := range e.Approvals {
			if q.Event == sent.Event { // skip the requests of goals and watchers
				s.answerApproval(q.ID, true)
			}
		}
	}
	s.t.Fatalf("event %s did not end: %s", sent.Event, body)
	return ""
}

// awaitCompactions waits until the log reports this number of compactions.
func (s *scenarioRun) awaitCompactions(times string) {
	s.t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	n := 0
	for time.Now().Before(deadline) {
		_, body := s.callAPI(http.MethodGet, "/api/v1/audit", nil)
		var lines []struct{ Action string }
		failOnError(s.t, json.Unmarshal(body, &lines))
		n = 0
		for _, l := range lines {
			if l.Action == "compact" {
				n++
			}
		}
		if fmt.Sprint(n) == times {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.t.Errorf("%d compactions, want %s", n, times)
}
