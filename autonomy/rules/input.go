package rules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"hob/autonomy/guard"
)

// input returns the facts of a call for the rules: plain values under the names in
// docs/policy.md.
func input(f guard.Facts) (map[string]any, error) {
	var args any
	dec := json.NewDecoder(bytes.NewReader(f.Args))
	dec.UseNumber() // exact for large numbers
	if len(f.Args) > 0 {
		if err := dec.Decode(&args); err != nil {
			return nil, fmt.Errorf("parse the arguments of %s for rules: %w", f.Tool, err)
		}
	}
	if _, ok := args.(map[string]any); !ok {
		args = map[string]any{}
	}
	return map[string]any{
		"tool": f.Tool, "category": f.Category, "effects": texts(f.Effects), "args": args,
		"agent": agent(f), "person": person(f), "channel": f.Channel, "session": f.Session, "origin": f.Origin,
		"attended": f.Attended, "tainted": f.Tainted, "guest": f.Guest, "level": f.Level,
		"hosts": texts(f.Hosts), "urls": texts(f.URLs), "recipients": texts(f.Recipients), "paths": texts(f.Paths),
		"items": json.Number(fmt.Sprint(f.Items)), "would": f.Would,
		"hour": json.Number(fmt.Sprint(f.Time.Hour())), "minute": json.Number(fmt.Sprint(f.Time.Minute())),
		"weekday": strings.ToLower(f.Time.Weekday().String()), "date": f.Time.Format("2006-01-02"),
	}, nil
}

func texts(list []string) []any {
	out := make([]any, 0, len(list))
	for _, s := range list {
		out = append(out, s)
	}
	return out
}

// agent returns the name of the calling agent, also for the default one, whose name is empty.
func agent(f guard.Facts) string {
	if f.Agent == "" {
		return "hob"
	}
	return f.Agent
}

// person returns the author of the message; unattended events have none.
func person(f guard.Facts) string {
	if f.Person == "" {
		return "nobody"
	}
	return f.Person
}

// folders returns a path and its parent folders, nearest first.
func folders(path string) []string {
	out := []string{filepath.ToSlash(path)}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		out = append(out, filepath.ToSlash(dir))
		if dir == filepath.Dir(dir) {
			return out
		}
	}
}

// domains returns a host and its parent domains.
func domains(host string) []string {
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
