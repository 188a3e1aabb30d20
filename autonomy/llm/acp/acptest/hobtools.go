package acptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// headerTransport adds the headers of an MCP server in session/new.
type headerTransport map[string]string

func (h headerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, v := range h {
		r.Header.Set(name, v)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// connectTools opens the MCP server that came with the session. Each prompt uses a new connection.
func (t *turn) connectTools() (*mcp.ClientSession, error) {
	for _, s := range t.servers {
		if s.Http == nil {
			continue
		}
		h := headerTransport{}
		for _, x := range s.Http.Headers {
			h[x.Name] = x.Value
		}
		c := mcp.NewClient(&mcp.Implementation{Name: "acp-test-agent", Version: "1"}, nil)
		return c.Connect(t.ctx, &mcp.StreamableClientTransport{Endpoint: s.Http.Url, HTTPClient: &http.Client{Transport: h}, MaxRetries: -1, DisableStandaloneSSE: true}, nil)
	}
	return nil, errors.New("the session has no MCP server")
}

// listHobTools sends the names of Hob's tools as text.
func (t *turn) listHobTools(string) error {
	s, err := t.connectTools()
	if err != nil {
		t.sayText("no tools: " + err.Error())
		return nil
	}
	defer func() { _ = s.Close() }()
	var names []string
	for tool, err := range s.Tools(t.ctx, nil) {
		if err != nil {
			t.sayText("no list: " + err.Error())
			return nil
		}
		names = append(names, tool.Name)
	}
	t.sayText(strings.Join(names, " "))
	return nil
}

// callHobTool calls a tool, given as NAME JSON, and sends its result as text.
func (t *turn) callHobTool(rest string) error {
	name, args, _ := strings.Cut(rest, " ")
	s, err := t.connectTools()
	if err != nil {
		t.sayText("no tools: " + err.Error())
		return nil
	}
	defer func() { _ = s.Close() }()
	t.sayText(t.callOver(s, name, args))
	return nil
}

func (t *turn) callOver(s *mcp.ClientSession, name, args string) string {
	r, err := s.CallTool(t.ctx, &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
	if err != nil {
		return "error: " + err.Error()
	}
	text := ""
	for _, c := range r.Content {
		if x, ok := c.(*mcp.TextContent); ok {
			text += x.Text
		}
	}
	return text
}

// stealServers writes the MCP servers of the session, with their tokens, into the file "servers"
// and sends them as text.
func (t *turn) stealServers(string) error {
	b, err := json.Marshal(t.servers)
	if err == nil {
		err = os.WriteFile("servers", b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the file servers: %w", err)
	}
	t.sayText(string(b))
	return nil
}
