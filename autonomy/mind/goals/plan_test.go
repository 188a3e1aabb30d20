package goals

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"hob/autonomy/bus"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// planPart is a section of a plan.
type planPart struct {
	title string
	items []tools.BriefItem
	err   error
}

func (p planPart) BriefTitle() string { return p.title }

func (p planPart) Brief(context.Context, time.Time, time.Time) ([]tools.BriefItem, error) {
	return p.items, p.err
}

// plannedDays lists the days whose plan was put into the inbox, with the times.
func plannedDays(t *testing.T, st *store.Store) (out []string) {
	t.Helper()
	rows, err := st.Read().Query(`SELECT key FROM inbox WHERE source = 'plan' ORDER BY seq`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.TrimPrefix(key, "plan:"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func loadZone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// The plan is sent once a day at its time, during a year in zones with various clock changes and
// across repeated restarts.
func TestPlan_OnceADay(t *testing.T) {
	for _, tc := range []struct {
		zone string
		at   TimeOfDay
	}{
		{"Europe/Vilnius", TimeOfDay{7, 0}},
		{"Europe/Vilnius", TimeOfDay{3, 30}},      // does not exist on one day, occurs twice on another
		{"America/Santiago", TimeOfDay{0, 0}},     // midnight does not exist on one day
		{"Australia/Lord_Howe", TimeOfDay{2, 15}}, // half an hour
		{"Pacific/Apia", TimeOfDay{23, 59}},
	} {
		t.Run(tc.zone, func(t *testing.T) {
			st, _ := openReusable(t)
			loc := loadZone(t, tc.zone)
			open := func() *Plan {
				p, err := NewPlan(PlanOptions{Store: st, Bus: bus.New(st, bus.Options{}), At: tc.at, Zone: func() *time.Location { return loc }})
				if err != nil {
					t.Fatal(err)
				}
				return p
			}
			p := open()
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, loc)
			end := now.AddDate(1, 0, 0)
			for n := 0; now.Before(end); n++ {
				next, err := p.Due(t.Context(), now)
				if err != nil || !next.After(now) || next.Sub(now) > 50*time.Hour {
					t.Fatalf("at %s: next %s, %v", now, next, err)
				}
				if n%7 == 0 {
					p = open()
				}
				now = now.Add(min(next.Sub(now), time.Duration(3+n%19)*time.Hour))
			}
			got := plannedDays(t, st)
			seen := map[string]bool{}
			for _, day := range got {
				if seen[day] {
					t.Errorf("two plans for %s", day)
				}
				seen[day] = true
			}
			if len(got) < 364 || len(got) > 365 {
				t.Errorf("%d plans in one year", len(got))
			}
		})
	}
}

// TestPlan_UnusualDays checks unusual days: a late start, a start during the day, travel in both
// directions, a wrong clock.
func TestPlan_UnusualDays(t *testing.T) {
	at := func(loc *time.Location, day, hour int) time.Time {
		return time.Date(2026, 3, day, hour, 0, 0, 0, loc)
	}
	vilnius, tokyo, york := loadZone(t, "Europe/Vilnius"), loadZone(t, "Asia/Tokyo"), loadZone(t, "America/New_York")
	type step struct {
		loc  *time.Location
		day  int
		hour int
	}
	for _, tc := range []struct {
		name  string
		steps []step
		want  string
	}{
		{"the first day, before its time", []step{{vilnius, 10, 6}, {vilnius, 10, 8}}, "2026-03-10"},
		{"the first day, after its time", []step{{vilnius, 10, 8}, {vilnius, 10, 20}, {vilnius, 11, 6}, {vilnius, 11, 7}}, "2026-03-11"},
		{"off at its time", []step{{vilnius, 10, 20}, {vilnius, 11, 9}}, "2026-03-11"},
		{"off for most of the day", []step{{vilnius, 10, 20}, {vilnius, 11, 20}, {vilnius, 12, 7}}, "2026-03-12"},
		{"off for days", []step{{vilnius, 10, 20}, {vilnius, 15, 8}}, "2026-03-15"},
		{"eastward", []step{{vilnius, 10, 20}, {vilnius, 11, 7}, {tokyo, 11, 20}, {tokyo, 12, 7}}, "2026-03-11 2026-03-12"},
		{"westward, the same day again", []step{{vilnius, 10, 20}, {vilnius, 11, 7}, {york, 11, 6}, {york, 11, 8}, {york, 12, 7}}, "2026-03-11 2026-03-12"},
		{"westward, over midnight", []step{{tokyo, 10, 20}, {tokyo, 11, 7}, {york, 10, 19}, {york, 11, 8}}, "2026-03-11"},
		{"the clock is set back", []step{{vilnius, 10, 20}, {vilnius, 12, 7}, {vilnius, 11, 7}, {vilnius, 12, 7}, {vilnius, 13, 7}}, "2026-03-12 2026-03-13"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st, _ := openReusable(t)
			var here *time.Location
			for _, s := range tc.steps {
				here = s.loc
				p, err := NewPlan(PlanOptions{Store: st, Bus: bus.New(st, bus.Options{}), At: TimeOfDay{7, 0}, Zone: func() *time.Location { return here }})
				if err != nil {
					t.Fatal(err)
				}
				for range 2 {
					if _, err := p.Due(t.Context(), at(s.loc, s.day, s.hour)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got := strings.Join(plannedDays(t, st), " "); got != tc.want {
				t.Errorf("plans on %q, want %q", got, tc.want)
			}
		})
	}
}

func TestPlan_Text(t *testing.T) {
	now := time.Date(2026, 3, 10, 7, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name     string
		sections []tools.BriefSource
		want     string
		tainted  bool
	}{
		{"no entries", []tools.BriefSource{planPart{title: "Tasks"}, planPart{title: "Reminders"}}, "", false},
		{"empty sections are skipped", []tools.BriefSource{
			planPart{title: "Calendar"},
			planPart{title: "Tasks", items: []tools.BriefItem{{Text: "pay the rent", Source: provenance.Owner}, {Text: "call Ada", At: now.Add(2 * time.Hour), Source: provenance.Owner}}},
		}, "Your plan for Tuesday 10 March:\n\nTasks\n- 09:00 call Ada\n- pay the rent", false},
		{"an unreadable source does not look empty", []tools.BriefSource{planPart{title: "Mail", err: errors.New("no connection")}}, "Mail\n- could not be read: no connection", true},
		{"Hob's own error is trusted", []tools.BriefSource{planPart{title: "Mail", err: tools.Errorf(tools.Failed, "no connection")}}, "Mail\n- could not be read: no connection", false},
		{"untrusted text stays untrusted", []tools.BriefSource{planPart{title: "Mail", items: []tools.BriefItem{{Text: "buy now", Source: provenance.Outside}}}}, "- buy now", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st, _ := openReusable(t)
			p, err := NewPlan(PlanOptions{Store: st, Bus: bus.New(st, bus.Options{}), Zone: func() *time.Location { return time.UTC }, Sections: tc.sections})
			if err != nil {
				t.Fatal(err)
			}
			text, src, err := p.Text(t.Context(), now)
			if err != nil || !strings.Contains(text, tc.want) || tc.want == "" && text != "" || src.Tainted() != tc.tainted {
				t.Errorf("%q, %s, %v", text, src, err)
			}
		})
	}
}

// A plan that could only be sent after its day is not sent, because the next day has its own plan.
func TestPlan_IsNotSentAfterItsDay(t *testing.T) {
	st, _ := openReusable(t)
	b := bus.New(st, bus.Options{})
	p, err := NewPlan(PlanOptions{Store: st, Bus: b, At: TimeOfDay{7, 0}, Zone: func() *time.Location { return time.UTC }})
	if err != nil {
		t.Fatal(err)
	}
	day := func(d, h int) time.Time { return time.Date(2026, 3, d, h, 0, 0, 0, time.UTC) }
	for _, at := range []time.Time{day(10, 8), day(11, 7)} {
		if _, err := p.Due(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	list, err := b.Inbox.List(t.Context(), PlanSource, "", 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("List = %+v, %v", list, err)
	}
	for at, want := range map[time.Time]bool{day(11, 7): false, day(11, 23): false, day(12, 0): true} {
		ev, err := b.Inbox.Event(t.Context(), list[0].ID)
		if got := p.IsOver(ev, at); err != nil || got != want {
			t.Errorf("IsOver at %s = %v, %v", at, got, err)
		}
	}
}
