package offline

import "strings"

func desktopBuilders() map[string]builder {
	return map[string]builder{
		"clipboard.get":  func(*intentDraft) (plan, bool) { return planCall("get_clipboard", nil) },
		"clipboard.set":  copyText,
		"app.open":       openApp,
		"screen.capture": func(*intentDraft) (plan, bool) { return planCall("screen_capture", nil) },
		"window.list":    func(*intentDraft) (plan, bool) { return planCall("list_windows", nil) },
		"app.list":       func(*intentDraft) (plan, bool) { return planCall("list_apps", nil) },
	}
}

func copyText(w *intentDraft) (plan, bool) {
	text := bareName(w.slotString("text"))
	if isUnspecific(text) {
		return planQuestion("What should I copy?", func(answer string) (string, bool) {
			return "copy " + answer + " to the clipboard", answer != ""
		})
	}
	return planCall("set_clipboard", argsOf("text", text))
}

// openApp accepts only short names: a name with a path is a file, and a long phrase is not an
// application.
func openApp(w *intentDraft) (plan, bool) {
	name := bareName(w.slotString("few_app"))
	if !w.noLead() || isUnspecific(name) || len(strings.Fields(name)) > 4 || strings.ContainsAny(name, "/\\@:") {
		return noPlan()
	}
	switch head, _, _ := strings.Cut(strings.ToLower(name), " "); head {
	case "a", "an", "it", "that", "this", "them", "file", "files", "document", "folder", "door", "window", "account":
		return noPlan()
	}
	return planCall("open_app", argsOf("name", name))
}
