package simulate

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/cmd/hob/internal/app"
	"hob/knowledge"
	"hob/platform/store"
)

// lifeFacts lists what a person tells Hob in ten days, one line per message, with the words by which
// they ask for it later. Some facts are told twice, some are corrected, some are events. A line with
// "!" is stored by a call of the tool, as a model does.
const lifeFacts = `
remember that the spare key is under the blue flowerpot|where is the spare key?
my sister is Anna|who is my sister?
I live in Vilnius|where do I live?
remember that the wifi password is Heron|what is the wifi password?
remember that the boiler is serviced by Marek|who services the boiler?
I work at Initech|where do I work?
my brother lives in Leipzig|where does my brother live?
remember that the car insurance is with Allianz|who is the car insurance with?
!to open the garage, push the left door|how do I open the garage?
!to open garage, push left door|how do I open the garage?
remember that I prefer aisle seats|which seats do I prefer?
I am allergic to penicillin|what am I allergic to?
remember that we decided to paint the kitchen green|what did we decide about the kitchen?
remember that the dentist appointment is on 2026-12-01 at 10:00|when is the dentist appointment?
remember that the concert takes place on 2026-12-04|when is the concert?
remember that Ana's flight lands on 2026-12-06|when does Ana's flight land?
my dog is called Rex|what is my dog called?
remember that the vet of Rex is Doctor Novak|who is the vet of Rex?
remember that the bike code is 4711|what is the bike code?
remember that the water meter is in the cellar|where is the water meter?
remember that the water meter is in cellar|where is the water meter?
remember that I work at Globex now|where do I work?
remember that my shoe size is 43|what is my shoe size?
my birthday is on 3 May|when is my birthday?
remember that the tax number is with my accountant Petra|who has the tax number?
remember that the ladder is at my neighbour Jonas|who has the ladder?
remember that the plants need water each Friday|when do the plants need water?
remember that the cabin has no heating in winter|does the cabin have heating?
remember that Jonas weighs the parcels at the shop|who weighs the parcels?
remember that the old laptop is in the attic|where is the old laptop?
`

// chatter is what a person says besides: Hob must not keep it.
var chatter = []string{
	"thanks, that helps", "what can you do?", "and then?", "is it late?", "do you know who called", "ok", "hm, because of the rain", "how much is 15% of 80", "tell me a joke", "what is the capital of France?",
}

// daysOfLife is how long the life lasts: 10 days in which facts are told, and 30 days after the last
// of them, in which they are needed or not.
const daysOfLife = 40

func lifeScript() string {
	var b strings.Builder
	at := func(day, minute int, text string) {
		fmt.Fprintf(&b, "-- day %d %02d:%02d message --\n%s\n", day, 8+minute/60, minute%60, text)
	}
	lines := strings.Split(strings.TrimSpace(lifeFacts), "\n")
	for day := 1; day <= daysOfLife; day++ {
		if day <= 10 {
			for i := range 3 {
				told, _, _ := strings.Cut(lines[3*(day-1)+i], "|")
				if text, ok := strings.CutPrefix(told, "!"); ok {
					fmt.Fprintf(&b, "-- day %d 08:%02d call remember --\n{\"text\": %q}\n", day, 20*i, text)
					continue
				}
				at(day, 20*i, told)
			}
		} else {
			for i := range 2 { // each fact is asked for every two weeks
				_, asked, _ := strings.Cut(lines[(2*day+i)%len(lines)], "|")
				at(day, 20*i, asked)
			}
		}
		at(day, 90, chatter[day%len(chatter)])
	}
	return b.String()
}

// TestMemory_StaysTidy lives 40 days without a model: 30 days after facts were told, at most 5 % of
// them are of no use, although some were told twice, became outdated or passed. The nightly
// consolidation runs once per night.
func TestMemory_StaysTidy(t *testing.T) {
	var dir string
	r := simulateScript(t, lifeScript(), func(o *Options) { o.Days, dir = daysOfLife, o.Dir })
	for _, e := range r.Timeline {
		if e.Kind == Problem {
			t.Errorf("%s %s", e.Kind, e.Text)
		}
	}
	st, err := store.Open(t.Context(), inDir(filepath.Join(dir, "hob")).Database(), app.Migrations(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	base, err := knowledge.New(st, knowledge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	end := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC).AddDate(0, 0, daysOfLife)
	junk, err := base.CountJunk(st.Reader(t.Context()), end)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", junk)
	if junk.Facts < 20 || junk.Share > 0.05 {
		list, _ := base.ListFacts(context.Background(), 100, true)
		for _, f := range list {
			t.Logf("%s %s %s", f.Kind, f.Text, f.RetiredBy)
		}
		t.Errorf("%d of %d facts are of no use (%.1f %%), want at most 5 %% of at least 20", junk.Junk, junk.Facts, 100*junk.Share)
	}
	if later, err := base.CountJunk(st.Reader(t.Context()), end.AddDate(0, 0, 31)); err != nil || later.Unused != later.Facts {
		t.Errorf("one month without a question: %+v %v", later, err)
	}
	var nights, runs, merged, expired int
	if err := st.Reader(t.Context()).QueryRow(`SELECT count(DISTINCT night), count(*), sum(merged), sum(expired) FROM consolidations WHERE night <> ''`).Scan(&nights, &runs, &merged, &expired); err != nil {
		t.Fatal(err)
	}
	if nights < daysOfLife-1 || runs != nights || merged == 0 || expired < 3 {
		t.Errorf("%d runs in %d nights merged %d facts and retired %d events", runs, nights, merged, expired)
	}
}
