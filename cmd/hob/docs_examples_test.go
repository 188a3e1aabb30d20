package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"hob/platform/host/system"
)

// The scripts docs_PAGE.txtar execute the examples of docs/PAGE.md. The folder docs of such a
// script contains each code block of the page, as NUMBER.LANGUAGE.

const examplePrefix = "docs_"

var codeBlock = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// docExamples returns the code blocks of a page by file name.
func docExamples(page string) (map[string]string, error) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", page+".md"))
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for i, m := range codeBlock.FindAllStringSubmatch(strings.ReplaceAll(string(b), "\r\n", "\n"), -1) {
		out[strings.TrimSuffix(fmt.Sprintf("%d.%s", i+1, m[1]), ".")] = m[2]
	}
	return out, nil
}

// writeDocExamples writes the code blocks for a script docs_PAGE, and nothing for other scripts.
func writeDocExamples(workDir string) error {
	_, page, ok := strings.Cut(filepath.Base(workDir), "script-"+examplePrefix)
	if !ok {
		return nil
	}
	blocks, err := docExamples(page)
	if err != nil {
		return err
	}
	dir := filepath.Join(workDir, "docs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for name, text := range blocks {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// TestDocExamples_AreAllExecuted checks that each code block of a page is used in its script.
// TestScripts runs the scripts.
func TestDocExamples_AreAllExecuted(t *testing.T) {
	for _, page := range []string{"a2a", "connectors", "hooks", "mcp", "policy", "responses", "skills", "tutorial"} {
		script, err := os.ReadFile(filepath.Join("testdata", "script", examplePrefix+page+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		blocks, err := docExamples(page)
		if err != nil || len(blocks) == 0 {
			t.Fatalf("docs/%s.md has %d examples, %v", page, len(blocks), err)
		}
		for name := range blocks {
			if !strings.Contains(string(script), "docs/"+name) {
				t.Errorf("%s%s.txtar does not execute example %s of docs/%s.md", examplePrefix, page, name, page)
			}
		}
	}
}

// replaceText replaces text in a file that must contain it: replace FILE OLD NEW. In NEW,
// \n is a new line.
func replaceText(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace FILE OLD NEW")
	}
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s does not contain %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.ReplaceAll(text, args[1], strings.ReplaceAll(args[2], `\n`, "\n"))), 0o600))
}

// captureText sets a variable to the match in the last output: capture NAME REGEXP.
func captureText(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture NAME REGEXP")
	}
	m := regexp.MustCompile(args[1]).FindString(ts.ReadFile("stdout"))
	if m == "" {
		ts.Fatalf("the output does not match %q", args[1])
	}
	ts.Setenv(args[0], m)
}

// findEndpoint sets HOB_URL and HOB_TOKEN for the running daemon.
func findEndpoint(ts *testscript.TestScript, _ bool, _ []string) {
	home := ts.Getenv("HOB_HOME")
	p := system.Paths{Home: home, Data: home}
	h, _, err := system.Probe(filepath.Join(home, "hob.lock"))
	ts.Check(err)
	d, err := addressOf(p, h.PID)
	ts.Check(err)
	ts.Setenv("HOB_URL", d.base)
	ts.Setenv("HOB_TOKEN", d.token.Reveal())
}

// postFile implements a program that posts a file and prints the response: post URL FILE TOKEN
// [NAME:VALUE]...
func postFile() {
	body, err := os.Open(os.Args[2])
	if err != nil {
		panic(err)
	}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, os.Args[1], body)
	if err != nil {
		panic(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+os.Args[3])
	for _, h := range os.Args[4:] {
		name, v, _ := strings.Cut(h, ":")
		r.Header.Set(name, v)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(os.Stdout, resp.Body)
}

// exampleServer returns an MCP server with the tool read_text_file.
func exampleServer() *mcp.Server {
	type in struct {
		Path string `json:"path"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "read_text_file", Description: "Read a file."}, func(_ context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, any, error) {
		b, err := os.ReadFile(in.Path)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(b)}}}, nil, err
	})
	return s
}

// serveExample implements a program that runs the example MCP server on standard input and output.
func serveExample() {
	if err := exampleServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// listTools implements a program that starts the servers in a file with mcpServers and prints their
// tools.
func listTools() {
	var file struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	b, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = json.Unmarshal(b, &file)
	}
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	for _, s := range file.Servers {
		c := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, nil)
		cs, err := c.Connect(ctx, &mcp.CommandTransport{Command: exec.CommandContext(ctx, s.Command, s.Args...)}, nil)
		if err != nil {
			panic(err)
		}
		for tool, err := range cs.Tools(ctx, nil) {
			if err != nil {
				panic(err)
			}
			fmt.Println(tool.Name)
		}
		_ = cs.Close()
	}
}

// exampleServices starts an MCP server at /mcp, which requires the token "tracker-token", and a
// shop with one order.
func exampleServices(t *testing.T) string {
	mux := http.NewServeMux()
	served := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return exampleServer() }, nil)
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "tracker-token" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		served.ServeHTTP(w, r)
	})
	mux.HandleFunc("/v1/orders", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "shop-token" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `[{"order":"hay"}]`)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// openAISDK returns the folder with the OpenAI SDK that .ci/run installs, or "".
func openAISDK() string {
	dir := os.Getenv("HOB_OPENAI_SDK")
	if dir == "" {
		dir = "../../bin/tools/openai-sdk"
	}
	modules, err := filepath.Abs(filepath.Join(dir, "node_modules"))
	if err != nil {
		return ""
	}
	if _, err := os.Stat(filepath.Join(modules, "openai", "package.json")); err != nil {
		return ""
	}
	return modules
}
