// Package acptest implements an external agent for tests. The agent is a program on the agent's
// side of the Agent Client Protocol that executes the verbs in its prompt, and misbehaves on
// demand. A test's TestMain calls Main first:
//
//	func TestMain(m *testing.M) { acptest.Main(); goleak.VerifyTestMain(m) }
//
// and configures the test's own binary as the agent, with Args.
package acptest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	sdk "github.com/coder/acp-go-sdk"
)

const first = "acp-test-agent"

// KeyVariable is the environment variable with the key of the agent's model server.
const KeyVariable = "ACPTEST_KEY"

// Args returns the arguments that run a test's binary as the agent. Options:
//
//	load=DIR   sessions are stored in DIR and can be loaded
//	useless    a loaded session is unusable
//	auth       a session requires a call of "authenticate" with the method "key" first
//	version=N  it uses another version of the protocol
//	die        it exits immediately with text on its standard error
//	mute       it never answers
//	greet      it first prints a line that is not a message
//	modes      it has the modes "default" and "yolo", and is in "yolo"
//	models     it has the models "small" and "large"
//	http       it uses MCP servers over HTTP: the verb tools lists their tools, hob NAME JSON calls one
//	script=URL it calls the model server at URL instead of executing verbs, with the key in
//	           KeyVariable
func Args(options ...string) []string { return append([]string{first}, options...) }

// Main runs the agent and exits if the process was started with Args.
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
			a.version, _ = strconv.Atoi(value) // if parsing fails, 0 is also an invalid version
		case "die":
			fmt.Fprintln(os.Stderr, "I cannot go on: sk-verysecretkey0123456789")
			syscall.Exit(3)
		case "mute":
			time.Sleep(time.Hour) // the Go runtime would end a program in which all goroutines wait
		case "greet":
			fmt.Println("Welcome to the agent!")
		case "modes":
			a.modes = true
		case "models":
			a.models = true
		case "http":
			a.http = true
		case "script":
			a.script, a.key = value, os.Getenv(KeyVariable)
		case "post", "token", "words":
			post[name] = value
		}
	}
	if len(post) > 0 {
		postMessage(post["post"], post["token"], post["words"])
		syscall.Exit(0)
	}
	a.conn = sdk.NewAgentSideConnection(a, os.Stdout, os.Stdin)
	a.conn.SetLogger(slog.New(slog.DiscardHandler))
	<-a.conn.Done()
	syscall.Exit(0)
}

// postMessage sends a message with the user's token and prints the HTTP status.
func postMessage(url, token, words string) {
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
	history []chatMessage
	servers []sdk.McpServer
}

type agent struct {
	conn          *sdk.AgentSideConnection
	dir           string
	auth, signed  bool
	useless       bool
	modes, models bool
	http          bool
	version       int
	script, key   string

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
			LoadSession: a.dir != "", PromptCapabilities: sdk.PromptCapabilities{Image: true}, McpCapabilities: sdk.McpCapabilities{Http: a.http},
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

func (a *agent) NewSession(_ context.Context, r sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	if a.auth && !a.signed {
		return sdk.NewSessionResponse{}, sdk.NewAuthRequired(nil)
	}
	s := &session{id: sdk.SessionId(fmt.Sprintf("s%d", time.Now().UnixNano())), mode: "yolo", servers: r.McpServers}
	a.saveSession(s)
	out := sdk.NewSessionResponse{SessionId: s.id}
	if a.modes {
		out.Modes = &sdk.SessionModeState{CurrentModeId: "yolo", AvailableModes: []sdk.SessionMode{{Id: "default", Name: "ask"}, {Id: "yolo", Name: "do"}}}
	}
	if a.models {
		out.Models = &sdk.SessionModelState{CurrentModelId: "small", AvailableModels: []sdk.ModelInfo{{ModelId: "small", Name: "s"}, {ModelId: "large", Name: "l"}}}
	}
	if a.script != "" {
		out.Models = &sdk.SessionModelState{CurrentModelId: "scripted", AvailableModels: []sdk.ModelInfo{{ModelId: "scripted", Name: "s"}}}
	}
	return out, nil
}

// saveSession stores a session and its progress.
func (a *agent) saveSession(s *session) {
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
	go func() { // an agent that continues after the answer
		for range 3 {
			time.Sleep(100 * time.Millisecond)
			a.sendUpdate(context.WithoutCancel(ctx), r.SessionId, sdk.UpdateAgentMessageText("and from the past "))
		}
	}()
	for range 2_000 { // replay the history with more messages than the SDK can buffer
		a.sendUpdate(ctx, r.SessionId, sdk.UpdateAgentMessageText("from the past "))
	}
	a.saveSession(&session{id: r.SessionId, prompts: n, broken: a.useless})
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

// UnstableSetSessionModel implements the protocol method of that name.
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

// sendUpdate sends an update. Errors are ignored: if the client has exited, the agent exits soon
// too.
func (a *agent) sendUpdate(ctx context.Context, id sdk.SessionId, u sdk.SessionUpdate) {
	if err := a.conn.SessionUpdate(ctx, sdk.SessionNotification{SessionId: id, Update: u}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// Prompt executes the last block of the prompt.
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
	a.saveSession(s)
	t := &turn{agent: a, session: s, ctx: ctx, stop: sdk.StopReasonEndTurn}
	for _, b := range r.Prompt {
		switch {
		case b.Text != nil:
			t.blocks = append(t.blocks, b.Text.Text)
		case b.Image != nil:
			t.pictures++
		}
	}
	if a.script != "" {
		return t.callModel()
	}
	return t.runVerb()
}
