package offline

import "strings"

func newsBuilders() map[string]builder {
	return map[string]builder{
		"news.digest": func(w *intentDraft) (plan, bool) {
			if !w.noLead() {
				return noPlan()
			}
			return planCall("content_digest", nil)
		},
		"news.track":    newsBuilder("track_topic", "topic"),
		"news.check":    newsBuilder("fact_check", "claim"),
		"news.research": newsBuilder("research_topic", "topic"),
	}
}

// newsBuilder plans a call whose only argument is the text of the slot with the same name.
func newsBuilder(tool, slot string) builder {
	return func(w *intentDraft) (plan, bool) {
		text := strings.TrimSpace(w.slotString(slot))
		if text == "" || !w.noLead() {
			return noPlan()
		}
		return planCall(tool, argsOf(slot, text))
	}
}
