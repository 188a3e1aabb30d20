package page

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// row returns an expression for the row of a list that contains a text.
func row(text string) string {
	return fmt.Sprintf(`Array.from(document.querySelectorAll("main li")).find(e => e.innerText.includes(%q))`, text)
}

// press clicks the button or link of that label in the row that contains a text.
func (w *window) press(text, label string) {
	w.t.Helper()
	w.waitUntil(row(text))
	w.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`Array.from(%s.querySelectorAll("button, a")).find(e => e.innerText === %q).click()`, row(text), label)))
}

func testMemoryPage(t *testing.T, b *browser) {
	h := open(t, offline)
	w := b.window(t)
	w.logIn(h)
	w.say("remember that Ada Lovelace works at Vinted")
	w.say("remember that the code of the cabin is Kestrel-9981 <b>x here")
	w.visit(h, "/memory")
	w.waitUntil(`document.querySelector("main svg[role=img] text")`)
	if s := get[string](w, `document.querySelector("main figure svg").textContent`); !strings.Contains(s, "Ada Lovelace") || !strings.Contains(s, "Vinted") {
		t.Errorf("the picture shows %q", s)
	}
	// The same in words, for those who do not see the picture.
	w.click("main figure + details summary")
	w.waitUntil(row("Ada Lovelace works at Vinted"))

	for query, want := range map[string]bool{"Vinted": true, "xylophone-zebra": false} {
		w.visit(h, "/memory?q="+url.QueryEscape(query))
		if got := get[bool](w, "!!"+row("Ada Lovelace works at Vinted")); got != want {
			t.Errorf("a search for %s finds the fact: %v", query, got)
		}
	}
	w.visit(h, "/memory?q=Vinted&kind=fact") // without the messages in which you said it
	w.click("main li details summary")
	w.waitUntil(`document.querySelector("main li details[open] meter")`)

	w.press("Ada Lovelace works at Vinted", "Correct")
	w.waitUntil(`document.querySelector("#correct textarea")`)
	w.waitUntil(live)
	get[bool](w, `(e => (e.value = "Ada Lovelace works at Initech", e.form.requestSubmit(), true))(document.querySelector("#correct textarea"))`)
	w.waitUntil(`document.querySelector(".flash")?.innerText.includes("It replaces")`)
	w.visit(h, "/memory")
	w.waitUntil(row("Ada Lovelace works at Initech"))

	w.press("Kestrel-9981", "Forget")
	w.waitUntil(`location.pathname === "/memory/forget" && document.querySelector("main form[action='/memory/forget']")`)
	w.waitUntil(row("Kestrel-9981 <b>x here"))
	if facts := h.facts(); !strings.Contains(facts, "Kestrel-9981") {
		t.Errorf("the fact is forgotten before the confirmation: %s", facts)
	}
	w.click("main form[action='/memory/forget'] button")
	w.waitUntil(`location.pathname === "/memory" && document.querySelector(".flash")`)
	if facts := h.facts(); strings.Contains(facts, "Kestrel-9981") || !strings.Contains(facts, "Initech") {
		t.Errorf("facts after the erasure: %s; page: %s", facts, w.shownText())
	}
	if n := get[int](w, `document.querySelectorAll("main .approval, #nav .count").length`); n != 0 {
		t.Error("the confirmed deletion still has an approval request")
	}
}

// The page of a person merges two entries and separates them again.
func testMergePeople(t *testing.T, b *browser) {
	h := open(t, offline)
	var made any
	for _, args := range []map[string]any{{"from": "Ana", "relation": "works at", "to": "Initech"}, {"from": "Annie", "relation": "lives in", "to": "Riga"}} {
		h.post("/api/v1/tools/link_entities", map[string]any{"arguments": args}, &made)
	}
	w := b.window(t)
	w.logIn(h)
	show := func(names ...string) {
		t.Helper()
		w.visit(h, "/memory")
		w.click("main figure + details summary")
		get[bool](w, fmt.Sprintf(`(Array.from(document.querySelectorAll("main details a.what")).find(a => %q.split("|").includes(a.innerText)).click(), true)`, strings.Join(names, "|")))
		w.waitUntil(`location.pathname === "/memory/item" && document.querySelector("#identity")`)
		w.waitUntil(live)
	}
	show("Ana")
	if !get[bool](w, `Array.from(document.querySelectorAll("#others option"), o => o.value).includes("Annie")`) {
		t.Error("the other entry is not suggested")
	}
	get[bool](w, `(e => (e.value = "Nobody", e.form.requestSubmit(), true))(document.querySelector("#identity [name=second]"))`)
	w.waitUntil(`document.querySelector(".flash.error")?.innerText.includes("Nobody") && location.pathname === "/memory/item"`)
	get[bool](w, `(e => (e.value = "Annie", e.form.requestSubmit(), true))(document.querySelector("#identity [name=second]"))`)
	w.waitUntil(`location.pathname === "/memory" && document.querySelector(".flash:not(.error)")?.innerText.includes("are the same now")`)
	show("Ana", "Annie") // either entry may be the one that stays
	w.click("#identity li button")
	w.waitUntil(`location.pathname === "/memory" && document.querySelector(".flash:not(.error)")?.innerText.includes("different now")`)
	show("Annie")
	show("Ana")
}

// facts returns the texts of all facts.
func (h *daemonFixture) facts() string {
	h.t.Helper()
	var list []struct{ Text string }
	h.get("/api/v1/memory", &list)
	return fmt.Sprint(list)
}

func testGoalsPage(t *testing.T, b *browser) {
	h := open(t, offline)
	w := b.window(t)
	w.logIn(h)
	w.visit(h, "/goals")
	w.do(chromedp.SendKeys(chromedp.CSS("[name=description]"), "when a task is overdue then tell me"))
	w.click("#new-goal button")
	const goal = "when a task is overdue"
	w.waitUntil(row(goal))
	w.waitUntil(row(goal) + `.innerText.includes("the condition does not hold")`) // the first review, and its reason
	w.press(goal, "Pause")
	w.waitUntil(row(goal) + `?.innerText.includes("paused")`)
	w.press(goal, "Resume")
	w.waitUntil(row(goal) + `?.innerText.includes("active")`)
	w.press(goal, "History")
	w.waitUntil(`location.pathname === "/goals/history" && ` + row("the condition does not hold"))
	w.waitUntil(live)
	get[bool](w, `(e => (e.value = "2 days", e.form.requestSubmit(), true))(document.querySelector("[name=every]"))`)
	w.waitUntil(`document.querySelector(".flash") && document.querySelector("main .facts").innerText.includes("2d")`)
	w.visit(h, "/goals")
	w.press(goal, "Remove")
	w.waitUntil(`document.querySelector("main [popover]:popover-open .primary")`)
	var goals []struct{ ID string }
	h.get("/api/v1/goals", &goals)
	if len(goals) != 1 {
		t.Errorf("%d goals before the confirmation", len(goals))
	}
	w.click("main [popover]:popover-open .primary")
	w.waitUntil("!" + row(goal))
}

func testWatchersPage(t *testing.T, b *browser) {
	h := open(t, offline)
	inbox := filepath.Join(h.home, "inbox")
	fatal(t, os.Mkdir(inbox, 0o700))
	w := b.window(t)
	w.logIn(h)
	w.say("watch ~/inbox and tell me")
	var made any
	h.post("/api/v1/tools/create_schedule", map[string]any{"arguments": map[string]any{"every": "day at 8:00", "action": "tell me the weather"}}, &made)
	fatal(t, os.WriteFile(filepath.Join(inbox, "bill <b>x.pdf"), []byte("x"), 0o600))
	w.awaitMessage("notice", "bill <b>x.pdf")
	w.visit(h, "/watchers")
	w.waitUntil(row("inbox") + `.innerText.includes("Reported once")`)
	w.waitUntil(row("tell me the weather") + `.innerText.includes("Next: ")`)
	w.press("tell me the weather", "Pause")
	w.waitUntil(row("tell me the weather") + `?.innerText.includes("paused")`)
	w.press("inbox", "Try")
	w.waitUntil(`document.querySelector("#drawer[open] pre")?.innerText.includes("history")`) // the kind file cannot be tried
	w.visit(h, "/watchers")
	w.press("inbox", "History")
	w.waitUntil(row("bill <b>x.pdf"))
	w.visit(h, "/watchers")
	w.press("inbox", "Remove")
	w.waitUntil(`document.querySelector("main [popover]:popover-open .primary")`)
	w.click("main [popover]:popover-open .primary")
	w.waitUntil("!" + row("inbox"))
}

// The page Watchers adds watchers and schedules with a form for each kind, and draws the next days.
func testWatcherForms(t *testing.T, b *browser) {
	h := open(t, offline+"[notify]\nquiet_hours = { start = \"22:00\", end = \"07:00\" }\n")
	inbox := filepath.Join(h.home, "inbox")
	fatal(t, os.Mkdir(inbox, 0o700))
	w := b.window(t)
	w.logIn(h)
	w.visit(h, "/watchers")
	choose := func(kind string) {
		t.Helper()
		w.visit(h, "/watchers")
		get[bool](w, fmt.Sprintf(`(Array.from(document.querySelectorAll("#add .tabs a")).find(a => a.innerText === %q).click(), true)`, kind))
		w.waitUntil(`document.querySelector("#add form")`)
		w.waitUntil(live)
	}
	fill := func(values map[string]string) {
		t.Helper()
		for name, value := range values {
			get[bool](w, fmt.Sprintf(`(document.querySelector("#add [name='%s']").value = %q, true)`, name, value))
		}
		get[bool](w, `(document.querySelector("#add form").requestSubmit(), true)`)
	}
	for _, kind := range []string{"Files", "Feed", "Web page", "Email", "Messages", "Calendar", "GitHub repository", "MCP resource"} {
		choose(kind)
		if n := get[int](w, `document.querySelectorAll("#add form input:not([type=hidden])").length`); n < 4 {
			t.Errorf("the form for %s has %d fields", kind, n)
		}
	}
	// What the user entered is kept after an error.
	choose("Files")
	fill(map[string]string{"config-path": inbox, "config-pattern": "*.pdf", "active_hours": "when I like"})
	w.waitUntil(`document.querySelector(".flash.error")`)
	if v := get[string](w, `document.querySelector("#add [name='config-path']")?.value`); v != inbox {
		t.Errorf("after an error the path is %q", v)
	}
	fill(map[string]string{"active_hours": ""})
	w.waitUntil(`document.querySelector(".flash:not(.error)")?.innerText.includes("I am watching new PDF files")`)
	w.waitUntil(row("inbox"))

	choose("Schedule")
	fill(map[string]string{"when": "day at 8:00", "action": "tell me <b>the weather"})
	w.waitUntil(row("tell me <b>the weather"))
	w.waitUntil(`document.querySelectorAll("svg.week.wide circle.run").length >= 6`)
	w.waitUntil(live)
	var made any
	h.post("/api/v1/tools/create_reminder", map[string]any{"arguments": map[string]any{"text": "stretch", "every": "30 minutes"}}, &made)
	h.post("/api/v1/tools/create_reminder", map[string]any{"arguments": map[string]any{"text": "call Ada", "at": "tomorrow at 9"}}, &made)
	w.waitUntil(`document.querySelector("svg.week.wide rect.reminder:not(.dense)") && document.querySelectorAll("svg.week.wide rect.dense").length === 1 && document.querySelectorAll("svg.week.wide rect.quiet").length >= 6`)
	if s := get[string](w, `document.querySelector("svg.week.wide").getAttribute("aria-label")`); !strings.Contains(s, "tell me <b>the weather: ") {
		t.Errorf("the picture is described as %q", s)
	}
	w.click("#week details summary")
	w.waitUntil(row("09:00: call Ada"))
	w.picture("week")
	// The timeline says in a sentence what was made.
	w.visit(h, "/timeline")
	w.waitUntil(row("Watch new PDF files in"))
	if strings.Contains(w.shownText(), "{") {
		t.Errorf("the timeline shows JSON: %s", w.shownText())
	}
}

func testCostsPage(t *testing.T, b *browser) {
	goOn := make(chan struct{})
	close(goOn)
	h := open(t, fmt.Sprintf("[agent]\nmodel = \"slow/slow\"\n[providers.slow]\nkind = \"openai\"\nbase_url = %q\n", slowModel(t, goOn)+"/v1"))
	w := b.window(t)
	w.logIn(h)
	w.say("hello")
	w.visit(h, "/costs")
	w.waitUntil(`document.querySelector("figure.plot canvas")`)
	if n := get[int](w, `document.querySelectorAll("figure.plot canvas").length`); n != 2 {
		t.Errorf("%d plots", n)
	}
	if got := get[bool](w, `Array.from(document.querySelectorAll("figure.plot"), f => f.querySelector("figcaption").innerText.length > 10 && f.querySelector("canvas").getBoundingClientRect().width > 150).every(x => x)`); !got {
		t.Error("a plot is too small or has no caption")
	}
	for _, table := range []string{"By model", "By purpose", "By day"} {
		if n := get[int](w, fmt.Sprintf(`document.querySelectorAll("[aria-label='%s'] tbody tr").length`, table)); n == 0 {
			t.Errorf("the table %s is empty", table)
		}
	}
	if s := w.shownText(); !strings.Contains(s, "answers") {
		t.Errorf("the purpose is missing: %s", s)
	}
	// A limit is a setting, which is saved in the file.
	file := filepath.Join(h.home, "hob", "config.toml")
	limit := func(value string) {
		t.Helper()
		get[bool](w, fmt.Sprintf(`(e => (e.value = %q, e.form.noValidate = true, e.form.requestSubmit(), true))(document.querySelector("form[data-name='budget.daily_usd'] [name=value]"))`, value))
	}
	limit("-5")
	w.waitUntil(`document.querySelector(".flash.error")`)
	limit("2.5")
	w.waitUntil(`document.querySelector(".flash:not(.error)")?.innerText.includes("budget.daily_usd = 2.5")`)
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "daily_usd = 2.5") {
		t.Errorf("the file contains %s, %v", text, err)
	}
}
