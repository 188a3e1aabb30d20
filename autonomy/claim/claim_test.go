package claim

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"
)

//go:embed testdata/sentences.txt
var labelled string

type sample struct {
	line  int
	kind  string
	marks string
	text  string
}

func samples(t testing.TB) (out []sample) {
	n := 0
	for line := range strings.Lines(labelled) {
		n++
		label, text, ok := strings.Cut(strings.TrimSpace(line), " | ")
		if !ok {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				t.Fatalf("line %d has no label", n)
			}
			continue
		}
		kind, marks, _ := strings.Cut(label, " ")
		out = append(out, sample{n, kind, marks, strings.ReplaceAll(text, `\n`, "\n")})
	}
	return out
}

func names(k Kind) string { return [...]string{"none", "sent", "changed", "deleted"}[k] }

// A claim that is seen where there is none costs a model call, one that is
// missed is only missed: no sentence of the set is misread, and few are missed.
func TestFindLabelled(t *testing.T) {
	var claims, innocent, hit, alarms int
	for _, s := range samples(t) {
		found := Find(s.text)
		got, marks := "none", ""
		if len(found) > 0 {
			got = names(found[0].Kind)
			if found[0].Earlier {
				marks = "earlier"
			}
			if found[0].Impersonal {
				marks = "impersonal"
			}
		}
		if s.kind == "none" {
			innocent++
			if len(found) > 0 {
				alarms++
				t.Errorf("line %d: %q is taken for a claim: %+v", s.line, s.text, found)
			}
			continue
		}
		claims++
		switch {
		case len(found) == 0:
			t.Logf("line %d: missed %q", s.line, s.text)
		case got != s.kind || marks != s.marks:
			t.Errorf("line %d: %q is %s %s, want %s %s", s.line, s.text, got, marks, s.kind, s.marks)
		default:
			hit++
		}
	}
	precision, recall := float64(hit)/float64(hit+alarms), float64(hit)/float64(claims)
	t.Logf("%d claims, %d innocent: precision %.3f, recall %.3f", claims, innocent, precision, recall)
	if innocent < 75 || claims+innocent < 150 || recall < 0.9 {
		t.Errorf("the set is too small or too much is missed: %d and %d, recall %.3f", claims, innocent, recall)
	}
}

func FuzzFind(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s.text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range Find(s) {
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
				Find(text)
			}
		})
	}
}
