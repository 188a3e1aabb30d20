//go:build rego

package rules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"hob/autonomy/guard"
)

func builtIn() map[string]engine { return map[string]engine{".rego": regoEngine{}} }

// Rego reports whether this build reads *.rego files.
func Rego() bool { return true }

// regoEngine compiles Rego (https://www.openpolicyagent.org/docs/policy-language): all files
// together, in package hob. The members of the sets deny and ask are the objections. A member is a
// string, or an object with reason and id.
type regoEngine struct{}

// barred lists the built-in functions that are not allowed because they access the network or the
// process.
var barred = []string{"http.send", "net.lookup_ip_addr", "opa.runtime", "rego.parse_module", "trace", "print", "internal.print", "io.jwt.decode_verify"}

const regoPackage = "data.hob"

type regoProgram struct {
	query rego.PreparedEvalQuery
	list  []Rule
}

func (regoEngine) compileFiles(files []file) (compiledRules, error) {
	can := ast.CapabilitiesForThisVersion()
	can.Builtins = slices.DeleteFunc(can.Builtins, func(b *ast.Builtin) bool { return slices.Contains(barred, b.Name) })
	can.AllowNet = []string{} // nil would allow every host
	opts := []func(*rego.Rego){
		rego.Query(`{"deny": [x | some x in ` + regoPackage + `.deny], "ask": [x | some x in ` + regoPackage + `.ask]}`),
		rego.Capabilities(can), rego.StrictBuiltinErrors(true),
	}
	p := &regoProgram{}
	for _, f := range files {
		m, err := ast.ParseModuleWithOpts(f.name, string(f.text), ast.ParserOptions{Capabilities: can, RegoVersion: ast.RegoV1})
		if err != nil {
			return nil, inRego(f.name, err)
		}
		if m == nil || m.Package.Path.String() != regoPackage {
			return nil, fmt.Errorf("%s:1: must begin with: package hob", f.name)
		}
		opts = append(opts, rego.ParsedModule(m))
		p.list = append(p.list, rulesIn(f.name, m)...)
	}
	// Define both sets even if no file defines them.
	rest, err := ast.ParseModuleWithOpts("hob", "package hob\n\ndeny contains x if { x := \"\"; false }\n\nask contains x if { x := \"\"; false }\n", ast.ParserOptions{Capabilities: can, RegoVersion: ast.RegoV1})
	if err != nil {
		return nil, inRego("hob", err)
	}
	opts = append(opts, rego.ParsedModule(rest))
	if p.query, err = rego.New(opts...).PrepareForEval(context.Background()); err != nil {
		return nil, inRego(files[0].name, err)
	}
	return p, nil
}

// inRego adds the location in the file to a parser or compiler error.
func inRego(name string, err error) error {
	if list, ok := errors.AsType[ast.Errors](err); ok && len(list) > 0 && list[0].Location != nil {
		return fmt.Errorf("%s:%d: %s", cmp.Or(list[0].Location.File, name), list[0].Location.Row, list[0].Message)
	}
	return fmt.Errorf("%s: %w", name, err)
}

func rulesIn(name string, m *ast.Module) (out []Rule) {
	for _, r := range m.Rules {
		kind := r.Head.Name.String()
		if kind == "" && len(r.Head.Reference) > 0 {
			kind = r.Head.Reference[0].String()
		}
		if kind != "deny" && kind != "ask" {
			continue // helper rules are skipped
		}
		line := r.Location.Row
		out = append(out, Rule{Name: fmt.Sprintf("%s:%d", filepath.Base(name), line), Kind: kind, File: name, Line: line, Reason: "stated when the rule applies"})
	}
	return out
}

func (p *regoProgram) listRules() []Rule { return p.list }

func (p *regoProgram) evaluateRules(ctx context.Context, f guard.RuleInput) ([]guard.RuleVerdict, error) {
	in, err := inputValues(f)
	if err != nil {
		return nil, err
	}
	set, err := p.query.Eval(ctx, rego.EvalInput(in))
	if err != nil {
		return nil, fmt.Errorf("your Rego rules fail on this call: %w; fix them and check them with: hob policy check", err)
	}
	if len(set) != 1 || len(set[0].Expressions) != 1 {
		return nil, errors.New("your Rego rules returned no value; deny and ask must be sets (\"deny contains ...\")")
	}
	found, ok := set[0].Expressions[0].Value.(map[string]any)
	if !ok {
		return nil, errors.New("your Rego rules returned an invalid value; deny and ask must be sets")
	}
	var out []guard.RuleVerdict
	for kind, verdict := range map[string]guard.Verdict{"deny": guard.Deny, "ask": guard.Ask} {
		list, ok := found[kind].([]any)
		if !ok {
			return nil, fmt.Errorf("the value of %s in your Rego rules is not a set", kind)
		}
		for _, x := range list {
			o, err := regoObjection(kind, x)
			if err != nil {
				return nil, err
			}
			o.Verdict = verdict
			out = append(out, o)
		}
	}
	return out, nil
}

// regoObjection converts one member of a set to an objection.
func regoObjection(kind string, x any) (guard.RuleVerdict, error) {
	switch x := x.(type) {
	case string:
		return guard.RuleVerdict{Rule: kind, Reason: x}, nil
	case map[string]any:
		id, _ := x["id"].(string)
		reason, _ := x["reason"].(string)
		if id != "" || reason != "" {
			return guard.RuleVerdict{Rule: cmp.Or(id, kind), Reason: cmp.Or(reason, "one of your rules objects")}, nil
		}
	}
	return guard.RuleVerdict{}, fmt.Errorf("the set %s in your Rego rules contains %v; use a string, or an object with reason and id", kind, x)
}
