package offline

import (
	"slices"
	"strings"
	"time"
	"unicode"
)

func everydayBuilders() map[string]builder {
	return map[string]builder{
		"language.other": func(w *intentDraft) (plan, bool) {
			return planRefusal(w.g.replyText("other-language"))
		},
		"language.mixed": func(w *intentDraft) (plan, bool) {
			return planRefusal(w.g.replyText("mixed-language"))
		},
		"weather.show":   showWeather,
		"follow.weather": followWeather,
		"week.review":    reviewWeek,
		"travel.route":   findRoute,
		"travel.flight":  showFlight,
		"travel.packing": packForTrip,
		"travel.sun":     tellSun,
	}
}

func reviewWeek(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	return planCall("weekly_review", nil)
}

func findRoute(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	mode := map[string]string{"by bike": "cycling", "by bicycle": "cycling", "cycle": "cycling", "on foot": "walking", "walk": "walking"}[w.slotString("by")]
	return planCall("get_directions", argsOf("from", bareName(w.slotString("from")), "to", bareName(w.slotString("to")), "mode", mode))
}

// dayOfTimes returns the day that the times of a message name, or "" if there are none. ok is false
// if they are not one day.
func (w *intentDraft) dayOfTimes() (day string, ok bool) {
	t, err := w.joinTimes(w.allSpans())
	switch {
	case err != nil, t.every != "", t.vague:
		return "", false
	case t.none:
		return "", true
	}
	return t.at.Format(time.DateOnly), true
}

func showFlight(w *intentDraft) (plan, bool) {
	day, ok := w.dayOfTimes()
	if !ok || !w.noLead() {
		return noPlan()
	}
	return planCall("flight_status", argsOf("flight_number", w.slotString("word_flight"), "date", day))
}

func packForTrip(w *intentDraft) (plan, bool) {
	days, ok := w.numberOf("number")
	if !ok || !w.noLead() || days < 1 {
		return noPlan()
	}
	return planCall("packing_list", argsOf("destination", bareName(w.slotString("destination")), "duration_days", days))
}

func tellSun(w *intentDraft) (plan, bool) {
	day, ok := w.dayOfTimes()
	if !ok || !w.noLead() {
		return noPlan()
	}
	return planCall("sun_times", argsOf("place", bareName(w.slotString("few_place")), "date", day))
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
		if w.g.lex.containsWord("near-places", strings.ToLower(place)) {
			place = ""
		}
		if place != "" && !w.g.isPlaceName(place) {
			return noPlan()
		}
	}
	if place == "" {
		place = w.recentTown()
	}
	if days < 1 || days > maxForecast {
		return planRefusal("I have a weather forecast only for today and the next 15 days.")
	}
	forecast := call{"get_weather", argsOf("location", place, "days", days)}
	if place != "" {
		return planCalls(forecast)
	}
	return planLookup(func(results []done) plan {
		switch r := results[0].result; {
		case r == nil:
			return plan{outcome: unknown, say: w.g.replyText("no-result", "{tool}", forecast.name)}
		case r.Error && strings.Contains(r.Text, "location is empty"):
			p, _ := planQuestion("For which town should I look up the weather?", w.townAnswer(days))
			return p
		case r.Error:
			return plan{outcome: unknown, say: formatFailure(r.Text)}
		default:
			return plan{outcome: chat, say: r.Text}
		}
	}, forecast)
}

// townAnswer combines a question about the weather with the town in the answer.
func (w *intentDraft) townAnswer(days int) func(string) (string, bool) {
	day := w.s.now.AddDate(0, 0, days-1).Format("2 January 2006")
	return func(answer string) (string, bool) {
		town := strings.Trim(answer, " .!")
		for _, head := range []string{"in ", "for ", "at ", "near "} {
			town = strings.TrimPrefix(town, head)
		}
		return "weather in " + town + " on " + day, w.g.isPlaceName(town)
	}
}

// isPlaceName reports whether text may name a town: at most 4 words, none of which is an ordinary
// word of a sentence.
func (g *grammar) isPlaceName(text string) bool {
	words := strings.Fields(strings.ToLower(text))
	for i, f := range words {
		f = strings.Trim(f, ",.")
		if f == "" || i == 0 && f == "the" && len(words) > 1 {
			continue
		}
		letters := func(r rune) bool { return !unicode.IsLetter(r) && !strings.ContainsRune("-'’.", r) }
		if strings.ContainsFunc(f, letters) || g.lex.containsWord("contractions", f) {
			return false
		}
		for _, list := range []string{"questions", "pronouns", "own", "negations", "joints", "condition-words", "not-names", "agreements", "question-verbs", "interjections", "commands"} {
			if g.lex.containsWord(list, f) {
				return false
			}
		}
	}
	return len(words) > 0 && len(words) <= 4
}

// recentTown returns the town of the last forecast in the conversation, or "".
func (w *intentDraft) recentTown() string {
	for n := range recent {
		x, _ := w.g.talk.exchangeAgo(n)
		for _, p := range x.acts {
			if town := p.stringArg("location"); p.tool == "get_weather" && town != "" {
				return town
			}
		}
	}
	return ""
}

// followWeather repeats the last forecast for another day or town: "and on Saturday?".
func followWeather(w *intentDraft) (plan, bool) {
	if w.recentTown() == "" || !w.beginsWithAnd() {
		return noPlan()
	}
	x, _ := w.g.talk.exchangeAgo(0)
	if !slices.ContainsFunc(x.acts, func(p pastCall) bool { return p.tool == "get_weather" }) {
		return noPlan()
	}
	return showWeather(w)
}
