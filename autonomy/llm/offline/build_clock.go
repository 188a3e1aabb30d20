package offline

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/dateparse"
)

func tellWeek(w *intentDraft) (plan, bool) {
	day := w.s.now
	if w.hasSlot("day") {
		var ok bool
		if day, ok = w.parseDay("day"); !ok {
			return noPlan()
		}
	}
	_, week := day.ISOWeek()
	return planReply(fmt.Sprintf("%s is in week %d (ISO 8601).", dayInWords(day), week))
}

func isLeap(year int) bool { return year%4 == 0 && year%100 != 0 || year%400 == 0 }

// tellLeap answers whether a year is a leap year, or which year is the next leap year.
func tellLeap(w *intentDraft) (plan, bool) {
	year := w.s.now.Year()
	switch said := strings.Trim(strings.ToLower(w.slotString("year")), " ?"); {
	case w.hasKeyword("next"):
		for year++; !isLeap(year); year++ {
		}
		return planReply("The next leap year is " + strconv.Itoa(year) + ".")
	case said == "next year":
		year++
	case said == "" || said == "this year" || said == "this":
	default:
		n, err := strconv.Atoi(said)
		if err != nil || n < 1583 || n > 9999 { // the calendar of today began in 1582
			return noPlan()
		}
		year = n
	}
	if isLeap(year) {
		return planReply("Yes, " + strconv.Itoa(year) + " is a leap year.")
	}
	return planReply("No, " + strconv.Itoa(year) + " is not a leap year.")
}

// tellLength answers how many days a month or year has.
func tellLength(w *intentDraft) (plan, bool) {
	said := strings.Trim(strings.ToLower(w.slotString("month")), " ?")
	if said == "a leap year" {
		return planReply("A leap year has 366 days.")
	}
	if year, err := strconv.Atoi(said); err == nil && year > 1582 && year < 10000 {
		return planReply(fmt.Sprintf("%d has %d days.", year, daysBetween(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(year+1, 1, 1, 0, 0, 0, 0, time.UTC))))
	}
	name, rest, _ := strings.Cut(said, " ")
	first, err := dateparse.Parse("1 "+name+" "+rest, w.s.now)
	if err != nil || strings.ContainsAny(name, "0123456789") || first.Time.Day() != 1 {
		return noPlan()
	}
	month := first.Time
	return planReply(fmt.Sprintf("%s has %d days.", month.Format("January 2006"), daysBetween(month, month.AddDate(0, 1, 0))))
}

// tellAgo answers how long ago a day was.
func tellAgo(w *intentDraft) (plan, bool) {
	day, ok := w.parseDay("day")
	if !ok || !w.noLead() {
		return noPlan()
	}
	for range 2 {
		if day.After(w.s.now) {
			day = day.AddDate(-1, 0, 0)
		}
	}
	n := daysBetween(day, w.s.now)
	if w.slotNorm("few_step") == "weeks" {
		return planReply(fmt.Sprintf("%s was %d weeks and %d days ago.", dayInWords(day), n/7, n%7))
	}
	return planReply(fmt.Sprintf("%s was %d days ago.", dayInWords(day), n))
}

// clockPhrase returns the text of a slot that holds one time of day.
func (w *intentDraft) clockPhrase(slot string) string {
	return strings.TrimPrefix(strings.Trim(w.slotString(slot), " ?.!"), "at ")
}

// parseClock parses a slot that holds one time of day.
func (w *intentDraft) parseClock(slot string) (time.Time, bool) {
	text := strings.Trim(w.slotString(slot), " ?.!")
	for _, lead := range []string{"", "at "} {
		if m, err := dateparse.Parse(lead+text, w.s.now); err == nil && m.HasClock {
			return m.Time, true
		}
	}
	return time.Time{}, false
}

// tellAway answers how long it is until a time of day, or between two times of day.
func tellAway(w *intentDraft) (plan, bool) {
	from := w.s.now
	to, ok := w.parseClock("day")
	if !ok || !w.noLead() {
		return noPlan()
	}
	lead := " until " + to.Format("15:04") + "."
	if w.hasSlot("other") {
		until, ok := w.parseClock("other")
		if !ok {
			return noPlan()
		}
		from, to = w.closestClocks(timing{at: to, phrase: w.clockPhrase("day")}, timing{at: until, phrase: w.clockPhrase("other")})
		lead = " from " + from.Format("15:04") + " to " + to.Format("15:04") + "."
	} else if !sameDay(to, from) {
		lead = " until " + to.Format("15:04") + " on " + dayInWords(to) + "."
	}
	return planReply(upperFirst(spellDuration(to.Sub(from)) + lead))
}

// closestClocks returns two times of day, the second one less than a day after the first. A time that may mean
// both halves of the day takes the one that makes the time between them shorter: "between 6:15 and 14:40".
func (w *intentDraft) closestClocks(a, b timing) (from, to time.Time) {
	for _, first := range w.halvesOf(a) {
		for _, second := range w.halvesOf(b) {
			for second.Before(first) {
				second = second.AddDate(0, 0, 1)
			}
			for second.Sub(first) >= 24*time.Hour {
				second = second.AddDate(0, 0, -1)
			}
			if from.IsZero() || second.Sub(first) < to.Sub(from) {
				from, to = first, second
			}
		}
	}
	return from, to
}

// halvesOf returns the times that a time of day may mean.
func (w *intentDraft) halvesOf(t timing) []time.Time {
	at := w.literalClock(t)
	if saysHalfOfDay(t.phrase) {
		return []time.Time{at}
	}
	return []time.Time{at, at.Add(12 * time.Hour)}
}

// spellDuration writes a duration of whole minutes: "2 days, 3 hours and 1 minute".
func spellDuration(d time.Duration) string {
	minutes := int(d.Round(time.Minute) / time.Minute)
	var parts []string
	for _, u := range []struct {
		name string
		n    int
	}{{"day", minutes / (24 * 60)}, {"hour", minutes / 60 % 24}, {"minute", minutes % 60}} {
		switch {
		case u.n == 1:
			parts = append(parts, "1 "+u.name)
		case u.n > 1:
			parts = append(parts, strconv.Itoa(u.n)+" "+u.name+"s")
		}
	}
	if len(parts) == 0 {
		return "less than a minute"
	}
	return joinAnd(parts)
}

// joinAnd joins a list with commas and "and".
func joinAnd(list []string) string {
	if n := len(list); n > 1 {
		return strings.Join(list[:n-1], ", ") + " and " + list[n-1]
	}
	return strings.Join(list, "")
}

// tellClock answers "what time is it in 3 hours?".
func tellClock(w *intentDraft) (plan, bool) {
	said := strings.Trim(w.slotString("day"), " ?.!")
	if t, err := dateparse.Parse(said, w.s.now); err == nil && t.HasClock && w.noLead() {
		return planReply("It will be " + t.Time.Format("15:04") + " on " + dayInWords(t.Time) + ".")
	}
	return noPlan()
}

// findZone returns the time zone of a city, a country with one zone, or an IANA name.
func (g *grammar) findZone(place string) (*time.Location, string, bool) {
	said := bareName(strings.ToLower(strings.Trim(place, " ?.!,")))
	said = strings.TrimSuffix(strings.TrimSuffix(said, " city"), " time")
	name, ok := g.lex.meaningOf("zones", said)
	if !ok {
		if !strings.Contains(place, "/") {
			return nil, "", false
		}
		name = strings.Trim(place, " ?.!")
	}
	zone, err := time.LoadLocation(name)
	return zone, titleWords(said), err == nil
}

// titleWords returns a name in lower case with capital letters.
func titleWords(name string) string {
	words := strings.Fields(name)
	for i, w := range words {
		if words[i] = upperFirst(w); len(w) <= 3 && len(words) == 1 {
			words[i] = strings.ToUpper(w)
		}
	}
	return strings.Join(words, " ")
}

// zoneReply matches the answer to a question about the time in another place.
var zoneReply = regexp.MustCompile(`^It is \d\d:\d\d in ([^(]+) \(`)

// clockReply matches the answer to "what time is it?".
var clockReply = regexp.MustCompile(`^It is \d\d:\d\d on `)

// followZone answers "and in Paris?" after the time in another place.
func followZone(w *intentDraft) (plan, bool) {
	x, _ := w.g.talk.exchangeAgo(0)
	if _, _, ok := w.g.findZone(w.slotString("place")); !ok || !(w.beginsWithAnd() || w.hasKeyword("in")) || !zoneReply.MatchString(x.reply) && !clockReply.MatchString(x.reply) {
		return noPlan()
	}
	return tellZone(w)
}

// tellZone answers questions about the time in another zone.
func tellZone(w *intentDraft) (plan, bool) {
	if w.hasKeyword("there") && !w.hasSlot("place") {
		for n := range recent {
			x, _ := w.g.talk.exchangeAgo(n)
			if m := zoneReply.FindStringSubmatch(x.reply); m != nil {
				return w.g.inDialogue(nil).planSingle(w.g.parseSentence("what time is it in "+m[1], w.s.now), w.depth, false), true
			}
		}
		return planQuestion("In which place?", func(answer string) (string, bool) {
			place := strings.Trim(answer, " .!?")
			for _, head := range []string{"in ", "for "} {
				place = strings.TrimPrefix(place, head)
			}
			return "what time is it in " + place, w.g.isPlaceName(place)
		})
	}
	zone, name, ok := w.g.findZone(w.slotString("place"))
	if !ok {
		if w.hasSlot("time") || !w.hasSlot("place") {
			return noPlan()
		}
		return planRefusal("I do not know the time zone of " + quoteText(w.slotString("place")) + ". Name a large city, or a zone such as Europe/Vilnius.")
	}
	if c, has := w.captureOf("time"); has {
		t, err := readMatch(c.span.match, w.s.now)
		if err != nil || !t.clock || t.every != "" {
			return noPlan()
		}
		if w.hasKeyword("here") || w.hasKeyword("my") || w.hasKeyword("our") {
			if first := w.s.normalizedText(c.to, len(w.s.tokens)); !strings.HasPrefix(first, "here in") && !strings.HasPrefix(first, "here") && !strings.HasPrefix(first, "my time in") && !strings.HasPrefix(first, "my time to") { // "3pm in Tokyo my time"
				there := time.Date(t.at.Year(), t.at.Month(), t.at.Day(), t.at.Hour(), t.at.Minute(), 0, 0, zone)
				here := there.In(w.s.now.Location())
				return planReply(fmt.Sprintf("%s in %s is %s here (%s).", there.Format("15:04"), name, here.Format("15:04"), dayInWords(here)))
			}
		}
		there := t.at.In(zone)
		return planReply(fmt.Sprintf("%s here is %s in %s (%s).", t.at.Format("15:04"), there.Format("15:04"), name, dayInWords(there)))
	}
	if len(w.lead) > 0 {
		return noPlan()
	}
	there := w.s.now.In(zone)
	_, a := w.s.now.Zone()
	_, b := there.Zone()
	difference := "the same time as here"
	switch by := time.Duration(b-a) * time.Second; {
	case by > 0:
		difference = spellDuration(by) + " ahead of you"
	case by < 0:
		difference = spellDuration(-by) + " behind you"
	}
	return planReply(fmt.Sprintf("It is %s in %s (%s), %s.", there.Format("15:04"), name, dayInWords(there), difference))
}

// currencyOf returns the ISO code of a currency in words.
func (w *intentDraft) currencyOf(slot string) (string, bool) {
	said := strings.ToLower(bareName(w.slotString(slot)))
	if code, ok := w.g.lex.meaningOf("currencies", said); ok {
		return code, true
	}
	if code, ok := w.g.lex.meaningOf("more-currencies", said); ok {
		return code, true
	}
	return strings.ToUpper(said), len(said) == 3 && w.g.lex.containsWord("currency-codes", said)
}

// convertCurrency converts an amount with the exchange rates of the tool.
func convertCurrency(w *intentDraft) (plan, bool) {
	to, ok := w.currencyOf("few_currency")
	if !ok || !w.noLead() {
		return noPlan()
	}
	if w.hasSlot("few_from") {
		from, known := w.currencyOf("few_from")
		if !known {
			return noPlan()
		}
		return planCall("convert_currency", map[string]any{"amount": 1, "from": from, "to": to})
	}
	c, _ := w.captureOf("amount")
	from := c.currency
	if from == "" {
		return noPlan()
	}
	return planCall("convert_currency", map[string]any{"amount": c.value, "from": from, "to": to})
}

// tellAge answers how old a person is who was born on a given day.
func tellAge(w *intentDraft) (plan, bool) {
	born, ok := w.parseDay("day")
	if !ok || !w.noLead() || born.After(w.s.now) || !strings.Contains(w.slotString("day"), strconv.Itoa(born.Year())) {
		return noPlan()
	}
	years := w.s.now.Year() - born.Year()
	if born.AddDate(years, 0, 0).After(w.s.now) {
		years--
	}
	return planReply(fmt.Sprintf("Someone born on %s is %d years old.", born.Format("2 January 2006"), years))
}

var daySpan = regexp.MustCompile(`(?i)\b(?:from|between)\s+(.{1,30}?)\s+(?:to|till|until|and)\s+(.{1,30}?)[.!?]*$`)

// tellSpan answers how many days the period in the previous message has.
func tellSpan(w *intentDraft) (plan, bool) {
	x, _ := w.g.talk.exchangeAgo(0)
	m := daySpan.FindStringSubmatch(x.own)
	if m == nil {
		return noPlan()
	}
	to, err := dateparse.Parse(m[2], w.s.now)
	if _, month, ok := strings.Cut(m[2], " "); ok && parsesAsFigure(m[1]) { // "from 12 to 19 December"
		m[1] += " " + month
	}
	from, wrong := dateparse.Parse(m[1], w.s.now)
	if err != nil || wrong != nil || from.HasClock || to.HasClock || from.Grain > dateparse.Day || to.Grain > dateparse.Day || to.Time.Before(from.Time) {
		return noPlan()
	}
	n := daysBetween(from.Time, to.Time)
	return planReply(fmt.Sprintf("%d days with the first and the last day, %d nights: %s to %s.", n+1, n, dayInWords(from.Time), dayInWords(to.Time)))
}

// tellClockChange handles "when do the clocks go forward?" for the user's time zone.
func tellClockChange(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	way := w.slotNorm("way")
	offset := func(t time.Time) int { _, o := t.Zone(); return o }
	for day := startOfDay(w.s.now).AddDate(0, 0, 1); day.Before(w.s.now.AddDate(2, 0, 0)); day = day.AddDate(0, 0, 1) {
		by := offset(day.AddDate(0, 0, 1)) - offset(day)
		forward := by > 0
		if by == 0 || strings.HasSuffix(way, "forward") && !forward || strings.HasSuffix(way, "back") && forward {
			continue
		}
		return planReply("The clocks go " + map[bool]string{true: "forward", false: "back"}[forward] + " on " + dayInWords(day) + ".")
	}
	return planReply("The clocks do not change in your time zone in the next two years.")
}
