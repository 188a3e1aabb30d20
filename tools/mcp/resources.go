package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/platform/provenance"
	"hob/tools"
)

// The kinds of tools that Hob adds for a server with resources or prompts. A server's own tool with
// the same name takes precedence.
const (
	listKind     = "list"
	resourceKind = "resource"
	promptKind   = "prompt"
	completeKind = "complete"
)

// addedSpecs returns the tools that give access to the resources and prompts of a server.
func addedSpecs(caps *mcp.ServerCapabilities, own []toolSpec) []toolSpec {
	var out []toolSpec
	add := func(kind, name, text, schema string) {
		if !slices.ContainsFunc(own, func(s toolSpec) bool { return tools.Confusable(s.Name) == tools.Confusable(name) }) {
			out = append(out, toolSpec{Kind: kind, Name: name, Description: text, Schema: json.RawMessage(schema)})
		}
	}
	if caps == nil || caps.Resources == nil && caps.Prompts == nil {
		return nil
	}
	add(listKind, "list_resources", "List the resources and prompts of this MCP server.", `{"type":"object"}`)
	if caps.Resources != nil {
		add(resourceKind, "read_resource", "Read a resource of this MCP server.", `{"type":"object","properties":{"uri":{"type":"string"}},"required":["uri"]}`)
	}
	if caps.Prompts != nil {
		add(promptKind, "get_prompt", "Get a prompt of this MCP server.",
			`{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object","additionalProperties":{"type":"string"}}},"required":["name"]}`)
	}
	if caps.Completions != nil {
		add(completeKind, "complete_argument", "List the values that this MCP server suggests for an argument of a prompt or of a resource template.",
			`{"type":"object","properties":{"prompt":{"type":"string"},"template":{"type":"string"},"argument":{"type":"string"},"value":{"type":"string","description":"the beginning of the value"}},"required":["argument"]}`)
	}
	return out
}

// callAdded runs a tool that Hob added.
func (t *foreignTool) callAdded(ctx context.Context, ses *session, args json.RawMessage) (tools.Result, error) {
	out := tools.Result{Source: provenance.Outside, Origins: []provenance.Origin{{Kind: "mcp", Label: t.s.cfg.Name, Via: t.spec.Name}}}
	var in struct {
		URI       string            `json:"uri"`
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
		Prompt    string            `json:"prompt"`
		Template  string            `json:"template"`
		Argument  string            `json:"argument"`
		Value     string            `json:"value"`
	}
	if len(bytes.TrimSpace(args)) > 0 {
		if err := json.Unmarshal(args, &in); err != nil {
			return out, tools.Errorf(tools.InvalidArguments, "%s: %v", tools.Clean(t.spec.Name), tools.CleanErr(err))
		}
	}
	var text string
	var err error
	switch t.kind {
	case resourceKind:
		text, err = readResource(ctx, ses, in.URI)
	case promptKind:
		text, err = readPrompt(ctx, ses, in.Name, in.Arguments)
	case completeKind:
		ref := &mcp.CompleteReference{Type: "ref/prompt", Name: in.Prompt}
		if in.Template != "" {
			ref = &mcp.CompleteReference{Type: "ref/resource", URI: in.Template}
		}
		if (in.Prompt == "") == (in.Template == "") {
			return out, tools.Errorf(tools.InvalidArguments, "%s: set either prompt or template", tools.Clean(t.spec.Name))
		}
		text, err = completeArgument(ctx, ses, ref, in.Argument, in.Value)
	default:
		text, err = t.s.listOffers(ctx, ses)
	}
	if out.Text = boundText(text); out.Text == "" {
		out.Text = "(empty)"
	}
	return out, err
}

func readResource(ctx context.Context, ses *session, uri string) (string, error) {
	r, err := ses.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, c := range r.Contents {
		b.WriteString(contentText(&mcp.EmbeddedResource{Resource: c}) + "\n")
	}
	return strings.TrimSpace(b.String()), nil
}

func readPrompt(ctx context.Context, ses *session, name string, args map[string]string) (string, error) {
	r, err := ses.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: args})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "%s: %s\n", m.Role, contentText(m.Content))
	}
	return strings.TrimSpace(b.String()), nil
}

// maxValues limits the suggested values of an argument.
const maxValues = 100

func completeArgument(ctx context.Context, ses *session, ref *mcp.CompleteReference, name, value string) (string, error) {
	r, err := ses.Complete(ctx, &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteParamsArgument{Name: name, Value: value}})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i, v := range r.Completion.Values {
		if i == maxValues {
			break
		}
		b.WriteString(strings.Join(strings.Fields(cutText(v, 500)), " ") + "\n")
	}
	if r.Completion.HasMore || len(r.Completion.Values) > maxValues {
		b.WriteString("(more values exist; set a longer value)")
	}
	return strings.TrimSpace(b.String()), nil
}

// withoutNulls removes the null members of an object, which some models send for arguments that
// they omit.
func withoutNulls(v map[string]any) map[string]any {
	out := maps.Clone(v)
	maps.DeleteFunc(out, func(_ string, x any) bool { return x == nil })
	return out
}
