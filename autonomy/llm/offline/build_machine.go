package offline

import (
	"slices"
	"strings"
)

func machineBuilders() map[string]builder {
	press := func(action string) builder {
		return func(*wish) (plan, bool) { return calling("music_control", arguments("action", action)) }
	}
	by := func(n int) builder {
		return func(*wish) (plan, bool) { return calling("set_volume", arguments("by", n)) }
	}
	mute := func(on bool) builder {
		return func(*wish) (plan, bool) { return calling("set_volume", map[string]any{"mute": on}) }
	}
	dark := func(on bool) builder {
		return func(*wish) (plan, bool) { return calling("toggle_dark_mode", map[string]any{"enabled": on}) }
	}
	just := func(tool string) builder {
		return func(*wish) (plan, bool) { return calling(tool, nil) }
	}
	at := func(tool string) builder {
		return func(w *wish) (plan, bool) { return calling(tool, arguments("path", w.path("path"))) }
	}
	return map[string]builder{
		"music.now": just("get_current_track"), "music.pause": press("pause"), "music.play": press("play"), "music.next": press("next"),
		"music.previous": press("previous"), "music.stop": press("stop"),
		"volume.get": just("get_volume"), "volume.set": leveled("set_volume", 0), "volume.up": by(10), "volume.down": by(-10),
		"volume.mute": mute(true), "volume.unmute": mute(false),
		"speech.speak": func(w *wish) (plan, bool) {
			text := strings.Trim(w.text("text")+w.text("quote"), "\"“”' ")
			if anything(text) || text == "" {
				return not()
			}
			return calling("speak", arguments("text", text))
		},
		"note.show": func(w *wish) (plan, bool) {
			text := strings.Trim(w.text("text"), "\"“”' ")
			if text == "" {
				return not()
			}
			return calling("send_notification", arguments("message", text))
		},
		"file.reveal":  at("reveal_file"),
		"picture.text": textOf,
		"battery.get":  just("get_battery_status"),
		"display.get":  just("get_display"), "display.dark": dark(true), "display.light": dark(false), "display.bright": leveled("set_brightness", 1),
	}
}

// pictures lists the extensions of files for text recognition; other files are read.
const pictures = "jpg jpeg png gif webp bmp tif tiff heic heif"

func textOf(w *wish) (plan, bool) {
	p := w.path("path")
	if base := p[strings.LastIndexAny(p, `/\`)+1:]; isFile(p, w.g.lex) && !slices.Contains(strings.Fields(pictures), strings.ToLower(base[strings.LastIndexByte(base, '.')+1:])) {
		return calling("read_file", arguments("path", p))
	}
	return calling("read_image_text", arguments("path", p))
}

// leveled accepts a whole number of percent; other values do not match.
func leveled(tool string, least float64) builder {
	return func(w *wish) (plan, bool) {
		n, ok := w.number("number")
		if said, is := strings.CutSuffix(w.text("word_percent"), "%"); !ok && is {
			n, ok = amount(said)
		}
		if !ok || n < least || n > 100 || n != float64(int(n)) {
			return not()
		}
		return calling(tool, arguments("level", int(n)))
	}
}
