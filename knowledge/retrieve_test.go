package knowledge

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"hob/platform/provenance"
	"hob/platform/store"
)

// Asks typical questions about a small conversation that lasts a year.
func TestRetrieve(t *testing.T) {
	b, st := openBase(t)
	say := func(group string, at time.Time, lines ...string) {
		writeTx(t, st, func(tx *store.Tx) error {
			for i, s := range lines {
				who := []string{"Ida", "Tom"}[i%2]
				d := Doc{Kind: KindTurn, Ref: group + string(rune('0'+i)), Text: s, At: at, Provenance: provenance.Owner, Group: group, Pos: i, Speaker: who}
				if err := b.IndexTx(tx, d); err != nil {
					return err
				}
			}
			return nil
		})
	}
	say("spring", time.Date(2026, 4, 2, 9, 0, 0, 0, time.UTC), "Where do you keep the ladder now?", "Behind the shed.", "I painted the fence green.", "Nice colour!")
	say("summer", time.Date(2026, 7, 20, 9, 0, 0, 0, time.UTC), "We swam in the lake.", "I painted the boat.", "My exam is over, it was today.", "Well done!")
	say("july", time.Date(2026, 7, 15, 9, 0, 0, 0, time.UTC), "I only sleep and read these days.", "Rest well.")
	now := time.Date(2026, 9, 1, 9, 0, 0, 0, time.UTC)
	for _, tc := range []struct{ name, text, route, want string }{
		{"answer without a word of the question", "Where is the ladder?", RouteSingle, "Behind the shed."},
		{"named speaker", "What did Tom paint?", RouteSingle, "I painted the boat."},
		{"a month", "What was painted in April?", RouteSingle, "I painted the fence green."},
		{"a season", "What did somebody paint last summer?", RouteSingle, "I painted the boat."},
		{"an irregular form", "Who swims in a lake?", RouteSingle, "We swam in the lake."},
		{"time relative to an event", "What did Ida do the week before her exam?", RouteMultiHop, "I only sleep and read these days."},
		{"several", "Which things were painted?", RouteMulti, "I painted the boat."},
		{"no content words", "and what is it with the", RouteNone, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, err := b.Retrieve(t.Context(), st.Reader(t.Context()), Request{Text: tc.text, Now: now})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if len(a.Hits) > 0 {
				got = a.Hits[0].Text
			}
			if got != tc.want || a.Route.Kind != tc.route {
				t.Errorf("%q by %v, want %q by %s", got, a.Route, tc.want, tc.route)
			}
			for _, h := range a.Hits {
				sum := 0.0
				for _, p := range h.Parts {
					sum += p.Value
				}
				if d := sum - h.Score; d > 1e-9 || d < -1e-9 {
					t.Errorf("%q: the partial scores sum to %v, want %v", h.Text, sum, h.Score)
				}
			}
		})
	}
}

// A name with punctuation is found as a whole, before rows that contain only its parts.
func TestRetrieve_NamesWithPunctuation(t *testing.T) {
	b, st := openBase(t)
	for i, s := range []string{
		"the boiler has firmware 1.26.3", "the printer is at 192.168.0.17", "write to ana@example.com about the roof", "invoice-4711.pdf is paid",
		"the pump has firmware 3.26.1", "the router is at 192.168.17.0", "write to com.ana@example about the cellar", "the invoice 4712.pdf has the number 4711", "the fan has firmware 26.1.3",
	} {
		rememberText(t, b, st, t0.AddDate(0, 0, i), provenance.Owner, s)
	}
	for ask, want := range map[string]string{
		"Which thing has firmware 1.26.3?":    "the boiler has firmware 1.26.3",
		"What is at 192.168.0.17?":            "the printer is at 192.168.0.17",
		"what did I write to Ana@Example.com": "write to ana@example.com about the roof",
		"is invoice-4711.pdf paid?":           "invoice-4711.pdf is paid",
		"is invoice-4712.pdf there?":          "the invoice 4712.pdf has the number 4711", // contains the parts of the name
	} {
		a, err := b.Retrieve(t.Context(), st.Reader(t.Context()), Request{Text: ask, Now: t0, Strict: true})
		if err != nil || len(a.Hits) == 0 || a.Hits[0].Text != want {
			t.Errorf("%s: %+v, %v, want %s", ask, a, err, want)
		}
	}
}

// Outdated data is returned only if the question asks for it, in any wording.
func TestRetrieve_OutdatedOnlyOnRequest(t *testing.T) {
	b, st := openBase(t)
	for i, s := range []string{"my address is 5 Elm Road", "I live in Kaunas", "my address is 7 Oak Lane", "I moved to Vilnius"} {
		rememberText(t, b, st, t0.AddDate(0, 0, i), provenance.Owner, s)
	}
	for ask, want := range map[string]string{
		"What was my address before?":                            "5 Elm Road",
		"What used to be my address?":                            "5 Elm Road",
		"What did my address use to be?":                         "5 Elm Road",
		"Which address did I have previously?":                   "5 Elm Road",
		"my former address":                                      "5 Elm Road",
		"What was my address formerly?":                          "5 Elm Road",
		"What was my prior address?":                             "5 Elm Road",
		"What was my address initially?":                         "5 Elm Road",
		"Which address is no longer mine?":                       "5 Elm Road",
		"What was my address in the past?":                       "5 Elm Road",
		"Where did I live before?":                               "Kaunas",
		"Where did I use to live?":                               "Kaunas",
		"What was so before?":                                    "Kaunas",
		"What is my address?":                                    "",
		"Where do I live?":                                       "",
		"What was my address the day before yesterday?":          "",
		"Which address did I write down the week before my exam": "",
	} {
		a, err := b.Retrieve(t.Context(), st.Reader(t.Context()), Request{Text: ask, Kinds: []string{KindFact}, Now: t0.AddDate(0, 1, 0), Strict: true})
		got := ""
		if len(a.History) > 0 {
			got = a.History[0].Text
		}
		if err != nil || !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: %q, want %q, %v", ask, got, want, err)
		}
	}
}

// If the same text occurs on many days, the row from the named day comes first.
func TestRetrieve_NamedTimes(t *testing.T) {
	b, st := openBase(t)
	now := time.Date(2026, 9, 1, 9, 0, 0, 0, time.UTC) // a Tuesday
	writeTx(t, st, func(tx *store.Tx) error {
		for _, d := range []string{"2025-09-04", "2025-09-09", "2025-12-20", "2025-12-26", "2026-05-02", "2026-05-04", "2026-08-19", "2026-08-26", "2026-08-30", "2026-08-31"} {
			at, err := time.Parse(time.DateOnly, d)
			if err == nil {
				err = b.IndexTx(tx, Doc{Kind: KindTurn, Ref: d, Text: "We walked along the river.", At: at.Add(12 * time.Hour), Provenance: provenance.Owner, Group: d})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	for ask, want := range map[string]string{
		"Where did we walk yesterday?":                         "2026-08-31",
		"Where did we walk the day before yesterday?":          "2026-08-30",
		"Where was it the day before yesterday that we walked": "2026-08-30",
		"Where did we walk the week before last?":              "2026-08-19",
		"Where did we walk the day after 3 May?":               "2026-05-04",
		"Where did we walk the week before Christmas?":         "2025-12-20",
		"Where did we walk last Christmas?":                    "2025-12-26",
		"Where shall we walk next week?":                       "2026-08-31", // no row is from that week, so the newest row comes first
		"Where shall we walk this Friday?":                     "2026-08-31",
	} {
		a, err := b.Retrieve(t.Context(), st.Reader(t.Context()), Request{Text: ask, Now: now})
		if err != nil || len(a.Hits) == 0 || a.Hits[0].Ref != want {
			t.Errorf("%s: %+v, %v, want %s", ask, a, err, want)
		}
	}
}

// Speakers in one agent's memory do not influence the answers of another agent.
func TestRetrieve_SpeakersOfANamespace(t *testing.T) {
	b, st := openBase(t)
	turn := func(realm, ref, who, text string) {
		writeTx(t, st, func(tx *store.Tx) error {
			return b.IndexTx(tx, Doc{Kind: KindTurn, Ref: ref, Text: text, At: t0, Provenance: provenance.Owner, Realm: realm, Group: realm, Speaker: who})
		})
	}
	turn("work", "w1", "owner", "Tom owes me twenty euros")
	turn("work", "w2", "Ida", "the bank owes me ninety euros and an apology")
	ask := func(r Request) Answer {
		r.Text, r.Now = "What does Tom owe?", t0
		a, err := b.Retrieve(t.Context(), st.Reader(t.Context()), r)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	before := ask(Request{Realm: "work"})
	for i, realm := range []string{"", "home"} {
		turn(realm, "h"+realm, []string{"Tom", "tomas"}[i], "they owe nobody anything")
	}
	if d := cmp.Diff(before, ask(Request{Realm: "work"}), cmpopts.IgnoreUnexported(Answer{})); d != "" {
		t.Errorf("the answer changed: %s", d)
	}
	for name, r := range map[string]Request{"every realm": {EveryRealm: true}, "the main one": {}, "their own": {Realm: "home"}} {
		if a := ask(r); len(a.Hits) == 0 || !strings.Contains(a.Hits[0].Text, "they owe") {
			t.Errorf("%s: %+v", name, a.Hits)
		}
	}
}

// A message that states a corrected fact does not answer questions about that fact, but still
// answers questions about its other statements.
func TestRetrieve_MessagesOfCorrectedFacts(t *testing.T) {
	b, st := openBase(t)
	for i, m := range []struct {
		event, message string
		facts          []string
	}{
		{"e1", "My address is 5 Elm Road. The plumber comes with a ladder and stays until noon.", []string{"my address is 5 Elm Road"}},
		{"e2", "remember that the cabin wifi password is Kestrel-1", []string{"the cabin wifi password is Kestrel-1"}},
		{"e3", "Please note two changes!", []string{"my address is 7 Oak Lane", "the cabin wifi password is now Heron-2"}},
	} {
		at := t0.AddDate(0, 0, 10*i)
		writeTx(t, st, func(tx *store.Tx) error {
			for _, f := range m.facts {
				if _, err := b.RememberTx(tx, Fact{Text: f, Event: m.event, Provenance: provenance.Owner, CreatedAt: at}); err != nil {
					return err
				}
			}
			return b.IndexTx(tx, Doc{Kind: KindTurn, Ref: m.event, Text: m.message, At: at, Provenance: provenance.Owner, Group: m.event, Speaker: "owner", Source: "event:" + m.event})
		})
	}
	for _, tc := range []struct{ name, text, want string }{
		{"other statement", "When does the plumber come?", "e1"},
		{"both statements", "Does the plumber know my address?", "e1"},
		{"corrected statement", "What is my address?", ""},
		{"message without other statements", "What is the wifi password?", ""},
		{"message without other statements, longer question", "What is the wifi password of the cabin by the lake?", ""},
		{"only the day", "What was there on 9 March 2026?", "e1"},
		{"only the day, message without other statements", "What was there on 19 March 2026?", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, err := b.Retrieve(t.Context(), st.Reader(t.Context()), Request{Text: tc.text, Kinds: []string{KindTurn}, Now: t0.AddDate(0, 1, 0)})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, h := range a.Hits {
				got += h.Ref
			}
			if got = strings.TrimSuffix(got, "e3"); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// Unset values have the documented defaults.
func TestTuning(t *testing.T) {
	if d := cmp.Diff(DefaultTuning(), Tuning{}.withDefaults()); d != "" {
		t.Error(d)
	}
	if got := (Tuning{Graph: -1, Hops: -1, K1: 2}).withDefaults(); got.Graph != 0 || got.Hops != 0 || got.K1 != 2 {
		t.Errorf("withDefaults = %+v", got)
	}
	b, st := openBase(t)
	for _, s := range []string{"the plumber comes on Tuesday with a long ladder", "a ladder has steps"} {
		rememberText(t, b, st, t0, provenance.Owner, s)
	}
	for strict, want := range map[bool]int{false: 2, true: 1} {
		a, err := b.Retrieve(t.Context(), st.Reader(t.Context()), Request{Text: "When does the plumber come with the ladder?", Strict: strict})
		if err != nil || len(a.Hits) != want {
			t.Errorf("strict %v: %+v, %v", strict, a.Hits, err)
		}
	}
}
