package command

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// valueOf returns an argument of a kind.
func valueOf(k argumentKind) string {
	return map[argumentKind]string{pathKind: "notes.txt", text: "one", word: "x", num: "1", digits: "1"}[k]
}

// listUsages returns commands for an entry of the table: without arguments, with several files and, if
// all is set, with each of its options.
func listUsages(e *tableEntry, all bool) []string {
	if len(e.only) > 0 {
		return []string{e.name + " " + e.only[0]}
	}
	operands := ""
	for _, k := range e.operands {
		operands += " " + valueOf(k)
	}
	out := []string{e.name + operands, e.name}
	if e.many {
		out = append(out, e.name+operands+" data.json sub")
	}
	if !all {
		return out
	}
	for name, o := range e.options {
		given := " " + name
		switch {
		case o.kind == flag:
		case strings.HasPrefix(name, "--"):
			given += "=" + valueOf(o.kind)
		case o.optional:
			given += valueOf(o.kind)
		default:
			given += " " + valueOf(o.kind)
		}
		out = append(out, e.name+given+operands)
	}
	slices.Sort(out)
	return out
}

// Listed commands change nothing. The test runs each installed program of the table in a folder
// that it could change. With HOB_TEST_LONG=1 it runs each program with each of its options, which
// takes minutes.
func TestTable_CommandsChangeNothing(t *testing.T) {
	onUnix(t)
	b := newBench(t, nil)
	b.putFile(t, "Documents/data.json", `{"a":1}`)
	b.putFile(t, "Documents/sub/a.txt", "a\n")
	b.putFile(t, "Documents/x", "x\n")
	git := exec.CommandContext(t.Context(), "git", "init", "-q")
	git.Dir = b.docs
	if err := git.Run(); err != nil {
		t.Log("git is not tested:", err)
	}
	r := b.bubblewrapRunner(t)
	if r == nil {
		t.Skip("only a sandbox may run this")
	}
	var names []string
	plan, listed := Plan{Dir: b.docs, Writes: true}, 0
	run := func() {
		before := b.snapshotHome(t)
		if _, err := r.Run(t.Context(), plan, time.Minute, func(int64) {}); err != nil && !errors.Is(err, ErrTimeout) {
			t.Errorf("%s: Run = %v", names, err)
		}
		if after := b.snapshotHome(t); before != after {
			t.Errorf("one of %s changed the folder: %s", names, linesAdded(before, after))
		}
		plan.Lines, names = nil, nil
	}
	for _, e := range b.judge.table().entries {
		if slices.Contains([]string{"sleep", "free", "vmstat"}, e.name) { // these programs wait
			continue
		}
		for _, usage := range listUsages(e, os.Getenv("HOB_TEST_LONG") != "") {
			v := b.judgeText(usage)
			if v.Refused != nil {
				t.Errorf("%s: %v", usage, v.Refused)
			}
			if v.Listed {
				listed++
				plan.Lines = append(plan.Lines, v.Plan.Lines...)
			}
		}
		if names = append(names, e.name); len(plan.Lines) > 60 {
			run()
		}
	}
	run()
	t.Logf("%d commands were run", listed)
}

func linesAdded(before, after string) string {
	var out []string
	for line := range strings.Lines(after) {
		if !strings.Contains(before, line) {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}
