//go:build unix

package osrun

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// startScript starts a shell that prints the id of its child, which keeps the output open.
func startScript(t *testing.T, text string) (*Tree, *bufio.Reader) {
	t.Helper()
	r, w, err := Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", text)
	cmd.Stdout = w
	tree, err := Start(cmd)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tree.Kill()
		<-tree.Done()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return tree, bufio.NewReader(r)
}

func readLine(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	s, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(s)
}

// awaitClosed waits until the pipe is closed, which means that the whole tree has ended.
func awaitClosed(t *testing.T, r *bufio.Reader) {
	t.Helper()
	for {
		if _, err := r.ReadString('\n'); err != nil {
			return
		}
	}
}

func TestTree_KillEndsDescendants(t *testing.T) {
	tree, out := startScript(t, `sleep 600 & echo $!; wait`)
	readLine(t, out)
	tree.Kill()
	<-tree.Done()
	awaitClosed(t, out) // the descendant, which kept the pipe open, has ended
	if !strings.Contains(DescribeExit(tree.Err()), "killed") {
		t.Errorf("the process ended with %q", DescribeExit(tree.Err()))
	}
	tree.Kill() // a second call is harmless
}

func TestTree_EndsRemainingProcesses(t *testing.T) {
	tree, out := startScript(t, `sleep 600 & echo $!`)
	readLine(t, out)
	<-tree.Done()
	awaitClosed(t, out)
	if got := DescribeExit(tree.Err()); got != "it ended" {
		t.Errorf("the process ended with %q", got)
	}
}

func TestTree_EndWaitsThenKills(t *testing.T) {
	for name, c := range map[string]struct{ text, how string }{
		"by itself":           {`echo up; read x`, "it ended"},
		"when asked":          {`echo up; exec sleep 600`, "terminated"},
		"with a trap handler": {`trap '' TERM; echo up; while :; do sleep 1; done`, "killed"},
	} {
		t.Run(name, func(t *testing.T) {
			tree, out := startScript(t, c.text)
			readLine(t, out)
			patience := 50 * time.Millisecond
			if name == "by itself" { // the program exits when its input ends
				patience = time.Minute
			}
			tree.End(patience)
			if got := DescribeExit(tree.Err()); !strings.Contains(got, c.how) && got != "exit status 1" {
				t.Errorf("the process ended with %q, want %q", got, c.how)
			}
		})
	}
}

func TestTree_MissingProgram(t *testing.T) {
	if _, err := Start(exec.CommandContext(t.Context(), "/no/such/program")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
