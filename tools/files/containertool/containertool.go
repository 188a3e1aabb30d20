// Package containertool runs the file tools of isolated agents in containers. Boxes manages the
// containers of the configuration. Tool replaces a tool in an agent's catalog and sends its calls
// to the container. Serve runs a call inside the container, for the hidden command `hob agent-run`.
// The protocol is one JSON object in each direction.
//
// Only file tools run inside a container. The container has no database, no key, and no folder
// except the workspace. It has no undo journal either, so these tools cannot be undone, and they
// report this to the guard.
package containertool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"hob/platform/host/trash"
	"hob/platform/provenance"
	"hob/tools"
	"hob/tools/files"
)

// Command is the name of the hidden command that serves one call.
const Command = "agent-run"

// Runner runs a program in a container; *container.Box implements it.
type Runner interface {
	Run(ctx context.Context, in []byte, args ...string) ([]byte, error)
}

// request is the input of the program in the container.
type request struct {
	Tool       string            `json:"tool"`
	Args       json.RawMessage   `json:"args"`
	Call       string            `json:"call"`
	Now        time.Time         `json:"now"`
	Provenance provenance.Source `json:"provenance"`
	Workspace  string            `json:"workspace"`
	// Home is the folder to which "~" expands. Only the workspace in it is accessible.
	Home string `json:"home"`
}

// answer is the response.
type answer struct {
	Text   string            `json:"text"`
	Data   json.RawMessage   `json:"data,omitempty"`
	Source provenance.Source `json:"source"`
	Error  *failure          `json:"error,omitempty"`
}

type failure struct {
	Code    tools.Code        `json:"code"`
	Message string            `json:"message"`
	Remedy  string            `json:"remedy,omitempty"`
	Source  provenance.Source `json:"source,omitempty"`
}

// Sent reports whether a tool runs inside the container. Such a tool works on files and not on
// Hob's own database.
func Sent(t tools.Tool) bool {
	s := t.Spec()
	return !s.Own && s.Category == "files"
}

// Tool sends the calls of a tool into a container.
type Tool struct {
	inner     tools.Tool
	spec      tools.Spec
	box       Runner
	workspace string
	home      string
}

// New returns the replacement for a tool. home is the user's home folder, and timeout limits a run.
func New(inner tools.Tool, box Runner, home, workspace string, timeout time.Duration) *Tool {
	t := &Tool{inner: inner, spec: *inner.Spec(), box: box, workspace: workspace, home: home}
	t.spec.Platforms = nil
	t.spec.Timeout = timeout + 30*time.Second // additional time for the container engine
	return t
}

// Spec implements tools.Tool.
func (t *Tool) Spec() *tools.Spec { return &t.spec }

// Check validates the arguments against the schema; see tools.Check.
func (t *Tool) Check(args json.RawMessage) error { return tools.Check(t.inner, args) }

// Summary implements tools.Summarizer.
func (t *Tool) Summary(args json.RawMessage) string {
	if s, ok := t.inner.(tools.Summarizer); ok {
		return s.Summary(args) + " (in the container)"
	}
	return t.spec.Name
}

// Judge implements tools.CallAssessor. The guard must not use the tool's assessment, which is about
// files on this machine, because the container contains other files. Judge uses only the number of
// changed items from the tool's assessment.
func (t *Tool) Judge(ctx context.Context, args json.RawMessage) tools.CallAssessment {
	return tools.CallAssessment{Items: tools.JudgmentOf(ctx, t.inner, args).Items}
}

// Call implements tools.Tool.
func (t *Tool) Call(ctx context.Context, c tools.Call) (tools.Result, error) {
	in, err := json.Marshal(request{Tool: t.spec.Name, Args: c.Args, Call: c.ID, Now: c.Now, Provenance: c.Provenance, Workspace: t.workspace, Home: t.home})
	if err != nil {
		return tools.Result{}, err
	}
	out, err := t.box.Run(ctx, in, Command)
	if err != nil {
		return tools.Result{}, tools.Errorf(tools.CodeOf(err), "%s was not run in the container: %w", tools.Clean(t.spec.Name), err)
	}
	var a answer
	if err := json.Unmarshal(out, &a); err != nil {
		return tools.Result{}, tools.Errorf(tools.Failed, "the output of the container cannot be read; its image or program may not match this version of Hob: %w", err)
	}
	if f := a.Error; f != nil {
		return tools.Result{}, &tools.Error{Code: f.Code, Message: f.Message, Remedy: f.Remedy, Source: f.Source}
	}
	r := tools.Result{Text: a.Text, Source: a.Source}
	if a.Source == provenance.Unknown {
		r.Source = provenance.Outside
	}
	if len(a.Data) > 0 {
		r.Data = a.Data
	}
	return r, nil
}

// Serve runs one call: it reads a request and writes an answer. The returned error is an error of
// the transport; an error of the tool is in the answer.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	var r request
	if err := json.NewDecoder(in).Decode(&r); err != nil {
		return fmt.Errorf("read the call: %w; this command is for Hob itself", err)
	}
	var a answer
	res, err := r.runTool(ctx)
	if err == nil && res.Data != nil {
		a.Data, err = json.Marshal(res.Data)
	}
	a.Text, a.Source = res.Text, res.Source
	if errors.Is(err, files.ErrNotAllowed) {
		err = tools.Errorf(tools.PolicyDenied, "the container can access only the workspace %s", tools.Clean(r.Workspace))
	}
	if err != nil {
		a = answer{Error: &failure{Code: tools.CodeOf(err), Message: err.Error(), Source: tools.SourceOf(err)}}
	}
	return json.NewEncoder(out).Encode(a)
}

func (r request) runTool(ctx context.Context) (tools.Result, error) {
	can, err := trash.New(trash.Options{Home: r.Workspace})
	if err != nil {
		return tools.Result{}, err
	}
	f, err := files.New(files.Options{Allowed: []string{r.Workspace}, Home: cmp.Or(r.Home, r.Workspace), Trash: can})
	if err != nil {
		return tools.Result{}, err
	}
	for _, t := range f.Tools() {
		if t.Spec().Name != r.Tool {
			continue
		}
		if err := tools.Check(t, r.Args); err != nil {
			return tools.Result{}, err
		}
		return t.Call(ctx, tools.Call{ID: r.Call, Args: r.Args, Now: r.Now, Provenance: r.Provenance, Progress: func(float64, string) {}})
	}
	return tools.Result{}, tools.Errorf(tools.Unsupported, "the tool %q does not run in a container", tools.Clean(r.Tool))
}
