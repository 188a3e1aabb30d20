package containertool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"hob/autonomy/config"
	"hob/platform/host/system"
	"hob/platform/host/trash"
	"hob/platform/provenance"
	"hob/tools"
	"hob/tools/files"
	"hob/tools/files/containertool"
)

// inside is a fake Runner. It serves each call in this process and passes requests and answers as
// bytes, as the program in a container does.
type inside struct {
	out []byte // replaces the output
	err error
}

func (r inside) Run(ctx context.Context, in []byte, args ...string) ([]byte, error) {
	if r.err != nil || r.out != nil {
		return r.out, r.err
	}
	if len(args) != 1 || args[0] != containertool.Command {
		return nil, errors.New("the container runs another command")
	}
	var out bytes.Buffer
	err := containertool.Serve(ctx, bytes.NewReader(in), &out)
	return out.Bytes(), err
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hostTools returns the file tools of the machine. They may access only a folder that no test uses.
func hostTools(t *testing.T) map[string]tools.Tool {
	t.Helper()
	home := t.TempDir()
	can, err := trash.New(trash.Options{Home: home})
	failOnError(t, err)
	f, err := files.New(files.Options{Allowed: []string{filepath.Join(home, "allowed")}, Home: home, Trash: can})
	failOnError(t, err)
	out := map[string]tools.Tool{}
	for _, x := range f.Tools() {
		out[x.Spec().Name] = x
	}
	return out
}

func callTool(t *testing.T, x tools.Tool, args map[string]any) (tools.Result, error) {
	t.Helper()
	raw, err := json.Marshal(args)
	failOnError(t, err)
	return x.Call(t.Context(), tools.Call{ID: "1", Args: raw, Now: time.Now(), Provenance: provenance.Owner, Progress: func(float64, string) {}})
}

// TestTool_WorksInWorkspaceOnly checks that an isolated agent can read and write only its
// workspace. The error for any other path names the workspace.
func TestTool_WorksInWorkspaceOnly(t *testing.T) {
	host, workspace := hostTools(t), t.TempDir()
	write := containertool.New(host["write_file"], inside{}, "/home/ada", workspace, time.Minute)
	read := containertool.New(host["read_file"], inside{}, "/home/ada", workspace, time.Minute)
	path := filepath.Join(workspace, "note.txt")
	if _, err := callTool(t, write, map[string]any{"path": path, "content": "hello"}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "hello" {
		t.Errorf("the file is %q, %v", text, err)
	}
	got, err := callTool(t, read, map[string]any{"path": path})
	if err != nil || !strings.Contains(got.Text, "hello") || got.Source == provenance.Unknown {
		t.Errorf("read_file = %q from %q, %v", got.Text, got.Source, err)
	}
	other := filepath.Join(t.TempDir(), "secret.txt")
	failOnError(t, os.WriteFile(other, []byte("secret"), 0o600))
	_, err = callTool(t, read, map[string]any{"path": other})
	if tools.CodeOf(err) != tools.PolicyDenied || !strings.Contains(err.Error(), filepath.Base(workspace)) {
		t.Errorf("outside of the workspace: %v, want a denial that names it", err)
	}
	if _, err := callTool(t, read, map[string]any{"path": filepath.Join(workspace, "missing.txt")}); tools.CodeOf(err) != tools.NotFound {
		t.Errorf("a missing file: %v, want the error of the tool", err)
	}
}

// TestTool_ReportsBrokenContainer checks that a call fails with the cause if the container does not
// answer, and never returns an empty result.
func TestTool_ReportsBrokenContainer(t *testing.T) {
	host := hostTools(t)
	for _, tt := range []struct {
		name string
		box  inside
		code tools.Code
		want string
	}{
		{"it does not start", inside{err: tools.Errorf(tools.Unsupported, "docker is not running")}, tools.Unsupported, "docker is not running"},
		{"another program answers", inside{out: []byte("Usage: busybox ...")}, tools.Failed, "may not match this version"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := containertool.New(host["read_file"], tt.box, "/home/ada", "/workspace", time.Minute)
			got, err := callTool(t, x, map[string]any{"path": "note.txt"})
			if tools.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.want) || got.Text != "" {
				t.Errorf("Call = %q, %v", got.Text, err)
			}
		})
	}
	x := containertool.New(host["read_file"], inside{out: []byte(`{"text":"from an image of someone else"}`)}, "/home/ada", "/workspace", time.Minute)
	if got, err := callTool(t, x, map[string]any{"path": "note.txt"}); err != nil || got.Source != provenance.Outside {
		t.Errorf("an answer without a source counts as %q, %v, want untrusted text", got.Source, err)
	}
}

// TestServe_RunsFileToolsOnly checks that the program in the container runs only file tools,
// whatever request it receives.
func TestServe_RunsFileToolsOnly(t *testing.T) {
	workspace := t.TempDir()
	for _, tt := range []struct{ name, request, want string }{
		{"a tool of another kind", `{"tool":"run_command","args":{"command":"id"},"workspace":"` + filepath.ToSlash(workspace) + `"}`, "does not run in a container"},
		{"wrong arguments", `{"tool":"read_file","args":{"pth":"x"},"workspace":"` + filepath.ToSlash(workspace) + `"}`, "pth"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			failOnError(t, containertool.Serve(t.Context(), strings.NewReader(tt.request), &out))
			var a struct{ Error *struct{ Message string } }
			failOnError(t, json.Unmarshal(out.Bytes(), &a))
			if a.Error == nil || !strings.Contains(a.Error.Message, tt.want) {
				t.Errorf("Serve answers %s", out.String())
			}
		})
	}
	if err := containertool.Serve(t.Context(), strings.NewReader("hello"), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "this command is for Hob itself") {
		t.Errorf("Serve = %v, want a hint for the user who calls it", err)
	}
}

// TestBoxes_ContainAgent checks that an agent in a container has no tool that runs a program on the
// machine, and that its workspace must not contain Hob's own files.
func TestBoxes_ContainAgent(t *testing.T) {
	dir := t.TempDir()
	paths := system.Paths{Home: dir, Data: dir, Logs: dir, Runtime: dir}
	program := filepath.Join(dir, "hob")
	failOnError(t, os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700))
	type none struct{}
	tool := func(name string, e tools.Effects) tools.Tool {
		return tools.New(tools.Def[none]{
			Spec: tools.Spec{Name: name, Category: "test", Description: "Test.", Effects: e},
			Run:  func(context.Context, tools.Call, none) (tools.Result, error) { return tools.Result{}, nil },
		})
	}
	all, err := tools.NewCatalog(hostTools(t)["read_file"], tool("run_program", tools.Exec), tool("read_clock", tools.Read))
	failOnError(t, err)
	contain := func(section string) (*tools.Catalog, error) {
		c, err := config.Parse("c.toml", []byte("[agents.clerk]\n"+section))
		failOnError(t, err)
		b := &containertool.Boxes{Paths: paths, Config: c}
		got, check, err := b.Contain(c.Members[0], all)
		if (got == nil) != (check == nil) {
			t.Errorf("the tools and their check differ: %v", err)
		}
		return got, err
	}
	if got, err := contain("about = \"x\"\n"); got != nil || err != nil {
		t.Errorf("an agent without a container: %v, %v", got, err)
	}
	isolated := "isolation = \"container\"\n[agents.clerk.container]\nprogram = '" + program + "'\n"
	if runtime.GOOS == "windows" {
		t.Skip("a path with a colon cannot be mounted")
	}
	got, err := contain(isolated)
	failOnError(t, err)
	var names []string
	for _, x := range got.All() {
		names = append(names, x.Spec().Name)
		if _, ok := x.(*containertool.Tool); ok != (x.Spec().Name == "read_file") {
			t.Errorf("%s runs in the container: %v", x.Spec().Name, ok)
		}
	}
	if got := strings.Join(names, " "); !strings.Contains(got, "read_clock") || strings.Contains(got, "run_program") {
		t.Errorf("the agent has %s", got)
	}
	for name, add := range map[string]string{"the home of Hob": dir, "a folder above it": filepath.Dir(dir)} {
		if _, err := contain(isolated + "workspace = '" + add + "'\n"); err == nil || !strings.Contains(err.Error(), "agents.clerk.container.workspace") {
			t.Errorf("%s as workspace: %v, want an error that names the key", name, err)
		}
	}
	if _, err := contain(strings.Replace(isolated, program, program+"-missing", 1)); err == nil || !strings.Contains(err.Error(), "agents.clerk.container.program") {
		t.Errorf("a missing program: %v, want an error that names the key", err)
	}
}
