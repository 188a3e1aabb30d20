package rules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"hob/autonomy/guard"
)

// inputValues returns the facts about a call for the rules: plain values under the names in
// docs/policy.md.
func inputValues(f guard.RuleInput) (map[string]any, error) {
	var args any
	dec := json.NewDecoder(bytes.NewReader(f.Args))
	dec.UseNumber() // preserves large numbers exactly
	if len(f.Args) > 0 {
		if err := dec.Decode(&args); err != nil {
			return nil, fmt.Errorf("parse the arguments of %s for rules: %w", f.Tool, err)
		}
	}
	if _, ok := args.(map[string]any); !ok {
		args = map[string]any{}
	}
	return map[string]any{
		"tool": f.Tool, "category": f.Category, "effects": stringValues(f.Effects), "args": args,
		"agent": agentName(f), "person": personName(f), "channel": f.Channel, "session": f.Session, "origin": f.Origin,
		"roles": stringValues(f.Roles), "agent_roles": stringValues(f.AgentRoles),
		"attended": f.Attended, "tainted": f.Tainted, "guest": f.Guest, "level": f.Level,
		"hosts": stringValues(f.Hosts), "urls": stringValues(f.URLs), "recipients": stringValues(f.Recipients), "paths": stringValues(f.Paths),
		"items": json.Number(fmt.Sprint(f.Items)), "would": f.Would,
		"hour": json.Number(fmt.Sprint(f.Time.Hour())), "minute": json.Number(fmt.Sprint(f.Time.Minute())),
		"weekday": strings.ToLower(f.Time.Weekday().String()), "date": f.Time.Format("2006-01-02"),
	}, nil
}

func stringValues(list []string) []any {
	out := make([]any, 0, len(list))
	for _, s := range list {
		out = append(out, s)
	}
	return out
}

// agentName returns the name of the calling agent. For the default agent, whose name is empty in f,
// it returns the default name.
func agentName(f guard.RuleInput) string {
	if f.Agent == "" {
		return "hob"
	}
	return f.Agent
}

// personName returns the author of the message, or "nobody" for an unattended event.
func personName(f guard.RuleInput) string {
	if f.Person == "" {
		return "nobody"
	}
	return f.Person
}

// parentFolders returns a path and its parent folders, nearest first.
func parentFolders(path string) []string {
	out := []string{filepath.ToSlash(path)}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		out = append(out, filepath.ToSlash(dir))
		if dir == filepath.Dir(dir) {
			return out
		}
	}
}

// parentDomains returns a host and its parent domains.
func parentDomains(host string) []string {
	out := []string{host}
	for {
		_, above, ok := strings.Cut(host, ".")
		if !ok {
			return out
		}
		host = above
		out = append(out, host)
	}
}
