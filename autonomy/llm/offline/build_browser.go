package offline

import (
	"regexp"
	"slices"
	"strings"
)

func browserBuilders() map[string]builder {
	return map[string]builder{
		"page.open":    openPage,
		"page.picture": openPage, // screenshotStep takes the screenshot once the page is open
		"tab.picture":  browserCall("browser_screenshot"),
		"tab.list":     ofOwn("browser_list_tabs"),
		"tab.close":    namedTab("browser_close_tab"),
		"tab.switch":   namedTab("browser_switch_tab"),
		"tab.url":      ofOwn("browser_get_url"),
		"tab.read":     ofOwn("browser_get_page_content"),
		"tab.again":    movePage("reload"),
		"tab.back":     movePage("back"),
	}
}

func browserCall(tool string) builder {
	return func(w *intentDraft) (plan, bool) {
		if !w.noLead() {
			return noPlan()
		}
		return planCall(tool, nil)
	}
}

func movePage(action string) builder {
	return func(w *intentDraft) (plan, bool) {
		if !w.noLead() {
			return noPlan()
		}
		return planCall("browser_navigate", argsOf("action", action))
	}
}

// userBrowser returns which of the user's browsers is meant, in the form used by the tools; ""
// means Hob's browser.
func (w *intentDraft) userBrowser() string {
	words := strings.Fields(w.slotNorm("own"))
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}

// ofOwn returns a builder that calls a tool for Hob's browser, or for the user's browser if it is
// named.
func ofOwn(tool string) builder {
	return func(w *intentDraft) (plan, bool) {
		if !w.noLead() {
			return noPlan()
		}
		if own := w.userBrowser(); own != "" {
			return planCall(tool, argsOf("browser", own))
		}
		return planCall(tool, nil)
	}
}

func openPage(w *intentDraft) (plan, bool) {
	address := w.pathOf("site")
	if !w.noLead() || address == "" {
		return noPlan()
	}
	if w.intent.name == "page.open" && w.isAmbiguous(address) {
		return noPlan()
	}
	if own := w.userBrowser(); own != "" {
		return planCall("browser_open_tab", argsOf("url", address, "browser", own))
	}
	return planCall("browser_open_tab", argsOf("url", address))
}

// isAmbiguous reports whether a name may mean something other than a page: "open notes.org" means a
// file and "open Paint.NET" a program, unless the sentence mentions a page. Such names are not sent
// to a server. "open example.com" is not ambiguous.
func (w *intentDraft) isAmbiguous(address string) bool {
	if strings.ContainsAny(address, "/:?#") || strings.HasPrefix(strings.ToLower(address), "www.") || w.userBrowser() != "" {
		return false
	}
	if !slices.Contains(strings.Fields("org net info au"), strings.ToLower(address[strings.LastIndexByte(address, '.')+1:])) {
		return false
	}
	return (w.hasKeyword("open") || w.hasKeyword("load")) && !slices.ContainsFunc(strings.Fields("page webpage site website browser tab web"), w.hasKeyword)
}

var tabForm = regexp.MustCompile(`^t?\d{1,4}$`)

// namedTab returns a builder that calls a tool for the named tab, or for the only tab.
func namedTab(tool string) builder {
	return func(w *intentDraft) (plan, bool) {
		name := strings.ToLower(bareName(w.slotString("word")))
		switch {
		case !w.noLead():
			return noPlan()
		case !w.hasSlot("word"):
			return planCall(tool, nil)
		case !tabForm.MatchString(name):
			return noPlan()
		}
		return planCall(tool, argsOf("tab", "t"+strings.TrimPrefix(name, "t")))
	}
}

// openedIn matches the text in which browser_open_tab reports the ID of a new tab.
var openedIn = regexp.MustCompile(`^Opened in tab (t\d+): `)

// screenshotStep returns the second step of "take a screenshot of example.org", which runs when the
// page is open.
func (p plan) screenshotStep(made []done) (call, bool) {
	if p.intent == nil || p.intent.name != "page.picture" || len(made) != 1 || made[0].name != "browser_open_tab" || made[0].result == nil || made[0].result.Error {
		return call{}, false
	}
	tab := openedIn.FindStringSubmatch(strings.TrimSpace(made[0].result.Text))
	if tab == nil {
		return call{}, false
	}
	return call{"browser_screenshot", argsOf("tab", tab[1])}, true
}
