package tools

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var updatePhrases = flag.Bool("update", false, "write phrases.txt.gz")

// TestPhrases checks that phrases.txt.gz contains the counts of testdata/phrases.txt.
func TestPhrases(t *testing.T) {
	examples, err := os.ReadFile("testdata/phrases.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := formatPhrases(string(bytes.ReplaceAll(examples, []byte("\r\n"), []byte("\n"))))
	if *updatePhrases {
		var b bytes.Buffer
		w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(w, want)
		if err := errors.Join(err, w.Close(), os.WriteFile("phrases.txt.gz", b.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
		return
	}
	if decompressPhrases() != want {
		t.Error("phrases.txt.gz is out of date; run `go test ./tools -run TestPhrases -update`")
	}
	if len(phraseData) > 60<<10 {
		t.Errorf("phrases.txt.gz has %d bytes, want at most %d", len(phraseData), 60<<10)
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
