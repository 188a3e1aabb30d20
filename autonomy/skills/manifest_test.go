package skills

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const front = "---\nname: tea\ndescription: Makes tea. Use for tea.\n"

func TestParseManifest(t *testing.T) {
	m, body, err := ParseManifest([]byte("\uFEFF---\r\nname: tea\r\ndescription: \"Makes tea: green.\"\r\nlicense: MIT\ncompatibility: Needs a kettle\nmetadata:\n  author: ada\n  version: \"1.0\"\n" +
		"triggers:\n  - brew a cup\nallowed-tools: list_tasks Bash(git log:*) Read mcp__x*\n---\n\n# Steps\n---\nPour.\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Manifest{
		Name: "tea", Description: "Makes tea: green.", License: "MIT", Compatibility: "Needs a kettle", Metadata: map[string]string{"author": "ada", "version": "1.0"},
		Triggers: []string{"brew a cup"}, Limited: true, Allowed: []AllowedTool{{Tool: "list_tasks"}, {Tool: "run_command", Command: "git log"}, {Tool: "read_file"}, {Tool: "mcp__x*"}},
	}
	if diff := cmp.Diff(want, m); diff != "" || body != "# Steps\n---\nPour." {
		t.Errorf("body %q\n%s", body, diff)
	}
	for _, tc := range []struct{ name, text string }{
		{"triggers below metadata", front + "metadata:\n  triggers: [brew a cup, green tea]\n---\n"},
		{"triggers on one line", front + "triggers: brew a cup, green tea\n---\n"},
	} {
		if m, _, err := ParseManifest([]byte(tc.text)); err != nil || len(m.Triggers) != 2 || m.Triggers[1] != "green tea" {
			t.Errorf("%s: %v, %q", tc.name, err, m.Triggers)
		}
	}
}

// Each mistake is refused with the name of the field and a remedy.
func TestParseManifest_NamesFieldAndRemedy(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"no front matter", "# Tea", "front matter: is missing; begin the file"},
		{"not closed", front + "Pour.", "front matter: is not closed; end it"},
		{"no YAML", "---\nname: [tea\n---\n", "not valid YAML"},
		{"a list", "---\n- tea\n---\n", "is not a list of fields"},
		{"an unknown field", front + "model: big\n---\n", "model: line 3: unknown field; move it below metadata"},
		{"a field twice", front + "name: tea\n---\n", "occurs twice"},
		{"no name", "---\ndescription: x\n---\n", "name: is missing; add name"},
		{"an empty name", "---\nname:\ndescription: x\n---\n", "name: is empty"},
		{"capitals", "---\nname: Tea\ndescription: x\n---\n", "name: \"Tea\" is not lower case"},
		{"an underscore", "---\nname: a_b\ndescription: x\n---\n", "characters other than"},
		{"a path", "---\nname: ../tea\ndescription: x\n---\n", "characters other than"},
		{"a hyphen at the end", "---\nname: tea-\ndescription: x\n---\n", "begins or ends with a hyphen"},
		{"two hyphens", "---\nname: a--b\ndescription: x\n---\n", "two hyphens"},
		{"a long name", "---\nname: " + strings.Repeat("z", 65) + "\ndescription: x\n---\n", "65 characters, at most 64"},
		{"a wide letter", "---\nname: \uff54ea\ndescription: x\n---\n", "characters other than"},
		{"no description", "---\nname: tea\n---\n", "description: is missing; say"},
		{"an empty description", "---\nname: tea\ndescription: \" \"\n---\n", "description: is empty"},
		{"a long description", "---\nname: tea\ndescription: " + strings.Repeat("z", 1025) + "\n---\n", "description: has 1025 characters, at most 1024"},
		{"a hidden character", "---\nname: tea\ndescription: a\u202eb\n---\n", "invisible"},
		{"a description in parts", "---\nname: tea\ndescription: [a]\n---\n", "description: is not text"},
		{"long compatibility", front + "compatibility: " + strings.Repeat("z", 501) + "\n---\n", "compatibility: has 501"},
		{"metadata as text", front + "metadata: x\n---\n", "metadata: is not a list of keys"},
		{"an alias", "---\nname: &a tea\ndescription: *a\n---\n", "anchor, an alias or a tag"},
		{"a tag", "---\nname: tea\ndescription: !!binary aGk=\n---\n", "anchor, an alias or a tag"},
		{"a short trigger", front + "triggers: [a]\n---\n", "triggers: \"a\" is too short"},
		{"a tool with arguments", front + "allowed-tools: write_file(x)\n---\n", "allowed-tools: \"write_file(x)\" is not understood"},
		{"tools as a map", front + "allowed-tools: {a: b}\n---\n", "allowed-tools: is not a list"},
		{"no text", "---\nname: tea\n\xff---\n", "encoding: is not UTF-8"},
		{"a large file", front + "---\n" + strings.Repeat("z", maxManifest), "larger than 256 KiB"},
		{"large front matter", "---\nname: tea\n#" + strings.Repeat("z", maxFront) + "\n---\n", "larger than 16 KiB"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := ParseManifest([]byte(tc.text))
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "; ") {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

func FuzzParseManifest(f *testing.F) {
	for _, s := range []string{front + "---\nx", front + "allowed-tools: a b(c:*) \ntriggers: x\n---\n", "---\nname: &a [*a]\n---\n", "---\n---\n", "---\nmetadata: {a: {b: c}}\n---\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, _, err := ParseManifest(b)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("%v does not wrap ErrInvalid", err)
			}
			return
		}
		if m.Name == "" || strings.ContainsAny(m.Name, "/\\. \n") || m.Description == "" || strings.Contains(m.Description, "\n") || len(m.Triggers) > maxTriggers || len(m.Allowed) > 2*maxAllowed {
			t.Fatalf("%+v", m)
		}
	})
}

func TestAllowedTool(t *testing.T) {
	git := AllowedTool{Tool: "run_command", Command: "git log"}
	for _, tc := range []struct {
		a             AllowedTool
		tool, command string
		want          bool
	}{
		{AllowedTool{Tool: "a"}, "a", "", true},
		{AllowedTool{Tool: "a"}, "ab", "", false},
		{AllowedTool{Tool: "a*"}, "ab", "", true},
		{git, "run_command", "git log -3", true},
		{git, "run_command", "git log", true},
		{git, "run_command", "git logs", false},
		{git, "run_command", "git push", false},
		{git, "run_command", "git log; rm x", false},
		{git, "run_command", "git log $(rm x)", false},
		{git, "run_command", "git log\nrm x", false},
		{git, "write_file", "git log", false},
	} {
		args, err := json.Marshal(map[string]string{"command": tc.command})
		if err != nil {
			t.Fatal(err)
		}
		if got := tc.a.permitsCall(tc.tool, args); got != tc.want {
			t.Errorf("%s, %s %q: %t", tc.a, tc.tool, tc.command, got)
		}
	}
}
