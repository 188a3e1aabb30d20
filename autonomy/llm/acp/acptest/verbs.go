package acptest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	sdk "github.com/coder/acp-go-sdk"
)

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

func (t *turn) sayText(text string) {
	t.sendUpdate(t.ctx, t.session.id, sdk.UpdateAgentMessageText(text))
}

// runVerb executes the verb, which is the first word of the last block. The rest of the block is
// its argument.
func (t *turn) runVerb() (sdk.PromptResponse, error) {
	verb, rest, _ := strings.Cut(t.blocks[len(t.blocks)-1], " ")
	f, ok := verbTable()[verb]
	if !ok {
		f = func(t *turn, _ string) error {
			t.sayText("I do not understand.")
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

// verbTable returns the verbs that the agent executes.
func verbTable() map[string]func(t *turn, rest string) error {
	return map[string]func(t *turn, rest string) error{
		"say":     func(t *turn, rest string) error { t.sayText(rest); return nil },
		"tools":   (*turn).listHobTools,
		"hob":     (*turn).callHobTool,
		"servers": (*turn).stealServers,
		"usage":   func(t *turn, rest string) error { t.sayText("counted"); return nil },
		"stream": func(t *turn, rest string) error {
			for _, w := range strings.SplitAfter(rest, " ") {
				t.sayText(w)
			}
			return nil
		},
		"think": func(t *turn, rest string) error {
			t.sendUpdate(t.ctx, t.session.id, sdk.UpdateAgentThoughtText("Let me see."))
			t.sayText(rest)
			return nil
		},
		"heard": func(t *turn, _ string) error { t.sayText(strings.Join(t.blocks, "\n|")); return nil },
		"count": func(t *turn, _ string) error {
			t.sayText(fmt.Sprintf("prompt %d, %d pictures, mode %s, model %s", t.prompts, t.pictures, t.mode, t.model))
			return nil
		},
		"env": func(t *turn, _ string) error {
			names := os.Environ()
			for i, e := range names {
				names[i], _, _ = strings.Cut(e, "=")
			}
			slices.Sort(names)
			t.sayText(strings.Join(names, " "))
			return nil
		},
		"show": func(t *turn, rest string) error {
			t.sendUpdate(t.ctx, t.session.id, sdk.UpdateAgentMessage(sdk.ImageBlock(base64.StdEncoding.EncodeToString([]byte(rest)), "image/png")))
			t.sayText("A picture.")
			return nil
		},
		"nothing": func(*turn, string) error { return nil },
		"refuse":  func(t *turn, _ string) error { t.stop = sdk.StopReasonRefusal; return nil },
		"tired": func(t *turn, _ string) error {
			t.sayText("So far.")
			t.stop = sdk.StopReasonMaxTurnRequests
			return nil
		},
		"fail": func(*turn, string) error {
			return sdk.NewInternalError(map[string]any{"details": "the model is overloaded"})
		},
		"signin": func(*turn, string) error { return sdk.NewAuthRequired(nil) },
		"plan": func(t *turn, rest string) error {
			t.sendUpdate(t.ctx, t.session.id, sdk.UpdatePlan(sdk.PlanEntry{Content: rest, Status: "in_progress", Priority: "high"}))
			t.sayText("Planned.")
			return nil
		},
		"look": func(t *turn, rest string) error {
			t.reportCall(sdk.ToolKindRead, rest, map[string]any{"path": rest})
			t.sayText("I have read it.")
			return nil
		},
		"sneak": func(t *turn, rest string) error { // acts without asking for permission
			t.reportCall(sdk.ToolKindExecute, rest, map[string]any{"command": rest})
			t.sayText("I did it.")
			return nil
		},
		"do":     func(t *turn, rest string) error { return t.askAndAct(rest, sdk.PermissionOptionKindAllowOnce) },
		"always": func(t *turn, rest string) error { return t.askAndAct(rest, sdk.PermissionOptionKindAllowAlways) },
		"bare":   (*turn).askWithoutDetails,
		"both":   (*turn).askConcurrently,
		"crash":  func(t *turn, rest string) error { t.sayText(rest); t.waitSent(); syscall.Exit(3); return nil },
		"die":    func(*turn, string) error { fmt.Fprintln(os.Stderr, "out of memory"); syscall.Exit(3); return nil },
		"half": func(t *turn, _ string) error {
			t.sayText("Half ")
			t.waitSent()
			fmt.Println(`{"jsonrpc":"2.0","method":"session/up`)
			select {}
		},
		"cutoff": func(t *turn, _ string) error {
			t.waitSent()
			fmt.Print(`{"jsonrpc":"2.0","met`)
			syscall.Exit(0)
			return nil
		},
		"await": func(t *turn, rest string) error { // waits until a file exists in its folder
			for t.ctx.Err() == nil {
				if _, err := os.Stat(rest); err == nil {
					t.sayText("Found.")
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			return nil
		},
		"hang":  func(t *turn, rest string) error { t.sayText(rest); <-t.ctx.Done(); return nil },
		"stone": func(t *turn, rest string) error { t.sayText(rest); select {} },
		"flood": func(t *turn, _ string) error {
			for range 4_000 {
				t.sayText("drop ")
			}
			return nil
		},
		"endless": func(t *turn, _ string) error {
			for t.ctx.Err() == nil {
				t.sayText(strings.Repeat("on and on ", 1000))
			}
			return nil
		},
		"spawn": func(t *turn, _ string) error {
			c := exec.CommandContext(context.Background(), "sleep", "600")
			c.Stdout = os.Stdout // the child process keeps the pipe open
			if err := c.Start(); err != nil {
				return err
			}
			t.sayText("pid " + strconv.Itoa(c.Process.Pid))
			select {}
		},
		"speak": func(t *turn, rest string) error { // posts a message with the user's token: URL TOKEN-FILE TEXT
			url, rest, _ := strings.Cut(rest, " ")
			file, words, _ := strings.Cut(rest, " ")
			token, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			c := exec.CommandContext(t.ctx, "/bin/sh", "-c", `exec "$0" "$@"`, os.Args[0], first, "post="+url, "token="+strings.TrimSpace(string(token)), "words="+words)
			out, err := c.CombinedOutput()
			t.sayText(strings.TrimSpace(string(out)))
			return err
		},
		"late": func(t *turn, rest string) error {
			go func() {
				time.Sleep(100 * time.Millisecond)
				t.sendUpdate(context.Background(), t.session.id, sdk.UpdateAgentMessageText("too late"))
			}()
			t.sayText(rest)
			return nil
		},
	}
}

// waitSent waits until the output has been sent. The SDK writes immediately, so a short sleep
// suffices.
func (t *turn) waitSent() { time.Sleep(20 * time.Millisecond) }

// reportCall reports the start and the end of a call.
func (t *turn) reportCall(kind sdk.ToolKind, title string, input any) {
	id := t.beginCall(kind, title, input)
	t.sendUpdate(t.ctx, t.session.id, sdk.UpdateToolCall(id, sdk.WithUpdateStatus(sdk.ToolCallStatusInProgress)))
	t.endCall(id, sdk.ToolCallStatusCompleted, "what came of "+title)
}

func (t *turn) beginCall(kind sdk.ToolKind, title string, input any) sdk.ToolCallId {
	t.calls++
	id := sdk.ToolCallId(fmt.Sprintf("t%d-%d", t.prompts, t.calls))
	t.sendUpdate(t.ctx, t.session.id, sdk.StartToolCall(id, title, sdk.WithStartKind(kind), sdk.WithStartStatus(sdk.ToolCallStatusPending), sdk.WithStartRawInput(input)))
	return id
}

func (t *turn) endCall(id sdk.ToolCallId, status sdk.ToolCallStatus, text string) {
	t.sendUpdate(t.ctx, t.session.id, sdk.UpdateToolCall(id, sdk.WithUpdateStatus(status), sdk.WithUpdateContent([]sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(text))})))
}

// askAndAct executes "KIND ARGUMENT" after it gets permission, for example "do execute touch x".
// For execute and edit it writes the argument to a file "done" in its folder, so that a test can
// check the effect.
func (t *turn) askAndAct(rest string, yes sdk.PermissionOptionKind) error {
	kind, arg, _ := strings.Cut(rest, " ")
	input := map[string]any{"what": arg}
	if kind == "execute" {
		input = map[string]any{"command": arg}
	}
	id := t.beginCall(sdk.ToolKind(kind), "innocent words", input)
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
		t.sendUpdate(t.ctx, t.session.id, sdk.UpdateToolCall(id, sdk.WithUpdateStatus(sdk.ToolCallStatusInProgress)))
		if err := t.performAction(kind, arg); err != nil {
			return err
		}
		t.endCall(id, sdk.ToolCallStatusCompleted, "done: "+arg)
		t.sayText("It is done: " + arg)
	case r.Outcome.Selected != nil:
		t.endCall(id, sdk.ToolCallStatusFailed, "refused")
		t.sayText("I may not, it says " + string(r.Outcome.Selected.OptionId) + ".")
	default:
		t.endCall(id, sdk.ToolCallStatusFailed, "cancelled")
		t.stop = sdk.StopReasonCancelled
	}
	return nil
}

func (t *turn) performAction(kind, arg string) error {
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

// askWithoutDetails requests permission for a call without any details.
func (t *turn) askWithoutDetails(string) error {
	r, err := t.conn.RequestPermission(t.ctx, sdk.RequestPermissionRequest{
		SessionId: t.session.id, ToolCall: sdk.ToolCallUpdate{ToolCallId: "unheard of"},
		Options: []sdk.PermissionOption{{Kind: sdk.PermissionOptionKindAllowOnce, Name: "Yes", OptionId: "yes"}},
	})
	if err != nil {
		return err
	}
	b, err := json.Marshal(r.Outcome)
	t.sayText(string(b))
	return err
}

// askConcurrently sends two permission requests concurrently.
func (t *turn) askConcurrently(rest string) error {
	var wg sync.WaitGroup
	for _, kind := range []string{"execute", "delete"} {
		one := *t
		one.calls = t.calls + len(kind)
		wg.Go(func() { _ = one.askAndAct(kind+" "+rest, sdk.PermissionOptionKindAllowOnce) }) // only the output is checked
	}
	wg.Wait()
	return nil
}
