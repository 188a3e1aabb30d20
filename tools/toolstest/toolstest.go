// Package toolstest is the conformance suite of tools. It checks the rules that every tool must
// follow. The list of all tools runs it, so each new tool must add a Case.
package toolstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// Env is a new, empty environment for one case.
type Env struct {
	Store *store.Store
	Tools []tools.Tool
	// Dir contains files that tools may change. It is "" if there are none.
	Dir string
	Now time.Time
	// Away lists the items on servers that the named tool may change. It is nil, or returns nil, if
	// the tool changes none.
	Away func(tool string) []string
}

// Step is one call.
type Step struct {
	Tool string
	Args string // JSON; $DIR is replaced by Env.Dir
}

// Case is a call that must succeed.
type Case struct {
	Step
	Before []Step // calls made first
	Want   string // text that the result must contain
	Undone string // text that the result of the undo must contain; "" if the call cannot be undone
	// Outside is true if the result is untrusted even though the caller's context is not tainted.
	Outside bool
}

// Suite contains the tools under test and at least one case for each of them.
type Suite struct {
	Open  func(t *testing.T) Env
	Cases []Case
	// Ignore lists columns ("table.column") that contain the real time. They are not compared.
	Ignore []string
}

// Run checks every tool and every case.
func Run(t *testing.T, s Suite) {
	t.Helper()
	e := s.Open(t)
	for _, x := range e.Tools {
		t.Run(x.Spec().Name, func(t *testing.T) {
			checkSpec(t, x)
			if !slices.ContainsFunc(s.Cases, func(c Case) bool { return c.Tool == x.Spec().Name }) {
				t.Error("there is no case for this tool")
			}
		})
	}
	for i, c := range s.Cases {
		t.Run(fmt.Sprintf("%s/%d", c.Tool, i), func(t *testing.T) {
			r := runner{Bench: NewBench(t, s.Open(t)), ignore: s.Ignore}
			r.runCase(c)
		})
	}
}

// maxDescription is the maximum length of a description. Each word of it costs tokens in a prompt.
const maxDescription = 300

func checkSpec(t *testing.T, x tools.Tool) {
	t.Helper()
	s := x.Spec()
	switch {
	case s.Effects == 0:
		t.Error("it declares no effects")
	case len(s.Description) == 0 || len(s.Description) > maxDescription:
		t.Errorf("its description has %d bytes, at most %d are allowed", len(s.Description), maxDescription)
	case s.Category == "" || s.Keywords == "":
		t.Error("it has no category or no keywords")
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(s.Schema.Raw(), &schema); err != nil || schema.Type != "object" {
		t.Errorf("its schema is not one of an object: %v", err)
	} else if _, err := schema.Resolve(nil); err != nil {
		t.Errorf("its schema is not valid: %v", err)
	}
	if _, own := x.(tools.TxTool); own != s.Own {
		t.Errorf("Own is %v, but its type says %v", s.Own, own)
	}
	if u, ok := x.(tools.Undoer); ok && u.CanUndo() && s.Effects.ReadOnly() {
		t.Error("it only reads and claims to be undoable")
	}
	for name, args := range map[string]string{
		"an unknown argument": `{"no_such_argument_":1}`, "a list": `[1]`, "a text": `"x"`, "half an object": `{"path": "x`,
	} {
		if err := tools.Check(x, json.RawMessage(args)); err == nil || tools.CodeOf(err) != tools.InvalidArguments {
			t.Errorf("%s as arguments: %v", name, err)
		}
	}
	for _, field := range schema.Required {
		args, err := json.Marshal(argumentsWithout(schema, field))
		if err != nil {
			t.Fatal(err)
		}
		if err := tools.Check(x, args); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("without %q: %v", field, err)
		}
	}
}

// argumentsWithout returns an object with all required fields except one.
func argumentsWithout(schema jsonschema.Schema, field string) map[string]any {
	out := map[string]any{}
	for _, f := range schema.Required {
		if f != field {
			out[f] = exampleValue(schema.Properties[f])
		}
	}
	return out
}

func exampleValue(s *jsonschema.Schema) any {
	switch s.Type {
	case "number", "integer":
		return 1
	case "boolean":
		return true
	case "array":
		return []any{}
	case "object":
		return map[string]any{}
	}
	return "x"
}

type runner struct {
	*Bench
	ignore []string
	tool   string
}

var errRollback = errors.New("rolled back")

func (r *runner) runCase(c Case) {
	r.tool = c.Tool
	r.t.Helper()
	for _, s := range c.Before {
		if _, err := r.callStep(r.t.Context(), s, nil); err != nil {
			r.t.Fatalf("before: %s %s: %v", s.Tool, s.Args, err)
		}
	}
	x := r.by[c.Tool]
	if x == nil {
		r.t.Fatal("there is no such tool")
	}
	if s, ok := x.(tools.Summarizer); !ok || strings.Trim(s.Summary(json.RawMessage(c.Args)), " ") == "" || s.Summary(json.RawMessage(c.Args)) == c.Tool {
		r.t.Error("it does not say what it would do")
	}
	before := r.captureState()
	r.checkInterrupted(c, before)
	got, err := r.callStep(r.t.Context(), c.Step, nil)
	if err != nil {
		r.t.Fatalf("%s: %v", c.Args, err)
	}
	r.checkResult(c, got)
	after := r.captureState()
	if x.Spec().Effects.ReadOnly() {
		r.requireSameState("a tool that only reads changed something", before, after)
	}
	r.checkUndo(c, got, before, after)
}

// checkInterrupted cancels a call before it starts. For own tools it also rolls back the
// transaction after the call has ended.
func (r *runner) checkInterrupted(c Case, before map[string][]string) {
	r.t.Helper()
	ctx, stop := context.WithCancel(r.t.Context())
	stop()
	if _, err := r.callStep(ctx, c.Step, nil); err != nil && !errors.Is(err, context.Canceled) {
		r.t.Errorf("cancelled: %v", err)
	}
	r.requireSameState("a cancelled call changed something", before, r.captureState())
	if tools.For(r.by[c.Tool], json.RawMessage(c.Args)).Spec().Own {
		if _, err := r.callStep(r.t.Context(), c.Step, errRollback); !errors.Is(err, errRollback) {
			r.t.Errorf("with a rollback: %v", err)
		}
		r.requireSameState("a rollback left something", before, r.captureState())
	}
}

func (r *runner) checkResult(c Case, got tools.Result) {
	r.t.Helper()
	want := provenance.Tool
	if c.Outside {
		want = provenance.Outside
	}
	switch {
	case strings.TrimSpace(got.Text) == "" || !strings.Contains(got.Text, c.Want):
		r.t.Errorf("text %q, want %q in it", got.Text, c.Want)
	case got.Source != want:
		r.t.Errorf("source %q, want %q", got.Source, want)
	}
	if got.Data != nil {
		if b, err := json.Marshal(got.Data); err != nil || b[0] != '{' {
			r.t.Errorf("data %s, %v: want a JSON object", b, err)
		}
	}
}

func (r *runner) checkUndo(c Case, got tools.Result, before, after map[string][]string) {
	r.t.Helper()
	switch {
	case c.Undone == "" && got.Undo != nil:
		r.t.Errorf("it can be undone, which the case does not expect: %s", got.Undo.Label)
		return
	case c.Undone == "":
		return
	case got.Undo == nil || got.Undo.Label == "":
		r.t.Error("it cannot be undone")
		return
	}
	if cmp.Equal(before, after) {
		r.t.Error("it changed nothing")
	}
	said, err := r.Undo(c.Tool, got)
	if err != nil || !strings.Contains(said, c.Undone) {
		r.t.Errorf("undo says %q, %v; want %q in it", said, err, c.Undone)
	}
	r.requireSameState("undoing did not restore everything", before, r.captureState())
	if said, err := r.Undo(c.Tool, got); err == nil {
		if !strings.Contains(said, "nothing changed") { // such an action must not block the undo of older ones
			r.t.Errorf("undoing twice says %q", said)
		}
	} else if code := tools.CodeOf(err); code != tools.Conflict && code != tools.NotFound {
		r.t.Errorf("undoing twice: %s (%v)", code, err)
	}
	r.requireSameState("undoing twice changed something", before, r.captureState())
}

func (r *runner) requireSameState(what string, before, after map[string][]string) {
	r.t.Helper()
	if d := cmp.Diff(before, after); d != "" {
		r.t.Errorf("%s:\n%s", what, d)
	}
}

func (r *runner) captureState() map[string][]string {
	r.t.Helper()
	out := Dump(r.t, r.env.Store, r.ignore...)
	if r.env.Dir != "" {
		out["files"] = listTree(r.t, r.env.Dir)
	}
	if r.env.Away != nil {
		out["away"] = r.env.Away(r.tool)
	}
	return out
}
