package acp

import (
	"slices"
	"strings"
)

// Kind is the value of kind in [providers.NAME] for external agents.
const Kind = "acp"

// Preset is a well-known agent.
type Preset struct {
	Name    string // as used in preset = "..."
	Title   string
	Command string // as documented by its vendor
	Args    []string
	// Mode is the mode in which the agent requests permission before changes. The agent's own
	// settings may select a different mode, in which Hob's guard would not be called.
	Mode    string
	Install string // how to install the command
	Login   string // how to sign in
	Source  string // URL of the page that documents the command
}

// Presets lists the well-known agents.
func Presets() []Preset {
	return []Preset{
		{
			Name: "claude", Title: "Claude Code", Command: "npx", Args: []string{"-y", "@agentclientprotocol/claude-agent-acp"}, Mode: "default",
			Install: "install Node.js 20 or newer (https://nodejs.org)",
			Login:   `run "claude" in a terminal and sign in, or list ANTHROPIC_API_KEY in env`,
			Source:  "https://github.com/agentclientprotocol/claude-agent-acp",
		},
		{
			Name: "codex", Title: "Codex", Command: "npx", Args: []string{"-y", "@zed-industries/codex-acp"}, Mode: "read-only",
			Install: "install Node.js 20 or newer (https://nodejs.org)",
			Login:   `run "codex login" in a terminal, or list OPENAI_API_KEY in env`,
			Source:  "https://github.com/zed-industries/codex-acp",
		},
		{
			Name: "copilot", Title: "GitHub Copilot CLI", Command: "copilot", Args: []string{"--acp", "--stdio"},
			Install: "install it: npm install -g @github/copilot",
			Login:   `run "copilot" in a terminal and sign in with /login`,
			Source:  "https://docs.github.com/copilot/reference/acp-server",
		},
		{
			Name: "gemini", Title: "Gemini CLI", Command: "gemini", Args: []string{"--acp"}, Mode: "default",
			Install: "install it: npm install -g @google/gemini-cli",
			Login:   `run "gemini" in a terminal and sign in, or list GEMINI_API_KEY in env and set auth = "gemini-api-key"`,
			Source:  "https://github.com/google-gemini/gemini-cli/blob/main/docs/cli/acp-mode.md",
		},
		{
			Name: "opencode", Title: "OpenCode", Command: "opencode", Args: []string{"acp"},
			Install: "install it: npm install -g opencode-ai",
			Login:   `run "opencode auth login" in a terminal`,
			Source:  "https://opencode.ai/docs/acp",
		},
	}
}

func findPreset(name string) (Preset, bool) {
	all := Presets()
	i := slices.IndexFunc(all, func(p Preset) bool { return p.Name == name })
	if i < 0 {
		return Preset{}, false
	}
	return all[i], true
}

func presetNames() string {
	var out []string
	for _, p := range Presets() {
		out = append(out, p.Name)
	}
	return strings.Join(out, ", ")
}
