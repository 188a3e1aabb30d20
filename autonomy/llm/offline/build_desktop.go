package offline

import "strings"

func desktopBuilders() map[string]builder {
	return map[string]builder{
		"clipboard.get":  func(*wish) (plan, bool) { return calling("get_clipboard", nil) },
		"clipboard.set":  copyText,
		"app.open":       openApp,
		"screen.capture": func(*wish) (plan, bool) { return calling("screen_capture", nil) },
		"window.list":    func(*wish) (plan, bool) { return calling("list_windows", nil) },
		"app.list":       func(*wish) (plan, bool) { return calling("list_apps", nil) },
	}
}

func copyText(w *wish) (plan, bool) {
	text := bare(w.text("text"))
	if anything(text) {
		return asking("What should I copy?", func(answer string) (string, bool) {
			return "copy " + answer + " to the clipboard", answer != ""
		})
	}
	return calling("set_clipboard", arguments("text", text))
}

// openApp accepts only short names: a name with a path is a file, and a long phrase is not an
// application.
func openApp(w *wish) (plan, bool) {
	name := bare(w.text("few_app"))
	if !w.noLead() || anything(name) || len(strings.Fields(name)) > 4 || strings.ContainsAny(name, "/\\@:") {
		return not()
	}
	switch head, _, _ := strings.Cut(strings.ToLower(name), " "); head {
	case "a", "an", "it", "that", "this", "them", "file", "files", "document", "folder", "door", "window", "account":
		return not()
	}
	return calling("open_app", arguments("name", name))
}
