package offline

import (
	"slices"
	"strings"
)

func intentBuilders() map[string]builder {
	return map[string]builder{
		"intent.reply":  func(w *intentDraft) (plan, bool) { return w.planIntent("tell", false) },
		"intent.remind": func(w *intentDraft) (plan, bool) { return w.planIntent("remind", false) },
		"intent.notify": func(w *intentDraft) (plan, bool) { return w.planIntent("", true) },
		"intent.list":   func(*intentDraft) (plan, bool) { return planCall("list_intents", nil) },
		"intent.cancel": func(w *intentDraft) (plan, bool) {
			name := w.watcherNamed()
			if w.g.isUnspecific(name) {
				return planQuestion("Which intent should I cancel?", fillBetween("stop waiting for", ""))
			}
			return planCall("cancel_intent", argsOf("intent", name))
		},
	}
}

// planIntent builds a standing intent. key is the argument for the text; "" only notifies. Without
// "next time" and the like, "when" means each time for a notification, and once for all other
// intents.
func (w *intentDraft) planIntent(key string, each bool) (plan, bool) {
	if !w.noLead() || w.isNegated() {
		return noPlan()
	}
	args := []any{}
	switch when := w.slotNorm("when"); {
	case strings.HasSuffix(when, "next time"), when == "once":
		each = false
	case when == "whenever", strings.HasSuffix(when, " time"):
		each = true
	}
	if who := w.slotString("few_who"); who != "" && !isNobody(who) {
		people := w.g.parsePeople(who)
		if len(people) != 1 {
			return noPlan()
		}
		args = append(args, "from", people[0])
	} else if w.hasSlot("few_who") && !slices.Contains([]string{"someone", "anyone", "somebody", "anybody"}, strings.ToLower(who)) {
		return noPlan()
	}
	topic := w.slotString("words")
	if w.hasSlot("few_topic") {
		topic = w.slotString("few_topic")
		args = append(args, "from", "me")
	}
	if topic != "" {
		words := splitNames(topic, false)
		if len(words) == 0 || len(words) == 1 && w.g.isUnspecific(words[0].(string)) {
			return noPlan()
		}
		args = append(args, "words", words)
	}
	if len(args) == 0 {
		return noPlan()
	}
	if key != "" {
		say := strings.TrimSpace(w.slotString("say"))
		if say == "" {
			return noPlan()
		}
		args = append(args, key, say)
	}
	if each {
		args = append(args, "each_time", true)
	}
	return planCall("create_intent", argsOf(args...))
}
