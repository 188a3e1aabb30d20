package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"hob/autonomy/api"
	"hob/tools"
)

var _ api.MCP = (*Manager)(nil)

// selectServers returns the server with the name of, or all servers if of is empty.
func (m *Manager) selectServers(ctx context.Context, of string) ([]*server, error) {
	if of == "" {
		return m.currentServers(ctx)
	}
	s, err := m.findServer(ctx, of)
	return []*server{s}, err
}

// MCPServers implements api.MCP.
func (m *Manager) MCPServers(ctx context.Context, q api.Query) ([]api.MCPServer, error) {
	list, err := m.selectServers(ctx, q.Of)
	if err != nil {
		return nil, err
	}
	out := []api.MCPServer{}
	for _, s := range list {
		out = append(out, s.describeServer())
	}
	return out, nil
}

// describeServer returns the state of the server.
func (s *server) describeServer() api.MCPServer {
	watched := s.watchedURIs()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := api.MCPServer{Name: s.cfg.Name, State: "idle", Address: cmp.Or(s.cfg.URL, strings.Join(append([]string{s.cfg.Command}, s.cfg.Args...), " ")), StartedAt: s.session.startedAt(), Watched: watched}
	if s.cfg.Command != "" && !s.cfg.Sandbox {
		out.Sandbox = "none"
	}
	for _, p := range s.pins {
		if p.gone {
			continue
		}
		out.Tools++
		if p.next != nil {
			out.Held++
		}
	}
	login := &loginError{}
	switch {
	case !s.cfg.Enabled:
		out.State, out.Cause = "off", errDisabled.Error()
	case s.session != nil:
		out.State, out.Revision = "running", s.session.InitializeResult().ProtocolVersion
		if p := s.session.process; p != nil {
			out.Sandbox = cmp.Or(p.sandbox, "none")
			if n := p.out.strayLines(); n > 0 {
				out.Cause = fmt.Sprintf("it printed %d lines to standard output that are not MCP; see: hob mcp logs %s", n, s.cfg.Name)
			}
		}
		if out.Tools == 0 {
			out.Cause = "it offers no tools"
		}
	case s.connecting != nil:
		out.State = "starting"
	case errors.As(s.cause, &login):
		out.State, out.Cause = "login", login.text
	case s.cause != nil:
		out.State, out.Cause = "failed", s.cause.Error()
	}
	if out.Held > 0 && out.Cause == "" {
		out.Cause = fmt.Sprintf("%d tools changed and are held back; compare them with hob mcp tools %s, then run: hob mcp trust %s", out.Held, s.cfg.Name, s.cfg.Name)
	}
	for name, why := range s.refused {
		if out.Cause == "" {
			out.Cause = fmt.Sprintf("%s is not used: %s", name, why)
		}
	}
	out.Cause = cutText(out.Cause, 1000)
	return out
}

// MCPTools implements api.MCP.
func (m *Manager) MCPTools(ctx context.Context, q api.Query) ([]api.MCPTool, error) {
	list, err := m.selectServers(ctx, q.Of)
	if err != nil {
		return nil, err
	}
	var wait sync.WaitGroup
	for _, s := range list {
		if s.cfg.Enabled && (!s.isKnown() || q.Of != "") {
			wait.Go(func() { s.listNow(ctx) })
		}
	}
	wait.Wait()
	out := []api.MCPTool{}
	for _, s := range list {
		out = append(out, s.toolRows()...)
	}
	return out, nil
}

// listNow updates the list of the server's tools. It logs an error if the server cannot be reached.
func (s *server) listNow(ctx context.Context) {
	ses, err := s.connectServer(ctx)
	if err == nil {
		err = s.updateTools(ctx, ses)
	}
	if err != nil {
		s.logs.addLine("list tools: " + err.Error())
	}
}

// toolRows describes the tools of the server, sorted by name.
func (s *server) toolRows() (out []api.MCPTool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.pins)) {
		p := s.pins[name]
		r := api.MCPTool{
			Name: s.cfg.Name + tools.ForeignSeparator + name, Server: s.cfg.Name, Kind: "tool", State: "ready",
			Effects: newTool(s, p).spec.Effects.Names(), Description: p.spec.Description, Schema: p.spec.Schema,
		}
		switch {
		case p.gone:
			r.State, r.Cause = "gone", "the server no longer offers this tool"
		case p.next != nil:
			r.State, r.Changed, r.Digest = "changed", p.next.Description, p.next.specDigest()
			r.Cause = fmt.Sprintf("changed since Hob first saw this tool, so the tool is held back; to accept the change, run: hob mcp trust %s", s.cfg.Name)
			if string(p.next.Schema) != string(p.spec.Schema) {
				r.NewSchema = p.next.Schema
			}
		}
		out = append(out, r)
	}
	for _, name := range slices.Sorted(maps.Keys(s.refused)) {
		out = append(out, api.MCPTool{Name: s.cfg.Name + tools.ForeignSeparator + name, Server: s.cfg.Name, Kind: "tool", State: "refused", Cause: s.refused[name], Effects: []string{}})
	}
	return out
}

// TestMCP implements api.MCP.
func (m *Manager) TestMCP(ctx context.Context, name string) (api.MCPServer, error) {
	s, err := m.findServer(ctx, name)
	if err != nil {
		return api.MCPServer{}, err
	}
	s.forgetFailures()
	ses, err := s.connectServer(ctx)
	if err == nil {
		err = s.listTools(ctx, ses)
	}
	if err != nil {
		return api.MCPServer{}, fmt.Errorf("MCP server %s: %w", name, err)
	}
	return s.describeServer(), nil
}

// TrustMCP implements api.MCP.
func (m *Manager) TrustMCP(ctx context.Context, name string, digests []string) ([]api.MCPTool, error) {
	s, err := m.findServer(ctx, name)
	if err != nil {
		return nil, err
	}
	if len(digests) == 0 {
		return nil, fmt.Errorf("%w: digests is empty; name the digests of the changed tools that you compared: hob mcp tools %s", api.ErrInvalid, name)
	}
	out := []api.MCPTool{}
	for _, r := range s.toolRows() {
		if r.Digest != "" && slices.Contains(digests, r.Digest) {
			out = append(out, r)
		}
	}
	return out, s.trustTools(ctx, digests)
}

// MCPLogs implements api.MCP.
func (m *Manager) MCPLogs(ctx context.Context, q api.Query) ([]api.MCPLogLine, error) {
	s, err := m.findServer(ctx, q.Of)
	if err != nil {
		return nil, err
	}
	return s.logs.lastLines(cmp.Or(q.Limit, logLines)), nil
}
