package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/channels/web/apiclient"
	"hob/platform/retry"
	"hob/platform/text/textnorm"
)

// cliSession is the conversation that commands without --session use.
const cliSession = "cli"

// callTool runs a tool through the guard as the owner and prints the result.
func (a *cli) callTool(ctx context.Context, c *client, given priorApproval, tool string, args any) (api.ToolOutcome, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return api.ToolOutcome{}, fmt.Errorf("encode the arguments of %s: %w", tool, err)
	}
	out, err := c.Call(ctx, cliSession, tool, raw)
	if err != nil {
		return out, err
	}
	if out.Code != "" {
		return out, toolFailure(out.Code, out.Error)
	}
	if len(out.Approvals) == 0 {
		return out, nil
	}
	st, err := a.resolveApprovals(ctx, c, out.Event, out.Approvals, given)
	if err != nil {
		return out, err
	}
	return afterApproval(st)
}

// afterApproval finds the result of a call that waited for an approval.
func afterApproval(st api.EventStatus) (api.ToolOutcome, error) {
	if n := len(st.Tools); n > 0 {
		t := st.Tools[n-1]
		switch t.State {
		case "done":
			return api.ToolOutcome{Text: t.Text, Call: t.ID, Data: t.Data}, nil
		case "denied":
			return api.ToolOutcome{}, toolFailure("denied_by_owner", t.Text)
		}
		return api.ToolOutcome{}, toolFailure("failed", t.Text)
	}
	if st.Error != "" {
		return api.ToolOutcome{}, errors.New(st.Error)
	}
	return api.ToolOutcome{Text: st.Answer}, nil
}

func toolFailure(code, text string) error {
	f := &failure{code: exitFailed}
	f.cause, f.remedy = textnorm.SplitRemedy(cmp.Or(text, strings.ReplaceAll(code, "_", " ")))
	switch code {
	case "policy_denied", "denied_by_owner", "approval_timeout":
		f.code = exitDenied
	case "invalid_arguments":
		f.code = exitUsage
	}
	return f
}

// confirmApproval asks y/N on a terminal. Without a terminal it fails and explains how to answer.
func (a *cli) confirmApproval(ctx context.Context, q api.Approval) (bool, error) {
	_, in := terminalFD(a.in)
	if _, out := terminalFD(a.err); !in || !out {
		return false, &failure{
			code: exitDenied, cause: "approval required: " + strings.TrimSuffix(q.Sentence(), ".") + ". " + q.Explanation(),
			remedy: "answer with: hob approve " + q.ID + "   or: hob deny " + q.ID,
		}
	}
	fmt.Fprintf(a.err, "%s %s\n%s\n", a.colorize(a.err, amber, "Hob asks:"), q.Sentence(), a.wrapToWindow(q.Explanation(), "  "))
	a.printDetails(a.err, q.Details())
	fmt.Fprint(a.err, "Approve? [y/N] ")
	type line struct {
		text string
		err  error
	}
	got := make(chan line, 1)
	go func() { // if no answer arrives, this goroutine ends with the process
		s, err := bufio.NewReader(a.in).ReadString('\n')
		got <- line{s, err}
	}()
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case l := <-got:
		switch strings.ToLower(strings.TrimSpace(l.text)) {
		case "y", "yes":
			return true, nil
		}
		return false, nil
	}
}

// waitEvent polls until the event is done or has an approval request that is not in asked.
func (c *client) waitEvent(ctx context.Context, id string, asked []api.Approval) (api.EventStatus, error) {
	known := map[string]bool{}
	for _, q := range asked {
		known[q.ID] = true
	}
	pauses := retry.Backoff{First: 10 * time.Millisecond, Max: 500 * time.Millisecond}
	for n := 1; ; n++ {
		st, err := c.Event(ctx, id)
		if err != nil {
			return st, err
		}
		if st.State == "done" || st.State == "dead" {
			st.Approvals = nil
			return st, nil
		}
		for _, q := range st.Approvals {
			if !known[q.ID] {
				return st, nil
			}
		}
		if retry.Sleep(ctx, pauses.Delay(n)) != nil {
			return st, ctx.Err()
		}
	}
}

// runTool runs one tool and prints the text of its result, or the complete outcome with --json.
func (a *cli) runTool(ctx context.Context, yes bool, tool string, args any) error {
	return a.withClient(ctx, func(c *client) error {
		given := noPriorApproval
		if yes {
			given = turnApproval
		}
		out, err := a.callTool(ctx, c, given, tool, args)
		if err != nil {
			return err
		}
		if a.asJSON {
			return a.printJSON(out)
		}
		a.printWrapped(sanitizePrintable(out.Text))
		return nil
	})
}

func (a *cli) toolCmd() *cobra.Command {
	list := a.addJSONFlag(&cobra.Command{
		Use: "list [WORDS...]", Short: "List all tools, or the tools that match WORDS",
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return printFetched(c.Context(), a, func(cl *client) ([]api.Tool, error) { return cl.Tools(c.Context(), api.Query{Text: joinWords(args)}) }, "No matching tools.",
				"NAME|DESCRIPTION|EFFECTS|CATEGORY", func(t api.Tool) []any {
					return []any{t.Name, t.Description, t.Effects, t.Category}
				})
		}),
	})
	var yes bool
	call := a.addJSONFlag(&cobra.Command{
		Use: "call NAME [JSON]", Short: "Run one tool, subject to the policy check", Args: cobra.RangeArgs(1, 2),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			raw := json.RawMessage("{}")
			if len(args) == 2 {
				raw = json.RawMessage(args[1])
			}
			var obj map[string]any
			if err := json.Unmarshal(raw, &obj); err != nil {
				return &failure{code: exitUsage, cause: "the arguments are not a JSON object: " + err.Error(), remedy: `write them as '{"title": "milk"}'`}
			}
			return a.runTool(c.Context(), yes, args[0], raw)
		}),
	})
	call.Flags().BoolVarP(&yes, "yes", "y", false, "approve this call, unless it destroys data or reveals a credential")
	return a.commandGroup(&cobra.Command{Use: "tool", Short: "List and run tools"}, list, call)
}

// priorApproval is the approval that the user gave in advance.
type priorApproval int

const (
	noPriorApproval priorApproval = iota
	// turnApproval is the value of --yes. It approves the requests of the command's turn, if the
	// server accepts prior approval (guard.Answer.Beforehand).
	turnApproval
	// commandApproval covers the single call that the command itself makes with the user's
	// arguments: `hob memory forget --yes`, `hob undo`.
	commandApproval
)

// resolveApprovals collects the user's answers to the approval requests of an event and waits until
// the event is finished. It asks on the terminal, unless the prior approval covers the request.
func (a *cli) resolveApprovals(ctx context.Context, c *client, event string, questions []api.Approval, given priorApproval) (api.EventStatus, error) {
	if event == "" { // an older server does not return the event
		event = questions[0].Event
	}
	for {
		for _, q := range questions {
			if err := a.answerQuestion(ctx, c, event, q, given); err != nil {
				return api.EventStatus{}, err
			}
		}
		st, err := c.waitEvent(ctx, event, questions)
		if err != nil || len(st.Approvals) == 0 {
			return st, err
		}
		questions = st.Approvals
	}
}

// answerQuestion answers one approval request: automatically if the prior approval covers it,
// otherwise by asking on the terminal.
func (a *cli) answerQuestion(ctx context.Context, c *client, event string, q api.Approval, given priorApproval) error {
	if given == commandApproval && q.Event == event {
		_, err := c.Answer(ctx, q.ID, api.Answer{Approved: true})
		return err
	}
	if given == turnApproval {
		_, err := c.Answer(ctx, q.ID, api.Answer{Approved: true, Beforehand: event})
		if err == nil {
			fmt.Fprintf(a.err, "Approved by --yes: %s\n", q.Sentence())
			return nil
		}
		f, ok := failureIn(err)
		if !ok || f.code != exitDenied {
			return err
		}
		fmt.Fprintf(a.err, "Not approved by --yes: %s\n    %s\n", q.Sentence(), sanitizePrintable(f.cause))
	}
	ok, err := a.confirmApproval(ctx, q)
	if err != nil {
		return err
	}
	_, err = c.Answer(ctx, q.ID, api.Answer{Approved: ok})
	if e, is := errors.AsType[*apiclient.ResponseError](err); is && e.Status == http.StatusConflict { // the turn continues with the other answer
		fmt.Fprintln(a.err, "The request was answered elsewhere while you were asked; the first answer counts.")
		return nil
	}
	return err
}
