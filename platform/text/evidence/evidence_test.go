package evidence

import (
	_ "embed" // the held-out claims
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/platform/text/analyzer"
)

func TestQuantities(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"The spit is 98 km long and 0.4 to 3.8 km wide.", []string{"98000 length 98 km", "400..3800 length 0.4 to 3.8 km"}},
		{"The restoration costs 1.4 million euros.", []string{"1.4e+06 EUR 1.4 million euros"}},
		{"It cost $3.5bn, or £2,500,000 a year.", []string{"3.5e+09 USD $3.5bn", "2.5e+06 GBP £2,500,000"}},
		{"Die Stadt hat 1,2 Millionen Einwohner auf 12.345,6 km².", []string{"1.2e+06 people 1,2 Millionen Einwohner", "1.23456e+10 area 12.345,6 km²"}},
		{"up to 300,000 birds a day", []string{"300000 bird 300,000"}},
		{"opened in 2000 (rebuilt 1863), with 2000 seats", []string{"2000 year 2000", "1863 year 1863", "2000 seat 2000"}},
		{"Between 5 and 7 million people live there; 60 per cent are young.", []string{"5e+06..7e+06 people 5 and 7 million people", "60 percent 60 per cent"}},
		{"About twenty-one ships left on 3 May 2021 at 10:30.", []string{"3  3", "2021 year 2021", "21 ship twenty-one"}},
		{"the A380, COVID-19 and the G7", nil},
		{"The tower is 330 m (1,083 ft) tall.", []string{"330 length 330 m", "330.098 length 1,083 ft"}},
		{"", nil},
	} {
		var got []string
		for _, q := range Quantities(c.in) {
			v := fmt.Sprintf("%.6g", q.Value)
			if q.High != q.Value {
				v += fmt.Sprintf("..%.6g", q.High)
			}
			got = append(got, v+" "+q.Dimension+" "+q.Text)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("Quantities(%q):\n%s", c.in, d)
		}
	}
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		claim, sentence, title string
		want                   Relation
		why                    string
	}{
		{"The Curonian Spit is 150 km long", "The Curonian Spit is a sand-dune spit that is 98 km long.", "", Contradicts, "98 km, not 150 km"},
		{"The Curonian Spit is 98 km long", "The spit, 98 kilometres in length, was inscribed in 2000.", "The Curonian Spit", Supports, "98 kilometres"},
		{"The Curonian Spit is 98 km long", "We were told that the Curonian Spit is 98 km long, but cycling it felt like 150.", "", Supports, "98 km"},
		{"The Curonian Spit is 98 km long", "The highest dunes rise to 60 metres near Nida.", "The Curonian Spit", Unrelated, ""},
		{"The dunes of Nida are 98 m long", "The dunes of Nida are 60 metres high.", "", Mentions, ""},
		{"The Curonian Spit became a world heritage site in 1990", "The spit was inscribed as a world heritage site in 2000.", "The Curonian Spit", Contradicts, "2000, not 1990"},
		{"The Eiffel Tower is 1,083 feet tall", "The tower is 330 m tall.", "Eiffel Tower", Supports, "330 m"},
		{"Sydney is the capital of Australia", "Canberra is the capital of Australia.", "", Contradicts, "Canberra, not Sydney"},
		{"Canberra is the capital of Australia", "The capital of Australia is Canberra, a planned city.", "", Supports, "Canberra"},
		{"Sydney is the capital of Australia", "Sydney is the largest city of Australia.", "", Mentions, ""},
		{"Thomas Edison invented the telephone", "The telephone was invented by Alexander Graham Bell in 1876.", "", Contradicts, "Alexander Graham Bell, not Thomas Edison"},
		{"Goldfish have a memory of three seconds", "It is a myth that goldfish have a memory of three seconds.", "", Contradicts, "the sentence denies it"},
		{"Coffee causes dehydration", "Studies show that coffee does not cause dehydration.", "", Contradicts, "one of them is a denial"},
		{"Coffee causes dehydration", "Does coffee cause dehydration?", "", Mentions, ""},
		{"The unemployment rate rose in October", "The unemployment rate fell in October.", "", Contradicts, `"fell", not "rose"`},
		{"The Great Wall is visible from the Moon", "The Great Wall is not visible from the Moon.", "", Contradicts, "one of them is a denial"},
		{"The bridge is closed to traffic", "The bridge is open to traffic again.", "", Contradicts, `"open", not "closed"`},
		{"Bananas are berries", "A bicycle has two wheels.", "", Unrelated, ""},
	} {
		got := ParseClaim(c.claim, "en").Compare(c.sentence, Context{Title: c.title})
		if got.Relation != c.want || got.Why != c.why {
			t.Errorf("%q and %q: %+v, want %s (%s)", c.claim, c.sentence, got, c.want, c.why)
		}
	}
}

func FuzzCompare(f *testing.F) {
	f.Add("The spit is 98 km long", "It is $3.5bn, 5-7 km and 1.234,5 €")
	f.Add("", "\xff between 5 and 7")
	f.Fuzz(func(t *testing.T, claim, sentence string) {
		for _, q := range Quantities(sentence) {
			if q.Start < 0 || q.End > len(sentence) || q.Start >= q.End || q.Text != sentence[q.Start:q.End] {
				t.Fatalf("Quantities(%q) = %+v", sentence, q)
			}
		}
		c := ParseClaim(strings.ToValidUTF8(claim, ""), "")
		if g := c.Compare(sentence, Context{}); g.Weight < 0 || g.Weight > 1.0001 {
			t.Fatalf("Compare(%q, %q) = %+v", claim, sentence, g)
		}
	})
}

//go:embed testdata/claims.txt
var heldOut string

// TestCompare_HeldOut measures the comparison with sentences that were never used to tune it. A
// wrong relation is worse than a missed one: a supporting sentence that counts as contradiction, or
// the reverse, must stay rare.
func TestCompare_HeldOut(t *testing.T) {
	right, wrong, all := 0, 0, 0
	for line := range strings.Lines(heldOut) {
		f := strings.Split(strings.TrimSpace(line), " | ")
		if len(f) != 4 {
			continue
		}
		all++
		got := ParseClaim(f[1], analyzer.Of(analyzer.Part{Text: f[1]}).Lang).Compare(f[3], Context{Title: f[2]})
		decided := got.Relation == Supports || got.Relation == Contradicts
		switch {
		case string(got.Relation) == f[0], !decided && f[0] != string(Supports) && f[0] != string(Contradicts):
			right++
		default:
			t.Logf("%s: %+v", strings.TrimSpace(line), got)
			if decided {
				wrong++
			}
		}
	}
	t.Logf("%d of %d right, %d wrongly decided", right, all, wrong)
	if right < all*90/100 || wrong > 0 {
		t.Errorf("%d of %d right, %d wrongly decided", right, all, wrong)
	}
}
