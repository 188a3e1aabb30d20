package acp

import (
	"context"
	"encoding/json"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"hob/autonomy/llm"
)

// Limits for an agent's permission requests, to protect the user from floods.
const (
	maxAsking = 8   // maximum concurrent requests
	maxAsked  = 100 // maximum requests per turn
	// details is how long a permission request waits for its tool call, because the request may
	// arrive before the notification about the call.
	details = time.Second
)

// handlePermission answers session/request_permission
// (https://agentclientprotocol.com/protocol/tool-calls#requesting-permission).
func (c *child) handlePermission(ctx context.Context, params json.RawMessage) (any, *sdk.RequestError) {
	var p struct {
		SessionID string                 `json:"sessionId"`
		ToolCall  toolCall               `json:"toolCall"`
		Options   []sdk.PermissionOption `json:"options"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, sdk.NewInvalidParams(map[string]any{"error": err.Error()})
	}
	t := c.turnOf(p.SessionID)
	if t == nil {
		return cancelledResponse(), nil
	}
	return t.requestPermission(ctx, p.ToolCall, p.Options), nil
}

// requestPermission passes a request to the permission broker. Any error results in a refusal.
func (t *promptTurn) requestPermission(ctx context.Context, u toolCall, options []sdk.PermissionOption) sdk.RequestPermissionResponse {
	t.mu.Lock()
	if t.over || t.asks >= maxAsking || t.asked >= maxAsked || t.req.Broker == nil {
		t.mu.Unlock()
		return refuseOnce(options)
	}
	t.asks++
	t.asked++
	t.seat.asks.Add(1)
	t.wait.Add(1)
	turn := t.ctx
	t.mu.Unlock()
	defer t.wait.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(turn, cancel)()
	defer func() {
		t.mu.Lock()
		t.asks--
		t.seat.asks.Add(-1)
		t.mu.Unlock()
		t.in.wakeReader()
	}()
	a, ok := t.describeAction(ctx, u)
	if !ok {
		return refuseOnce(options)
	}
	ruling, err := t.req.Broker.RequestPermission(ctx, a)
	if err != nil {
		return cancelledResponse()
	}
	switch {
	case ruling.Expired:
		t.mu.Lock()
		t.lapse = a.Title
		t.mu.Unlock()
		return cancelledResponse()
	case !ruling.Allowed:
		return refuseOnce(options)
	}
	return t.allowOnce(options)
}

// describeAction returns the action of a permission request, including details reported earlier.
func (t *promptTurn) describeAction(ctx context.Context, u toolCall) (llm.Action, bool) {
	timer := time.NewTimer(details)
	defer timer.Stop()
	for waiting := true; ; {
		t.mu.Lock()
		c := t.storeCall(u)
		grew := t.grew
		if c == nil || c.tooLong() {
			t.mu.Unlock()
			return llm.Action{}, false
		}
		if c.hasContent() || !waiting {
			a := c.toAction(t.o)
			a.State = llm.Planned
			t.mu.Unlock()
			return a, true
		}
		t.mu.Unlock()
		select {
		case <-grew:
		case <-timer.C:
			waiting = false // a call without details is treated as Unclear
		case <-ctx.Done():
			return llm.Action{}, false
		}
	}
}

// allowOnce allows only this call. It never selects "always", even if the user made a grant: a
// grant covers these exact arguments, and the agent may interpret "always" more broadly.
func (t *promptTurn) allowOnce(options []sdk.PermissionOption) sdk.RequestPermissionResponse {
	for _, o := range options {
		if o.Kind == sdk.PermissionOptionKindAllowOnce {
			t.mu.Lock()
			t.acted = true
			t.mu.Unlock()
			return selectOption(o)
		}
	}
	t.in.putItem(item{note: "the agent offers no option to allow this call once, so Hob refused the call"})
	return refuseOnce(options)
}

// refuseOnce refuses a call, if possible without refusing later calls.
func refuseOnce(options []sdk.PermissionOption) sdk.RequestPermissionResponse {
	for _, kind := range []sdk.PermissionOptionKind{sdk.PermissionOptionKindRejectOnce, sdk.PermissionOptionKindRejectAlways} {
		for _, o := range options {
			if o.Kind == kind {
				return selectOption(o)
			}
		}
	}
	return cancelledResponse()
}

func selectOption(o sdk.PermissionOption) sdk.RequestPermissionResponse {
	return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeSelected(o.OptionId)}
}

func cancelledResponse() sdk.RequestPermissionResponse {
	return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}
}
