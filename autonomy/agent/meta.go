package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"hob/autonomy/llm"
	"hob/tools"
)

// The two tools through which the whole catalogue is reached. They are offered
// in every request; what use_tool names passes the gate like a direct call.
const (
	findTools = "find_tools"
	useTool   = "use_tool"
)

// found is how many tools a search shows.
const found = 8

type useArgs struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// offered is the stable array of every request: the core tools in order of
// name, then the two catalogue tools.
func offered(c *tools.Catalogue) []llm.Tool {
	var out []llm.Tool
	for _, t := range c.Core() {
		s := t.Spec()
		out = append(out, llm.Tool{Name: s.Name, Description: s.Description, Schema: s.Schema})
	}
	return append(
		out,
		llm.Tool{
			Name: findTools, Description: "Find more tools by what they do. Returns names, descriptions and arguments.",
			Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`),
		},
		llm.Tool{
			Name: useTool, Description: "Call a tool that find_tools returned.",
			Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object"}},"required":["name","arguments"]}`),
		},
	)
}

// finder searches the catalogue.
type finder struct{ c *tools.Catalogue }

func (finder) Spec() *tools.Spec {
	return &tools.Spec{Name: findTools, Category: "engine", Description: "Find tools.", Effects: tools.Read}
}

func (f finder) Call(_ context.Context, c tools.Call) (tools.Result, error) {
	var in struct {
		Query string `json:"query"`
	}
	if err := json.Unmarshal(c.Args, &in); err != nil || strings.TrimSpace(in.Query) == "" {
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "find_tools takes {\"query\": \"a few words\"}")
	}
	list := f.c.Search(in.Query, found)
	if len(list) == 0 {
		return tools.Result{Text: "No tool matches; try other words.", Source: "tool"}, nil
	}
	var b strings.Builder
	for _, t := range list {
		s := t.Spec()
		fmt.Fprintf(&b, "%s (%s): %s\n  arguments: %s\n", s.Name, s.Effects, s.Description, s.Schema)
	}
	return tools.Result{Text: b.String(), Source: "tool"}, nil
}

// missing stands in the ledger for a tool that does not exist.
type missing struct{ name string }

func (m missing) Spec() *tools.Spec {
	return &tools.Spec{Name: m.name, Category: "unknown", Effects: tools.Read}
}

func (missing) Call(context.Context, tools.Call) (tools.Result, error) {
	return tools.Result{}, tools.Errorf(tools.NotFound, "no such tool")
}
