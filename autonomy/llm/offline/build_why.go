package offline

func whyBuilders() map[string]builder {
	return map[string]builder{
		"why.silence": func(w *wish) (plan, bool) {
			return calling("explain", arguments("what", "silence", "about", bare(w.text("text"))))
		},
		"why.told": func(*wish) (plan, bool) { return calling("explain", arguments("what", "notification")) },
		"why.did":  func(*wish) (plan, bool) { return calling("explain", arguments("what", "event")) },
		"notice.snooze": func(w *wish) (plan, bool) {
			return calling("snooze_notice", arguments("until", w.text("text")))
		},
		"why.tick": func(*wish) (plan, bool) { return calling("explain", arguments("what", "tick")) },
	}
}
