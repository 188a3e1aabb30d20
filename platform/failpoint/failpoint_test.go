package failpoint_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"hob/platform/failpoint"
)

// program hits three points from many goroutines and says so.
const program = `package main

import (
	"fmt"
	"sync"

	"hob/platform/failpoint"
)

func main() {
	failpoint.Hit("a.before")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { failpoint.Hit("b") })
	}
	wg.Wait()
	failpoint.Hit("a.after")
	fmt.Println("alive", failpoint.Enabled)
}
`

func TestAnOrdinaryBuildNeverDies(t *testing.T) {
	if failpoint.Enabled {
		t.Skip("needs a build without the failpoint tag")
	}
	t.Setenv("HOB_FAILPOINT", "*:1")
	failpoint.Hit("a.before")
	t.Setenv("HOB_FAILPOINT_AT_CHAT", "http://evil.example.com")
	if at := failpoint.Address("chat", "https://chat.example.com"); at != "https://chat.example.com" {
		t.Error("the environment changed the address:", at)
	}
}

func TestATaggedBuildDiesWhereItIsTold(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no SIGKILL")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp(".", "_program-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "program")
	if out, err := exec.CommandContext(ctx, "go", "build", "-tags", "failpoint", "-o", bin, "./"+dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, tc := range []struct {
		name, spec string
		dies       bool
		hits       int
	}{
		{"nothing asked", "", false, 10},
		{"the first", "a.before:1", true, 1},
		{"the fifth of many", "b:5", true, 6},
		{"any", "*:3", true, 3},
		{"a point hit only once", "a.after:2", false, 10},
		{"one that does not exist", "c:1", false, 10},
		{"nonsense", "b:x", false, 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			cmd := exec.CommandContext(ctx, bin)
			cmd.Env = append(os.Environ(), "HOB_FAILPOINT="+tc.spec, "HOB_FAILPOINT_LOG="+log)
			out, err := cmd.Output()
			if died := err != nil && strings.Contains(err.Error(), "killed"); died != tc.dies {
				t.Errorf("output %q, exit %v", out, err)
			}
			if !tc.dies && string(out) != "alive true\n" {
				t.Errorf("output %q", out)
			}
			names, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(names, []byte("\n")); n != tc.hits {
				t.Errorf("%d hits, want %d: %s", n, tc.hits, names)
			}
		})
	}
}
