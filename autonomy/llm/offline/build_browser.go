package offline

import (
	"regexp"
	"slices"
	"strings"
)

func browserBuilders() map[string]builder {
	return map[string]builder{
		"page.open":    openPage,
		"page.picture": openPage, // its screenshot is taken once it is open
		"tab.picture":  plainly("browser_screenshot"),
		"tab.list":     ofOwn("browser_list_tabs"),
		"tab.close":    namedTab("browser_close_tab"),
		"tab.switch":   namedTab("browser_switch_tab"),
		"tab.url":      ofOwn("browser_get_url"),
		"tab.read":     ofOwn("browser_get_page_content"),
		"tab.again":    moving("reload"),
		"tab.back":     moving("back"),
	}
}

func plainly(tool string) builder {
	return func(w *wish) (plan, bool) {
		if !w.noLead() {
			return not()
		}
		return calling(tool, nil)
	}
}

func moving(action string) builder {
	return func(w *wish) (plan, bool) {
		if !w.noLead() {
			return not()
		}
		return calling("browser_navigate", arguments("action", action))
	}
}

// own returns which of the user's browsers is meant, in the form of the tools; "" is Hob's.
func (w *wish) own() string {
	words := strings.Fields(w.norm("own"))
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}

// ofOwn calls a tool for Hob's browser, or for the user's if named.
func ofOwn(tool string) builder {
	return func(w *wish) (plan, bool) {
		if !w.noLead() {
			return not()
		}
		if own := w.own(); own != "" {
			return calling(tool, arguments("browser", own))
		}
		return calling(tool, nil)
	}
}

func openPage(w *wish) (plan, bool) {
	address := w.path("site")
	if !w.noLead() || address == "" {
		return not()
	}
	if w.intent.name == "page.open" && w.ambiguous(address) {
		return not()
	}
	if own := w.own(); own != "" {
		return calling("browser_open_tab", arguments("url", address, "browser", own))
	}
	return calling("browser_open_tab", arguments("url", address))
}

// ambiguous: "open notes.org" means a file and "open Paint.NET" a program, unless the sentence
// mentions a page: their names are sent to no server. "open example.com" is neither.
func (w *wish) ambiguous(address string) bool {
	if strings.ContainsAny(address, "/:?#") || strings.HasPrefix(strings.ToLower(address), "www.") || w.own() != "" {
		return false
	}
	if !slices.Contains(strings.Fields("org net info au"), strings.ToLower(address[strings.LastIndexByte(address, '.')+1:])) {
		return false
	}
	return (w.says("open") || w.says("load")) && !slices.ContainsFunc(strings.Fields("page webpage site website browser tab web"), w.says)
}

var tabForm = regexp.MustCompile(`^t?\d{1,4}$`)

// namedTab concerns the named tab, or the only one.
func namedTab(tool string) builder {
	return func(w *wish) (plan, bool) {
		name := strings.ToLower(bare(w.text("word")))
		switch {
		case !w.noLead():
			return not()
		case !w.has("word"):
			return calling(tool, nil)
		case !tabForm.MatchString(name):
			return not()
		}
		return calling(tool, arguments("tab", "t"+strings.TrimPrefix(name, "t")))
	}
}

// openedIn is the text with which browser_open_tab names the tab of a page.
var openedIn = regexp.MustCompile(`^Opened in tab (t\d+): `)

// picture is the second step of "take a screenshot of example.org": its page is open.
func (p plan) picture(made []done) (call, bool) {
	if p.intent == nil || p.intent.name != "page.picture" || len(made) != 1 || made[0].name != "browser_open_tab" || made[0].result == nil || made[0].result.Error {
		return call{}, false
	}
	tab := openedIn.FindStringSubmatch(strings.TrimSpace(made[0].result.Text))
	if tab == nil {
		return call{}, false
	}
	return call{"browser_screenshot", arguments("tab", tab[1])}, true
}
