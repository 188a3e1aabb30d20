package page

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// rowOf returns an expression for the row of a list that contains a text.
func rowOf(text string) string {
	return fmt.Sprintf(`Array.from(document.querySelectorAll("main li")).find(e => e.innerText.includes(%q))`, text)
}

// pressButton clicks the button or link of that label in the row that contains a text.
func (w *window) pressButton(text, label string) {
	w.t.Helper()
	w.waitUntil(rowOf(text))
	w.runSteps(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`Array.from(%s.querySelectorAll("button, a")).find(e => e.innerText === %q).click()`, rowOf(text), label)))
}

func testMemoryPage(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	w := b.openWindow(t)
	w.logIn(h)
	w.sendText("remember that Ada Lovelace works at Vinted")
	w.sendText("remember that the code of the cabin is Kestrel-9981 <b>x here")
	w.visitPage(h, "/memory")
	w.waitUntil(`document.querySelector("main svg[role=img] text")`)
	if s := getValue[string](w, `document.querySelector("main figure svg").textContent`); !strings.Contains(s, "Ada Lovelace") || !strings.Contains(s, "Vinted") {
		t.Errorf("the picture shows %q", s)
	}
	// The same in words, for those who do not see the picture.
	w.clickElement("main figure + details summary")
	w.waitUntil(rowOf("Ada Lovelace works at Vinted"))

	for query, want := range map[string]bool{"Vinted": true, "xylophone-zebra": false} {
		w.visitPage(h, "/memory?q="+url.QueryEscape(query))
		if got := getValue[bool](w, "!!"+rowOf("Ada Lovelace works at Vinted")); got != want {
			t.Errorf("a search for %s finds the fact: %v", query, got)
		}
	}
	w.visitPage(h, "/memory?q=Vinted&kind=fact") // without the messages in which you said it
	w.clickElement("main li details summary")
	w.waitUntil(`document.querySelector("main li details[open] meter")`)

	w.pressButton("Ada Lovelace works at Vinted", "Correct")
	w.waitUntil(`document.querySelector("#correct textarea")`)
	w.waitUntil(live)
	getValue[bool](w, `(e => (e.value = "Ada Lovelace works at Initech", e.form.requestSubmit(), true))(document.querySelector("#correct textarea"))`)
	w.waitUntil(`document.querySelector(".flash")?.innerText.includes("It replaces")`)
	w.visitPage(h, "/memory")
	w.waitUntil(rowOf("Ada Lovelace works at Initech"))

	w.pressButton("Kestrel-9981", "Forget")
	w.waitUntil(`location.pathname === "/memory/forget" && document.querySelector("main form[action='/memory/forget']")`)
	w.waitUntil(rowOf("Kestrel-9981 <b>x here"))
	if facts := h.listFacts(); !strings.Contains(facts, "Kestrel-9981") {
		t.Errorf("the fact is forgotten before the confirmation: %s", facts)
	}
	w.clickElement("main form[action='/memory/forget'] button")
	w.waitUntil(`location.pathname === "/memory" && document.querySelector(".flash")`)
	if facts := h.listFacts(); strings.Contains(facts, "Kestrel-9981") || !strings.Contains(facts, "Initech") {
		t.Errorf("facts after the erasure: %s; page: %s", facts, w.shownText())
	}
	if n := getValue[int](w, `document.querySelectorAll("main .approval, #nav .count").length`); n != 0 {
		t.Error("the confirmed deletion still has an approval request")
	}
}

// The page of a person merges two entries and separates them again.
func testMergePeople(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	var made any
	for _, args := range []map[string]any{{"from": "Ana", "relation": "works at", "to": "Initech"}, {"from": "Annie", "relation": "lives in", "to": "Riga"}} {
		h.postJSON("/api/v1/tools/link_entities", map[string]any{"arguments": args}, &made)
	}
	w := b.openWindow(t)
	w.logIn(h)
	show := func(names ...string) {
		t.Helper()
		w.visitPage(h, "/memory")
		w.clickElement("main figure + details summary")
		getValue[bool](w, fmt.Sprintf(`(Array.from(document.querySelectorAll("main details a.what")).find(a => %q.split("|").includes(a.innerText)).click(), true)`, strings.Join(names, "|")))
		w.waitUntil(`location.pathname === "/memory/item" && document.querySelector("#identity")`)
		w.waitUntil(live)
	}
	show("Ana")
	if !getValue[bool](w, `Array.from(document.querySelectorAll("#others option"), o => o.value).includes("Annie")`) {
		t.Error("the other entry is not suggested")
	}
	getValue[bool](w, `(e => (e.value = "Nobody", e.form.requestSubmit(), true))(document.querySelector("#identity [name=second]"))`)
	w.waitUntil(`document.querySelector(".flash.error")?.innerText.includes("Nobody") && location.pathname === "/memory/item"`)
	getValue[bool](w, `(e => (e.value = "Annie", e.form.requestSubmit(), true))(document.querySelector("#identity [name=second]"))`)
	w.waitUntil(`location.pathname === "/memory" && document.querySelector(".flash:not(.error)")?.innerText.includes("are the same now")`)
	show("Ana", "Annie") // either entry may be the one that stays
	w.clickElement("#identity li button")
	w.waitUntil(`location.pathname === "/memory" && document.querySelector(".flash:not(.error)")?.innerText.includes("different now")`)
	show("Annie")
	show("Ana")
}

// listFacts returns the texts of all facts.
func (h *daemonFixture) listFacts() string {
	h.t.Helper()
	var list []struct{ Text string }
	h.getJSON("/api/v1/memory", &list)
	return fmt.Sprint(list)
}

func testGoalsPage(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	w := b.openWindow(t)
	w.logIn(h)
	w.visitPage(h, "/goals")
	w.runSteps(chromedp.SendKeys(chromedp.CSS("[name=description]"), "when a task is overdue then tell me"))
	w.clickElement("#new-goal button")
	const goal = "when a task is overdue"
	w.waitUntil(rowOf(goal))
	w.waitUntil(rowOf(goal) + `.innerText.includes("the condition does not hold")`) // the first review, and its reason
	w.pressButton(goal, "Pause")
	w.waitUntil(rowOf(goal) + `?.innerText.includes("paused")`)
	w.pressButton(goal, "Resume")
	w.waitUntil(rowOf(goal) + `?.innerText.includes("active")`)
	w.pressButton(goal, "History")
	w.waitUntil(`location.pathname === "/goals/history" && ` + rowOf("the condition does not hold"))
	w.waitUntil(live)
	getValue[bool](w, `(e => (e.value = "2 days", e.form.requestSubmit(), true))(document.querySelector("[name=every]"))`)
	w.waitUntil(`document.querySelector(".flash") && document.querySelector("main .facts").innerText.includes("2d")`)
	w.visitPage(h, "/goals")
	w.pressButton(goal, "Remove")
	w.waitUntil(`document.querySelector("main [popover]:popover-open .primary")`)
	var goals []struct{ ID string }
	h.getJSON("/api/v1/goals", &goals)
	if len(goals) != 1 {
		t.Errorf("%d goals before the confirmation", len(goals))
	}
	w.clickElement("main [popover]:popover-open .primary")
	w.waitUntil("!" + rowOf(goal))
}

func testWatchersPage(t *testing.T, b *browser) {
	h := openDaemon(t, offline)
	inbox := filepath.Join(h.home, "inbox")
	failOnError(t, os.Mkdir(inbox, 0o700))
	w := b.openWindow(t)
	w.logIn(h)
	w.sendText("watch ~/inbox and tell me")
	var made any
	h.postJSON("/api/v1/tools/create_schedule", map[string]any{"arguments": map[string]any{"every": "day at 8:00", "action": "tell me the weather"}}, &made)
	failOnError(t, os.WriteFile(filepath.Join(inbox, "bill <b>x.pdf"), []byte("x"), 0o600))
	w.awaitMessage("notice", "bill <b>x.pdf")
	w.visitPage(h, "/watchers")
	w.waitUntil(rowOf("inbox") + `.innerText.includes("Reported once")`)
	w.waitUntil(rowOf("tell me the weather") + `.innerText.includes("Next: ")`)
	w.pressButton("tell me the weather", "Pause")
	w.waitUntil(rowOf("tell me the weather") + `?.innerText.includes("paused")`)
	w.pressButton("inbox", "Try")
	w.waitUntil(`document.querySelector("#drawer[open] pre")?.innerText.includes("history")`) // the kind file cannot be tried
	w.visitPage(h, "/watchers")
	w.pressButton("inbox", "History")
	w.waitUntil(rowOf("bill <b>x.pdf"))
	w.visitPage(h, "/watchers")
	w.pressButton("inbox", "Remove")
	w.waitUntil(`document.querySelector("main [popover]:popover-open .primary")`)
	w.clickElement("main [popover]:popover-open .primary")
	w.waitUntil("!" + rowOf("inbox"))
}

// The page Watchers adds watchers and schedules with a form for each kind, and draws the next days.
func testWatcherForms(t *testing.T, b *browser) {
	h := openDaemon(t, offline+"[notify]\nquiet_hours = { start = \"22:00\", end = \"07:00\" }\n")
	inbox := filepath.Join(h.home, "inbox")
	failOnError(t, os.Mkdir(inbox, 0o700))
	w := b.openWindow(t)
	w.logIn(h)
	w.visitPage(h, "/watchers")
	choose := func(kind string) {
		t.Helper()
		w.visitPage(h, "/watchers")
		getValue[bool](w, fmt.Sprintf(`(Array.from(document.querySelectorAll("#add .tabs a")).find(a => a.innerText === %q).click(), true)`, kind))
		w.waitUntil(`document.querySelector("#add form")`)
		w.waitUntil(live)
	}
	fill := func(values map[string]string) {
		t.Helper()
		for name, value := range values {
			getValue[bool](w, fmt.Sprintf(`(document.querySelector("#add [name='%s']").value = %q, true)`, name, value))
		}
		getValue[bool](w, `(document.querySelector("#add form").requestSubmit(), true)`)
	}
	for _, kind := range []string{"Files", "Feed", "Web page", "Email", "Messages", "Calendar", "GitHub repository", "MCP resource"} {
		choose(kind)
		if n := getValue[int](w, `document.querySelectorAll("#add form input:not([type=hidden])").length`); n < 4 {
			t.Errorf("the form for %s has %d fields", kind, n)
		}
	}
	// What the user entered is kept after an error.
	choose("Files")
	fill(map[string]string{"config-path": inbox, "config-pattern": "*.pdf", "active_hours": "when I like"})
	w.waitUntil(`document.querySelector(".flash.error")`)
	if v := getValue[string](w, `document.querySelector("#add [name='config-path']")?.value`); v != inbox {
		t.Errorf("after an error the path is %q", v)
	}
	fill(map[string]string{"active_hours": ""})
	w.waitUntil(`document.querySelector(".flash:not(.error)")?.innerText.includes("I am watching new PDF files")`)
	w.waitUntil(rowOf("inbox"))

	choose("Schedule")
	fill(map[string]string{"when": "day at 8:00", "action": "tell me <b>the weather"})
	w.waitUntil(rowOf("tell me <b>the weather"))
	w.waitUntil(`document.querySelectorAll("svg.week.wide circle.run").length >= 6`)
	w.waitUntil(live)
	var made any
	h.postJSON("/api/v1/tools/create_reminder", map[string]any{"arguments": map[string]any{"text": "stretch", "every": "30 minutes"}}, &made)
	h.postJSON("/api/v1/tools/create_reminder", map[string]any{"arguments": map[string]any{"text": "call Ada", "at": "tomorrow at 9"}}, &made)
	w.waitUntil(`document.querySelector("svg.week.wide rect.reminder:not(.dense)") && document.querySelectorAll("svg.week.wide rect.dense").length === 1 && document.querySelectorAll("svg.week.wide rect.quiet").length >= 6`)
	if s := getValue[string](w, `document.querySelector("svg.week.wide").getAttribute("aria-label")`); !strings.Contains(s, "tell me <b>the weather: ") {
		t.Errorf("the picture is described as %q", s)
	}
	w.clickElement("#week details summary")
	w.waitUntil(rowOf("09:00: call Ada"))
	w.savePicture("week")
	// The timeline says in a sentence what was made.
	w.visitPage(h, "/timeline")
	w.waitUntil(rowOf("Watch new PDF files in"))
	if strings.Contains(w.shownText(), "{") {
		t.Errorf("the timeline shows JSON: %s", w.shownText())
	}
}

func testCostsPage(t *testing.T, b *browser) {
	goOn := make(chan struct{})
	close(goOn)
	h := openDaemon(t, fmt.Sprintf("[agent]\nmodel = \"slow/slow\"\n[providers.slow]\nkind = \"openai\"\nbase_url = %q\n", slowModel(t, goOn)+"/v1"))
	w := b.openWindow(t)
	w.logIn(h)
	w.sendText("hello")
	w.visitPage(h, "/costs")
	w.waitUntil(`document.querySelector("figure.plot canvas")`)
	if n := getValue[int](w, `document.querySelectorAll("figure.plot canvas").length`); n != 2 {
		t.Errorf("%d plots", n)
	}
	if got := getValue[bool](w, `Array.from(document.querySelectorAll("figure.plot"), f => f.querySelector("figcaption").innerText.length > 10 && f.querySelector("canvas").getBoundingClientRect().width > 150).every(x => x)`); !got {
		t.Error("a plot is too small or has no caption")
	}
	for _, table := range []string{"By model", "By purpose", "By day"} {
		if n := getValue[int](w, fmt.Sprintf(`document.querySelectorAll("[aria-label='%s'] tbody tr").length`, table)); n == 0 {
			t.Errorf("the table %s is empty", table)
		}
	}
	if s := w.shownText(); !strings.Contains(s, "answers") {
		t.Errorf("the purpose is missing: %s", s)
	}
	// The user's own expenses are only there if there are any.
	if getValue[bool](w, `document.body.innerText.includes("Your spending")`) {
		t.Error("the page shows expenses, but none was logged")
	}
	var made any
	before := func(days int) string { return time.Now().UTC().AddDate(0, 0, -days).Format(time.DateOnly) }
	for _, e := range []map[string]any{
		{"amount": 12.5, "category": "lunch"},
		{"amount": 7.5, "category": "Lunch"},
		{"amount": 30, "category": "books", "date": before(62)},
		{"amount": 99, "category": "train", "currency": "USD"},
		{"amount": 50, "category": "old", "date": before(730)},
	} {
		h.postJSON("/api/v1/tools/log_expense", map[string]any{"arguments": e}, &made)
	}
	h.postJSON("/api/v1/tools/budget_check", map[string]any{"arguments": map[string]any{"action": "set", "category": "lunch", "limit": 16}}, &made)
	w.visitPage(h, "/costs")
	w.waitUntil(`document.querySelectorAll("figure.plot canvas").length === 4`)
	rows := func(table string) []string {
		return getValue[[]string](w, fmt.Sprintf(`[...document.querySelectorAll("[aria-label='%s'] tbody tr")].map(r => r.innerText.trim().split(/\s*\t\s*/).join(" "))`, table))
	}
	if got := rows("Your spending in EUR"); !slices.Equal(got, []string{"books 1 0.00 30.00", "Lunch 2 20.00 20.00", "Total 3 20.00 50.00"}) {
		t.Errorf("spending in EUR: %q", got)
	}
	if got := rows("Your spending in USD"); !slices.Equal(got, []string{"train 1 99.00 99.00", "Total 1 99.00 99.00"}) {
		t.Errorf("spending in USD: %q", got)
	}
	if s := w.shownText(); !strings.Contains(s, "Lunch: 20.00 of 16.00 EUR spent this month (125 %) over the budget") {
		t.Errorf("the budget is missing: %s", s)
	}
	getValue[bool](w, `(document.querySelector("[aria-label='Your spending in EUR']").closest("section").scrollIntoView(), true)`)
	w.savePicture("spending")
	// A limit is a setting, which is saved in the file.
	file := filepath.Join(h.home, "hob", "config.toml")
	limit := func(value string) {
		t.Helper()
		getValue[bool](w, fmt.Sprintf(`(e => (e.value = %q, e.form.noValidate = true, e.form.requestSubmit(), true))(document.querySelector("form[data-name='budget.daily_usd'] [name=value]"))`, value))
	}
	limit("-5")
	w.waitUntil(`document.querySelector(".flash.error")`)
	limit("2.5")
	w.waitUntil(`document.querySelector(".flash:not(.error)")?.innerText.includes("budget.daily_usd = 2.5")`)
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "daily_usd = 2.5") {
		t.Errorf("the file contains %s, %v", text, err)
	}
}
