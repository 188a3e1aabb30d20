package redteam

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recordFigure logs a figure. With -update, HOB_TEST_LONG and the shared corpora it also writes the
// figure into docs/security.md.
func recordFigure(t *testing.T, whole bool, what, value string) {
	t.Helper()
	t.Logf("%s: %s", what, value)
	if !*update || !whole || !isLongRun() {
		return
	}
	const begin, end, head = "<!-- figures -->\n", "<!-- end -->", "| | |\n|---|---|\n"
	path := filepath.Join("..", "..", "..", "..", "docs", "security.md")
	b, err := os.ReadFile(path)
	failOnError(t, err)
	before, rest, ok := strings.Cut(string(b), begin)
	rows, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatal("docs/security.md has no section for the figures")
	}
	all := map[string]string{}
	for line := range strings.Lines(strings.TrimPrefix(rows, head)) {
		if f := strings.Split(line, "|"); len(f) == 4 {
			all[strings.TrimSpace(f[1])] = strings.TrimSpace(f[2])
		}
	}
	all[what] = value
	var out strings.Builder
	out.WriteString(before + begin + head)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		out.WriteString("| " + k + " | " + all[k] + " |\n")
	}
	out.WriteString(end + after)
	failOnError(t, os.WriteFile(path, []byte(out.String()), 0o644))
}
