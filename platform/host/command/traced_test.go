package command

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// traceEnv names the file with the plans that this binary runs one by one under strace.
const traceEnv = "HOB_TEST_TRACED_PLANS"

// tracedCommand is a listed command and its lines of strace output.
type tracedCommand struct {
	Text  string
	Plan  Plan
	lines []string
}

// runTraced runs the plans in a file without a sandbox, as a Runner would. Before each plan it
// makes a call that marks the plan in the output of strace.
func runTraced(path string) int {
	raw, err := os.ReadFile(path)
	var list []tracedCommand
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	null, err2 := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil || err2 != nil {
		fmt.Fprintln(os.Stderr, err, err2)
		return 1
	}
	becomeSubreaper()
	defer killDescendants()
	for i, c := range list {
		_, _ = os.Open(fmt.Sprintf("/hob-mark/%d", i)) // the path does not exist; the call is the mark in the output of strace
		x := &executor{job: helperJob{Plan: c.Plan, Env: os.Environ(), Hand: true}, out: null, err: null}
		done := make(chan struct{})
		go func() {
			defer close(done)
			x.runPlan()
		}()
		select {
		case <-done:
		case <-time.After(2 * time.Minute):
			fmt.Fprintf(os.Stderr, "%q does not end\n", c.Text)
			return 1
		}
	}
	_, _ = os.Open("/hob-mark/end")
	return 0
}
