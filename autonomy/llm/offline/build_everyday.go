package offline

import (
	"strings"
)

func everydayBuilders() map[string]builder {
	return map[string]builder{
		"language.other": func(w *intentDraft) (plan, bool) {
			return planRefusal(w.g.replyText("other-language"))
		},
		"language.mixed": func(w *intentDraft) (plan, bool) {
			return planRefusal(w.g.replyText("mixed-language"))
		},
		"weather.show": showWeather,
	}
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
