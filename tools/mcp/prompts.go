package mcp

import (
	"context"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/tools"
)

// Limits of the prompts of a server.
const (
	maxPrompts    = 100
	maxPromptText = 256 << 10 // bytes
)

// Prompts returns the prompts of the servers to which Hob has connected, as SERVER__NAME. They
// serve as skills; their texts are untrusted. Prompts that need arguments are omitted.
func (m *Manager) Prompts() (out []tools.Prompt) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.servers {
		s.mu.Lock()
		if !s.stopped && s.cfg.Enabled {
			out = append(out, s.prompts...)
		}
		s.mu.Unlock()
	}
	return out
}

// listPrompts reads the list of prompts. If the server fails to list prompts, its tools remain
// available.
func (s *server) listPrompts(ctx context.Context, ses *session) {
	var list []tools.Prompt
	if caps := ses.InitializeResult().Capabilities; caps != nil && caps.Prompts != nil {
		cursor := ""
		for range maxPages {
			page, err := ses.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor})
			if err != nil {
				s.logs.addLine("list prompts: " + err.Error())
				break
			}
			for _, p := range page.Prompts {
				if len(list) < maxPrompts && validTool(p.Name) && !slices.ContainsFunc(p.Arguments, func(a *mcp.PromptArgument) bool { return a != nil && a.Required }) {
					list = append(list, tools.Prompt{
						Server: s.cfg.Name, Name: s.cfg.Name + "__" + p.Name, Description: cutText(p.Description, maxDescription),
						Load: func(ctx context.Context) (string, error) { return s.loadPrompt(ctx, p.Name) },
					})
				}
			}
			if cursor = page.NextCursor; cursor == "" || len(list) == maxPrompts {
				break
			}
		}
	}
	s.mu.Lock()
	s.prompts = list
	s.mu.Unlock()
}

// loadPrompt fetches the text of a prompt.
func (s *server) loadPrompt(ctx context.Context, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	ses, err := s.connectServer(ctx)
	if err != nil {
		return "", err
	}
	text, err := readPrompt(ctx, ses, name, nil)
	if err != nil {
		return "", fmt.Errorf("get the prompt %s: %w", name, err)
	}
	return cutText(text, maxPromptText), nil
}
