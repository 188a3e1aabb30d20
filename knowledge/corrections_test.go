package knowledge

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
)

// toldFact is one block of testdata/corrections.txt.
type toldFact struct {
	name         string
	said         []string // messages with their marks, + or x
	ask, has, no string
}

func readTold(t *testing.T, file string) (out []toldFact) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(string(raw), "\n\n") {
		var x toldFact
		for line := range strings.Lines(block) {
			line = strings.TrimSpace(line)
			mark, rest, _ := strings.Cut(line, " ")
			switch mark {
			case "", "#":
			case "+", "x":
				x.said = append(x.said, line)
			case "?":
				x.ask = rest
			case "=":
				x.has = rest
			case "!":
				x.no = rest
			default:
				x.name = line
			}
		}
		if x.name != "" {
			out = append(out, x)
		}
	}
	return out
}

func (x toldFact) rememberLines(t *testing.T, b *Base, st *store.Store) (retired int) {
	t.Helper()
	for i, line := range x.said {
		src := provenance.Owner
		if line[0] == 'x' {
			src = provenance.Outside
		}
		retired += len(rememberText(t, b, st, t0.Add(time.Duration(i)*time.Hour), src, line[2:]).Retired)
	}
	return retired
}

// TestContradictions checks that a fact that is no longer valid is retired, kept as history, and
// not returned as an answer.
func TestContradictions(t *testing.T) {
	list := readTold(t, "testdata/corrections.txt")
	if len(list) < 50 {
		t.Errorf("got %d contradictions, want 50", len(list))
	}
	for _, x := range list {
		t.Run(x.name, func(t *testing.T) {
			b, st := openBase(t)
			x.rememberLines(t, b, st)
			all, err := b.ListFacts(t.Context(), 100, true)
			if err != nil {
				t.Fatal(err)
			}
			wrong, right := regexp.MustCompile(x.no), regexp.MustCompile(x.has)
			old, holds := 0, false
			for _, f := range all {
				switch live := f.RetiredAt.IsZero(); {
				case live && wrong.MatchString(f.Text) && !right.MatchString(f.Text):
					t.Errorf("fact %q is still valid", f.Text)
				case live:
					holds = holds || right.MatchString(f.Text)
				case wrong.MatchString(f.Text):
					old++
				}
			}
			if !holds || old == 0 {
				t.Errorf("valid: %v, %d retired: %+v", holds, old, all)
			}
		})
	}
}

// TestAgreements checks that statements that only seem to contradict each other retire nothing.
func TestAgreements(t *testing.T) {
	list := readTold(t, "testdata/agreements.txt")
	if len(list) < 50 {
		t.Errorf("got %d agreements, want 50", len(list))
	}
	for _, x := range list {
		t.Run(x.name, func(t *testing.T) {
			b, st := openBase(t)
			if n := x.rememberLines(t, b, st); n > 0 {
				t.Errorf("%d facts were retired", n)
			}
			all, err := b.ListFacts(t.Context(), 100, false)
			if err != nil || len(all) < 2 || len(all) != len(x.said) {
				t.Errorf("%d facts of %d are stored, %v", len(all), len(x.said), err)
			}
		})
	}
}
