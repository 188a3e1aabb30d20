package rules_test

import (
	"os"
	"strings"
	"testing"

	"hob/autonomy/config"
	"hob/autonomy/guard"
	"hob/autonomy/guard/rules"
)

// TestRoles runs the example in docs/policy.md: roles of the configuration are facts of the rules.
func TestRoles(t *testing.T) {
	page, err := os.ReadFile("../../../docs/policy.md")
	failOnError(t, err)
	_, rest, ok := strings.Cut(string(page), "## Roles\n")
	block := func(lang string) string {
		_, text, found := strings.Cut(rest, "```"+lang+"\n")
		text, _, _ = strings.Cut(text, "```")
		if !ok || !found {
			t.Fatalf("docs/policy.md has no %s example of roles", lang)
		}
		return text
	}
	conf, err := config.Parse("config.toml", []byte(block("toml")))
	failOnError(t, err)
	files := map[string]string{"roles.cedar": block("cedar")}
	if rules.Rego() {
		files["roles.rego"] = "package hob\n\nask contains {\"id\": \"rego\", \"reason\": \"x\"} if \"trainee\" in input.agent_roles\n"
	}
	r := rules.New(writeFolder(t, files), rules.Options{Roles: conf})
	for _, tt := range []struct {
		name, person, agent, rule string
		guest                     bool
		want                      guard.Verdict
	}{
		{"a guest with the role", "telegram:42", "", "", true, guard.Allow},
		{"a guest without a role", "telegram:43", "", "family-calendar", true, guard.Deny},
		{"you", "owner", "", "", false, guard.Allow},
		{"an agent with the role", "owner", "research", "trainee", false, guard.Ask},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, err := r.Judge(t.Context(), newInput(func(f *guard.RuleInput) {
				f.Tool, f.Category, f.Person, f.Agent, f.Guest = "create_event", "calendar", tt.person, tt.agent, tt.guest
			}))
			failOnError(t, err)
			if o.Verdict != tt.want || o.Rule != tt.rule && o.Rule != "rego" {
				t.Errorf("%s by %q, want %s by %q", o.Verdict, o.Rule, tt.want, tt.rule)
			}
		})
	}
	cases, err := rules.ParseCases("cases.toml", []byte("[[case]]\ntool = \"create_event\"\ncategory = \"calendar\"\nperson = \"telegram:43\"\nguest = true\nroles = [\"family\"]\nexpect = \"none\"\n"))
	failOnError(t, err)
	if out, err := r.Try(t.Context(), cases); err != nil || !out[0].OK {
		t.Errorf("Try = %+v, %v", out, err)
	}
}
