package page

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/platform/pim/pimtest"
)

// fillForm sets the fields of a form and submits it.
func (w *window) fillForm(form string, fields ...string) {
	w.t.Helper()
	for i := 0; i < len(fields); i += 2 {
		getValue[bool](w, fmt.Sprintf(`(document.querySelector(%q).elements[%q].value = %q, true)`, form, fields[i], fields[i+1]))
	}
	getValue[bool](w, fmt.Sprintf(`(document.querySelector(%q).requestSubmit(), true)`, form))
}

// What new users set up first has forms: quiet hours, the template with a preview, a mail account whose
// certificate is unknown, and a skill.
func testSetupForms(t *testing.T, b *browser) {
	d := pimtest.StartDovecot(t, "")
	h := openDaemon(t, offline)
	file := filepath.Join(h.home, "hob", "config.toml")
	w := b.openWindow(t)
	w.logIn(h)
	w.visitPage(h, "/settings")
	w.fillForm("#quiet form", "start", "23:00", "end", "06:30")
	w.waitUntil(`document.querySelector(".flash:not(.error)") && document.querySelector("#quiet")?.innerText.includes("Now: 23:00 to 06:30")`)
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "06:30") {
		t.Errorf("quiet hours in the file: %v %s", err, text)
	}
	w.visitPage(h, "/settings")
	w.clickElement(`li[data-name="housekeeper"] a`)
	w.waitUntil(`location.pathname === "/settings/template" && document.querySelector("main").innerText.includes("Changes the personality")`)
	w.clickElement("form[action='/settings/use-template'] button")
	w.waitUntil(`location.pathname === "/settings" && ` + lineOf("housekeeper") + `?.innerText.includes("in use")`)
	w.visitPage(h, "/channels")
	w.fillForm("#connect form", "address", "ada@test.local", "user", "ada", "password", pimtest.Secret, "imap", d.IMAPS)
	w.waitUntil(`document.querySelector("#certificates")?.innerText.includes("SHA-256")`)
	if page := getValue[string](w, `document.documentElement.outerHTML`); strings.Contains(page, `value="`+pimtest.Secret+`"`) {
		t.Error("the page contains the password")
	}
	w.clickElement("#certificates button")
	w.waitUntil(`document.querySelector(".flash:not(.error)") && ` + lineOf("test") + `?.innerText.includes("ada")`)
	w.visitPage(h, "/channels")
	w.fillForm("#add-skill form", "name", "Green Tea", "description", "How to make tea.", "text", "Green tea takes 2 minutes.")
	w.waitUntil(`document.querySelector(".flash.error")?.innerText.includes("lower-case")`)
	w.waitUntil(`document.querySelector("#add-skill [name=text]")?.value.includes("2 minutes")`)
	w.fillForm("#add-skill form", "name", "green-tea")
	w.waitUntil(lineOf("green-tea") + `?.dataset.state === "trusted"`)
}
