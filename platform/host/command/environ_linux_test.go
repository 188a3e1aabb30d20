package command

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// No sandbox lets a command read the environment of a process outside the sandbox, neither from
// /proc nor with ps. This also applies to root, although kernels from 6.15 exempt root from this
// check of Landlock (CAP_PERFMON).
func TestReview4_SandboxesHideEnvironmentsOfOtherProcesses(t *testing.T) {
	b := newRepositoryHome(t)
	other := exec.CommandContext(t.Context(), "sleep", "600")
	other.Env = []string{"CANARY_OF_OTHERS=1"}
	if err := other.Start(); err != nil {
		t.Skip(err)
	}
	defer func() { _, _ = other.Process.Kill(), other.Wait() }() // Wait returns an error, because the process was killed
	proc := fmt.Sprintf("/pr''oc/%d/env''iron", other.Process.Pid)
	for kind, r := range listSandboxes(t, b) {
		for _, text := range []string{
			"tr '\\0' '\\n' < " + proc, "cat " + proc + " /pr''oc/[0-9]*/env''iron | tr '\\0' '\\n'", "ps -axeww", "ps e -p " + fmt.Sprint(other.Process.Pid),
		} {
			out, err := r.Run(t.Context(), Plan{Shell: text, Dir: b.docs}, time.Minute, func(int64) {})
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out.Output, "CANARY_OF_OTHERS=") {
				t.Errorf("%s: %q shows the environment of another process", kind, text)
			}
		}
	}
}
