// Package shell provides run_command. platform/host/command assesses and runs commands; the guard
// decides whether a call needs approval. An approved command is assessed again right before it
// runs. It runs only if it still uses the same programs, scripts and files matched by patterns.
package shell

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/platform/host/command"
	"hob/platform/provenance"
	"hob/tools"
)

// Deps are the dependencies of the tool.
type Deps struct {
	Judge  *command.Analyzer
	Runner *command.Runner
	// Track records the files that a command changes in trusted folders, so that the changes do not
	// count as the owner's words (see files.TrackChanges). It is optional.
	Track func(ctx context.Context, id string, list []provenance.Origin) (settle func(context.Context) (changed int, err error), err error)
}

type runIn struct {
	Command string `json:"command" jsonschema:"as for bash"`
	Cwd     string `json:"cwd,omitempty" jsonschema:"folder; default the first allowed one"`
	Timeout int    `json:"timeout,omitempty" jsonschema:"seconds, default 30"`
	Network bool   `json:"network,omitempty" jsonschema:"it needs the network"`
}

// runOut is the Data of run_command.
type runOut struct {
	Command string `json:"command"`
	Status  int    `json:"exit_status"`
	Output  string `json:"output"`
	Cut     int64  `json:"bytes_left_out,omitempty"`
	Ended   bool   `json:"timed_out,omitempty"`
	Sandbox string `json:"sandbox,omitempty"`
}

type shell struct{ Deps }

// Tools returns the category's tools.
func Tools(d Deps) []tools.Tool {
	s := shell{d}
	return []tools.Tool{tools.New(tools.Def[runIn]{
		Spec: tools.Spec{
			Name: "run_command", Category: "shell", Effects: tools.Exec, Timeout: command.MaxTimeout + 10*time.Second,
			Description: "Run a shell command in one of the user's folders and return its output. Read-only commands run immediately, others ask the user.",
			Keywords:    "shell terminal bash execute program script command line git ls grep run",
		},
		Judge:   s.assessCommand,
		Summary: s.commandSummary,
		Run:     s.runCommand,
	})}
}

func (in runIn) commandOf() command.Command {
	return command.Command{Text: in.Command, Dir: in.Cwd, Network: in.Network}
}

// assessCommand converts the analyzer's verdict to a CallAssessment.
func (s shell) assessCommand(ctx context.Context, in runIn) tools.CallAssessment {
	if _, err := commandTimeout(in); err != nil {
		return tools.CallAssessment{Refused: err}
	}
	box := s.Runner.Sandbox(ctx)
	v := s.Judge.Judge(in.commandOf()).Within(box)
	if v.Refused != nil {
		return tools.CallAssessment{Refused: refusalError(v.Refused)}
	}
	j := tools.CallAssessment{Effects: tools.Exec, Listed: v.Listed, Pattern: v.Pattern, Exact: v.Exact}
	for _, e := range []struct {
		does   bool
		effect tools.Effects
	}{{v.Egress, tools.Egress}, {v.Send, tools.Send}, {v.Destroy, tools.Destroy}} {
		if e.does {
			j.Effects |= e.effect
		}
	}
	why := v.Why
	if !v.Listed && box.Kind() == "" {
		why = append(why, "no sandbox: "+box.Missing())
	}
	if len(v.Unbound) > 0 {
		why = append(why, "an approval does not cover changes to "+strings.Join(v.Unbound, ", "))
	}
	j.Why = strings.Join(why, "; ")
	return j
}

// refusalError classifies a refusal.
func refusalError(err error) error {
	r, ok := errors.AsType[*command.Refusal](err)
	if !ok {
		return err
	}
	code := tools.PolicyDenied
	if errors.Is(err, command.ErrInvalid) {
		code = tools.InvalidArguments
	}
	return &tools.Error{Source: provenance.Tool, Code: code, Message: r.Message, Remedy: r.Remedy, Err: r.Err}
}

func commandTimeout(in runIn) (time.Duration, error) {
	if in.Timeout == 0 {
		return command.DefaultTimeout, nil
	}
	d := time.Duration(in.Timeout) * time.Second
	if in.Timeout < 0 || in.Timeout > int(command.MaxTimeout/time.Second) {
		return 0, tools.Errorf(tools.InvalidArguments, "timeout must be 1 to %d seconds", int(command.MaxTimeout/time.Second))
	}
	return d, nil
}

// commandSummary describes the command in its resolved form, not as written.
func (s shell) commandSummary(in runIn) string {
	v := s.Judge.Judge(in.commandOf())
	if v.Refused != nil {
		return "Run: " + in.Command
	}
	return "Run " + v.Plan.String()
}

func (s shell) runCommand(ctx context.Context, c tools.Call, in runIn) (tools.Result, error) {
	most, err := commandTimeout(in)
	if err != nil {
		return tools.Result{}, err
	}
	v := s.Judge.Judge(in.commandOf()).Within(s.Runner.Sandbox(ctx)) // Exact differs if the sandbox has changed since the assessment
	if v.Refused != nil {
		return tools.Result{}, refusalError(v.Refused)
	}
	if v.Exact != c.Exact {
		return tools.Result{}, &tools.Error{
			Source: provenance.Tool,
			Code:   tools.Conflict, Message: "the command now resolves to something other than the approved command; nothing was run",
			Remedy: "check the files and call the tool again",
		}
	}
	settle, err := s.trackChanges(ctx, c, in, v)
	if err != nil {
		return tools.Result{}, err
	}
	out, err := s.Runner.Run(ctx, v.Plan, most, func(bytes int64) {
		if bytes > 0 {
			c.Progress(-1, fmt.Sprintf("it has printed %d bytes", bytes))
		}
	})
	changed, untracked := settle(context.WithoutCancel(ctx))
	switch {
	case errors.Is(err, command.ErrTimeout):
	case errors.Is(err, command.ErrNoSandbox):
		return tools.Result{}, &tools.Error{Source: provenance.Outside, Code: tools.Unsupported, Err: err, Message: err.Error(), Remedy: "install a sandbox, or run: hob config set shell.sandbox auto"}
	case errors.Is(err, command.ErrNoHelper):
		return tools.Result{}, &tools.Error{Source: provenance.Tool, Code: tools.Unsupported, Err: err, Message: "this process cannot run commands", Remedy: "start Hob with the hob program: hob start"}
	case err != nil:
		return tools.Result{}, err
	}
	r := s.commandResult(in, v, out, err != nil, most)
	switch {
	case untracked != nil:
		r.Text += "\n(" + untracked.Error() + ".)"
	case changed > 0:
		r.Text += fmt.Sprintf("\n(The command changed files in trusted folders: %d. They now count as untrusted. To vouch for one, run: hob file trust PATH)", changed)
	}
	return r, nil
}

// trackChanges starts to record the changes that the command makes in the trusted folders. It does
// not track a command that writes no files.
func (s shell) trackChanges(ctx context.Context, c tools.Call, in runIn, v command.Verdict) (settle func(context.Context) (int, error), err error) {
	if s.Track == nil || !v.Plan.Writes {
		return func(context.Context) (int, error) { return 0, nil }, nil
	}
	list := provenance.Join([]provenance.Origin{{Kind: "tool", Label: in.Command, Via: "run_command"}}, c.Origins)
	return s.Track(ctx, c.ID, list)
}

func (s shell) commandResult(in runIn, v command.Verdict, out command.Outcome, ended bool, most time.Duration) tools.Result {
	var b strings.Builder
	switch {
	case ended:
		fmt.Fprintf(&b, "The command ran longer than %s and was stopped with all its child processes. Its output until then:\n", most)
	case out.Status != 0:
		fmt.Fprintf(&b, "The command ended with exit status %d.\n", out.Status)
	}
	b.WriteString(strings.TrimRight(out.Output, "\n"))
	if out.Output == "" {
		b.WriteString("It printed no output.")
	}
	if out.Sandbox == "" && !v.Listed {
		b.WriteString("\n(The command ran without a sandbox: " + out.Missing + ")")
	}
	source, origins := provenance.Outside, []provenance.Origin{{Kind: "tool", Label: in.Command, Via: "run_command"}}
	if v.Own {
		source, origins = provenance.Tool, nil
	}
	return tools.Result{
		Text: b.String(), Source: source, Origins: origins,
		Data: runOut{Command: in.Command, Status: out.Status, Output: out.Output, Cut: out.Cut, Ended: ended, Sandbox: out.Sandbox},
	}
}
