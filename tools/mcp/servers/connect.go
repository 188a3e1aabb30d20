package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"hob/autonomy/config"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// ConnectDeps are the dependencies of the tool. Without Config, the tool is omitted.
type ConnectDeps struct {
	// Config returns the current configuration in the file.
	Config func() *config.Config
	// Asked reports whether the user was asked before to approve a call of a tool whose arguments
	// match. Open and approved requests of the event do not count.
	Asked func(ctx context.Context, tool, event string, match func(args json.RawMessage) bool) (bool, error)
}

type connectIn struct {
	Service string `json:"service" jsonschema:"its name, such as github"`
}

// ConnectTool returns connect_service, which asks the user once whether a known service should be
// connected. The approval request is the question; the tool itself only returns the steps.
func ConnectTool(d ConnectDeps) []tools.Tool {
	if d.Config == nil {
		return nil
	}
	return []tools.Tool{tools.New(tools.Def[connectIn]{
		Spec: tools.Spec{
			Name: tools.ConnectService, Category: "mcp", Effects: tools.Send,
			Description: "Ask the user to connect a service whose tools are missing, such as GitHub, Notion or Jira. Returns the steps for the user.",
			Keywords:    "connect service account missing integration " + strings.Join(serviceWords(), " "),
		},
		Summary: func(in connectIn) string {
			if k, ok := findService(in.Service); ok {
				return "Connect " + k.Title + "?"
			}
			return fmt.Sprintf("Connect %.40q?", in.Service)
		},
		Judge: d.assessConnect,
		Run: func(_ context.Context, _ tools.Call, in connectIn) (tools.Result, error) {
			k, ok := findService(in.Service)
			if !ok {
				return tools.Result{}, unknownService(in.Service)
			}
			return tools.Result{Text: k.connectSteps(), Source: provenance.Tool, Data: map[string]any{"service": k.Name, "command": "hob mcp add " + k.Name}}, nil
		},
	})}
}

// serviceWords lists the names of the services. It omits servers that only work on this machine.
func serviceWords() (out []string) {
	for _, k := range knownList() {
		if k.URL != "" || k.Secret != nil {
			out = append(out, k.Name)
			out = append(out, k.Words...)
		}
	}
	return out
}

// findService finds a known server by its name, title or another word.
func findService(s string) (Known, bool) {
	s = textnorm.Fold(strings.TrimSpace(s))
	for _, k := range knownList() {
		if s == k.Name || s == textnorm.Fold(k.Title) || slices.Contains(k.Words, s) {
			return k, true
		}
	}
	return Known{}, false
}

func unknownService(s string) error {
	return tools.Errorf(tools.NotFound, "%q is not a service that Hob knows; tell the user that hob mcp add NAME URL connects any MCP server", tools.Clean(textnorm.Ellipsize(s, 60)))
}

// assessConnect refuses a call if the service is unknown or already connected, or if the user was
// asked before.
func (d ConnectDeps) assessConnect(ctx context.Context, in connectIn) tools.CallAssessment {
	k, ok := findService(in.Service)
	if !ok {
		return tools.CallAssessment{Refused: unknownService(in.Service)}
	}
	if name := connectedAs(d.Config(), k); name != "" {
		return tools.CallAssessment{Refused: tools.Errorf(tools.Conflict, "%s is connected as %s; call find_tools with its name, or tell the user to run: hob mcp test %s", tools.Clean(k.Title), tools.Clean(name), tools.Clean(name))}
	}
	asked, err := d.Asked(ctx, tools.ConnectService, tools.Asking(ctx), func(args json.RawMessage) bool {
		var before connectIn
		if json.Unmarshal(args, &before) != nil {
			return false
		}
		b, ok := findService(before.Service)
		return ok && b.Name == k.Name
	})
	switch {
	case err != nil:
		return tools.CallAssessment{Refused: err}
	case asked:
		return tools.CallAssessment{Refused: tools.Errorf(tools.NotConnected, "%s is not connected, and the user has been asked before; do without it and do not ask again. The user can run: hob mcp add %s", tools.Clean(k.Title), tools.Clean(k.Name))}
	}
	return tools.CallAssessment{Effects: tools.Send, Why: k.Title + " is not connected; approval shows the steps"}
}

// connectedAs returns the name of the configured server for a known one, or "".
func connectedAs(c *config.Config, k Known) string {
	for _, s := range c.MCPServers() {
		known, err := url.Parse(k.URL)
		own, ownErr := url.Parse(s.URL)
		if s.Name == k.Name || k.URL != "" && err == nil && ownErr == nil && own.Host == known.Host {
			return s.Name
		}
	}
	return ""
}

// connectSteps tells the user how to connect.
func (k Known) connectSteps() string {
	var b strings.Builder
	fmt.Fprintf(&b, "To connect %s:\n1. Run in a terminal: hob mcp add %s", k.Title, k.Name)
	if k.NeedsFolder() {
		b.WriteString(" --folder PATH")
	}
	if k.Secret != nil {
		fmt.Fprintf(&b, "\n   It asks for %s, which you get at %s", k.Secret.Label, k.Secret.Page)
	}
	next := 2
	if k.OAuth {
		fmt.Fprintf(&b, "\n%d. Sign in: hob mcp login %s", next, k.Name)
		next++
	}
	fmt.Fprintf(&b, "\n%d. Try it: hob mcp test %s\n%s", next, k.Name, k.Advice)
	return b.String()
}
