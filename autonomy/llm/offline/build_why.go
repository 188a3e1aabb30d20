package offline

func whyBuilders() map[string]builder {
	return map[string]builder{
		"why.silence": func(w *intentDraft) (plan, bool) {
			return planCall("explain", argsOf("what", "silence", "about", bareName(w.slotString("text"))))
		},
		"why.told": func(*intentDraft) (plan, bool) { return planCall("explain", argsOf("what", "notification")) },
		"why.did":  func(*intentDraft) (plan, bool) { return planCall("explain", argsOf("what", "event")) },
		"notice.snooze": func(w *intentDraft) (plan, bool) {
			return planCall("snooze_notice", argsOf("until", w.slotString("text")))
		},
		"why.tick": func(*intentDraft) (plan, bool) { return planCall("explain", argsOf("what", "tick")) },
	}
}
