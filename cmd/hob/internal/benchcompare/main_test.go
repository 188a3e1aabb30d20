package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// writeProgram writes a script that answers `bench --json` with one value after the other.
func writeProgram(t *testing.T, values ...string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "hob")
	var cases strings.Builder
	for i, v := range values {
		fmt.Fprintf(&cases, "%d) v=%s ;;\n", i, v)
	}
	script := "#!/bin/sh\n[ \"$1 $2 $3\" = 'bench --json --quick' ] || exit 9\nn=$(cat " + dir + "/n 2>/dev/null || echo 0)\ncase $n in\n" + cases.String() +
		"esac\necho $((n + 1)) >" + dir + "/n\n" + `printf '[{"name":"turn","value":%s,"unit":"ms"},{"name":"rate","value":7,"unit":"1/s","at_least":true}]' $v` + "\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRun_ComparesMediansAndSpread(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
	var out, progress strings.Builder
	if err := run(t.Context(), &out, &progress, writeProgram(t, "10", "20", "30"), writeProgram(t, "11", "30", "27"), 3, []string{"--quick"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"turn    20    27    1.350  0.900-1.500  ms    lower", "rate    7     7     1.000  1.000-1.000  1/s   higher"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
	if strings.Count(progress.String(), "round") != 6 {
		t.Errorf("progress:\n%s", progress.String())
	}
}

func TestRun_NamesTheProgramThatFails(t *testing.T) {
	err := run(t.Context(), &strings.Builder{}, &strings.Builder{}, "/nonexistent/hob", "/nonexistent/hob2", 1, nil)
	if err == nil || !strings.Contains(err.Error(), "/nonexistent/hob bench:") {
		t.Errorf("run with a missing program = %v, want an error with its name", err)
	}
	if run(t.Context(), &strings.Builder{}, &strings.Builder{}, "", "x", 1, nil) == nil {
		t.Error("run without a base succeeds")
	}
}

func TestRun_ShowsTheRoundsBeforeAFailure(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
	var out strings.Builder
	err := run(t.Context(), &out, &strings.Builder{}, writeProgram(t, "10", "20"), writeProgram(t, "11"), 2, []string{"--quick"})
	if err == nil || !strings.Contains(out.String(), "turn    10    11    1.100") {
		t.Errorf("run = %v, table:\n%s", err, out.String())
	}
}
