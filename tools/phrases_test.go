package tools

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var updatePhrases = flag.Bool("update", false, "write phrases.txt")

// TestPhrases checks that phrases.txt contains the counts of testdata/phrases.txt.
func TestPhrases(t *testing.T) {
	examples, err := os.ReadFile("testdata/phrases.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := formatPhrases(string(bytes.ReplaceAll(examples, []byte("\r\n"), []byte("\n"))))
	if *updatePhrases {
		if err := os.WriteFile("phrases.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if strings.ReplaceAll(phraseText, "\r\n", "\n") != want {
		t.Error("phrases.txt is out of date; run `go test ./tools -run TestPhrases -update`")
	}
	if len(want) > 60<<10 {
		t.Errorf("phrases.txt has %d bytes, want at most %d", len(want), 60<<10)
	}
}

// formatPhrases counts the stems of examples: in how many phrases of each tool a stem occurs.
func formatPhrases(examples string) string {
	var names []string
	count := map[string]map[int]int{}
	for line := range strings.Lines(examples) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		phrases := strings.Split(strings.TrimSpace(line), " | ")
		for _, p := range phrases[1:] {
			stems := map[string]bool{}
			for _, w := range splitWords(p) {
				stems[stemEnglish(w)] = true
			}
			for s := range stems {
				if count[s] == nil {
					count[s] = map[int]int{}
				}
				count[s][len(names)]++
			}
		}
		names = append(names, phrases[0])
	}
	var b strings.Builder
	b.WriteString("# Generated from testdata/phrases.txt by `go test ./tools -run TestPhrases -update`: the tools, then each stem with\n" +
		"# counts (see parseCounts).\n= " + strings.Join(names, " ") + "\n")
	for _, s := range slices.Sorted(maps.Keys(count)) {
		b.WriteString(s + " ")
		for _, tool := range slices.Sorted(maps.Keys(count[s])) {
			code := strconv.FormatInt(int64(tool), 36)
			b.WriteString(strings.Repeat("0", 2-len(code)) + code)
			if n := count[s][tool]; n > 1 {
				b.WriteByte(byte('A' + min(n, 26) - 1))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
