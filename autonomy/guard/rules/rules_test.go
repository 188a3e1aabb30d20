package rules_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/guard"
	"hob/autonomy/guard/rules"
)

func failOnError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func writeFolder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		failOnError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// fridayEvening is a Friday at 23:10.
func fridayEvening() time.Time { return time.Date(2026, 3, 6, 23, 10, 0, 0, time.UTC) }

func newInput(change func(*guard.RuleInput)) guard.RuleInput {
	f := guard.RuleInput{
		Tool: "write_file", Category: "files", Effects: []string{"write"}, Args: json.RawMessage(`{"path":"/home/me/a.txt","content":"x"}`),
		Person: "owner", Channel: "web", Session: "main", Attended: true, Level: "supervised", Paths: []string{"/home/me/a.txt"}, Items: 1,
		Would: "allow", Time: fridayEvening(),
	}
	if change != nil {
		change(&f)
	}
	return f
}

func judgeInput(t testing.TB, dir string, f guard.RuleInput) (guard.RuleVerdict, error) {
	t.Helper()
	return rules.New(dir, rules.Options{Budget: time.Minute}).Judge(t.Context(), f)
}

func TestCedar(t *testing.T) {
	mail := func(f *guard.RuleInput) {
		f.Tool, f.Category, f.Effects, f.Paths = "send_message", "social", []string{"send"}, nil
		f.Args, f.Recipients = json.RawMessage(`{"to":"ada@example.org","n":1.5,"big":99999999999999999999,"none":null,"list":["a",null]}`), []string{"ada@example.org"}
	}
	tests := []struct {
		name, rule string
		call       func(*guard.RuleInput)
		want       guard.Verdict
	}{
		{"no rule fits", `forbid(principal, action == Action::"other", resource);`, nil, guard.Allow},
		{"everything", `forbid(principal, action, resource);`, nil, guard.Deny},
		{"a permit has no effect", `permit(principal, action, resource);`, nil, guard.Allow},
		{"permit does not override forbid", `permit(principal, action, resource); forbid(principal, action, resource);`, nil, guard.Deny},
		{"ask", `@ask("really?") forbid(principal, action, resource);`, nil, guard.Ask},
		{"deny overrides ask", `@ask("really?") forbid(principal, action, resource); forbid(principal, action, resource);`, nil, guard.Deny},
		{"a tool", `forbid(principal, action == Action::"write_file", resource);`, nil, guard.Deny},
		{"an effect", `forbid(principal, action in Effect::"write", resource);`, nil, guard.Deny},
		{"another effect", `forbid(principal, action in Effect::"send", resource);`, nil, guard.Allow},
		{"one of effects", `forbid(principal, action in [Effect::"send", Effect::"egress"], resource);`, mail, guard.Deny},
		{"a category", `forbid(principal, action in Category::"files", resource);`, nil, guard.Deny},
		{"a folder", `forbid(principal, action, resource in File::"/home/me");`, nil, guard.Deny},
		{"the file itself", `forbid(principal, action, resource in File::"/home/me/a.txt");`, nil, guard.Deny},
		{"a folder of a similar name", `forbid(principal, action, resource in File::"/home/m");`, nil, guard.Allow},
		{"a person", `forbid(principal == Person::"owner", action, resource);`, nil, guard.Deny},
		{"nobody", `forbid(principal == Person::"nobody", action, resource);`, func(f *guard.RuleInput) { f.Person = "" }, guard.Deny},
		{"a channel", `forbid(principal in Channel::"web", action, resource);`, nil, guard.Deny},
		{"an agent", `forbid(principal in Agent::"hob", action, resource);`, nil, guard.Deny},
		{"a session", `forbid(principal, action, resource in Session::"main");`, nil, guard.Deny},
		{"a recipient", `forbid(principal, action, resource in Recipient::"ada@example.org");`, mail, guard.Deny},
		{"the domain of a recipient", `forbid(principal, action, resource in Host::"example.org");`, mail, guard.Deny},
		{"a domain of hosts", `forbid(principal, action, resource in Host::"example.org");`, func(f *guard.RuleInput) { f.Hosts = []string{"api.example.org"} }, guard.Deny},
		{"a host of a similar name", `forbid(principal, action, resource in Host::"example.org");`, func(f *guard.RuleInput) { f.Hosts = []string{"badexample.org"} }, guard.Allow},
		{"at night", `forbid(principal, action, resource) when { context.hour >= 22 || context.hour < 7 };`, nil, guard.Deny},
		{"by day", `forbid(principal, action, resource) when { context.hour >= 22 || context.hour < 7 };`, func(f *guard.RuleInput) { f.Time = fridayEvening().Add(-8 * time.Hour) }, guard.Allow},
		{"on a weekday", `forbid(principal, action, resource) when { context.weekday == "friday" && context.date == "2026-03-06" };`, nil, guard.Deny},
		{"tainted", `forbid(principal, action, resource) when { context.tainted };`, func(f *guard.RuleInput) { f.Tainted = true }, guard.Deny},
		{"unattended", `forbid(principal, action, resource) unless { context.attended };`, func(f *guard.RuleInput) { f.Attended = false }, guard.Deny},
		{"the verdict without rules", `@ask("always") forbid(principal, action, resource) when { context.would == "allow" };`, nil, guard.Ask},
		{"an argument", `forbid(principal, action, resource) when { context.args has content && context.args.content like "*x*" };`, nil, guard.Deny},
		{"numbers", `forbid(principal, action, resource) when { context.args.n.greaterThan(decimal("1.4")) && context.args.big == "99999999999999999999" && context.items == 1 };`, mail, guard.Deny},
		{"null counts as missing", `forbid(principal, action, resource) when { context.args has none || context.args.list != ["a"] };`, mail, guard.Allow},
		{"a list", `forbid(principal, action, resource) when { context.recipients.contains("ada@example.org") };`, mail, guard.Deny},
		{"the level", `forbid(principal, action, resource) when { context.level != "watch" && !context.guest };`, nil, guard.Deny},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, err := judgeInput(t, writeFolder(t, map[string]string{"a.cedar": tt.rule}), newInput(tt.call))
			if err != nil || o.Verdict != tt.want || tt.want != guard.Allow && (o.Rule == "" || o.Reason == "") {
				t.Errorf("%+v, %v; want %s", o, err, tt.want)
			}
		})
	}
}

// Every problem with the rules is an error, and the guard denies the call.
func TestErrors(t *testing.T) {
	long := strings.Repeat(`forbid(principal, action, resource) when { context.args.content like "*a*b*c*d*e*f*g*" };`, 400)
	tests := []struct {
		name, file, text, want string
		call                   func(*guard.RuleInput)
	}{
		{"not Cedar", "a.cedar", "permit(principal, action, resource);\nforbid(principal action, resource);", "a.cedar:2: parse error", nil},
		{"an unknown annotation", "a.cedar", "\n@aks(\"?\") forbid(principal, action, resource);", "a.cedar:2: unknown annotation @aks", nil},
		{"an argument that is missing", "a.cedar", `@id("x") forbid(principal, action, resource) when { context.args.nope == 1 };`, "a.cedar:1: your rule x fails on this call", nil},
		{"a type that does not fit", "a.cedar", `forbid(principal, action, resource) when { context.hour == 3 || context.tool > 3 };`, "fails on this call", nil},
		{"arguments that are no JSON", "a.cedar", `permit(principal, action, resource);`, "parse the arguments of", func(f *guard.RuleInput) { f.Args = json.RawMessage(`{`) }},
		{"no plain file", "a.cedar", "", "must be a regular file", nil},
		{"too large", "a.cedar", strings.Repeat("// x\n", 300_000), "of at most 1024 KB", nil},
		{"too slow", "a.cedar", long, "took longer than", func(f *guard.RuleInput) {
			f.Args, _ = json.Marshal(map[string]string{"content": strings.Repeat("abcdef", 2000)})
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := writeFolder(t, nil)
			if tt.text == "" {
				failOnError(t, os.Mkdir(filepath.Join(dir, tt.file), 0o700))
			} else {
				failOnError(t, os.WriteFile(filepath.Join(dir, tt.file), []byte(tt.text), 0o600))
			}
			budget := time.Minute
			if tt.name == "too slow" {
				budget = time.Nanosecond
			}
			o, err := rules.New(dir, rules.Options{Budget: budget}).Judge(t.Context(), newInput(tt.call))
			if err == nil || !matchesPattern(tt.want, err.Error()) {
				t.Errorf("%+v, %v; want an error like %q", o, err, tt.want)
			}
		})
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	dir := writeFolder(t, map[string]string{"a.cedar": `forbid(principal, action == Action::"x", resource);`})
	if _, err := rules.New(dir, rules.Options{}).Judge(ctx, newInput(nil)); err == nil {
		t.Error("Judge with a canceled context = nil, want an error")
	}
}

// A change to the folder takes effect at the next call. If a file is broken, every call fails, and
// the earlier rules do not apply.
func TestRules_FollowChangesOfTheFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "policy")
	r := rules.New(dir, rules.Options{Budget: time.Minute})
	at := fridayEvening()
	put := func(name, text string) {
		t.Helper()
		failOnError(t, os.MkdirAll(dir, 0o700))
		failOnError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		at = at.Add(time.Second)
		failOnError(t, os.Chtimes(filepath.Join(dir, name), at, at))
	}
	want := func(step string, verdict guard.Verdict, broken bool) {
		t.Helper()
		o, err := r.Judge(t.Context(), newInput(nil))
		if (err != nil) != broken || err == nil && o.Verdict != verdict {
			t.Errorf("%s: Judge = %+v, %v", step, o, err)
		}
	}
	want("no folder", guard.Allow, false)
	put("a.cedar", `forbid(principal, action, resource);`)
	want("a rule", guard.Deny, false)
	put("notes.txt", `not a rule`)
	want("another file", guard.Deny, false)
	put("a.cedar", `forbid(principal, action == Action::"other", resource);`)
	want("the rule changed", guard.Allow, false)
	put("b.cedar", `forbid(`)
	want("an additional broken file", guard.Allow, true)
	failOnError(t, os.Remove(filepath.Join(dir, "b.cedar")))
	want("taken away", guard.Allow, false)
	failOnError(t, os.Symlink("nowhere", filepath.Join(dir, "c.cedar")))
	want("a link to nothing", guard.Allow, true)
}

func TestList(t *testing.T) {
	dir := writeFolder(t, map[string]string{
		"b.cedar": "@id(\"night\")\n@reason(\"it is night\")\nforbid(principal, action, resource) when { context.hour < 7 };\npermit(principal, action, resource);\n",
		"a.cedar": "@ask(\"sure?\")\nforbid(principal, action, resource);\n",
	})
	got, err := rules.New(dir, rules.Options{}).List()
	failOnError(t, err)
	want := []rules.Rule{
		{Name: "a.cedar:1", Kind: "ask", Reason: "sure?", File: filepath.Join(dir, "a.cedar"), Line: 1},
		{Name: "night", Kind: "deny", Reason: "it is night", File: filepath.Join(dir, "b.cedar"), Line: 1},
		{Name: "b.cedar:4", Kind: "permit", Reason: "changes nothing", File: filepath.Join(dir, "b.cedar"), Line: 4},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// I11: rules that this build cannot read cause an error and are not skipped.
func TestIncidentI11RulesAreNotSkipped(t *testing.T) {
	if rules.Rego() {
		t.Skip("this build reads Rego")
	}
	dir := writeFolder(t, map[string]string{"a.rego": "package hob\n"})
	r := rules.New(dir, rules.Options{})
	if _, err := r.Judge(t.Context(), newInput(nil)); !errors.Is(err, rules.ErrNoRego) || !strings.Contains(err.Error(), "-tags rego") {
		t.Errorf("a call: %v", err)
	}
	if err := r.Readable(); !errors.Is(err, rules.ErrNoRego) || !strings.Contains(err.Error(), "a.rego") {
		t.Errorf("Readable() = %v, want ErrNoRego that names a.rego", err)
	}
}
