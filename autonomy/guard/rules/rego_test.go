//go:build rego

package rules_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hob/autonomy/guard"
	"hob/autonomy/guard/rules"
)

func TestRego(t *testing.T) {
	tests := []struct {
		name, rule string
		want       guard.Verdict
		rule2      string // the name of the verdict
	}{
		{"no rule", "", guard.Allow, ""},
		{"deny", `deny contains "no" if input.tool == "write_file"`, guard.Deny, "deny"},
		{"ask", `ask contains "sure?" if "write" in input.effects`, guard.Ask, "ask"},
		{"deny overrides ask", "deny contains \"no\" if true\nask contains \"sure?\" if true", guard.Deny, "deny"},
		{"named", `deny contains {"id": "night", "reason": "it is night"} if input.hour >= 22`, guard.Deny, "night"},
		{"a helper", "late if input.hour >= 22\ndeny contains \"late\" if late", guard.Deny, "deny"},
		{"a folder in every path", "deny contains \"private\" if {\n\tsome p in input.paths\n\tstartswith(p, \"/home/me/\")\n}", guard.Deny, "deny"},
		{"an argument that is missing", `deny contains "x" if input.args.nope == 1`, guard.Allow, ""},
		{"an argument", `deny contains "x" if input.args.content == "x"`, guard.Deny, "deny"},
		{"allow is not supported", "allow if true\ndeny contains \"x\" if input.would == \"allow\"", guard.Deny, "deny"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, err := judgeInput(t, writeFolder(t, map[string]string{"a.rego": "package hob\n\n" + tt.rule + "\n"}), newInput(nil))
			if err != nil || o.Verdict != tt.want || o.Rule != tt.rule2 {
				t.Errorf("%+v, %v; want %s", o, err, tt.want)
			}
		})
	}
}

func TestRego_Errors(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"not Rego":              {"package hob\n\ndeny contains", "a.rego:3"},
		"another package":       {"package other\n", "package hob"},
		"an unknown function":   {"package hob\n\ndeny contains \"x\" if foo(1)\n", "a.rego:3.*undefined function"},
		"the network":           {"package hob\n\ndeny contains \"x\" if http.send({\"method\": \"get\", \"url\": \"http://127.0.0.1/\"}).status_code == 200\n", "undefined function http.send"},
		"the environment":       {"package hob\n\ndeny contains opa.runtime().env.HOME if true\n", "undefined function opa.runtime"},
		"a conflict":            {"package hob\n\nx := 1 if true\nx := 2 if true\ndeny contains \"x\" if x == 1\n", "fail on this call"},
		"a function that fails": {"package hob\n\ndeny contains \"x\" if to_number(input.tool) == 1\n", "fail on this call"},
		"no set":                {"package hob\n\ndeny := \"x\"\n", "deny"},
		"an empty element":      {"package hob\n\ndeny contains 1 if true\n", "use a string"},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := judgeInput(t, writeFolder(t, map[string]string{"a.rego": tt.text}), newInput(nil))
			if err == nil || !matchesPattern(tt.want, err.Error()) {
				t.Errorf("%+v, %v; want an error like %q", o, err, tt.want)
			}
		})
	}
}

// A Rego rule that runs too long is canceled.
func TestRego_IsCanceledWhenTooSlow(t *testing.T) {
	dir := writeFolder(t, map[string]string{"a.rego": "package hob\n\ndeny contains \"x\" if {\n\tsome a in numbers.range(1, 3000)\n\tsome b in numbers.range(1, 3000)\n\tsome c in numbers.range(1, 3000)\n\ta * b * c < 0\n}\n"})
	if _, err := rules.New(dir, rules.Options{Budget: time.Second}).Judge(t.Context(), newInput(nil)); err == nil || !matchesPattern("took longer than", err.Error()) {
		t.Error(err)
	}
}

// Both languages apply together: the strictest verdict counts.
func TestRules_StrictestOfBothLanguagesCounts(t *testing.T) {
	dir := writeFolder(t, map[string]string{"a.rego": "package hob\n\nask contains \"rego\" if true\n", "a.cedar": `@id("c") forbid(principal, action in Effect::"write", resource);`})
	f := newInput(func(f *guard.RuleInput) { f.Args = json.RawMessage(`{}`) })
	if o, err := judgeInput(t, dir, f); err != nil || o.Verdict != guard.Deny || o.Rule != "c" {
		t.Errorf("%+v, %v", o, err)
	}
	r := rules.New(dir, rules.Options{Budget: time.Minute})
	list, err := r.List()
	if err != nil || len(list) != 2 || list[1].Kind != "ask" || list[1].Line != 3 {
		t.Errorf("List = %+v, %v", list, err)
	}
	if err := r.Readable(); err != nil {
		t.Error(err)
	}
	failOnError(t, os.WriteFile(filepath.Join(dir, "b.rego"), []byte("package hob\n\ndeny contains \"b\" if input.args.x\n"), 0o600))
	if o, err := judgeInput(t, dir, newInput(func(f *guard.RuleInput) { f.Effects, f.Args = []string{"read"}, json.RawMessage(`{"x":true}`) })); err != nil || o.Verdict != guard.Deny {
		t.Errorf("Judge with two files = %+v, %v", o, err)
	}
}
