package rules_test

import (
	"strings"
	"testing"

	"hob/autonomy/guard/rules"
)

func TestCases(t *testing.T) {
	dir := writeFolder(t, map[string]string{"a.cedar": `@id("night") @reason("it is night")
forbid(principal, action in Effect::"send", resource) when { context.hour >= 22 };
@id("note") @ask("sure?")
forbid(principal, action == Action::"write_file", resource) when { context.args.path like "*.md" };
`})
	cases, err := rules.ParseCases("cases.toml", []byte(`
[[case]]
name = "mail at night"
tool = "send_message"
effects = ["send"]
time = "2026-03-06T23:10"
expect = "deny"
rule = "night"
[[case]]
name = "mail by day"
tool = "send_message"
effects = ["send"]
expect = "none"
[[case]]
name = "a note"
tool = "write_file"
args = { path = "/a.md" }
expect = "ask"
[[case]]
name = "another rule than expected"
tool = "write_file"
args = { path = "/a.md" }
expect = "ask"
rule = "night"
[[case]]
name = "a rule that breaks is no rule that denies"
tool = "write_file"
expect = "deny"
`))
	failOnError(t, err)
	out, err := rules.New(dir, rules.Options{}).Try(t.Context(), cases)
	failOnError(t, err)
	var got []string
	for _, o := range out {
		got = append(got, map[bool]string{true: "ok ", false: "wrong "}[o.OK]+o.Got+" "+o.By)
	}
	if want := "ok deny night|ok none |ok ask note|wrong ask note|wrong deny "; strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", strings.Join(got, "|"), want)
	}
}

func TestCases_RejectsCasesWithoutExpectation(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "contains no",
		"[[case]]\ntool = \"x\"\n":              "expect must be",
		"[[case]]\nexpect = \"deny\"\n":         "has no tool",
		"[[case]]\ntool = \"x\"\nexpct = \"a\"": "c.toml:3: unknown key case.expct",
		"[[case]\n":                             "c.toml:1:",
		"[[case]]\ntool = \"x\"\nexpect = \"deny\"\ntime = \"noon\"\n":    "must be written as",
		"[[case]]\ntool = \"x\"\nexpect = \"deny\"\nwould = \"permit\"\n": "would must be",
	} {
		if _, err := rules.ParseCases("c.toml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
