package acp

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"hob/autonomy/llm"
)

// openSession finds the agent's session for this conversation, or starts one. fresh lists the
// request's messages that the session does not have yet.
func (t *promptTurn) openSession(ctx context.Context) (fresh []llm.Message, first bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, t.o.Start, errSlowStart)
	defer cancel()
	t.servers = t.toolServers()
	id, fresh := lastMark(t.req.Messages, t.o.Provider, t.req.Session, t.usedElsewhere)
	t.id = sdk.SessionId(id)
	switch {
	case t.req.Session == "" || id == "" || t.id == t.seat.lost:
	case t.child.loaded == t.id:
		return fresh, false, nil
	default:
		ok, err := t.loadSession(ctx)
		if err != nil || ok {
			t.taken = ok
			return fresh, false, err
		}
	}
	return t.req.Messages, true, t.newSession(ctx)
}

// toolServers returns the MCP server with Hob's tools, if the agent can use it.
func (t *promptTurn) toolServers() []sdk.McpServer {
	out := []sdk.McpServer{}
	s, ok := t.req.Broker.(llm.ToolServer)
	if !ok || !t.child.info.AgentCapabilities.McpCapabilities.Http {
		return out
	}
	url, token, ok := s.ToolEndpoint()
	if !ok {
		return out
	}
	return append(out, sdk.McpServer{Http: &sdk.McpServerHttpInline{
		Type: "http", Name: "hob", Url: url, Headers: []sdk.HttpHeader{{Name: "Authorization", Value: "Bearer " + token}},
	}})
}

// loadSession resumes a session of an earlier child. It returns false if the agent does not support
// this; the history is then sent as text.
func (t *promptTurn) loadSession(ctx context.Context) (bool, error) {
	can := t.child.info.AgentCapabilities
	var modes *sdk.SessionModeState
	var err error
	switch {
	case can.SessionCapabilities.Resume != nil:
		var r sdk.ResumeSessionResponse
		r, err = sendAuthenticated[sdk.ResumeSessionResponse](ctx, t, sdk.AgentMethodSessionResume,
			sdk.ResumeSessionRequest{SessionId: t.id, Cwd: t.o.Dir, McpServers: t.servers})
		modes = r.Modes
	case can.LoadSession: // the history arrives as updates while no turn is set, so it is ignored
		var r sdk.LoadSessionResponse
		r, err = sendAuthenticated[sdk.LoadSessionResponse](ctx, t, sdk.AgentMethodSessionLoad,
			sdk.LoadSessionRequest{SessionId: t.id, Cwd: t.o.Dir, McpServers: t.servers})
		modes = r.Modes
		t.waitQuiet(ctx)
	default:
		return false, nil
	}
	if err != nil {
		if ctx.Err() != nil || !t.child.isAlive() || isAuth(err) {
			return false, t.child.requestError(ctx, err, llm.Unavailable, "it could not resume its session")
		}
		t.o.Log.Info("agent lost its session; starting a new one", "err", singleLine(redactLine(err.Error(), t.child.words.secrets), 200))
		return false, nil
	}
	t.child.loaded, t.seat.spent = t.id, tokens{unknown: true}
	return true, t.selectMode(ctx, modes)
}

// waitQuiet waits until the history of a session has been received. Some agents continue to send it
// after they have reported the session as loaded, and it would be mistaken for the next answer.
func (t *promptTurn) waitQuiet(ctx context.Context) {
	still := time.NewTicker(calm)
	defer still.Stop()
	end := time.NewTimer(20 * calm)
	defer end.Stop()
	for heard := t.child.heard.Load(); ; {
		select {
		case <-still.C:
			now := t.child.heard.Load()
			if now == heard {
				return
			}
			heard = now
		case <-end.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// calm is the longest pause that is expected while an agent replays a session.
const calm = 250 * time.Millisecond

// newSession starts a new session.
func (t *promptTurn) newSession(ctx context.Context) error {
	r, err := sendAuthenticated[sdk.NewSessionResponse](ctx, t, sdk.AgentMethodSessionNew, sdk.NewSessionRequest{Cwd: t.o.Dir, McpServers: t.servers})
	if err != nil {
		return t.child.requestError(ctx, err, llm.Unavailable, "it could not start a session")
	}
	t.id, t.child.loaded, t.seat.spent = r.SessionId, r.SessionId, tokens{}
	if err := t.selectMode(ctx, r.Modes); err != nil {
		return err
	}
	return t.selectModel(ctx, r)
}

// sendAuthenticated sends a request. If the agent requires authentication and a method is
// configured, it authenticates and repeats the request.
func sendAuthenticated[R any](ctx context.Context, t *promptTurn, method string, params any) (R, error) {
	r, err := sdk.SendRequest[R](t.child.conn, ctx, method, params)
	if !isAuth(err) || t.o.Auth == "" {
		return r, err
	}
	if _, aerr := sdk.SendRequest[sdk.AuthenticateResponse](t.child.conn, ctx, sdk.AgentMethodAuthenticate, sdk.AuthenticateRequest{MethodId: t.o.Auth}); aerr != nil {
		t.o.Log.Warn("the agent could not sign in", "method", t.o.Auth, "err", singleLine(redactLine(aerr.Error(), t.child.words.secrets), 200))
		return r, err
	}
	return sdk.SendRequest[R](t.child.conn, ctx, method, params)
}

func isAuth(err error) bool {
	re, ok := errors.AsType[*sdk.RequestError](err)
	return ok && re.Code == codeAuthRequired
}

// selectMode selects the mode in which the agent requests permission. It does nothing if the agent
// has no modes.
func (t *promptTurn) selectMode(ctx context.Context, have *sdk.SessionModeState) error {
	want := t.o.Mode
	if p, ok := findPreset(t.o.Preset); ok && want == "" {
		want = p.Mode
	}
	if want == "" || have != nil && string(have.CurrentModeId) == want {
		return nil
	}
	var names []string
	if have != nil {
		for _, m := range have.AvailableModes {
			names = append(names, string(m.Id))
		}
	}
	if !slices.Contains(names, want) {
		if t.o.Mode == "" && have == nil {
			return nil
		}
		// The agent's own default mode may not request permission.
		return t.choiceError("the agent has no mode "+strconv.Quote(want), "mode", names)
	}
	_, err := sdk.SendRequest[sdk.SetSessionModeResponse](t.child.conn, ctx, sdk.AgentMethodSessionSetMode,
		sdk.SetSessionModeRequest{SessionId: t.id, ModeId: sdk.SessionModeId(want)})
	if err != nil {
		return t.child.requestError(ctx, err, llm.BadRequest, "it could not be set to its mode "+strconv.Quote(want))
	}
	return nil
}

// selectModel selects the configured model, if any.
func (t *promptTurn) selectModel(ctx context.Context, r sdk.NewSessionResponse) error {
	if t.o.Model == "" {
		return nil
	}
	var names []string
	if r.Models != nil {
		for _, m := range r.Models.AvailableModels {
			names = append(names, string(m.ModelId))
		}
		if slices.Contains(names, t.o.Model) {
			_, err := sdk.SendRequest[sdk.UnstableSetSessionModelResponse](t.child.conn, ctx, sdk.AgentMethodSessionSetModel,
				sdk.UnstableSetSessionModelRequest{SessionId: t.id, ModelId: sdk.UnstableModelId(t.o.Model)})
			if err != nil {
				return t.child.requestError(ctx, err, llm.NotFound, "it could not select its model "+strconv.Quote(t.o.Model))
			}
			return nil
		}
	}
	for _, opt := range r.ConfigOptions {
		s := opt.Select
		if s == nil || s.Category == nil || *s.Category != "model" {
			continue
		}
		_, err := sdk.SendRequest[sdk.SetSessionConfigOptionResponse](t.child.conn, ctx, sdk.AgentMethodSessionSetConfigOption,
			sdk.SetSessionConfigOptionRequest{ValueId: &sdk.SetSessionConfigOptionValueId{
				SessionId: t.id, ConfigId: s.Id, Value: sdk.SessionConfigValueId(t.o.Model),
			}})
		if err != nil {
			return t.child.requestError(ctx, err, llm.NotFound, "it could not select its model "+strconv.Quote(t.o.Model))
		}
		return nil
	}
	return t.choiceError("the agent does not offer the model "+strconv.Quote(t.o.Model), "model", names)
}

// choiceError returns the error for a configured value that the agent does not offer.
func (t *promptTurn) choiceError(what, key string, have []string) error {
	remedy := "take " + key + " out of [providers." + t.o.Provider + "]"
	if len(have) > 0 {
		remedy = "set " + key + " in [providers." + t.o.Provider + "] to one of: " + singleLine(joinNames(have), 300)
	}
	return t.o.newError(llm.NotFound, nil, what, remedy)
}

func joinNames(names []string) string {
	out := ""
	for i, n := range names {
		if i > 0 {
			out += ", "
		}
		out += n
	}
	return out
}
