package toolstest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"hob/tools"
)

// Fixture reads a file of unregistered tool specs, which measure searches and prompts. Each line is
// "NAME | EFFECTS | DESCRIPTION | KEYWORDS | ARGUMENTS".
func Fixture(t testing.TB, file string) []tools.Tool {
	t.Helper()
	var out []tools.Tool
	category := ""
	for _, line := range dataLines(t, file) {
		if c, ok := strings.CutPrefix(line, "= "); ok {
			category = c
			continue
		}
		f := strings.Split(line, " | ")
		if len(f) != 5 {
			t.Fatalf("%s: %d columns in %q", file, len(f), line)
		}
		schema := argumentSchema(t, f[4])
		out = append(out, SpecOnly(tools.Spec{
			Name: f[0], Category: category, Effects: parseEffects(t, f[1]), Description: f[2], Keywords: f[3], Schema: func() json.RawMessage { return schema },
		}))
	}
	return out
}

// SpecOnly returns a tool without an implementation.
func SpecOnly(spec tools.Spec) tools.Tool { return specOnlyTool{spec} }

type specOnlyTool struct{ spec tools.Spec }

func (i specOnlyTool) Spec() *tools.Spec { return &i.spec }
func (i specOnlyTool) Call(context.Context, tools.Call) (tools.Result, error) {
	return tools.Result{}, tools.Errorf(tools.Unsupported, "%s has only a specification and cannot be called", tools.Clean(i.spec.Name))
}

func parseEffects(t testing.TB, s string) tools.Effects {
	t.Helper()
	for e := tools.Read; e <= tools.Secret; e <<= 1 {
		if e.String() == s {
			return e
		}
	}
	t.Fatalf("there is no effect %q", s)
	return 0
}

// argumentSchema builds a schema from a string such as "path! string, limit integer"; "!" marks a
// required argument.
func argumentSchema(t testing.TB, s string) json.RawMessage {
	t.Helper()
	properties, required := map[string]any{}, []string{}
	for _, a := range strings.Split(s, ", ") {
		name, kind, ok := strings.Cut(a, " ")
		if !ok {
			continue
		}
		name, must := strings.CutSuffix(name, "!")
		if must {
			required = append(required, name)
		}
		p := map[string]any{"type": kind}
		if kind == "array" {
			p["items"] = map[string]any{"type": "string"}
		}
		properties[name] = p
	}
	raw, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Request is one labeled search. Each of the listed tools is a correct result.
type Request struct {
	Kind, Text string
	Want       []string
}

// Requests reads a file of labeled searches. Each line is "KIND | REQUEST | TOOL, TOOL".
func Requests(t testing.TB, file string) []Request {
	t.Helper()
	var out []Request
	for _, line := range dataLines(t, file) {
		f := strings.Split(line, " | ")
		if len(f) != 3 {
			t.Fatalf("%s: %d columns in %q", file, len(f), line)
		}
		out = append(out, Request{Kind: f[0], Text: f[1], Want: strings.Split(f[2], ", ")})
	}
	return out
}

// dataLines returns the lines of a file, except for empty lines and comments.
func dataLines(t testing.TB, file string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n")
	return slices.DeleteFunc(lines, func(s string) bool { return strings.TrimSpace(s) == "" || strings.HasPrefix(s, "#") })
}

// Recall counts the requests of a kind (N), the requests with a correct tool as the first result
// (First), and the requests with a correct tool among the first five results (Top).
type Recall struct {
	Kind          string
	N, First, Top int
}

func (r Recall) String() string {
	n := float64(max(1, r.N))
	return fmt.Sprintf("%s | %d | %.3f | %.3f", r.Kind, r.N, float64(r.First)/n, float64(r.Top)/n)
}

// At5 returns the share of requests with a correct tool among the first five results.
func (r Recall) At5() float64 { return float64(r.Top) / float64(max(1, r.N)) }

// Measure runs the search for every request. It returns one row per kind, in order of first
// occurrence, then one row for all kinds, and the requests without a match.
func Measure(c *tools.Catalog, list []Request) (rows []Recall, missed []string) {
	all := Recall{Kind: "all"}
	for _, q := range list {
		i := slices.IndexFunc(rows, func(r Recall) bool { return r.Kind == q.Kind })
		if i < 0 {
			i = len(rows)
			rows = append(rows, Recall{Kind: q.Kind})
		}
		var found []string
		rank := -1
		for n, x := range c.Search(q.Text, 5) {
			found = append(found, x.Spec().Name)
			if rank < 0 && slices.Contains(q.Want, x.Spec().Name) {
				rank = n
			}
		}
		for _, r := range []*Recall{&rows[i], &all} {
			r.N++
			if rank == 0 {
				r.First++
			}
			if rank >= 0 {
				r.Top++
			}
		}
		if rank < 0 {
			missed = append(missed, fmt.Sprintf("%s: %q wants %v, found %v", q.Kind, q.Text, q.Want, found))
		}
	}
	return append(rows, all), missed
}
