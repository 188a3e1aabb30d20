package app

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/autonomy/llm/llmtest"
	"hob/tools/mcp/servers"
)

// npmServers returns the folder of the MCP servers that .ci/run installs, and the path of Node.js.
func npmServers(t *testing.T) (modules, node string) {
	t.Helper()
	skipRaced(t)
	dir := os.Getenv("HOB_MCP_SERVERS")
	if dir == "" {
		dir = "../../../../bin/tools/mcp-servers"
	}
	modules, err := filepath.Abs(filepath.Join(dir, "node_modules"))
	failOnError(t, err)
	for _, name := range []string{"filesystem", "memory", "everything"} {
		if _, err := os.Stat(npmServer(modules, name)); err != nil {
			t.Skipf("the npm servers are missing; .ci/run installs them: %v", err)
		}
	}
	if node, err = exec.LookPath("node"); err != nil {
		t.Skip("Node.js is missing")
	}
	return modules, node
}

func npmServer(modules, name string) string {
	return filepath.Join(modules, "@modelcontextprotocol", "server-"+name, "dist", "index.js")
}

// effectsOf returns the effects table of a known server, and an error if the installed version is
// not the version that `hob mcp add` configures.
func effectsOf(t *testing.T, modules, name string) string {
	t.Helper()
	k, ok := servers.Find(name)
	b, err := os.ReadFile(filepath.Join(modules, "@modelcontextprotocol", "server-"+name, "package.json"))
	failOnError(t, err)
	var pkg struct{ Version string }
	failOnError(t, json.Unmarshal(b, &pkg))
	if !ok || !strings.HasSuffix(k.Args[1], "@"+pkg.Version) {
		t.Errorf("%s: version %s is installed, but hob mcp add configures %v", name, pkg.Version, k.Args)
	}
	lines := "[mcp.servers." + name + ".effects]\n"
	for tool, effect := range k.Effects {
		lines += fmt.Sprintf("%s = %q\n", tool, effect)
	}
	return lines
}

// dayFixture is a Hob whose model makes the tool call in a message ("TOOL ARGUMENTS") and answers with the
// result.
type dayFixture struct {
	*daemonFixture
	session string // the conversation of the calls; empty means a new one for each call
	turn    int
}

func openDay(t *testing.T, home, conf string) *dayFixture {
	t.Helper()
	model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Reply: func(r llmtest.Request) (llmtest.Answer, bool) {
		if len(r.Results) > 0 {
			return llmtest.Answer{Text: "RESULT " + r.Results[len(r.Results)-1].Text}, true
		}
		at := strings.LastIndex(r.LastUser, "call ") // earlier calls may be remembered before it
		if at < 0 {
			return llmtest.Answer{Text: "Well."}, true
		}
		tool, args, _ := strings.Cut(r.LastUser[at+len("call "):], " ")
		return llmtest.Answer{Calls: []llmtest.Call{{Name: "use_tool", Args: fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args)}}}, true
	}})
	return &dayFixture{daemonFixture: openScripted(t, home, model.URL, listPlayWays()[0], conf)}
}

// sendCall makes a call. It returns the answer, or the ids of the event and the approval request.
func (d *dayFixture) sendCall(tool string, args any) (answer, event, approval string) {
	d.t.Helper()
	d.turn++
	b, err := json.Marshal(args)
	failOnError(d.t, err)
	code, body := d.callAPI(http.MethodPost, "/api/v1/sessions/"+cmp.Or(d.session, fmt.Sprintf("day%d", d.turn))+"/messages", map[string]string{"text": "call " + tool + " " + string(b)})
	var r struct {
		Answer, Event string
		Approvals     []struct{ ID, Tool string }
	}
	if code != http.StatusOK && code != http.StatusAccepted || json.Unmarshal(body, &r) != nil {
		d.t.Fatalf("%s: %d %s", tool, code, body)
	}
	if len(r.Approvals) > 0 {
		return "", r.Event, r.Approvals[0].ID
	}
	return r.Answer, r.Event, ""
}

// callFreely makes a call that needs no approval and checks that the result contains want.
func (d *dayFixture) callFreely(tool string, args any, want ...string) {
	d.t.Helper()
	got, _, approval := d.sendCall(tool, args)
	if approval != "" {
		d.t.Errorf("%s needs an approval", tool)
		d.answerApproval(approval, false)
	}
	d.checkContains(tool, got, want)
}

// callWithApproval makes a call that needs an approval, approves it, and checks that the result contains want.
func (d *dayFixture) callWithApproval(tool string, args any, want ...string) {
	d.t.Helper()
	got, event, approval := d.sendCall(tool, args)
	if approval == "" {
		d.t.Errorf("%s ran without approval: %q", tool, got)
		return
	}
	d.answerApproval(approval, true)
	d.checkContains(tool, d.awaitEnd(event).Answer, want)
}

func (d *dayFixture) checkContains(tool, got string, want []string) {
	d.t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			d.t.Errorf("%s: the result %q does not contain %q", tool, got, w)
		}
	}
}

// killProgram kills the processes of a server.
func (d *dayFixture) killProgram(modules, name string) {
	d.t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	failOnError(d.t, err)
	killed := 0
	for _, p := range procs {
		b, err := os.ReadFile(p)
		if line := string(b); err != nil || !strings.Contains(line, npmServer(modules, name)) || !strings.Contains(line, d.home) {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(p, "/")[2])
		failOnError(d.t, err)
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	if killed == 0 {
		d.t.Errorf("no process of %s was killed", name)
	}
}

// awaitNews waits until a list contains a text.
func (d *dayFixture) awaitNews(what, list, want string) {
	d.t.Helper()
	for end := time.Now().Add(40 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		_, body := d.callAPI(http.MethodGet, list, nil)
		if strings.Contains(string(body), want) {
			return
		}
		if time.Now().After(end) {
			d.t.Errorf("%s the resource: %.500s lacks %q", what, body, want)
			return
		}
	}
}

// TestNPMServers_ScriptedDay uses 3 servers of the MCP project over a day, with approvals, a path
// outside the allowed folder, a killed server program and a restart of Hob.
func TestNPMServers_ScriptedDay(t *testing.T) {
	modules, node := npmServers(t)
	home := t.TempDir()
	docs, graph := filepath.Join(home, "Documents"), filepath.Join(home, "graph")
	failOnError(t, os.MkdirAll(docs, 0o700))
	failOnError(t, os.MkdirAll(graph, 0o700))
	failOnError(t, os.WriteFile(filepath.Join(docs, "plan.txt"), []byte("Monday: feed the okapi"), 0o600))
	failOnError(t, os.WriteFile(filepath.Join(home, "private.txt"), []byte("the secret word is xylem"), 0o600))
	conf := fmt.Sprintf(`[mcp.servers.filesystem]
command = %[1]q
args = [%[2]q, %[3]q]
folders = [%[3]q]
%[4]s
[mcp.servers.memory]
command = %[1]q
args = [%[5]q, %[6]q]
folders = [%[6]q]
env = { MEMORY_FILE_PATH = %[7]q }
%[8]s
[mcp.servers.everything]
command = %[1]q
args = [%[9]q, "stdio", %[3]q]
[mcp.servers.everything.effects]
echo = "read"
get-structured-content = "read"
get-tiny-image = "read"
get-resource-links = "read"
trigger-long-running-operation = "read"
toggle-subscriber-updates = "read"
`, node, npmServer(modules, "filesystem"), docs, effectsOf(t, modules, "filesystem"),
		npmServer(modules, "memory"), graph, filepath.Join(graph, "graph.jsonl"), effectsOf(t, modules, "memory"), npmServer(modules, "everything"))
	d := openDay(t, home, conf)
	for _, name := range []string{"filesystem", "memory", "everything"} {
		code, body := d.callAPI(http.MethodPost, "/api/v1/mcp/servers/"+name+"/test", struct{}{})
		if code != http.StatusOK || !strings.Contains(string(body), `"state":"running"`) {
			if strings.Contains(string(body), "not started without a sandbox") {
				t.Skip("no sandbox is available")
			}
			t.Fatalf("test %s: %d %s", name, code, body)
		}
	}
	plan, list := filepath.Join(docs, "plan.txt"), filepath.Join(docs, "list.txt")
	path := func(p string) map[string]any { return map[string]any{"path": p} }

	d.session = "morning" // the first result taints the session, so writing needs an approval
	d.callFreely("filesystem__list_directory", path(docs), "plan.txt")
	d.callFreely("filesystem__read_text_file", path(plan), "feed the okapi")
	d.callFreely("filesystem__read_text_file", path(filepath.Join(home, "private.txt")), "reported an error", "outside allowed directories")
	write := map[string]any{"path": list, "content": "hay"}
	if _, event, approval := d.sendCall("filesystem__write_file", write); approval == "" {
		t.Error("filesystem__write_file ran without approval")
	} else {
		d.answerApproval(approval, false)
		d.checkContains("a denied call", d.awaitEnd(event).Answer, []string{"denied_by_owner"})
	}
	if _, err := os.Stat(list); err == nil {
		t.Error("a denied call wrote the file")
	}
	d.callWithApproval("filesystem__write_file", write, "Successfully wrote")
	if b, err := os.ReadFile(list); err != nil || string(b) != "hay" {
		t.Errorf("the written file: %q, %v", b, err)
	}
	d.session = ""

	d.callWithApproval("memory__create_entities", map[string]any{"entities": []any{map[string]any{"name": "Zuri", "entityType": "okapi", "observations": []string{"likes hay"}}}}, "Zuri")
	d.callFreely("memory__search_nodes", map[string]any{"query": "okapi"}, "likes hay")

	d.callFreely("everything__echo", map[string]any{"message": "good morning"}, "good morning")
	d.callFreely("everything__get-structured-content", map[string]any{"location": "Chicago"}, "rain", "82")
	d.callFreely("everything__get-tiny-image", struct{}{}, "(picture: ")
	d.callFreely("everything__trigger-long-running-operation", map[string]any{"duration": 1, "steps": 4}, "completed", "Steps: 4")
	d.callFreely("everything__get-resource-links", map[string]any{"count": 2}, "(resource: ")
	d.callWithApproval("everything__get-sum", map[string]any{"a": 20, "b": 22}, "42")
	d.callFreely("everything__list_resources", struct{}{}, "demo://resource/static/document/", "simple-prompt")
	d.callWithApproval("everything__read_resource", map[string]any{"uri": "demo://resource/dynamic/text/1"}, "demo://resource/dynamic/text/1")
	d.callWithApproval("everything__get_prompt", map[string]any{"name": "simple-prompt"}, "simple prompt")

	watch := map[string]any{"kind": "mcpresource", "config": map[string]string{"server": "everything", "uri": "demo://resource/dynamic/text/7"}}
	if code, body := d.callAPI(http.MethodPost, "/api/v1/tools/create_watcher", map[string]any{"arguments": watch}); code != http.StatusAccepted {
		t.Errorf("create a watcher without approval: %d %s", code, body)
	} else {
		var r struct{ Approvals []struct{ ID string } }
		failOnError(t, json.Unmarshal(body, &r))
		d.answerApproval(r.Approvals[0].ID, true)
	}
	d.awaitNews("subscribed to", "/api/v1/mcp/servers", "demo://resource/dynamic/text/7")
	d.callFreely("everything__toggle-subscriber-updates", struct{}{}, "Started simulated resource updated notifications")
	d.awaitNews("an update of", "/api/v1/notices", "Changed: demo://resource/dynamic/text/7 of everything")

	d.killProgram(modules, "everything")
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		got, _, _ := d.sendCall("everything__echo", map[string]any{"message": "back again"})
		if strings.Contains(got, "Echo: back again") {
			break
		}
		if !strings.Contains(got, "the MCP server everything") || time.Now().After(end) {
			t.Fatalf("answer after the program was killed: %q", got)
		}
	}

	d.stop()
	d = openDay(t, home, conf)
	d.awaitNews("subscribed after the restart to", "/api/v1/mcp/servers", "demo://resource/dynamic/text/7")
	d.callFreely("memory__open_nodes", map[string]any{"names": []string{"Zuri"}}, "likes hay")
	d.callFreely("filesystem__read_text_file", path(list), "hay")
}
