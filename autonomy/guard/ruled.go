package guard

import (
	"context"
	"encoding/json"
	"time"

	"hob/tools"
)

// Rules are the owner's rules. They can only restrict: the table's questions remain even if a
// rule permits the call.
type Rules interface {
	// Judge reports whether a rule objects to a call: it returns Allow if no rule does. An error
	// denies the call. Users see the error text, which names the remedy.
	Judge(ctx context.Context, f RuleInput) (RuleVerdict, error)
}

// RuleVerdict is the verdict of the owner's rules on one call.
type RuleVerdict struct {
	Verdict Verdict // Deny or Ask; Allow: no rule objects
	Rule    string  // its name or location
	Reason  string  // the owner's own words
}

// RuleInput are the inputs of rules. Lists may be empty and are never nil.
type RuleInput struct {
	Tool     string          `json:"tool"`
	Category string          `json:"category"`
	Effects  []string        `json:"effects"` // of this very call
	Args     json.RawMessage `json:"args"`
	// Agent is the calling agent, Person the author of the message ("owner", "channel:sender",
	// or "" for none), Origin the entry point.
	Agent    string `json:"agent"`
	Person   string `json:"person"`
	Channel  string `json:"channel"`
	Session  string `json:"session"`
	Origin   string `json:"origin"`
	Attended bool   `json:"attended"`
	Tainted  bool   `json:"tainted"`
	Guest    bool   `json:"guest"`
	Level    string `json:"level"`
	// Targets of the call: hosts of addresses, recipients, absolute paths.
	Hosts      []string `json:"hosts"`
	URLs       []string `json:"urls"`
	Recipients []string `json:"recipients"`
	Paths      []string `json:"paths"`
	Items      int      `json:"items"`
	// Would is the decision without a rule: "allow" or "ask".
	Would string    `json:"would"`
	Time  time.Time `json:"time"` // in the owner's zone
}

// ruleInput builds the input of the rules.
func (g *Guard) ruleInput(r Request, d Decision) RuleInput {
	s := r.Tool.Spec()
	f := RuleInput{
		Tool: s.Name, Category: s.Category, Effects: r.callEffects().Names(), Args: r.Args, Agent: r.Agent, Person: r.Person, Channel: r.Channel,
		Session: r.Session, Origin: r.Origin, Attended: r.Attended, Tainted: r.Tainted, Guest: r.Guest, Level: string(g.effectiveLevel(r)),
		Hosts: hostsOf(r.judged.URLs), URLs: append([]string{}, r.judged.URLs...), Recipients: append([]string{}, r.judged.To...), Paths: []string{},
		Items: max(1, r.judged.Items), Would: d.Verdict.String(), Time: time.Now().In(g.opt.Zone()),
	}
	if p, ok := r.Tool.(tools.Pather); ok {
		f.Paths = append(f.Paths, p.Paths(r.Args)...)
	}
	return f
}

// applyRules evaluates the owner's rules for a call that the table does not deny, and returns the
// stricter decision. own is true if a rule decided.
func (g *Guard) applyRules(ctx context.Context, r Request, d Decision) (_ Decision, own bool) {
	if g.opt.Rules == nil {
		return d, false
	}
	o, err := g.opt.Rules.Judge(ctx, g.ruleInput(r, d))
	switch {
	case err != nil:
		return Decision{Verdict: Deny, Rule: "your rules cannot be applied", Reason: err.Error(), Code: tools.PolicyDenied}, true
	case o.Verdict == Allow:
		return d, false
	case o.Verdict == Ask:
		return Decision{Verdict: Ask, Rule: "your rule " + o.Rule, Reason: o.Reason}, true
	}
	return Decision{Verdict: Deny, Rule: "your rule " + o.Rule, Reason: "your rule " + o.Rule + ": " + o.Reason, Code: tools.PolicyDenied}, true
}
