package toolstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// Bench calls tools as the engine does: own tools run inside a transaction.
type Bench struct {
	t   *testing.T
	env Env
	by  map[string]tools.Tool
	// Provenance is the provenance of the calls (default: owner).
	Provenance provenance.Source
}

// NewBench returns a bench for the tools of env.
func NewBench(t *testing.T, env Env) *Bench {
	b := &Bench{t: t, env: env, by: map[string]tools.Tool{}, Provenance: provenance.Owner}
	for _, x := range env.Tools {
		b.by[x.Spec().Name] = x
	}
	return b
}

// Call makes one call.
func (b *Bench) Call(s Step) (tools.Result, error) { return b.callStep(b.t.Context(), s, nil) }

// callStep makes one call and checks that the outcome has a source. If fail is not nil, the
// transaction of an own call fails with fail after the call.
func (b *Bench) callStep(ctx context.Context, s Step, fail error) (tools.Result, error) {
	b.t.Helper()
	r, err := b.callOnce(ctx, s, fail)
	if e, ok := errors.AsType[*tools.Error](err); ok && e.Source == provenance.Unknown {
		b.t.Errorf("%s %s: the error %q names no source", s.Tool, s.Args, err)
	}
	if err == nil && r.Source == provenance.Unknown {
		b.t.Errorf("%s %s: the result names no source", s.Tool, s.Args)
	}
	return r, err
}

func (b *Bench) callOnce(ctx context.Context, s Step, fail error) (tools.Result, error) {
	x := b.by[s.Tool]
	if x == nil {
		return tools.Result{}, fmt.Errorf("there is no tool %q", s.Tool)
	}
	dir, err := json.Marshal(b.env.Dir)
	if err != nil {
		return tools.Result{}, err
	}
	args := strings.ReplaceAll(s.Args, "$DIR", strings.Trim(string(dir), `"`))
	c := tools.Call{
		ID: "call", Session: "test", Event: "event", Args: json.RawMessage(args), Now: b.env.Now, Provenance: b.Provenance,
		Exact: tools.JudgmentOf(ctx, x, json.RawMessage(args)).Exact,
	}
	x = tools.For(x, json.RawMessage(args))
	own, ok := x.(tools.TxTool)
	if !ok {
		return x.Call(ctx, c)
	}
	if p, ok := x.(tools.Preparer); ok {
		if c.Prepared, err = p.Prepare(ctx, c); err != nil {
			return tools.Result{}, err
		}
	}
	var out tools.Result
	err = b.env.Store.Write(ctx, func(tx *store.Tx) (err error) {
		if out, err = own.CallTx(ctx, tx, c); err != nil {
			return err
		}
		return fail
	})
	return out, err
}

// Undo reverts the action of a call.
func (b *Bench) Undo(tool string, r tools.Result) (said string, err error) {
	x := b.by[tool]
	if r.Undo != nil {
		x = tools.Undoing(x, r.Undo.Data)
	}
	u, ok := x.(tools.Undoer)
	if !ok || !u.CanUndo() || r.Undo == nil {
		return "", errors.New("it cannot be undone")
	}
	if !x.Spec().Own {
		return u.Undo(b.t.Context(), r.Undo.Data)
	}
	err = b.env.Store.Write(b.t.Context(), func(tx *store.Tx) (err error) {
		said, err = u.UndoTx(b.t.Context(), tx, r.Undo.Data)
		return err
	})
	return said, err
}
