package system

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestSpare checks that Running ignores a spared program and its descendants from the same folder,
// but no other process.
func TestSpare(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"sh", "sleep"} {
		from, err := exec.LookPath(name)
		if err != nil {
			t.Skip(err)
		}
		b, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o700); err != nil { //nolint:gosec // it must be executable
			t.Fatal(err)
		}
	}
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	// run starts a shell from dir, waits until it has started the program what, and returns its
	// process id.
	run := func(t *testing.T, what string) int {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "sh"), "-c", `"$1" 60 & while :; do r=$(/bin/readlink -f /proc/$!/exe); [ "$r" = "$(/bin/readlink -f "$1")" ] && break; done; echo there; wait`, "sh", what)
		if what == "" {
			cmd.Args[2] = "echo there; read x"
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = in.Close() })
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			for pid := range mustList(treeDescendants(Tree{PID: cmd.Process.Pid})) {
				if p, err := os.FindProcess(pid); err == nil {
					_ = p.Kill()
				}
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "there\n" {
			t.Fatal(line, err)
		}
		return cmd.Process.Pid
	}
	for name, tc := range map[string]struct {
		starts string
		beside bool
		spare  func(pid int) int
		want   bool
	}{
		"alone":                          {"", false, func(pid int) int { return pid }, false},
		"not spared":                     {"", false, func(int) int { return 0 }, true},
		"with more of its own":           {filepath.Join(dir, "sleep"), false, func(pid int) int { return pid }, false},
		"with a child of another user":   {sleep, false, func(pid int) int { return pid }, true},
		"with another process beside it": {"", true, func(pid int) int { return pid }, true},
		"a number that is not of a tree": {"", false, func(int) int { return 1 }, true},
	} {
		t.Run(name, func(t *testing.T) {
			pid := run(t, tc.starts)
			if tc.beside {
				run(t, "")
			}
			some, err := Running(Tree{PID: os.Getpid(), Spare: tc.spare(pid)})
			if err != nil || some != tc.want {
				t.Error(some, err, fmt.Sprint(treeDescendants(Tree{PID: os.Getpid()})))
			}
		})
	}
}

func mustList(m map[int]bool, err error) map[int]bool {
	if err != nil {
		panic(err)
	}
	return m
}
