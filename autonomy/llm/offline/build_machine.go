package offline

import (
	"slices"
	"strings"
)

func machineBuilders() map[string]builder {
	press := func(action string) builder {
		return func(*intentDraft) (plan, bool) { return planCall("music_control", argsOf("action", action)) }
	}
	by := func(n int) builder {
		return func(*intentDraft) (plan, bool) { return planCall("set_volume", argsOf("by", n)) }
	}
	mute := func(on bool) builder {
		return func(*intentDraft) (plan, bool) { return planCall("set_volume", map[string]any{"mute": on}) }
	}
	dark := func(on bool) builder {
		return func(*intentDraft) (plan, bool) { return planCall("toggle_dark_mode", map[string]any{"enabled": on}) }
	}
	just := func(tool string) builder {
		return func(*intentDraft) (plan, bool) { return planCall(tool, nil) }
	}
	at := func(tool string) builder {
		return func(w *intentDraft) (plan, bool) { return planCall(tool, argsOf("path", w.pathOf("path"))) }
	}
	return map[string]builder{
		"music.now": just("get_current_track"), "music.pause": press("pause"), "music.play": press("play"), "music.next": press("next"),
		"music.previous": press("previous"), "music.stop": press("stop"),
		"volume.get": just("get_volume"), "volume.set": levelCall("set_volume", 0), "volume.up": by(10), "volume.down": by(-10),
		"volume.mute": mute(true), "volume.unmute": mute(false),
		"speech.speak": func(w *intentDraft) (plan, bool) {
			text := strings.Trim(w.slotString("text")+w.slotString("quote"), "\"“”' ")
			if w.g.isUnspecific(text) || text == "" {
				return noPlan()
			}
			return planCall("speak", argsOf("text", text))
		},
		"note.show": func(w *intentDraft) (plan, bool) {
			text := strings.Trim(w.slotString("text"), "\"“”' ")
			if text == "" {
				return noPlan()
			}
			return planCall("send_notification", argsOf("message", text))
		},
		"file.reveal":  at("reveal_file"),
		"picture.text": textOf,
		"battery.get":  just("get_battery_status"),
		"display.get":  just("get_display"), "display.dark": dark(true), "display.light": dark(false), "display.bright": levelCall("set_brightness", 1),
	}
}

// pictures lists the file extensions for text recognition. Files with other extensions are read as
// text.
const pictures = "jpg jpeg png gif webp bmp tif tiff heic heif"

func textOf(w *intentDraft) (plan, bool) {
	p := w.pathOf("path")
	if base := p[strings.LastIndexAny(p, `/\`)+1:]; isFile(p, w.g.lex) && !slices.Contains(strings.Fields(pictures), strings.ToLower(base[strings.LastIndexByte(base, '.')+1:])) {
		return planCall("read_file", argsOf("path", p))
	}
	return planCall("read_image_text", argsOf("path", p))
}

// levelCall returns a builder that accepts an integer percentage. Other values do not match.
func levelCall(tool string, least float64) builder {
	return func(w *intentDraft) (plan, bool) {
		n, ok := w.numberOf("number")
		if said, is := strings.CutSuffix(w.slotString("word_percent"), "%"); !ok && is {
			n, ok = parseAmount(said)
		}
		if !ok || n < least || n > 100 || n != float64(int(n)) {
			return noPlan()
		}
		return planCall(tool, argsOf("level", int(n)))
	}
}

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
	if w.g.isUnspecific(text) {
		return planQuestion("What should I copy?", func(answer string) (string, bool) {
			return "copy " + answer + " to the clipboard", answer != ""
		})
	}
	return planCall("set_clipboard", argsOf("text", text))
}

// openApp accepts only short names, because a name with a path is a file, and a long phrase is not
// an application.
func openApp(w *intentDraft) (plan, bool) {
	name := bareName(w.slotString("few_app"))
	if c, _ := w.captureOf("few_app"); w.s.hasWordOf(c.from, c.to, "record-changes") { // "open tasks delete future events"
		return noPlan()
	}
	if !w.noLead() || w.g.isUnspecific(name) || len(strings.Fields(name)) > 4 || strings.ContainsAny(name, "/\\@:") {
		return noPlan()
	}
	switch head, _, _ := strings.Cut(strings.ToLower(name), " "); head {
	case "a", "an", "it", "that", "this", "them", "file", "files", "document", "folder", "door", "window", "account":
		return noPlan()
	}
	return planCall("open_app", argsOf("name", name))
}
