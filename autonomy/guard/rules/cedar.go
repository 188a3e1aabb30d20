package rules

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"strings"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"

	"hob/autonomy/guard"
)

// cedarEngine compiles Cedar policies (https://docs.cedarpolicy.com). A forbid policy that applies
// denies the call, or requires approval if it has the annotation @ask("why"); permit policies have
// no effect. @id("name") names a rule, and @reason("why") is the reason for its denial.
type cedarEngine struct{}

// cedarRule is one policy with its annotations.
type cedarRule struct {
	Rule
	policy *cedar.Policy
}

type cedarProgram []cedarRule

func (cedarEngine) compileFiles(files []file) (compiledRules, error) {
	var out cedarProgram
	for _, f := range files {
		list, err := cedar.NewPolicyListFromBytes(f.name, f.text)
		if err != nil {
			return nil, inCedar(f.name, err)
		}
		for _, p := range list {
			r, err := ruleOf(f.name, p)
			if err != nil {
				return nil, err
			}
			out = append(out, cedarRule{Rule: r, policy: p})
		}
	}
	return out, nil
}

// inCedar adds the location in the file to a parser error. The parser reports it as "<input>:2:8".
func inCedar(name string, err error) error {
	text := strings.TrimPrefix(err.Error(), "parser error: ")
	if before, rest, ok := strings.Cut(text, "<input>:"); ok {
		if line, column, ok := strings.Cut(rest, ":"); ok {
			return fmt.Errorf("%s:%s: %s", name, line, strings.TrimSpace(strings.TrimSuffix(before, " at ")+" in column "+column))
		}
	}
	return fmt.Errorf("%s: %s", name, text)
}

func ruleOf(name string, p *cedar.Policy) (Rule, error) {
	r := Rule{Kind: "deny", File: name, Line: p.Position().Line}
	for key, value := range p.Annotations() {
		switch key {
		case "id":
			r.Name = string(value)
		case "ask":
			r.Kind, r.Reason = "ask", cmp.Or(string(value), r.Reason)
		case "reason":
			r.Reason = cmp.Or(r.Reason, string(value))
		default:
			return r, fmt.Errorf("%s:%d: unknown annotation @%s; use @id, @reason or @ask", name, r.Line, key)
		}
	}
	if p.Effect() == cedar.Permit {
		r.Kind = "permit"
	}
	r.Name = cmp.Or(r.Name, fmt.Sprintf("%s:%d", filepath.Base(name), r.Line))
	r.Reason = cmp.Or(r.Reason, map[string]string{"deny": "one of your rules forbids it", "ask": "one of your rules requires your approval", "permit": "changes nothing"}[r.Kind])
	return r, nil
}

func (p cedarProgram) listRules() []Rule {
	var out []Rule
	for _, r := range p {
		out = append(out, r.Rule)
	}
	return out
}

// evaluateRules evaluates the forbid policies. If one fails, for example because the call lacks an
// argument, evaluateRules returns an error, because the policy might have denied the call.
func (p cedarProgram) evaluateRules(ctx context.Context, f guard.RuleInput) ([]guard.RuleVerdict, error) {
	req, entities, err := cedarRequest(f)
	if err != nil {
		return nil, err
	}
	_, diag := cedar.Authorize(forbids{ctx, p}, entities, req)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, e := range diag.Errors {
		r := p.findRule(e.PolicyID)
		return nil, fmt.Errorf("%s:%d: your rule %s fails on this call: %s; use \"has\" before you read a value that may be missing", r.File, r.Line, r.Name, e.Message)
	}
	var out []guard.RuleVerdict
	for _, d := range diag.Reasons {
		r := p.findRule(d.PolicyID)
		o := guard.RuleVerdict{Verdict: guard.Deny, Rule: r.Name, Reason: r.Reason}
		if r.Kind == "ask" {
			o.Verdict = guard.Ask
		}
		out = append(out, o)
	}
	return out, nil
}

func (p cedarProgram) findRule(id cedar.PolicyID) cedarRule {
	var i int
	if _, err := fmt.Sscan(string(id), &i); err != nil || i < 0 || i >= len(p) {
		return cedarRule{Rule: Rule{Name: string(id)}}
	}
	return p[i]
}

// forbids iterates over all policies except permits, until ctx ends.
type forbids struct {
	ctx context.Context
	p   cedarProgram
}

// All implements cedar.PolicyIterator.
func (f forbids) All() iter.Seq2[cedar.PolicyID, *cedar.Policy] {
	return func(yield func(cedar.PolicyID, *cedar.Policy) bool) {
		for i, r := range f.p {
			if r.Kind == "permit" {
				continue
			}
			if f.ctx.Err() != nil || !yield(cedar.PolicyID(fmt.Sprint(i)), r.policy) {
				return
			}
		}
	}
}

// cedarRequest expresses the facts in Cedar's terms. The principal is a Person in its Channel,
// Agent and Roles, the action is the tool in its Effects and Category, and the resource is the call, whose
// parents are the files, folders, hosts, domains, recipients and sessions that it affects.
func cedarRequest(f guard.RuleInput) (cedar.Request, cedar.EntityMap, error) {
	in, err := inputValues(f)
	if err != nil {
		return cedar.Request{}, nil, err
	}
	record, ok := cedarValue(in).(cedar.Record)
	if !ok {
		return cedar.Request{}, nil, fmt.Errorf("the call of %s cannot be converted to Cedar values", f.Tool)
	}
	req := cedar.Request{
		Principal: cedar.NewEntityUID("Person", cedar.String(personName(f))), Action: cedar.NewEntityUID("Action", cedar.String(f.Tool)),
		Resource: cedar.NewEntityUID("Call", "this"), Context: record,
	}
	parents := func(kind string, names ...string) (out []cedar.EntityUID) {
		for _, n := range names {
			out = append(out, cedar.NewEntityUID(cedar.EntityType(kind), cedar.String(n)))
		}
		return out
	}
	who := append(parents("Channel", f.Channel), parents("Agent", agentName(f))...)
	who = append(who, parents("Role", f.Roles...)...)
	what := append(parents("Effect", f.Effects...), parents("Category", f.Category)...)
	where := parents("Session", f.Session)
	for _, p := range f.Paths {
		where = append(where, parents("File", parentFolders(p)...)...)
	}
	for _, h := range f.Hosts {
		where = append(where, parents("Host", parentDomains(h)...)...)
	}
	for _, to := range f.Recipients {
		where = append(where, parents("Recipient", to)...)
		if _, host, ok := strings.Cut(to, "@"); ok {
			where = append(where, parents("Host", parentDomains(host)...)...)
		}
	}
	entities := cedar.EntityMap{}
	for uid, of := range map[cedar.EntityUID][]cedar.EntityUID{req.Principal: who, req.Action: what, req.Resource: where} {
		entities[uid] = cedar.Entity{UID: uid, Parents: types.NewEntityUIDSet(of...)}
	}
	return req, entities, nil
}

// cedarValue converts JSON to Cedar values. Cedar has 64-bit integers and decimals with 4 digits
// after the point; other numbers become strings. null is omitted, so that "has" reports whether a
// value exists.
func cedarValue(v any) cedar.Value {
	switch v := v.(type) {
	case string:
		return cedar.String(v)
	case bool:
		return cedar.Boolean(v)
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return cedar.Long(n)
		}
		if d, err := types.ParseDecimal(v.String()); err == nil {
			return d
		}
		return cedar.String(v.String())
	case []any:
		list := make([]cedar.Value, 0, len(v))
		for _, x := range v {
			if x != nil {
				list = append(list, cedarValue(x))
			}
		}
		return cedar.NewSet(list...)
	case map[string]any:
		m := cedar.RecordMap{}
		for k, x := range v {
			if x != nil {
				m[cedar.String(k)] = cedarValue(x)
			}
		}
		return cedar.NewRecord(m)
	}
	return cedar.String(fmt.Sprint(v))
}
