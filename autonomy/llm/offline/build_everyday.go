package offline

import (
	"slices"
	"strings"

	"hob/platform/text/textnorm"
)

func everydayBuilders() map[string]builder {
	return map[string]builder{
		"list.add":  addToList,
		"list.show": showList,
		"list.tick": tickOff,
		"list.more": func(w *intentDraft) (plan, bool) {
			x, _ := w.g.talk.exchangeAgo(0)
			head, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(w.s.text)), " ")
			if len(x.acts) == 0 || x.acts[len(x.acts)-1].tool != "create_task" || !slices.Contains([]string{"and", "also", "plus"}, head) || w.isQuestion() || w.isAsking() {
				return noPlan()
			}
			alone := w.g.inDialogue(nil)
			if p := alone.planSingle(alone.parseSentence(w.s.originalText(0, len(w.s.tokens)), w.s.now), 0, false); p.intent != nil && p.intent.rank >= 0 {
				return noPlan()
			}
			return w.onLastList(addToList)
		},
		"list.again":  func(w *intentDraft) (plan, bool) { return w.onLastList(showList) },
		"list.untick": func(w *intentDraft) (plan, bool) { return w.onLastList(tickOff) },
		"list.clear": func(w *intentDraft) (plan, bool) {
			return planRefusal(w.g.replyText("clear-list", "{list}", w.listName()))
		},
		"language.other": func(w *intentDraft) (plan, bool) {
			return planRefusal(w.g.replyText("other-language"))
		},
		"language.mixed": func(w *intentDraft) (plan, bool) {
			return planRefusal(w.g.replyText("mixed-language"))
		},
		"weather.show": showWeather,
	}
}

// onLastList runs a builder on the list that one of the last exchanges mentioned.
func (w *intentDraft) onLastList(build builder) (plan, bool) {
	for n := range recent {
		x, _ := w.g.talk.exchangeAgo(n)
		for i := range x.acts {
			if name := x.acts[i].stringArg("project"); strings.HasSuffix(name, " list") {
				w.list = name
				return build(w)
			}
		}
		if len(x.acts) > 0 {
			break
		}
	}
	return noPlan()
}

// listName returns the project that holds a named list. The names of a shopping list are one list.
func (w *intentDraft) listName() string {
	if w.list != "" {
		return w.list
	}
	switch name := w.slotNorm("list"); name {
	case "", "grocery", "groceries", "food", "supermarket":
		return "shopping list"
	default:
		return name + " list"
	}
}

func addToList(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	c, _ := w.captureOf("items")
	if _, _, times := w.s.liftTimes(c.from, c.to); len(times) > 0 {
		return planQuestion(w.g.replyText("list-time", "{list}", w.listName()), nil)
	}
	out := plan{outcome: act}
	for _, item := range splitEnumeration(w.slotString("items")) {
		if item = listItem(item); isUnspecific(item) || w.mentionsOther(item) {
			return planQuestion("What should I add to the "+w.listName()+"?", fillBetween("add", "to my "+w.listName()))
		}
		out.calls = append(out.calls, call{"create_task", argsOf("title", item, "project", w.listName())})
	}
	if len(out.calls) == 0 {
		return noPlan()
	}
	return out, true
}

// listItem returns an item without "some" and articles.
func listItem(s string) string {
	s = strings.TrimPrefix(strings.TrimSpace(s), "some ")
	return bareName(s)
}

// mentionsOther reports whether an item contains a word that changes the request, such as a
// negation, a condition or a second request.
func (w *intentDraft) mentionsOther(item string) bool {
	return slices.ContainsFunc(strings.Fields(strings.ToLower(item)), func(f string) bool {
		return w.g.lex.containsWord("item-breakers", f)
	})
}

func showList(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	p, ok := planCall("list_tasks", argsOf("project", w.listName()))
	if name := listItem(w.slotString("item")); name != "" {
		p.format = func(list string) string {
			if slices.ContainsFunc(listedItems("list_tasks", list), func(it item) bool { return hasEveryWord(it.line, textnorm.FoldedWords(name)) }) {
				return "Yes: " + list
			}
			return "No, " + quoteText(name) + " is not on the " + w.listName() + "."
		}
	}
	return p, ok
}

func tickOff(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	out := plan{outcome: act}
	for _, item := range splitEnumeration(w.slotString("item") + w.slotString("few_item")) {
		if item = listItem(item); isUnspecific(item) || w.mentionsOther(item) {
			return planQuestion("Which item on the "+w.listName()+"?", fillBetween("cross", "off my "+w.listName()))
		}
		out.calls = append(out.calls, call{"complete_task", argsOf("task", item, "project", w.listName())})
	}
	return out, len(out.calls) > 0
}

// maxForecast is the number of days that the weather tool can forecast.
const maxForecast = 16

func showWeather(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	days, place := 1, ""
	if c, ok := w.captureOf("tail"); ok {
		from, to, times := w.s.liftTimes(c.from, c.to)
		place = w.s.originalText(from, to)
		if len(times) > 0 {
			t, err := w.joinTimes(times)
			switch {
			case err != nil, t.every != "":
				return noPlan()
			case t.vague:
				days = 7
			default:
				days = int(startOfDay(t.at).Sub(startOfDay(w.s.now)).Hours()+1)/24 + 1
			}
		}
		head, tail, _ := strings.Cut(strings.TrimSpace(place), " ")
		switch strings.ToLower(head) {
		case "in", "for", "at", "near", "around":
			place = bareName(tail)
		case "", "outside", "like":
			place = ""
		default:
			return noPlan() // other words than a place may change the request
		}
	}
	if days < 1 || days > maxForecast {
		return planRefusal("I have a weather forecast only for today and the next 15 days.")
	}
	return planCall("get_weather", argsOf("location", place, "days", days))
}
