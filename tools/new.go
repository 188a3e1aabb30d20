package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"hob/platform/store"
	"hob/platform/text/lazyregexp"
)

// Def defines a tool whose arguments have the type In, a struct whose exported fields have json
// tags and `jsonschema:"description"` tags. Fields that are pointers or have omitempty are
// optional. Exactly one of Run and RunTx is set.
type Def[In any] struct {
	Spec
	// Run implements a tool that does more than change Hob's database.
	Run func(ctx context.Context, c Call, in In) (Result, error)
	// RunTx implements an own tool (see TxTool).
	RunTx func(ctx context.Context, tx *store.Tx, c Call, in In) (Result, error)
	// Prepare does work before the transaction of RunTx (see Preparer). It is optional.
	Prepare func(ctx context.Context, c Call, in In) (any, error)
	// Undo, or UndoTx if RunTx is set, reverts the action. It is optional.
	Undo   func(ctx context.Context, data json.RawMessage) (string, error)
	UndoTx func(ctx context.Context, tx *store.Tx, data json.RawMessage) (string, error)
	// Redo repeats an undone action (see Redoer). It is optional.
	Redo func(ctx context.Context, data json.RawMessage) (string, json.RawMessage, error)
	// Waiting, Freeze and WasSent delay calls that reach other people (see Delayer); optional.
	Waiting func(in In) string
	Freeze  func(ctx context.Context, c Call, in In) (any, error)
	WasSent func(ctx context.Context, c Call, in In) (bool, error)
	// Paths returns the files that a call would access. It is optional.
	Paths func(in In) []string
	// Summary describes the effect of a call in one line. It is optional.
	Summary func(in In) string
	// Judge assesses a call with the given arguments (see CallAssessor). It is optional.
	Judge func(ctx context.Context, in In) CallAssessment
	// Arguments contains descriptions of arguments, keyed by name, if they depend on more than In.
	// It is optional.
	Arguments map[string]string
}

var validName = lazyregexp.New(`^[a-z][a-z0-9_]{0,63}$`)

// New validates the definition and returns the tool. It panics if the definition can never work
// (invalid name, no effects, no body). This is a programming error that the first test finds. The
// compiler generates code for each In, so all code that does not depend on In is in typed.
func New[In any](d Def[In]) Tool {
	t := &typed{args: reflect.TypeFor[In](), argTexts: d.Arguments, spec: d.Spec, undo: d.Undo, undoTx: d.UndoTx, redo: d.Redo}
	takePointer(&t.run, d.Run)
	takePointer(&t.runTx, d.RunTx)
	takePointer(&t.prepare, d.Prepare)
	takePointer(&t.waiting, d.Waiting)
	takePointer(&t.freeze, d.Freeze)
	takePointer(&t.wasSent, d.WasSent)
	takePointer(&t.paths, d.Paths)
	takePointer(&t.summary, d.Summary)
	takePointer(&t.judge, d.Judge)
	return t.validateAndFinish()
}

// takePointer sets the function to which to points. It calls fn with the struct to which its own
// last argument points. A nil fn leaves it unset. Closures would be compiled for each tool, which
// costs 5 KB per tool.
func takePointer(to, fn any) {
	f, target := reflect.ValueOf(fn), reflect.ValueOf(to).Elem()
	if f.IsNil() {
		return
	}
	target.Set(reflect.MakeFunc(target.Type(), func(args []reflect.Value) []reflect.Value {
		last := len(args) - 1
		args[last] = args[last].Elem().Elem() // from the interface to the pointer to the struct
		return f.Call(args)
	}))
}

// typed is a tool whose arguments are a struct. Its functions get a pointer to the struct.
type typed struct {
	args     reflect.Type
	argTexts map[string]string
	schema   func() argumentSchema
	spec     Spec
	run      func(ctx context.Context, c Call, in any) (Result, error)
	runTx    func(ctx context.Context, tx *store.Tx, c Call, in any) (Result, error)
	prepare  func(ctx context.Context, c Call, in any) (any, error)
	undo     func(ctx context.Context, data json.RawMessage) (string, error)
	undoTx   func(ctx context.Context, tx *store.Tx, data json.RawMessage) (string, error)
	redo     func(ctx context.Context, data json.RawMessage) (string, json.RawMessage, error)
	waiting  func(in any) string
	freeze   func(ctx context.Context, c Call, in any) (any, error)
	wasSent  func(ctx context.Context, c Call, in any) (bool, error)
	paths    func(in any) []string
	summary  func(in any) string
	judge    func(ctx context.Context, in any) CallAssessment
}

// validateAndFinish validates the tool and sets the fields that New derives.
func (t *typed) validateAndFinish() Tool {
	if err := t.validateSpec(); err != nil {
		panic(fmt.Sprintf("tools: %s: %v", t.spec.Name, err))
	}
	t.spec.Own = t.runTx != nil
	t.schema = sync.OnceValue(t.buildSchema)
	t.spec.Schema = func() json.RawMessage { return t.schema().raw }
	if t.spec.Own {
		return &ownTyped{typed: t}
	}
	return t
}

// argumentSchema is the schema of the arguments.
type argumentSchema struct {
	raw      json.RawMessage
	resolved *jsonschema.Resolved
	names    []string
}

// buildSchema builds the schema.
func (t *typed) buildSchema() argumentSchema {
	name := t.spec.Name
	schema, err := jsonschema.ForType(t.args, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.Number](): {Type: "number"}, // exact amounts
	}})
	if err != nil {
		panic(fmt.Sprintf("tools: %s: schema: %v", name, err))
	}
	for arg, text := range t.argTexts {
		schema.Properties[arg].Description = text
	}
	dropNullTypes(schema)
	resolved, err := schema.Resolve(nil)
	if err != nil {
		panic(fmt.Sprintf("tools: %s: schema: %v", name, err))
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("tools: %s: schema: %v", name, err))
	}
	return argumentSchema{raw, resolved, schema.PropertyOrder}
}

func (t *typed) validateSpec() error {
	switch {
	case t.args.Kind() != reflect.Struct:
		return errors.New("the arguments must be a struct")
	case !validName.MatchString(t.spec.Name):
		return errors.New("the name must be snake_case")
	case t.spec.Effects == 0:
		return errors.New("a tool must declare its effects")
	case t.spec.Category == "" || t.spec.Description == "":
		return errors.New("category and description are required")
	case (t.run == nil) == (t.runTx == nil):
		return errors.New("exactly one of Run and RunTx is required")
	case t.run != nil && t.undoTx != nil, t.runTx != nil && t.undo != nil:
		return errors.New("Undo requires Run, and UndoTx requires RunTx")
	case t.prepare != nil && t.runTx == nil:
		return errors.New("Prepare requires RunTx")
	case t.waiting != nil && t.run == nil, t.waiting == nil && (t.freeze != nil || t.wasSent != nil):
		return errors.New("Waiting requires Run; Freeze and WasSent require Waiting")
	case t.redo != nil && t.undo == nil:
		return errors.New("Redo requires Undo")
	case t.spec.Effects.ReadOnly() && (t.undo != nil || t.undoTx != nil):
		return errors.New("a read-only tool has nothing to undo")
	}
	return nil
}

// dropNullTypes removes "null" from the types of optional fields, so that models see one plain type
// and omit unused arguments.
func dropNullTypes(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	for _, p := range s.Properties {
		dropNullTypes(p)
	}
	dropNullTypes(s.Items)
}

func (t *typed) Spec() *Spec { return &t.spec }

func (t *typed) Call(ctx context.Context, c Call) (Result, error) {
	in, err := t.decodeArguments(c.Args)
	if err != nil {
		return Result{}, err
	}
	r, err := t.run(ctx, c.withDefaults(), in)
	return r, err
}

func (t *typed) CanUndo() bool { return t.undo != nil || t.undoTx != nil }

func (t *typed) Undo(ctx context.Context, data json.RawMessage) (string, error) {
	if t.undo == nil {
		return "", Errorf(Unsupported, "%s cannot be undone", Clean(t.spec.Name))
	}
	return t.undo(ctx, data)
}

func (t *typed) UndoTx(ctx context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
	if t.undoTx == nil {
		return "", Errorf(Unsupported, "%s cannot be undone", Clean(t.spec.Name))
	}
	return t.undoTx(ctx, tx, data)
}

func (t *typed) CanRedo() bool { return t.redo != nil }

func (t *typed) Redo(ctx context.Context, data json.RawMessage) (string, json.RawMessage, error) {
	if t.redo == nil {
		return "", nil, Errorf(Unsupported, "%s cannot be redone automatically", Clean(t.spec.Name))
	}
	return t.redo(ctx, data)
}

func (t *typed) Paths(args json.RawMessage) []string {
	if t.paths == nil {
		return nil
	}
	in, err := t.decodeArguments(args)
	if err != nil {
		return nil
	}
	return t.paths(in)
}

func (t *typed) Summary(args json.RawMessage) string {
	in, err := t.decodeArguments(args)
	if err != nil || t.summary == nil {
		return t.spec.Name
	}
	return t.summary(in)
}

func (t *typed) Judge(ctx context.Context, args json.RawMessage) CallAssessment {
	if t.judge == nil {
		return CallAssessment{}
	}
	in, err := t.decodeArguments(args)
	if err != nil {
		return CallAssessment{Refused: err}
	}
	return t.judge(ctx, in)
}

type ownTyped struct{ *typed }

func (t *ownTyped) Call(context.Context, Call) (Result, error) {
	return Result{}, errors.New("tools: an own tool runs through CallTx")
}

// Prepare implements Preparer.
func (t *ownTyped) Prepare(ctx context.Context, c Call) (any, error) {
	if t.prepare == nil {
		return nil, nil //nolint:nilnil // the tool has no Prepare
	}
	in, err := t.decodeArguments(c.Args)
	if err != nil {
		return nil, err
	}
	return t.prepare(ctx, c.withDefaults(), in)
}

func (t *ownTyped) CallTx(ctx context.Context, tx *store.Tx, c Call) (Result, error) {
	in, err := t.decodeArguments(c.Args)
	if err != nil {
		return Result{}, err
	}
	r, err := t.runTx(ctx, tx, c.withDefaults(), in)
	return r, err
}

func (c Call) withDefaults() Call {
	if c.Progress == nil {
		c.Progress = func(float64, string) {}
	}
	c.SendHooks = c.SendHooks.WithDefaults()
	if c.Report == "" {
		c.Report = c.Session
	}
	return c
}
