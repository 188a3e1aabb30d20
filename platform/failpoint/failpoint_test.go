package failpoint

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain runs hitPoints instead of the tests if the variable is set.
func TestMain(m *testing.M) {
	if os.Getenv(programVar) != "" {
		hitPoints()
		return
	}
	os.Exit(m.Run())
}

const programVar = "HOB_TEST_FAILPOINT_PROGRAM"

// hitPoints hits three points from many goroutines and prints a message. It enables failpoints, as
// the linker does for the program of the crash test. The test fails if the process is not killed.
func hitPoints() {
	enabled = "yes"
	Hit("a.before")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { Hit("b") })
	}
	wg.Wait()
	Hit("a.after")
	fmt.Println("alive", Enabled())
}

func TestEnabled_NotInAnOrdinaryBuild(t *testing.T) {
	if Enabled() {
		t.Fatal("failpoints are enabled although the linker did not set them")
	}
	t.Setenv("HOB_FAILPOINT", "*:1")
	Hit("a.before")
	t.Setenv("HOB_FAILPOINT_FAIL", "a.before")
	if err := Fail("a.before"); err != nil {
		t.Error(err)
	}
	t.Setenv("HOB_FAILPOINT_AT_CHAT", "http://evil.example.com")
	if at := Address("chat", "https://chat.example.com"); at != "https://chat.example.com" {
		t.Error("the environment changed the address:", at)
	}
}

func TestKill_EndsALinkedProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SIGKILL is not supported")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, spec string
		dies       bool
		hits       int
	}{
		{"no failpoint set", "", false, 10},
		{"the first", "a.before:1", true, 1},
		{"the fifth of many", "b:5", true, 6},
		{"any", "*:3", true, 3},
		{"a point hit only once", "a.after:2", false, 10},
		{"an unknown failpoint", "c:1", false, 10},
		{"nonsense", "b:x", false, 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			cmd := exec.CommandContext(ctx, bin)
			cmd.Env = append(os.Environ(), programVar+"=1", "HOB_FAILPOINT="+tc.spec, "HOB_FAILPOINT_LOG="+log)
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
