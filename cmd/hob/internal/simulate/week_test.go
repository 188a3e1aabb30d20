package simulate

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"hob/platform/host/system"
)

var update = flag.Bool("update", false, "write the golden timeline anew")

// approvalID matches the random ids of approval requests.
var approvalID = regexp.MustCompile(`approval [0-9a-f]{8}`)

// A goroutine in a deadlocked bubble cannot be ended (TestRunVirtual_FailsInADeadlock), so the
// check for leaks ignores it.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("testing/synctest.testingSynctestTest"),
		goleak.IgnoreTopFunction("hob/cmd/hob/internal/simulate.TestRunVirtual_FailsInADeadlock.func1"))
}

// simulateScript runs a script on an empty home.
func simulateScript(t *testing.T, script string, change func(*Options)) *Result {
	t.Helper()
	out, err := trySimulation(t, script, change)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func trySimulation(t *testing.T, script string, change func(*Options)) (*Result, error) {
	t.Helper()
	s, err := Parse("script", strings.NewReader(script))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", t.TempDir())
	home := t.TempDir()
	paths, err := system.ResolvePaths("linux", home, func(name string) string { return map[string]string{"HOB_HOME": filepath.Join(home, "hob")}[name] })
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Paths: paths, Home: home, Dir: t.TempDir(), Start: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC), Days: 7, Zone: "UTC", Script: s, Version: "test"}
	if change != nil {
		change(&o)
	}
	out, err := Run(t.Context(), o)
	if _, err := os.Stat(paths.Home); err == nil {
		t.Error("the simulation created the owner's home")
	}
	return out, err
}

// formatTimeline formats a timeline so that two runs can be compared. Watchers poll at partly random times,
// so their findings are grouped by day.
func formatTimeline(r *Result) string {
	byDay := map[string][]string{}
	for _, e := range r.Timeline {
		at := e.At.Format("15:04")
		if e.Source == "watcher" {
			at = "     "
		}
		line := strings.TrimRight(fmt.Sprintf("%s %-7s %s", at, e.Kind, strings.ReplaceAll(e.Text, "\n", " | ")), " ")
		if e.Rule != "" && e.Kind != Say {
			line += " [" + e.Rule + "]"
		}
		line = approvalID.ReplaceAllString(line, "approval ID")
		day := e.At.Format("2006-01-02 Mon")
		byDay[day] = append(byDay[day], line)
	}
	var b strings.Builder
	days := make([]string, 0, len(byDay))
	for d := range byDay {
		days = append(days, d)
	}
	slices.Sort(days)
	for _, d := range days {
		slices.Sort(byDay[d])
		fmt.Fprintf(&b, "%s\n  %s\n", d, strings.Join(byDay[d], "\n  "))
	}
	fmt.Fprintf(&b, "inputs %d, model calls %d\n", r.Inputs, r.ModelCalls)
	return b.String()
}

// weekScript returns a script of 400 events in a week and of the watchers that detect them.
func weekScript() string {
	var b strings.Builder
	add := func(head, body string, args ...any) {
		fmt.Fprintf(&b, "-- %s --\n%s\n", head, fmt.Sprintf(body, args...))
	}
	b.WriteString("# A week of somebody who has much to do.\n")
	add("config", "[accounts.work]\nimap = \"mail.example.org\"\ncaldav = \"https://dav.example.org/\"\naddress = \"ada@example.org\"\npassword = \"x\"\n"+
		"[network]\nallow_hosts = [\"news.example.org\", \"shop.example.org\", \"api.github.com\"]\n[watchers]\nmin_every = \"1m\"\n")
	feed := func(n int) string {
		items := ""
		for i := range n + 1 {
			items = fmt.Sprintf("<item><title>News %d</title><guid>n%d</guid><link>https://news.example.org/%d</link></item>", i, i, i) + items
		}
		return "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>News</title>" + items + "</channel></rss>"
	}
	add("start web https://news.example.org/feed.xml", "%s", feed(0))
	add("start web https://shop.example.org/", "<p id=price>100 EUR</p>")
	n := 2
	for _, w := range []string{
		`{"kind":"email","config":{"from":["Grace"]}}`,
		`{"kind":"calendar","config":{"before":["30m"],"every":"15m"}}`,
		`{"kind":"file","config":{"path":"~/Downloads","pattern":"*.pdf"}}`,
		`{"kind":"feed","config":{"url":"https://news.example.org/feed.xml","every":"30m"}}`,
		`{"kind":"page","config":{"url":"https://shop.example.org/","select":"#price","every":"1h"}}`,
	} {
		add("day 1 00:10 call create_watcher", "%s", w)
		n++
	}
	add("day 1 00:20 message", "every weekday at 8:00 remind me to plan the day")
	add("day 1 00:21 message", "take on a goal: when a task is overdue then tell me")
	n += 2
	entries := 0
	for day := 1; day <= 7; day++ {
		at := func(i int) string { return fmt.Sprintf("day %d %02d:%02d", day, 6+i/4, i%4*15+1) }
		for i := range 56 {
			n++
			switch i % 8 {
			case 0:
				add(at(i)+" mail work", "From: Grace Hopper <grace@example.org>\nSubject: Report %d of day %d\n\nHello\n", i, day)
			case 1, 5:
				add(at(i)+" mail work", "From: Shop <shop@example.net>\nSubject: Offer %d of day %d\n\nBuy\n", i, day)
			case 2:
				add(fmt.Sprintf("%s file ~/Downloads/bill-%d-%d.pdf", at(i), day, i), "%%PDF")
			case 3:
				add(fmt.Sprintf("%s file ~/Downloads/notes-%d-%d.txt", at(i), day, i), "x")
			case 4:
				if i == 4 {
					add(at(i)+" event work", "uid: m%d\ntitle: Meeting %d\nstart: {day %d 15:00}\nplace: Room 4\n", day, day, day)
				} else {
					entries++
					add(at(i)+" web https://news.example.org/feed.xml", "%s", feed(entries))
				}
			case 6:
				if i == 6 {
					add(at(i)+" web https://shop.example.org/", "<p id=price>%d EUR</p>", 100-day)
				} else {
					add(at(i)+" message", "spent %d on lunch", i)
				}
			case 7:
				if i == 7 && day == 2 {
					add(at(i)+" message", "add a task to send the invoice tomorrow at 9")
				} else {
					add(at(i)+" message", "note: thought %d of day %d", i, day)
				}
			}
		}
	}
	add("day 3 20:30 message", "forget my notes")
	if n++; n != 402 { // two inputs exist from the start
		panic(fmt.Sprint(n, " inputs"))
	}
	return b.String()
}

func TestRun_WeekOf400Events(t *testing.T) {
	r := simulateScript(t, weekScript(), nil)
	if r.Inputs != 400 || r.ModelCalls != 0 {
		t.Errorf("%d inputs, %d model calls", r.Inputs, r.ModelCalls)
	}
	compareGolden(t, "testdata/week.golden", formatTimeline(r))
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("the timeline differs (-update renews it):\n%s", d)
	}
}

func TestRun_IdleDays(t *testing.T) {
	r := simulateScript(t, "-- day 3 08:00 call create_task --\n{\"title\": \"water the plants\", \"due\": \"2026-11-28 10:00\"}\n", nil)
	plans := 0
	for _, e := range r.Timeline {
		if e.Kind == Say && strings.HasPrefix(e.Text, "Your plan for") {
			plans++
		}
	}
	if r.ModelCalls != 0 || r.CostUSD != 0 {
		t.Errorf("%d model calls for $%f in idle days", r.ModelCalls, r.CostUSD)
	}
	if plans != 2 { // one on the day of the task, and one on the next day, when the task is overdue
		t.Errorf("%d plans of the day were sent", plans)
	}
}
