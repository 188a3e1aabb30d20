package actionclaims

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"
)

//go:embed testdata/sentences.txt
var labeled string

//go:embed testdata/heldout.txt
var heldout string

//go:embed testdata/states.txt
var states string

//go:embed testdata/states_unseen.txt
var statesUnseen string

type sample struct {
	line  int
	kind  string
	marks string
	text  string
	// request is the user's message, which follows " || " in a line.
	request string
}

func parseSamples(t testing.TB, set string) (out []sample) {
	n := 0
	for line := range strings.Lines(set) {
		n++
		label, text, ok := strings.Cut(strings.TrimSpace(line), " | ")
		if !ok {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				t.Fatalf("line %d has no label", n)
			}
			continue
		}
		kind, marks, _ := strings.Cut(label, " ")
		text, request, _ := strings.Cut(text, " || ")
		out = append(out, sample{n, kind, marks, strings.ReplaceAll(text, `\n`, "\n"), request})
	}
	return out
}

func kindName(k Kind) string { return [...]string{"none", "sent", "changed", "deleted"}[k] }

// A false positive costs a model call, a missed claim does not. Therefore no sentence of the set
// may be a false positive, and few claims may be missed.
func TestFindLabeled(t *testing.T) {
	m := measureSet(t, labeled)
	t.Logf("%s", m)
	if m.alarms > 0 || m.wrong > 0 || m.claimRecall() < 0.95 || m.claims+m.innocent < 200 || m.innocent < m.claims {
		t.Errorf("%s", m)
	}
}

// TestFindHeldOut is like TestFindLabeled, but its sentences were not used for tuning. The result
// is the rate to expect for a model's own text.
func TestFindHeldOut(t *testing.T) {
	m := measureSet(t, heldout)
	t.Logf("%s", m)
	if m.claimPrecision() < 0.95 || m.claimRecall() < 0.75 {
		t.Errorf("%s", m)
	}
}

// TestReview11_FindsClaimsAfterIntroductions checks claims in the present, the future
// and the passive, and texts after an introduction.
func TestReview11_FindsClaimsAfterIntroductions(t *testing.T) {
	m := measureSet(t, states)
	t.Logf("%s", m)
	if m.alarms > 0 || m.claimRecall() < 1 || m.wrong > 0 {
		t.Errorf("%s", m)
	}
}

// The sentences were written after the word lists: there is no false alarm, and most claims are
// found.
func TestReview11_FindsUnseenClaims(t *testing.T) {
	m := measureSet(t, statesUnseen)
	t.Logf("%s", m)
	if m.claimPrecision() < 0.95 || m.claimRecall() < 0.75 || m.claims+m.innocent < 100 {
		t.Errorf("%s", m)
	}
}

type measurement struct{ claims, innocent, hit, alarms, wrong int }

func (m measurement) claimPrecision() float64 {
	return float64(m.hit+m.wrong) / float64(m.hit+m.wrong+m.alarms)
}
func (m measurement) claimRecall() float64 { return float64(m.hit+m.wrong) / float64(m.claims) }

func (m measurement) String() string {
	return fmt.Sprintf("%d claims, %d innocent: precision %.3f, recall %.3f, %d alarms, %d of another kind", m.claims, m.innocent, m.claimPrecision(), m.claimRecall(), m.alarms, m.wrong)
}

func measureSet(t *testing.T, set string) (m measurement) {
	for _, s := range parseSamples(t, set) {
		found := Find(s.text, s.request)
		if s.kind == "none" {
			m.innocent++
			if len(found) > 0 {
				m.alarms++
				t.Logf("line %d: false positive %q: %+v", s.line, s.text, found)
			}
			continue
		}
		m.claims++
		if len(found) == 0 {
			t.Logf("line %d: missed %q", s.line, s.text)
			continue
		}
		got, marks := kindName(found[0].Kind), ""
		if found[0].Earlier {
			marks = "earlier"
		}
		if found[0].State {
			marks = "state"
		} else if found[0].Complete {
			marks = "complete"
		} else if found[0].Impersonal {
			marks = "impersonal"
		}
		if got != s.kind || marks != s.marks {
			m.wrong++
			t.Logf("line %d: %q is %s %s, want %s %s", s.line, s.text, got, marks, s.kind, s.marks)
			continue
		}
		m.hit++
	}
	return m
}

func FuzzFind(f *testing.F) {
	for _, s := range parseSamples(f, labeled) {
		f.Add(s.text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range Find(s, "") {
			if c.Kind < Sent || c.Kind > Deleted || c.Phrase == "" {
				t.Errorf("%q: %+v", s, c)
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	plain := strings.Repeat("The weather stays fine until Friday, and the train leaves at nine. ", 40)
	for name, text := range map[string]string{"plain": plain, "claims": plain + strings.Repeat("I have sent the mail to Ada. ", 40)} {
		b.Run(fmt.Sprint(name, len(text)), func(b *testing.B) {
			for b.Loop() {
				Find(text, "")
			}
		})
	}
}
