// Package acptest is an external agent for tests: a program that speaks the
// agent's side of the Agent Client Protocol, does what the words of its prompt
// say, and misbehaves on demand. A test's TestMain calls Main first:
//
//	func TestMain(m *testing.M) { acptest.Main(); goleak.VerifyTestMain(m) }
//
// and configures the test's own binary as the agent, with Args.
package acptest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"
)

const first = "acp-test-agent"

// Args are the arguments that make a test's binary the agent. Options:
//
//	load=DIR   sessions are kept in DIR and can be loaded
//	useless    a session that was loaded is good for nothing
//	auth       a session needs authenticate with the method "key" first
//	version=N  it speaks another version of the protocol
//	die        it ends at once with words on its standard error
//	mute       it never answers
//	greet      it prints a line that is no message first
//	modes      it has the modes "default" and "yolo", and is in "yolo"
//	models     it has the models "small" and "large"
func Args(options ...string) []string { return append([]string{first}, options...) }

// Main runs the agent and exits, when the process was started with Args.
func Main() {
	if len(os.Args) < 2 || os.Args[1] != first {
		return
	}
	a := &agent{sessions: map[sdk.SessionId]*session{}}
	post := map[string]string{}
	for _, o := range os.Args[2:] {
		name, value, _ := strings.Cut(o, "=")
		switch name {
		case "load":
			a.dir = value
		case "useless":
			a.useless = true
		case "auth":
			a.auth = true
		case "version":
			a.version, _ = strconv.Atoi(value) // 0 is as wrong as any
		case "die":
			fmt.Fprintln(os.Stderr, "I cannot go on: sk-verysecretkey0123456789")
			os.Exit(3)
		case "mute":
			select {}
		case "greet":
			fmt.Println("Welcome to the agent!")
		case "modes":
			a.modes = true
		case "models":
			a.models = true
		case "post", "token", "words":
			post[name] = value
		}
	}
	if len(post) > 0 {
		speak(post["post"], post["token"], post["words"])
		os.Exit(0)
	}
	a.conn = sdk.NewAgentSideConnection(a, os.Stdout, os.Stdin)
	a.conn.SetLogger(slog.New(slog.DiscardHandler))
	<-a.conn.Done()
	os.Exit(0)
}

// speak posts a message as the owner would, and prints the status.
func speak(url, token, words string) {
	body, err := json.Marshal(map[string]string{"text": words})
	if err == nil {
		var req *http.Request
		if req, err = http.NewRequestWithContext(context.Background(), http.MethodPost, url, bytes.NewReader(body)); err == nil {
			req.Header.Set("Authorization", "Bearer "+token)
			req.Header.Set("Content-Type", "application/json")
			var res *http.Response
			if res, err = http.DefaultClient.Do(req); err == nil {
				fmt.Println(res.Status)
				err = res.Body.Close()
			}
		}
	}
	if err != nil {
		fmt.Println(err)
	}
}

type session struct {
	id      sdk.SessionId
	prompts int
	broken  bool
	mode    sdk.SessionModeId
	model   string
	stop    context.CancelFunc
}

type agent struct {
	conn          *sdk.AgentSideConnection
	dir           string
	auth, signed  bool
	useless       bool
	modes, models bool
	version       int

	mu       sync.Mutex
	sessions map[sdk.SessionId]*session
}

func (a *agent) Initialize(_ context.Context, r sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	v := r.ProtocolVersion
	if a.version != 0 {
		v = sdk.ProtocolVersion(a.version)
	}
	return sdk.InitializeResponse{
		ProtocolVersion: v,
		AgentCapabilities: sdk.AgentCapabilities{
			LoadSession: a.dir != "", PromptCapabilities: sdk.PromptCapabilities{Image: true},
		},
		AuthMethods: []sdk.AuthMethod{{Agent: &sdk.AuthMethodAgent{Id: "key", Name: "With a key"}}},
	}, nil
}

func (a *agent) Authenticate(_ context.Context, r sdk.AuthenticateRequest) (sdk.AuthenticateResponse, error) {
	if r.MethodId != "key" {
		return sdk.AuthenticateResponse{}, sdk.NewInvalidParams("no such method")
	}
	a.signed = true
	return sdk.AuthenticateResponse{}, nil
}

func (a *agent) NewSession(context.Context, sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	if a.auth && !a.signed {
		return sdk.NewSessionResponse{}, sdk.NewAuthRequired(nil)
	}
	s := &session{id: sdk.SessionId(fmt.Sprintf("s%d", time.Now().UnixNano())), mode: "yolo"}
	a.keep(s)
	out := sdk.NewSessionResponse{SessionId: s.id}
	if a.modes {
		out.Modes = &sdk.SessionModeState{CurrentModeId: "yolo", AvailableModes: []sdk.SessionMode{{Id: "default", Name: "ask"}, {Id: "yolo", Name: "do"}}}
	}
	if a.models {
		out.Models = &sdk.SessionModelState{CurrentModelId: "small", AvailableModels: []sdk.ModelInfo{{ModelId: "small", Name: "s"}, {ModelId: "large", Name: "l"}}}
	}
	return out, nil
}

// keep holds a session, and writes down how far it is.
func (a *agent) keep(s *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions[s.id] = s
	if a.dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(a.dir, string(s.id)), []byte(strconv.Itoa(s.prompts)), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func (a *agent) LoadSession(ctx context.Context, r sdk.LoadSessionRequest) (sdk.LoadSessionResponse, error) {
	b, err := os.ReadFile(filepath.Join(a.dir, filepath.Base(string(r.SessionId))))
	if err != nil {
		return sdk.LoadSessionResponse{}, sdk.NewInvalidParams("no such session")
	}
	n, err := strconv.Atoi(string(b))
	if err != nil {
		return sdk.LoadSessionResponse{}, err
	}
	go func() { // one goes on telling after the answer
		for range 3 {
			time.Sleep(100 * time.Millisecond)
			a.tell(context.WithoutCancel(ctx), r.SessionId, sdk.UpdateAgentMessageText("and from the past "))
		}
	}()
	for range 2_000 { // the past comes back, more of it than the SDK can hold at a time
		a.tell(ctx, r.SessionId, sdk.UpdateAgentMessageText("from the past "))
	}
	a.keep(&session{id: r.SessionId, prompts: n, broken: a.useless})
	return sdk.LoadSessionResponse{}, nil
}

func (a *agent) Cancel(_ context.Context, r sdk.CancelNotification) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[r.SessionId]; s != nil && s.stop != nil {
		s.stop()
	}
	return nil
}

func (a *agent) SetSessionMode(_ context.Context, r sdk.SetSessionModeRequest) (sdk.SetSessionModeResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions[r.SessionId].mode = r.ModeId
	return sdk.SetSessionModeResponse{}, nil
}

// UnstableSetSessionModel implements that method of the protocol.
func (a *agent) UnstableSetSessionModel(_ context.Context, r sdk.UnstableSetSessionModelRequest) (sdk.UnstableSetSessionModelResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions[r.SessionId].model = string(r.ModelId)
	return sdk.UnstableSetSessionModelResponse{}, nil
}

func (a *agent) CloseSession(context.Context, sdk.CloseSessionRequest) (sdk.CloseSessionResponse, error) {
	return sdk.CloseSessionResponse{}, nil
}

func (a *agent) ListSessions(context.Context, sdk.ListSessionsRequest) (sdk.ListSessionsResponse, error) {
	return sdk.ListSessionsResponse{}, nil
}

func (a *agent) ResumeSession(context.Context, sdk.ResumeSessionRequest) (sdk.ResumeSessionResponse, error) {
	return sdk.ResumeSessionResponse{}, sdk.NewMethodNotFound("session/resume")
}

func (a *agent) SetSessionConfigOption(context.Context, sdk.SetSessionConfigOptionRequest) (sdk.SetSessionConfigOptionResponse, error) {
	return sdk.SetSessionConfigOptionResponse{}, sdk.NewMethodNotFound("session/set_config_option")
}

// tell sends an update; when the client is gone, so is the agent soon.
func (a *agent) tell(ctx context.Context, id sdk.SessionId, u sdk.SessionUpdate) {
	if err := a.conn.SessionUpdate(ctx, sdk.SessionNotification{SessionId: id, Update: u}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// Prompt does what the last block says.
func (a *agent) Prompt(ctx context.Context, r sdk.PromptRequest) (sdk.PromptResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.mu.Lock()
	s := a.sessions[r.SessionId]
	a.mu.Unlock()
	if s == nil {
		return sdk.PromptResponse{}, sdk.NewInvalidParams("no such session")
	}
	if s.broken {
		return sdk.PromptResponse{}, sdk.NewInternalError("the history is out of order")
	}
	s.stop = cancel
	s.prompts++
	a.keep(s)
	t := &turn{agent: a, session: s, ctx: ctx, stop: sdk.StopReasonEndTurn}
	for _, b := range r.Prompt {
		switch {
		case b.Text != nil:
			t.blocks = append(t.blocks, b.Text.Text)
		case b.Image != nil:
			t.pictures++
		}
	}
	return t.run()
}

// turn is one prompt.
type turn struct {
	*agent
	*session
	ctx      context.Context
	blocks   []string
	pictures int
	stop     sdk.StopReason
	calls    int
}

func (t *turn) say(text string) { t.tell(t.ctx, t.session.id, sdk.UpdateAgentMessageText(text)) }

// run finds the verb, the first word of the last block, and what it is about.
func (t *turn) run() (sdk.PromptResponse, error) {
	verb, rest, _ := strings.Cut(t.blocks[len(t.blocks)-1], " ")
	f, ok := verbs()[verb]
	if !ok {
		f = func(t *turn, _ string) error {
			t.say("I do not understand.")
			return nil
		}
	}
	if err := f(t, rest); err != nil {
		return sdk.PromptResponse{}, err
	}
	resp := sdk.PromptResponse{StopReason: t.stop}
	if t.ctx.Err() != nil {
		resp.StopReason = sdk.StopReasonCancelled
	}
	if verb == "usage" {
		resp.Usage = &sdk.Usage{InputTokens: 100 * t.prompts, OutputTokens: 10 * t.prompts, TotalTokens: 110 * t.prompts}
	}
	return resp, nil
}

// verbs are what the agent can do.
func verbs() map[string]func(t *turn, rest string) error {
	return map[string]func(t *turn, rest string) error{
		"say":   func(t *turn, rest string) error { t.say(rest); return nil },
		"usage": func(t *turn, rest string) error { t.say("counted"); return nil },
		"stream": func(t *turn, rest string) error {
			for _, w := range strings.SplitAfter(rest, " ") {
				t.say(w)
			}
			return nil
		},
		"think": func(t *turn, rest string) error {
			t.tell(t.ctx, t.session.id, sdk.UpdateAgentThoughtText("Let me see."))
			t.say(rest)
			return nil
		},
		"heard": func(t *turn, _ string) error { t.say(strings.Join(t.blocks, "\n|")); return nil },
		"count": func(t *turn, _ string) error {
			t.say(fmt.Sprintf("prompt %d, %d pictures, mode %s, model %s", t.prompts, t.pictures, t.mode, t.model))
			return nil
		},
		"env": func(t *turn, _ string) error {
			names := os.Environ()
			for i, e := range names {
				names[i], _, _ = strings.Cut(e, "=")
			}
			slices.Sort(names)
			t.say(strings.Join(names, " "))
			return nil
		},
		"show": func(t *turn, rest string) error {
			t.tell(t.ctx, t.session.id, sdk.UpdateAgentMessage(sdk.ImageBlock(base64.StdEncoding.EncodeToString([]byte(rest)), "image/png")))
			t.say("A picture.")
			return nil
		},
		"nothing": func(*turn, string) error { return nil },
		"refuse":  func(t *turn, _ string) error { t.stop = sdk.StopReasonRefusal; return nil },
		"tired":   func(t *turn, _ string) error { t.say("So far."); t.stop = sdk.StopReasonMaxTurnRequests; return nil },
		"fail": func(*turn, string) error {
			return sdk.NewInternalError(map[string]any{"details": "the model is overloaded"})
		},
		"signin": func(*turn, string) error { return sdk.NewAuthRequired(nil) },
		"plan": func(t *turn, rest string) error {
			t.tell(t.ctx, t.session.id, sdk.UpdatePlan(sdk.PlanEntry{Content: rest, Status: "in_progress", Priority: "high"}))
			t.say("Planned.")
			return nil
		},
		"look": func(t *turn, rest string) error {
			t.did(sdk.ToolKindRead, rest, map[string]any{"path": rest})
			t.say("I have read it.")
			return nil
		},
		"sneak": func(t *turn, rest string) error { // does it without asking
			t.did(sdk.ToolKindExecute, rest, map[string]any{"command": rest})
			t.say("I did it.")
			return nil
		},
		"do":     func(t *turn, rest string) error { return t.ask(rest, sdk.PermissionOptionKindAllowOnce) },
		"always": func(t *turn, rest string) error { return t.ask(rest, sdk.PermissionOptionKindAllowAlways) },
		"bare":   (*turn).bare,
		"both":   (*turn).both,
		"crash":  func(t *turn, rest string) error { t.say(rest); t.flush(); os.Exit(3); return nil },
		"die":    func(*turn, string) error { fmt.Fprintln(os.Stderr, "out of memory"); os.Exit(3); return nil },
		"half": func(t *turn, _ string) error {
			t.say("Half ")
			t.flush()
			fmt.Println(`{"jsonrpc":"2.0","method":"session/up`)
			select {}
		},
		"cutoff": func(t *turn, _ string) error { t.flush(); fmt.Print(`{"jsonrpc":"2.0","met`); os.Exit(0); return nil },
		"hang":   func(t *turn, rest string) error { t.say(rest); <-t.ctx.Done(); return nil },
		"stone":  func(t *turn, rest string) error { t.say(rest); select {} },
		"flood": func(t *turn, _ string) error {
			for range 4_000 {
				t.say("drop ")
			}
			return nil
		},
		"endless": func(t *turn, _ string) error {
			for t.ctx.Err() == nil {
				t.say(strings.Repeat("on and on ", 1000))
			}
			return nil
		},
		"spawn": func(t *turn, _ string) error {
			c := exec.CommandContext(context.Background(), "sleep", "600")
			c.Stdout = os.Stdout // it holds the pipe open
			if err := c.Start(); err != nil {
				return err
			}
			t.say("pid " + strconv.Itoa(c.Process.Pid))
			select {}
		},
		"speak": func(t *turn, rest string) error { // as the owner: URL TOKEN WORDS
			url, rest, _ := strings.Cut(rest, " ")
			token, words, _ := strings.Cut(rest, " ")
			c := exec.CommandContext(t.ctx, "/bin/sh", "-c", `exec "$0" "$@"`, os.Args[0], first, "post="+url, "token="+token, "words="+words)
			out, err := c.CombinedOutput()
			t.say(strings.TrimSpace(string(out)))
			return err
		},
		"late": func(t *turn, rest string) error {
			go func() {
				time.Sleep(100 * time.Millisecond)
				t.tell(context.Background(), t.session.id, sdk.UpdateAgentMessageText("too late"))
			}()
			t.say(rest)
			return nil
		},
	}
}

// flush waits until what was said is on its way: the SDK writes at once.
func (t *turn) flush() { time.Sleep(20 * time.Millisecond) }

// did reports a call from its beginning to its end.
func (t *turn) did(kind sdk.ToolKind, title string, input any) {
	id := t.begin(kind, title, input)
	t.tell(t.ctx, t.session.id, sdk.UpdateToolCall(id, sdk.WithUpdateStatus(sdk.ToolCallStatusInProgress)))
	t.end(id, sdk.ToolCallStatusCompleted, "what came of "+title)
}

func (t *turn) begin(kind sdk.ToolKind, title string, input any) sdk.ToolCallId {
	t.calls++
	id := sdk.ToolCallId(fmt.Sprintf("t%d-%d", t.prompts, t.calls))
	t.tell(t.ctx, t.session.id, sdk.StartToolCall(id, title, sdk.WithStartKind(kind), sdk.WithStartStatus(sdk.ToolCallStatusPending), sdk.WithStartRawInput(input)))
	return id
}

func (t *turn) end(id sdk.ToolCallId, status sdk.ToolCallStatus, text string) {
	t.tell(t.ctx, t.session.id, sdk.UpdateToolCall(id, sdk.WithUpdateStatus(status), sdk.WithUpdateContent([]sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(text))})))
}

// ask does "KIND ARGUMENT" after it was permitted: do execute touch x. For
// execute and edit it writes the argument into a file "done" of its folder, so
// that a test sees what really happened.
func (t *turn) ask(rest string, yes sdk.PermissionOptionKind) error {
	kind, arg, _ := strings.Cut(rest, " ")
	input := map[string]any{"what": arg}
	if kind == "execute" {
		input = map[string]any{"command": arg}
	}
	id := t.begin(sdk.ToolKind(kind), "innocent words", input)
	r, err := t.conn.RequestPermission(t.ctx, sdk.RequestPermissionRequest{
		SessionId: t.session.id, ToolCall: sdk.ToolCallUpdate{ToolCallId: id},
		Options: []sdk.PermissionOption{
			{Kind: sdk.PermissionOptionKindAllowAlways, Name: "Always", OptionId: "always"},
			{Kind: yes, Name: "Yes", OptionId: "yes"},
			{Kind: sdk.PermissionOptionKindRejectOnce, Name: "No", OptionId: "no"},
		},
	})
	if err != nil {
		return err
	}
	switch {
	case r.Outcome.Selected != nil && r.Outcome.Selected.OptionId == "yes":
		t.tell(t.ctx, t.session.id, sdk.UpdateToolCall(id, sdk.WithUpdateStatus(sdk.ToolCallStatusInProgress)))
		if err := t.really(kind, arg); err != nil {
			return err
		}
		t.end(id, sdk.ToolCallStatusCompleted, "done: "+arg)
		t.say("It is done: " + arg)
	case r.Outcome.Selected != nil:
		t.end(id, sdk.ToolCallStatusFailed, "refused")
		t.say("I may not, it says " + string(r.Outcome.Selected.OptionId) + ".")
	default:
		t.end(id, sdk.ToolCallStatusFailed, "cancelled")
		t.stop = sdk.StopReasonCancelled
	}
	return nil
}

func (t *turn) really(kind, arg string) error {
	if arg == "and hang" {
		select {}
	}
	if kind != "execute" && kind != "edit" {
		return nil
	}
	f, err := os.OpenFile("done", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f, arg); err != nil {
		return err
	}
	return f.Close()
}

// bare asks for a call of which it has told nothing.
func (t *turn) bare(string) error {
	r, err := t.conn.RequestPermission(t.ctx, sdk.RequestPermissionRequest{
		SessionId: t.session.id, ToolCall: sdk.ToolCallUpdate{ToolCallId: "unheard of"},
		Options: []sdk.PermissionOption{{Kind: sdk.PermissionOptionKindAllowOnce, Name: "Yes", OptionId: "yes"}},
	})
	if err != nil {
		return err
	}
	b, err := json.Marshal(r.Outcome)
	t.say(string(b))
	return err
}

// both asks for two things at once.
func (t *turn) both(rest string) error {
	var wg sync.WaitGroup
	for _, kind := range []string{"execute", "delete"} {
		one := *t
		one.calls = t.calls + len(kind)
		wg.Go(func() { _ = one.ask(kind+" "+rest, sdk.PermissionOptionKindAllowOnce) }) // what it says is what counts
	}
	wg.Wait()
	return nil
}
