package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

type place struct {
	City string   `json:"city" jsonschema:"the city"`
	Zip  *string  `json:"zip,omitempty"`
	Tags []string `json:"tags,omitempty"`
}

type args struct {
	Text   string         `json:"text" jsonschema:"what to say"`
	Count  int64          `json:"count,omitempty" jsonschema:"how often"`
	Amount *float64       `json:"amount,omitempty"`
	Loud   bool           `json:"loud,omitempty"`
	Where  *place         `json:"where,omitempty"`
	Many   []place        `json:"many,omitempty"`
	Config map[string]any `json:"config,omitempty"`
	hidden int            //nolint:unused // not an argument
}

func testSpec() tools.Spec {
	return tools.Spec{Name: "say", Category: "test", Description: "Say it.", Effects: tools.Write}
}

// echoTool returns a tool that stores its arguments in got.
func echoTool(got *args) tools.Tool {
	return tools.New(tools.Def[args]{Spec: testSpec(), Run: func(_ context.Context, _ tools.Call, in args) (tools.Result, error) {
		*got = in
		return tools.Result{Source: provenance.Tool, Text: "said"}, nil
	}})
}

func TestNew_SchemaIsStrict(t *testing.T) {
	var got args
	raw := echoTool(&got).Spec().Schema.Raw()
	var s struct {
		Type                 string                     `json:"type"`
		Required             []string                   `json:"required"`
		Properties           map[string]json.RawMessage `json:"properties"`
		AdditionalProperties json.RawMessage            `json:"additionalProperties"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	if s.Type != "object" || !cmp.Equal(s.Required, []string{"text"}) || len(s.Properties) != 7 || len(s.AdditionalProperties) == 0 {
		t.Errorf("%s", raw)
	}
	if strings.Contains(string(raw), "null") {
		t.Errorf("models are offered null: %s", raw)
	}
	for name, want := range map[string]string{
		"text": `{"type":"string","description":"what to say"}`, "count": `{"type":"integer","description":"how often"}`,
		"amount": `{"type":"number"}`, "loud": `{"type":"boolean"}`,
	} {
		var a, b any
		if json.Unmarshal(s.Properties[name], &a) != nil || json.Unmarshal([]byte(want), &b) != nil || !cmp.Equal(a, b) {
			t.Errorf("%s: %s, want %s", name, s.Properties[name], want)
		}
	}
}

func TestArguments(t *testing.T) {
	ptr := func(f float64) *float64 { return &f }
	tests := []struct {
		name, args string
		want       args
		says       string // text in the error
	}{
		{name: "the least", args: `{"text":"a"}`, want: args{Text: "a"}},
		{name: "everything", args: `{"text":"ä🏠","count":2,"amount":1.5,"loud":true,"where":{"city":"x","tags":["a"]},"many":[{"city":"y"}],"config":{"k":[1,"2"]}}`, want: args{
			Text: "ä🏠", Count: 2, Amount: ptr(1.5), Loud: true, Where: &place{City: "x", Tags: []string{"a"}}, Many: []place{{City: "y"}},
			Config: map[string]any{"k": []any{1.0, "2"}},
		}},
		{name: "null is left out", args: `{"text":"a","count":null,"amount":null,"where":null,"many":null,"config":null}`, want: args{Text: "a"}},
		{name: "nested null", args: `{"text":"a","where":{"city":"x","zip":null},"config":{"k":null}}`, want: args{Text: "a", Where: &place{City: "x"}, Config: map[string]any{}}},
		{name: "null in a list", args: `{"text":"a","many":[null]}`, says: "many"},
		{name: "a required null", args: `{"text":null}`, says: "text"},
		{name: "a nested required field", args: `{"text":"a","where":{"zip":"1"}}`, says: "where"},
		{name: "missing", args: `{}`, says: "text"},
		{name: "no arguments", args: ``, says: "text"},
		{name: "null arguments", args: ` null `, says: "text"},
		{name: "unknown", args: `{"text":"a","txet":1}`, says: `no argument "txet"; it takes text, count, amount`},
		{name: "unknown null", args: `{"text":"a","txet":null}`, want: args{Text: "a"}},
		{name: "unknown nested", args: `{"text":"a","where":{"city":"x","street":"y"}}`, says: "street"},
		{name: "another case", args: `{"Text":"a"}`, says: `no argument "Text"`},
		{name: "another case nested", args: `{"text":"a","where":{"city":"x","City":"y"}}`, says: "City"},
		{name: "a Go field", args: `{"text":"a","hidden":1}`, says: "hidden"},
		{name: "number for text", args: `{"text":7}`, says: "text"},
		{name: "text for number", args: `{"text":"a","count":"7"}`, says: "count"},
		{name: "text for bool", args: `{"text":"a","loud":"true"}`, says: "loud"},
		{name: "object for list", args: `{"text":"a","many":{"city":"x"}}`, says: "many"},
		{name: "a whole number as 2.0", args: `{"text":"a","count":2.0}`, want: args{Text: "a", Count: 2}},
		{name: "a whole number as 2e3", args: `{"text":"a","count":2e3}`, want: args{Text: "a", Count: 2000}},
		{name: "a fraction for an integer", args: `{"text":"a","count":2.5}`, says: "count"},
		{name: "all digits of a large number", args: `{"text":"a","count":9007199254740993}`, want: args{Text: "a", Count: 9007199254740993}},
		{name: "the largest", args: `{"text":"a","count":9223372036854775807}`, want: args{Text: "a", Count: math.MaxInt64}},
		{name: "too large to count", args: `{"text":"a","count":9223372036854775808}`, says: "count"},
		{name: "whole amount", args: `{"text":"a","amount":3}`, want: args{Text: "a", Amount: ptr(3)}},
		{name: "large amount", args: `{"text":"a","amount":1e300}`, want: args{Text: "a", Amount: ptr(1e300)}},
		{name: "number beyond float64", args: `{"text":"a","amount":1e400}`, says: "too large"},
		{name: "number beyond float64 in a config", args: `{"text":"a","config":{"k":[-1e400]}}`, says: "too large"},
		{name: "the last of two", args: `{"text":"a","text":"b"}`, want: args{Text: "b"}},
		{name: "a list", args: `["a"]`, says: "not a JSON object"},
		{name: "a string", args: `"{\"text\":\"a\"}"`, says: "not a JSON object"},
		{name: "half", args: `{"text":"a`, says: "not a JSON object"},
		{name: "text after the arguments", args: `{"text":"a"} {"text":"b"}`, says: "not a JSON object"},
		{name: "not JSON", args: `text=a`, says: "not a JSON object"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var got args
			tool := echoTool(&got)
			_, err := tool.Call(t.Context(), tools.Call{Args: []byte(tc.args)})
			if cerr := tools.Check(tool, []byte(tc.args)); fmt.Sprint(cerr) != fmt.Sprint(err) {
				t.Errorf("Check says %v, Call %v", cerr, err)
			}
			if tc.says != "" {
				if tools.CodeOf(err) != tools.InvalidArguments || err == nil || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("%v, want an error about %q", err, tc.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(args{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Every input from a model is either understood or refused with a typed error.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{"text":"a","where":{"city":"x"}}`, `{"text":null}`, `{"text":"a","count":1e18}`, `{"config":{"a":[[[{}]]]}}`, `[1]`, `{"text":"\ud800"}`, `-`, `{"text":"a","amount":-0.0}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var got args
		_, err := echoTool(&got).Call(t.Context(), tools.Call{Args: raw})
		if err != nil {
			if tools.CodeOf(err) != tools.InvalidArguments {
				t.Errorf("%q: %v", raw, err)
			}
			return
		}
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var second args
		if _, err := echoTool(&second).Call(t.Context(), tools.Call{Args: again}); err != nil {
			t.Errorf("%q became %s: %v", raw, again, err)
		}
	})
}

func TestNew_PanicsOnBadDefinitions(t *testing.T) {
	run := func(context.Context, tools.Call, args) (tools.Result, error) { return tools.Result{}, nil }
	runTx := func(context.Context, *store.Tx, tools.Call, args) (tools.Result, error) { return tools.Result{}, nil }
	undo := func(context.Context, json.RawMessage) (string, error) { return "", nil }
	undoTx := func(context.Context, *store.Tx, json.RawMessage) (string, error) { return "", nil }
	tests := map[string]func(d *tools.Def[args]){
		"no name":                         func(d *tools.Def[args]) { d.Name = "" },
		"a name with a dash":              func(d *tools.Def[args]) { d.Name = "say-it" },
		"a name that is too long":         func(d *tools.Def[args]) { d.Name = strings.Repeat("a", 65) },
		"no effects":                      func(d *tools.Def[args]) { d.Effects = 0 },
		"no category":                     func(d *tools.Def[args]) { d.Category = "" },
		"no description":                  func(d *tools.Def[args]) { d.Description = "" },
		"no body":                         func(d *tools.Def[args]) { d.Run = nil },
		"two bodies":                      func(d *tools.Def[args]) { d.RunTx = runTx },
		"the wrong undo":                  func(d *tools.Def[args]) { d.UndoTx = undoTx },
		"an own tool with the wrong undo": func(d *tools.Def[args]) { d.Run, d.RunTx, d.Undo = nil, runTx, undo },
		"undo of a tool that only reads":  func(d *tools.Def[args]) { d.Effects, d.Undo = tools.Read, undo },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			d := tools.Def[args]{Spec: testSpec(), Run: run}
			spoil(&d)
			defer func() {
				if recover() == nil {
					t.Error("New accepts the definition")
				}
			}()
			tools.New(d)
		})
	}
	t.Run("arguments that are not a struct", func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("New accepts the definition")
			}
		}()
		tools.New(tools.Def[map[string]any]{Spec: testSpec(), Run: func(context.Context, tools.Call, map[string]any) (tools.Result, error) {
			return tools.Result{}, nil
		}})
	})
}

func TestNew_Capabilities(t *testing.T) {
	plain := echoTool(new(args))
	own := tools.New(tools.Def[args]{
		Spec: testSpec(),
		RunTx: func(_ context.Context, _ *store.Tx, c tools.Call, in args) (tools.Result, error) {
			c.Progress(1, "done") // never nil
			return tools.Result{Text: in.Text + c.Report}, nil
		},
		UndoTx:  func(_ context.Context, _ *store.Tx, data json.RawMessage) (string, error) { return string(data), nil },
		Summary: func(in args) string { return "Say " + in.Text },
		Paths:   func(in args) []string { return []string{in.Text} },
	})
	if _, ok := plain.(tools.TxTool); ok || plain.Spec().Own {
		t.Error("a plain tool counts as Hob's own")
	}
	o, ok := own.(tools.TxTool)
	if !ok || !own.Spec().Own {
		t.Fatal("a tool of Hob does not count as own")
	}
	if _, err := own.Call(t.Context(), tools.Call{}); err == nil {
		t.Error("an own tool ran outside of a transaction")
	}
	r, err := o.CallTx(t.Context(), nil, tools.Call{Session: "s", Args: []byte(`{"text":"a"}`)})
	if err != nil || r.Text != "as" || r.Source != provenance.Unknown { // the framework does not add a source that the tool did not set
		t.Errorf("%+v, %v", r, err)
	}
	for name, tool := range map[string]tools.Tool{"plain": plain, "own": own} {
		u := tool.(tools.Undoer)
		if u.CanUndo() != (name == "own") {
			t.Errorf("%s: CanUndo %v", name, u.CanUndo())
		}
		if _, err := u.Undo(t.Context(), nil); tools.CodeOf(err) != tools.Unsupported {
			t.Errorf("%s: Undo: %v", name, err)
		}
	}
	if s, err := own.(tools.Undoer).UndoTx(t.Context(), nil, []byte(`1`)); s != "1" || err != nil {
		t.Errorf("UndoTx: %q, %v", s, err)
	}
	for _, tc := range []struct{ tool, args, summary, path string }{
		{"own", `{"text":"a"}`, "Say a", "a"}, {"own", `{"text":7}`, "say", ""}, {"plain", `{"text":"a"}`, "say", ""},
	} {
		tool := map[string]tools.Tool{"plain": plain, "own": own}[tc.tool]
		if got := tool.(tools.Summarizer).Summary([]byte(tc.args)); got != tc.summary {
			t.Errorf("%s %s: summary %q", tc.tool, tc.args, got)
		}
		if got := strings.Join(tool.(tools.Pather).Paths([]byte(tc.args)), ","); got != tc.path {
			t.Errorf("%s %s: paths %q", tc.tool, tc.args, got)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, tc := range []struct {
		err  error
		code tools.Code
		is   []error
	}{
		{tools.Errorf(tools.NotFound, "no %s", "x"), tools.NotFound, nil},
		{fmt.Errorf("outer: %w", tools.Errorf(tools.Conflict, "x: %w", io.EOF)), tools.Conflict, []error{io.EOF}},
		{tools.Errorf(tools.Failed, "%w and %w", io.EOF, io.ErrClosedPipe), tools.Failed, []error{io.EOF, io.ErrClosedPipe}},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), tools.TimedOut, nil},
		{context.Canceled, tools.Cancelled, nil},
		{errors.ErrUnsupported, tools.Unsupported, nil},
		{io.EOF, tools.Failed, nil},
	} {
		if got := tools.CodeOf(tc.err); got != tc.code {
			t.Errorf("%v: %s, want %s", tc.err, got, tc.code)
		}
		for _, is := range tc.is {
			if !errors.Is(tc.err, is) {
				t.Errorf("%v is not %v", tc.err, is)
			}
		}
	}
	if got := (&tools.Error{Message: "it is full", Remedy: "free some space"}).Error(); got != "it is full; free some space" {
		t.Error(got)
	}
	if got := (tools.Read | tools.Send | tools.Secret).String(); got != "read+send+secret" || (tools.Read | tools.Write).ReadOnly() || tools.Effects(0).ReadOnly() {
		t.Error(got)
	}
}
