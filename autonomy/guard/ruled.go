package guard

import (
	"context"
	"encoding/json"
	"time"

	"hob/tools"
)

// Rules evaluates the owner's rules. They can only restrict: a call that needs approval according
// to the table still needs it if a rule permits the call.
type Rules interface {
	// Judge returns the objection of the rules to a call, or a verdict of Allow if no rule objects.
	// An error denies the call. Users see the error text, which includes the remedy.
	Judge(ctx context.Context, f RuleInput) (RuleVerdict, error)
}

// RuleVerdict is the verdict of the owner's rules on one call.
type RuleVerdict struct {
	Verdict Verdict // Deny or Ask; Allow means that no rule objects
	Rule    string  // name or location of the rule
	Reason  string  // reason in the owner's own words
}

// RuleInput holds the input for rules. Lists may be empty but are never nil.
type RuleInput struct {
	Tool     string          `json:"tool"`
	Category string          `json:"category"`
	Effects  []string        `json:"effects"` // effects of this call, not of the tool in general
	Args     json.RawMessage `json:"args"`
	// Agent is the calling agent. Person is the author of the message ("owner", "channel:sender",
	// or "" for none). Origin is the entry point.
	Agent  string `json:"agent"`
	Person string `json:"person"`
	// Roles holds the roles of the person, and AgentRoles the roles of the agent. Package rules
	// fills them in.
	Roles      []string `json:"roles"`
	AgentRoles []string `json:"agent_roles"`
	Channel    string   `json:"channel"`
	Session    string   `json:"session"`
	Origin     string   `json:"origin"`
	Attended   bool     `json:"attended"`
	Tainted    bool     `json:"tainted"`
	Guest      bool     `json:"guest"`
	Level      string   `json:"level"`
	// The targets of the call: hosts in addresses, recipients, and absolute paths.
	Hosts      []string `json:"hosts"`
	URLs       []string `json:"urls"`
	Recipients []string `json:"recipients"`
	Paths      []string `json:"paths"`
	Items      int      `json:"items"`
	// Would is the decision without the rules: "allow" or "ask".
	Would string    `json:"would"`
	Time  time.Time `json:"time"` // in the owner's time zone
}

// ruleInput returns the input for the rules.
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
// stricter decision. own reports whether a rule decided.
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
