package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"hob/knowledge/store"
	"hob/platform/provenance"
)

// Def defines a tool with arguments of type In, a struct whose exported fields
// carry json tags and `jsonschema:"description"` tags; pointer or omitempty
// fields are optional. Exactly one of Run and RunTx is set.
type Def[In any] struct {
	Spec
	// Run does the work of a tool that reaches beyond Hob's database.
	Run func(ctx context.Context, c Call, in In) (Result, error)
	// RunTx does the work of an own tool (see Own).
	RunTx func(ctx context.Context, tx *store.Tx, c Call, in In) (Result, error)
	// Undo or UndoTx (for RunTx) takes the action back; optional.
	Undo   func(ctx context.Context, data json.RawMessage) (string, error)
	UndoTx func(ctx context.Context, tx *store.Tx, data json.RawMessage) (string, error)
	// Redo does again what Undo took back (see Redoer); optional.
	Redo func(ctx context.Context, data json.RawMessage) (string, json.RawMessage, error)
	// Paths names the files it would touch; optional.
	Paths func(in In) []string
	// Summary says in one line what it would do; optional.
	Summary func(in In) string
	// Judge says what these arguments would really cause (see Judge); optional.
	Judge func(ctx context.Context, in In) Judgement
}

var validName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// New checks the definition and makes the tool. It panics on a definition that
// can never work (a bad name, no effects, no body): that is a programming
// error which the first test finds.
func New[In any](d Def[In]) Tool {
	if err := d.check(); err != nil {
		panic(fmt.Sprintf("tools: %s: %v", d.Name, err))
	}
	d.Own = d.RunTx != nil
	t := &typed[In]{def: d}
	t.schema = sync.OnceValue(t.describe)
	t.def.Schema = func() json.RawMessage { return t.schema().raw }
	if t.def.Own {
		return &ownTyped[In]{typed: t}
	}
	return t
}

// described is what is known of the arguments.
type described struct {
	raw      json.RawMessage
	resolved *jsonschema.Resolved
	names    []string
}

// describe makes the schema.
func (t *typed[In]) describe() described {
	name := t.def.Name
	schema, err := jsonschema.For[In](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.Number](): {Type: "number"}, // exact amounts
	}})
	if err != nil {
		panic(fmt.Sprintf("tools: %s: schema: %v", name, err))
	}
	nullable(schema)
	resolved, err := schema.Resolve(nil)
	if err != nil {
		panic(fmt.Sprintf("tools: %s: schema: %v", name, err))
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("tools: %s: schema: %v", name, err))
	}
	return described{raw, resolved, schema.PropertyOrder}
}

func (d *Def[In]) check() error {
	switch {
	case reflect.TypeFor[In]().Kind() != reflect.Struct:
		return errors.New("the arguments must be a struct")
	case !validName.MatchString(d.Name):
		return errors.New("the name must be snake_case")
	case d.Effects == 0:
		return errors.New("a tool must declare its effects")
	case d.Category == "" || d.Description == "":
		return errors.New("category and description are required")
	case (d.Run == nil) == (d.RunTx == nil):
		return errors.New("exactly one of Run and RunTx is required")
	case d.Run != nil && d.UndoTx != nil, d.RunTx != nil && d.Undo != nil:
		return errors.New("Undo belongs to Run, UndoTx to RunTx")
	case d.Redo != nil && d.Undo == nil:
		return errors.New("Redo belongs to Undo")
	case d.Effects.ReadOnly() && (d.Undo != nil || d.UndoTx != nil):
		return errors.New("a read-only tool has nothing to undo")
	}
	return nil
}

// nullable drops "null" from the types of optional fields: models are offered
// one plain type, and leave out what they do not want.
func nullable(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	for _, p := range s.Properties {
		nullable(p)
	}
	nullable(s.Items)
}

type typed[In any] struct {
	def    Def[In]
	schema func() described
}

func (t *typed[In]) Spec() *Spec { return &t.def.Spec }

func (t *typed[In]) Call(ctx context.Context, c Call) (Result, error) {
	in, err := t.decode(c.Args)
	if err != nil {
		return Result{}, err
	}
	r, err := t.def.Run(ctx, c.complete(), in)
	return r.complete(), err
}

func (t *typed[In]) CanUndo() bool { return t.def.Undo != nil || t.def.UndoTx != nil }

func (t *typed[In]) Undo(ctx context.Context, data json.RawMessage) (string, error) {
	if t.def.Undo == nil {
		return "", Errorf(Unsupported, "%s cannot be undone", t.def.Name)
	}
	return t.def.Undo(ctx, data)
}

func (t *typed[In]) UndoTx(ctx context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
	if t.def.UndoTx == nil {
		return "", Errorf(Unsupported, "%s cannot be undone", t.def.Name)
	}
	return t.def.UndoTx(ctx, tx, data)
}

func (t *typed[In]) CanRedo() bool { return t.def.Redo != nil }

func (t *typed[In]) Redo(ctx context.Context, data json.RawMessage) (string, json.RawMessage, error) {
	if t.def.Redo == nil {
		return "", nil, Errorf(Unsupported, "%s cannot be done again by itself", t.def.Name)
	}
	return t.def.Redo(ctx, data)
}

func (t *typed[In]) Paths(args json.RawMessage) []string {
	if t.def.Paths == nil {
		return nil
	}
	in, err := t.decode(args)
	if err != nil {
		return nil
	}
	return t.def.Paths(in)
}

func (t *typed[In]) Summary(args json.RawMessage) string {
	in, err := t.decode(args)
	if err != nil || t.def.Summary == nil {
		return t.def.Name
	}
	return t.def.Summary(in)
}

func (t *typed[In]) Judge(ctx context.Context, args json.RawMessage) Judgement {
	if t.def.Judge == nil {
		return Judgement{}
	}
	in, err := t.decode(args)
	if err != nil {
		return Judgement{Refused: err}
	}
	return t.def.Judge(ctx, in)
}

type ownTyped[In any] struct{ *typed[In] }

func (t *ownTyped[In]) Call(context.Context, Call) (Result, error) {
	return Result{}, errors.New("tools: an own tool runs through CallTx")
}

func (t *ownTyped[In]) CallTx(ctx context.Context, tx *store.Tx, c Call) (Result, error) {
	in, err := t.decode(c.Args)
	if err != nil {
		return Result{}, err
	}
	r, err := t.def.RunTx(ctx, tx, c.complete(), in)
	return r.complete(), err
}

func (c Call) complete() Call {
	if c.Progress == nil {
		c.Progress = func(float64, string) {}
	}
	if c.Report == "" {
		c.Report = c.Session
	}
	return c
}

func (r Result) complete() Result {
	if r.Source == provenance.Unknown {
		r.Source = provenance.Tool
	}
	return r
}
