package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hob/autonomy/llm"
	"hob/autonomy/turn/prompt"
	"hob/platform/provenance"
	"hob/tools"
)

// The two tools that give access to all other tools. Every request contains them. The guard treats
// a call through use_tool like a direct call.
const (
	findTools = "find_tools"
	useTool   = "use_tool"
)

// useSkill is the tool that puts a skill in force.
const useSkill = "use_skill"

// A search shows some tools with their arguments and names a few more without them.
const (
	shown = 5
	named = 4
)

type useArgs struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// offeredTools returns the list of tools in every request, which is constant: the core tools sorted
// by name, and then the two catalog tools.
func offeredTools(c *tools.Catalog) []llm.Tool {
	var out []llm.Tool
	for _, t := range c.Core() {
		s := t.Spec()
		out = append(out, llm.Tool{Name: s.Name, Description: s.Description, Schema: s.Schema.Raw()})
	}
	return append(
		out,
		llm.Tool{
			Name: findTools, Description: "Find more tools by what they do, or list a category. Returns names and arguments.",
			Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`),
		},
		llm.Tool{
			Name: useTool, Description: "Call a tool that find_tools returned.",
			Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object"}},"required":["name","arguments"]}`),
		},
	)
}

// toolFinder searches the catalog and the skills.
type toolFinder struct {
	c      *tools.Catalog
	skills Skills // nil if there are none
}

// foundSkills is the maximum number of skills that a search shows.
const foundSkills = 3

func (toolFinder) Spec() *tools.Spec {
	return &tools.Spec{Name: findTools, Category: engineCategory, Description: "Find tools.", Effects: tools.Read}
}

func (f toolFinder) Call(_ context.Context, c tools.Call) (tools.Result, error) {
	var in struct {
		Query string `json:"query"`
	}
	if err := json.Unmarshal(c.Args, &in); err != nil || strings.TrimSpace(in.Query) == "" {
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "find_tools takes {\"query\": \"a few words\"}")
	}
	if k := f.c.MatchCategory(in.Query); len(k) > 0 {
		return categoryListing(k), nil
	}
	list := f.c.Search(in.Query, shown+named)
	var skills []prompt.Note
	if f.skills != nil {
		skills = f.skills.Find(in.Query, foundSkills)
	}
	if len(list)+len(skills) == 0 {
		return tools.Result{Text: noMatchText(f.c.Nearest(in.Query)), Source: provenance.Tool}, nil
	}
	var b strings.Builder
	r := tools.Result{Source: provenance.Tool}
	for i, t := range list {
		s := t.Spec()
		switch {
		case i < shown:
			fmt.Fprintf(&b, "%s\n", s.Signature())
			r.Source = provenance.Worst(r.Source, specSource(s))
		case i == shown:
			fmt.Fprintf(&b, "Also: %s", s.Name)
		default:
			fmt.Fprintf(&b, ", %s", s.Name)
		}
	}
	for i, n := range skills {
		if i == 0 && len(list) > shown {
			b.WriteString("\n")
		}
		b.WriteString(n.Text + "\n")
		if n.Source.Tainted() {
			r.Source = provenance.Outside
			r.Origins = append(r.Origins, provenance.Origin{Kind: "skill", Label: n.Title})
		}
	}
	r.Text = strings.TrimSpace(b.String())
	return r, nil
}

// specSource returns the provenance of the text in a spec.
func specSource(s *tools.Spec) provenance.Source {
	if s.Foreign {
		return provenance.Outside
	}
	return provenance.Tool
}

// categoryListing returns the tools in one category, or the names of the tools in several
// categories.
func categoryListing(list []tools.Category) tools.Result {
	r := tools.Result{Source: provenance.Tool}
	var b strings.Builder
	for _, k := range list {
		if len(list) > 1 {
			fmt.Fprintf(&b, "%s: %s\n", k.Name, toolNames(k.Tools))
			continue
		}
		for _, t := range k.Tools {
			s := t.Spec()
			fmt.Fprintf(&b, "%s [%s] %s\n", s.Name, s.Effects, s.Summary())
			r.Source = provenance.Worst(r.Source, specSource(s))
		}
		b.WriteString("Ask for a name to see its arguments.")
	}
	r.Text = strings.TrimSpace(b.String())
	return r
}

func toolNames(list []tools.Tool) string {
	var out []string
	for _, t := range list {
		out = append(out, t.Spec().Name)
	}
	return strings.Join(out, ", ")
}

// noMatchText returns the result of a search that found nothing. It lists the categories.
func noMatchText(list []tools.Category) string {
	var b strings.Builder
	b.WriteString("No tool matches; try other words, or one of the categories")
	for i, k := range list {
		fmt.Fprintf(&b, "%s %s", map[bool]string{true: ":", false: ","}[i == 0], k.Name)
	}
	b.WriteString(".")
	return b.String()
}

// missingTool stands in for a tool that does not exist, so that the ledger can record the call.
type missingTool struct{ name string }

func (m missingTool) Spec() *tools.Spec {
	return &tools.Spec{Name: m.name, Category: "unknown", Effects: tools.Read}
}

func (missingTool) Call(context.Context, tools.Call) (tools.Result, error) {
	return tools.Result{}, tools.Errorf(tools.NotFound, "no such tool")
}

// routingMiddleware finds the tool that a call actually uses, even inside use_tool.
func (tc *toolCalls) routingMiddleware() middleware {
	return middleware{name: "route", early: true, beforeTool: func(_ context.Context, s *callStep) error {
		name := s.call.Name
		if s.call.Truncated {
			return tools.Errorf(tools.TruncatedCall, "the arguments of %s were cut off, so nothing was done; call again with shorter arguments", tools.Clean(name))
		}
		if name == useTool {
			var in useArgs
			if err := json.Unmarshal(s.call.Args, &in); err != nil || in.Name == "" {
				return tools.Errorf(tools.InvalidArguments, "use_tool takes {\"name\": ..., \"arguments\": {...}}")
			}
			name, s.args = in.Name, in.Arguments
			if len(s.args) == 0 {
				s.args = json.RawMessage("{}")
			}
		}
		if name == findTools {
			s.tool = toolFinder{tc.o.Catalog, tc.o.Skills}
			return nil
		}
		t, ok := tc.o.Catalog.Get(name)
		if other, there := tc.findOtherAgentTool(name); !ok && there {
			s.tool = other
			return tools.Errorf(tools.PolicyDenied, "%s is not one of your tools; do without it, or say what is missing", tools.Clean(name))
		}
		if service, _, foreign := strings.Cut(name, "__"); !ok && foreign && tc.canConnect(service) {
			return tools.Errorf(tools.NotConnected, "there is no tool %q, because its service is not connected; call %s with {\"service\": %q}", tools.Clean(name), tools.Clean(tools.ConnectService), tools.Clean(service))
		}
		if !ok {
			return tools.Errorf(tools.NotFound, "there is no tool %q; call find_tools with a few words", tools.Clean(name))
		}
		s.tool = tools.For(t, s.args)
		return nil
	}}
}

// canConnect reports whether the user may be asked to connect a service: it has no tools, and the
// agent has the tool that asks.
func (tc *toolCalls) canConnect(service string) bool {
	_, ok := tc.o.Catalog.Get(tools.ConnectService)
	return ok && !slices.ContainsFunc(tc.o.Catalog.All(), func(t tools.Tool) bool { return strings.HasPrefix(t.Spec().Name, service+"__") })
}

// findOtherAgentTool finds a tool that exists but that this agent may not use.
func (tc *toolCalls) findOtherAgentTool(name string) (tools.Tool, bool) {
	if tc.o.Whole == nil {
		return nil, false
	}
	return tc.o.Whole.Get(name)
}

// schemaMiddleware checks the arguments against the schema of the tool.
func (tc *toolCalls) schemaMiddleware() middleware {
	return middleware{name: "schema", early: true, beforeTool: func(_ context.Context, s *callStep) error {
		return tools.Check(s.tool, s.args)
	}}
}

// skillMiddleware refuses the calls that a skill in force does not allow. The tools that control the
// turn itself stay allowed.
func (tc *toolCalls) skillMiddleware() middleware {
	return middleware{name: "skills", beforeTool: func(_ context.Context, s *callStep) error {
		if s.tool == nil || s.tool.Spec().Category == engineCategory && s.tool.Spec().Effects.ReadOnly() {
			return nil
		}
		for _, name := range tc.conv.skillsInForce() {
			if err := tc.o.Skills.CheckTool(name, s.tool.Spec().Name, s.args); err != nil {
				return err
			}
		}
		return nil
	}}
}

// engineCategory is the category of the tools that control the turn itself.
const engineCategory = "engine"

// skillsInForce returns the names of the skills whose instructions this turn contains: those that
// Hob added to the message, and those that the model loaded. It reads only what is recorded, so that
// a turn that continues after a crash has the same skills.
func (c *conversation) skillsInForce() (out []string) {
	add := func(name string) {
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, m := range c.msgs[c.own:] {
		for _, p := range m.Parts {
			add(p.Skill)
			if p.Call == nil || m.Role != llm.Assistant {
				continue
			}
			name, args := p.Call.Name, p.Call.Args
			var inner useArgs
			if name == useTool && json.Unmarshal(args, &inner) == nil {
				name, args = inner.Name, inner.Arguments
			}
			var in struct{ Name string }
			if name == useSkill && json.Unmarshal(args, &in) == nil {
				add(strings.TrimSpace(in.Name))
			}
		}
	}
	return out
}
