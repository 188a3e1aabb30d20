package app

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/autonomy/llm/llmtest"
)

// realAgent is an external agent that others publish; the test provides its model. The environment
// variable env contains the path of the program; without it the test is skipped.
type realAgent struct {
	env     string // name of the environment variable with the path
	args    []string
	section string                       // additional lines in [providers.NAME]
	vars    func(url string) []string    // environment variables of the program
	prepare func(home, url string) error // writes the program's own configuration
	tool    string                       // name of its tool for commands
	input   func(command string) string  // arguments of that tool
}

func realAgents() map[string]realAgent {
	return map[string]realAgent{
		"opencode": {
			env: "HOB_TEST_OPENCODE", args: []string{"acp"}, tool: "bash",
			vars: func(string) []string { return []string{"OPENCODE_DISABLE_AUTOUPDATE=1"} },
			prepare: func(home, url string) error {
				return writeFile(filepath.Join(home, ".config", "opencode", "opencode.json"), fmt.Sprintf(`{"model": "local/scripted", "small_model": "local/scripted",
					"autoupdate": false, "share": "disabled", "permission": {"bash": "ask", "edit": "ask", "webfetch": "ask"},
					"provider": {"local": {"npm": "@ai-sdk/openai-compatible", "name": "Local", "options": {"baseURL": "%s/v1", "apiKey": "k"},
					"models": {"scripted": {"name": "Scripted", "tool_call": true}}}}}`, url))
			},
			input: func(c string) string { return fmt.Sprintf(`{"command":%q,"description":"runs a command"}`, c) },
		},
		"gemini": {
			env: "HOB_TEST_GEMINI_CLI", args: []string{"--acp"}, tool: "run_shell_command", section: "auth = \"gemini-api-key\"\nmode = \"default\"\n",
			vars: func(url string) []string {
				return []string{"GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_MODEL=gemini-2.5-flash"}
			},
			prepare: func(home, _ string) error {
				return writeFile(filepath.Join(home, ".gemini", "settings.json"), `{"general": {"disableAutoUpdate": true}, "privacy": {"usageStatisticsEnabled": false},
					"telemetry": {"enabled": false}, "security": {"auth": {"selectedType": "gemini-api-key"}}}`)
			},
			input: func(c string) string { return fmt.Sprintf(`{"command":%q,"description":"runs a command"}`, c) },
		},
		"claude": {
			env: "HOB_TEST_CLAUDE_ACP", tool: "Bash", section: "mode = \"default\"\n",
			vars: func(url string) []string {
				return []string{"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=" + url, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"}
			},
			prepare: func(string, string) error { return nil },
			input:   func(c string) string { return fmt.Sprintf(`{"command":%q,"description":"runs a command"}`, c) },
		},
	}
}

func writeFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// TestExternalAgent_RealPrograms covers the claims of docs/acp.md: a greeting, a command that the owner allows, one
// that the owner denies, and a session that continues after a restart.
func TestExternalAgent_RealPrograms(t *testing.T) {
	for name, a := range realAgents() {
		t.Run(name, func(t *testing.T) {
			program := os.Getenv(a.env)
			if program == "" {
				t.Skip("set " + a.env + " to the program")
			}
			home := t.TempDir()
			t.Setenv("HOME", home)
			t.Setenv("HOB_HOME", filepath.Join(home, "hob"))
			model := llmtest.NewServer(
				t, llmtest.Options{Otherwise: &llmtest.Answer{Text: "Something aside."}},
				llmtest.Answer{Match: `(?s)still know`, Text: "I do.", Times: -1},
				llmtest.Answer{Match: `(?s)greet me`, Text: "Hello from the script.", Times: -1}, // the agent also requests a title
				llmtest.Answer{Result: `.`, Text: "That is what came of it.", Times: -1},
				llmtest.Answer{Match: `(?s)first command`, Calls: []llmtest.Call{{Name: a.tool, Args: a.input("echo first > first.txt")}}, Times: -1}, // the agent may first ask a small model for the topic
				llmtest.Answer{Match: `(?s)second command`, Calls: []llmtest.Call{{Name: a.tool, Args: a.input("echo second > second.txt")}}, Times: -1},
			)
			failOnError(t, a.prepare(home, model.URL))
			args, err := json.Marshal(a.args)
			failOnError(t, err)
			vars, err := json.Marshal(a.vars(model.URL))
			failOnError(t, err)
			if a.args == nil {
				args = []byte("[]")
			}
			conf := fmt.Sprintf("[providers.real]\nkind = \"acp\"\ncommand = %q\nargs = %s\nenv = %s\ncwd = %q\n%s", program, args, vars, filepath.Join(home, "work"), a.section)
			h := openAtModel(t, home, "real", conf)
			if got := h.askHob("Please greet me."); got != "Hello from the script." {
				t.Errorf("%q", got)
			}
			event, question := h.askApproval("home", "Run the first command.")
			t.Logf("the question: %s", h.awaitDelivery("question", "first").Text)
			h.answerApproval(question, true)
			t.Logf("allowed: %+v", h.awaitEnd(event))
			if _, err := os.Stat(filepath.Join(home, "work", "first.txt")); err != nil {
				t.Errorf("the allowed action did not run: %v", err)
			}
			event, question = h.askApproval("home", "Run the second command.")
			h.answerApproval(question, false)
			t.Logf("denied: %+v", h.awaitEnd(event))
			if _, err := os.Stat(filepath.Join(home, "work", "second.txt")); !os.IsNotExist(err) {
				t.Errorf("the denied action ran: %v", err)
			}
			h.stop()
			h = openAtModel(t, home, "real", conf)
			if got := h.askHob("Do you still know me?"); got != "I do." {
				t.Errorf("answer after a restart = %q", got)
			}
			all := model.Requests()
			if last := string(all[len(all)-1].Body); !strings.Contains(last, "greet me") {
				t.Errorf("after a restart the agent has lost the conversation")
			}
		})
	}
}
