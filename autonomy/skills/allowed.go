package skills

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"hob/platform/provenance"
	"hob/tools"
)

// AllowedTool is one entry of allowed-tools.
type AllowedTool struct {
	Tool string // name of the tool, or "PREFIX*" for all tools whose names begin with PREFIX
	// Command is the beginning of the commands that run_command may run, "" for all.
	Command string
}

// String returns the entry as in a SKILL.md file.
func (a AllowedTool) String() string {
	if a.Command == "" {
		return a.Tool
	}
	return a.Tool + "(" + a.Command + ":*)"
}

// runCommand is the only tool whose entries may name arguments.
const runCommand = "run_command"

// knownAliases returns the tools of Hob that correspond to names in skills written for other agents.
func knownAliases(name string) []string {
	return map[string][]string{
		"bash": {runCommand}, "read": {"read_file"}, "write": {"write_file"}, "edit": {"read_file", "write_file"}, "grep": {"search_files"},
		"glob": {"search_files", "list_directory"}, "ls": {"list_directory"}, "webfetch": {"browse_url"}, "websearch": {"web_search"}, "skill": {useSkill},
	}[strings.ToLower(name)]
}

// allowedField reads allowed-tools: names separated by spaces or commas, or a list.
func allowedField(n *yaml.Node) (out []AllowedTool, err error) {
	const field = "allowed-tools"
	var words []string
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag != "!!null" {
			words = splitAllowed(n.Value)
		}
	case yaml.SequenceNode:
		for _, e := range n.Content {
			if e.Kind != yaml.ScalarNode {
				return nil, fieldError(field, "is not a list of names", "write the names of tools, separated by spaces")
			}
			words = append(words, strings.TrimSpace(e.Value))
		}
	default:
		return nil, fieldError(field, "is not a list of names", "write the names of tools, separated by spaces")
	}
	if len(words) > maxAllowed {
		return nil, fieldError(field, fmt.Sprintf("names more than %d tools", maxAllowed), "name fewer, or remove the field")
	}
	for _, w := range words {
		list, err := parseAllowed(w)
		if err != nil {
			return nil, err
		}
		for _, a := range list {
			if !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out, nil
}

// splitAllowed splits at spaces and commas outside of parentheses.
func splitAllowed(s string) []string {
	depth := 0
	return strings.FieldsFunc(s, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return depth <= 0 && (r == ' ' || r == ',' || r == '\t' || r == '\n')
	})
}

func parseAllowed(w string) (out []AllowedTool, err error) {
	const field, remedy = "allowed-tools", "write names such as read_file, or run_command(git:*) for commands that begin with git"
	name, args, limited := strings.Cut(w, "(")
	plain := strings.TrimSuffix(name, "*")
	if plain == "" || strings.ContainsFunc(plain, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return nil, fieldError(field, fmt.Sprintf("%q is not the name of a tool", shortValue(w)), remedy)
	}
	list := knownAliases(name)
	if list == nil {
		list = []string{name}
	}
	command := ""
	if limited {
		inner, ok := strings.CutSuffix(args, ")")
		command = strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(inner, "*"), ":"))
		if !ok || !slices.Equal(list, []string{runCommand}) || strings.ContainsAny(command, "*()\n") {
			return nil, fieldError(field, fmt.Sprintf("%q is not understood", shortValue(w)), remedy)
		}
	}
	for _, t := range list {
		out = append(out, AllowedTool{t, command})
	}
	return out, nil
}

// permitsCall reports whether the entry covers a call.
func (a AllowedTool) permitsCall(tool string, args json.RawMessage) bool {
	if prefix, ok := strings.CutSuffix(a.Tool, "*"); ok && strings.HasPrefix(tool, prefix) {
		return true
	}
	if a.Tool != tool {
		return false
	}
	if a.Command == "" {
		return true
	}
	var in struct {
		Command string `json:"command"`
	}
	if json.Unmarshal(args, &in) != nil || strings.ContainsAny(in.Command, ";&|<>`$(){}\n\\") { // the shell could run a second command or expand variables
		return false
	}
	rest, ok := strings.CutPrefix(strings.TrimSpace(in.Command), a.Command)
	return ok && (rest == "" || rest[0] == ' ')
}

// CheckTool returns a typed denial if the skill in force does not allow the call. It implements
// turn.Skills. It allows every call if the skill no longer exists.
func (l *Library) CheckTool(skill, tool string, args json.RawMessage) error {
	s, ok := l.findUsable(skill)
	if !ok || !s.Limited || slices.ContainsFunc(s.Allowed, func(a AllowedTool) bool { return a.permitsCall(tool, args) }) {
		return nil
	}
	list := make([]string, len(s.Allowed))
	for i, a := range s.Allowed {
		list[i] = a.String()
	}
	e := &tools.Error{
		Source: provenance.Tool, Code: tools.PolicyDenied,
		Message: fmt.Sprintf("%s: while the skill %s is in force, only these tools are allowed: %s", tools.PolicyDenied, s.Name, strings.Join(list, " ")),
		Remedy:  "do without it, or ask the user to send a message that is not about the skill",
	}
	if !s.Trusted() {
		e.Source = provenance.Outside
	}
	return e
}
