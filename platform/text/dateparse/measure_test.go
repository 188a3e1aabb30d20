package dateparse

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"
)

// row is one phrase of the evaluation data.
type row struct {
	Src   string          `json:"src"`
	Ref   string          `json:"ref"`
	Text  string          `json:"text"`
	Kind  string          `json:"kind"`
	Want  json.RawMessage `json:"want"`
	Grain string          `json:"grain"`
	Any   []string        `json:"any"`
	Span  string          `json:"span"`
}

func (r row) wantedText() string {
	var s string
	if json.Unmarshal(r.Want, &s) != nil {
		return ""
	}
	return s
}

// TestMeasure reports how many phrases of the evaluation data are parsed correctly. It asserts
// nothing about the figures, which are in docs/dates.md.
func TestMeasure(t *testing.T) {
	rows := readRows(t)
	tally := map[string]*[5]int{}
	show := os.Getenv("HOB_TEST_SHOW")
	for _, r := range rows {
		verdict, got := judgePhrase(r)
		if verdict < 0 {
			continue
		}
		for _, k := range []string{r.Kind + " (" + r.Src + ")", groupOf(r.Kind)} {
			if tally[k] == nil {
				tally[k] = new([5]int)
			}
			tally[k][verdict]++
			tally[k][3]++
			if verdict == 0 && r.wantedText() != "" && equalAtGrain(got, r.wantedText(), r.Grain) {
				tally[k][4]++
			}
		}
		if show != "" && strings.Contains(show, fmt.Sprint(verdict)) {
			t.Logf("%d %-14s %s | %q | want %s | got %s", verdict, r.Kind, r.Ref[:16], r.Text, r.wantedText(), got)
		}
	}
	var keys []string
	for k := range tally {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	t.Logf("%-40s %6s %6s %14s %6s %18s", "kind", "right", "wrong", "not understood", "of", "first choice alone")
	for _, k := range keys {
		n := tally[k]
		t.Logf("%-40s %6d %6d %14d %6d %18d", k, n[0], n[1], n[2], n[3], n[4])
	}
}

func groupOf(kind string) string {
	switch kind {
	case "date", "holiday", "daterange":
		return "ALL dates"
	case "datetime", "datetimerange", "time", "timerange":
		return "ALL datetimes"
	case "none":
		return "ALL none (right: no time found)"
	}
	return "ALL " + kind
}

func readRows(t *testing.T) []row {
	t.Helper()
	f, err := os.Open(filepath.Join(dataFolder(t), "dates", "dates.jsonl"))
	if err != nil {
		t.Skipf("no benchmark data (set HOB_TEST_DATA to its folder): %v", err)
	}
	defer f.Close()
	var rows []row
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var r row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

func dataFolder(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("HOB_TEST_DATA"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "..", "shared", "data")
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Skip("no folder above the test has a go.mod")
		}
		dir = up
	}
}

// judgePhrase parses one phrase and compares the result: 0 correct, 1 wrong, 2 not understood, -1 not
// counted.
func judgePhrase(r row) (int, string) {
	loc := time.UTC
	if r.Src == "duckling" {
		loc = time.FixedZone("", -2*3600) // the zone of Duckling's reference time
	}
	now, err := time.ParseInLocation("2006-01-02T15:04:05", r.Ref, loc)
	if err != nil {
		return -1, err.Error()
	}
	got, kind := readPhrase(r, now)
	switch r.Kind {
	case "duration":
		return -1, ""
	case "none":
		if got == "" {
			return 0, ""
		}
		return 1, got
	case "set":
		switch kind {
		case "every":
			return 0, got
		case "":
			return 2, ""
		}
		return 1, kind + " " + got
	}
	want := r.wantedText()
	switch {
	case want == "" || want == "notTresolved":
		return -1, ""
	case got == "":
		return 2, ""
	}
	any := append([]string{want}, r.Any...)
	if slices.ContainsFunc(any, func(w string) bool { return equalAtGrain(got, w, r.Grain) }) {
		return 0, got
	}
	return 1, kind + " " + got
}

// equalAtGrain compares two times at the precision of want.
func equalAtGrain(got, want, grain string) bool {
	want = strings.Replace(want, " ", "T", 1)
	switch {
	case len(want) == 8 && want[2] == ':': // a time of day
		return got[11:] == want
	case len(want) == 10:
		return got[:10] == want
	case grain == "hour":
		return got[:13] == want[:13]
	case len(want) == 16:
		return got[:16] == want
	}
	return got == want
}

// readPhrase returns the parsed time of a row and its kind. For Duckling, it parses the whole phrase,
// otherwise it finds a time in the sentence.
func readPhrase(r row, now time.Time) (string, string) {
	const form = "2006-01-02T15:04:05"
	if r.Src == "duckling" {
		m, err := Parse(r.Text, now)
		if _, ok := errors.AsType[*AmbiguousError](err); ok || err != nil {
			return "", ""
		}
		return m.Time.Format(form), "moment"
	}
	for _, m := range Find(r.Text, now) {
		switch {
		case m.Every != nil:
			return now.Format(form), "every"
		case m.Period != nil && (strings.Contains(r.Kind, "range") || m.Moment == nil):
			if m.Period.From.IsZero() {
				return "", ""
			}
			return m.Period.From.Format(form), "period"
		case m.Moment != nil:
			return m.Moment.Time.Format(form), "moment"
		}
	}
	return "", ""
}
