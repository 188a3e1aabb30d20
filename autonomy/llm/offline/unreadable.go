package offline

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"hob/platform/text/dateparse"
	"hob/platform/text/lazyregexp"
)

// oneRequest is the question after a message of which Hob cannot use each part.
const oneRequest = "I am not sure how to read all of that, so I changed nothing. Can you send one request at a time?"

// askForOne returns the question that follows a plan which Hob can neither execute nor offer.
func (d *planReview) askForOne() plan {
	asked, _ := planQuestion(oneRequest, nil)
	if slices.ContainsFunc(d.allCalls(), func(c call) bool { return c.name == "log_expense" }) {
		asked, _ = planQuestion("I am not sure how to read the amount in that, so I logged nothing. Can you write it as 12.50, one expense at a time?", nil)
	}
	asked.intent, asked.answered = d.p.intent, d.p.answered
	return asked
}

// isUnreadable reports whether a text of a call contains a part of the request, so that not even a question should offer
// it: "not to forget the tablets", "the cut-off, which is", "two pounds fifty on diesel" as a purpose.
func (d *planReview) isUnreadable(c call) bool {
	for _, name := range []string{"text", "title", "category", "vendor"} {
		text := strings.ToLower(strings.NewReplacer(",", "", ".", "", "’", "'").Replace(stringOf(c.args[name])))
		words := strings.Fields(text)
		if len(words) == 0 || d.isQuoted(stringOf(c.args[name])) {
			continue
		}
		last := words[len(words)-1]
		begins := func(list string) bool {
			return slices.ContainsFunc(phraseHeads(words), func(head string) bool { return d.isListed(list, head) })
		}
		switch stored := c.name == "create_reminder" || c.name == "create_task"; {
		case stored && !strings.ContainsFunc(text, unicode.IsLetter), c.name == "remember" && openOwner.MatchString(text):
			return true
		case c.name == "remember" && begins("open-heads"), stored && (begins("unreadable-heads") || d.g.lex.containsPhrase("unreadable-parts", text)):
			return true
		case stored && len(words) == 1 && (d.isListed("prepositions", last) || last == "to" || d.isListed("pronouns", last) && last != "me"):
			return true
		case stored && last == "is" && len(words) > 1 && d.isListed("relative-words", words[len(words)-2]): // "the cut-off, which is"
			return true
		case c.name == "log_expense" && d.endsInTime(text), c.name == "create_task" && strings.Count(text, `"`) > 2:
			return true
		case c.name == "log_expense" && (name == "vendor" && strings.ContainsAny(text, "0123456789") || len(words) > 1 && d.startsWithNumber(words) || d.g.lex.containsPhrase("amount-words", text) || len(words) > 1 && d.isListed("paying-verbs", words[0])):
			return true
		}
	}
	return false
}

// endsInTime reports whether a purpose or a payee ends in a time: "the chemist's this morning".
func (d *planReview) endsInTime(text string) bool {
	s := d.g.parseSentence(text, d.s.now)
	return slices.ContainsFunc(s.allTimes(), func(sp *span) bool { return sp.from > 0 && sp.to == len(s.tokens) })
}

// offeredCalls returns the calls that a "yes" to the question of the plan leads to.
func (d *planReview) offeredCalls() (calls []call) {
	q := d.p.question
	switch {
	case q == nil:
	case q.agree != nil:
		calls = append(calls, append(q.agree.calls, q.agree.then...)...)
	default:
		if m := offeredText.FindStringSubmatch(q.text); m != nil {
			calls = append(calls, call{"create_reminder", argsOf("text", strings.Trim(m[1], "“”"))})
		}
	}
	return calls
}

// plansPast reports whether the plan asks when to do what the message reports as done: "fined 35 quid yesterday".
func (d *planReview) plansPast() bool {
	if d.p.outcome != ask || d.p.intent == nil || !strings.HasPrefix(d.p.intent.name, "schedule.") {
		return false
	}
	first := d.s.firstWord(0)
	bases, past := d.g.baseForm(first)
	return past && !slices.Contains(bases, first) && strings.HasSuffix(first, "ed")
}

// correctFeast returns the date of Mother's Day where it is another day than in most countries, if the message names it.
func (d *planReview) correctFeast() string {
	if zone := d.s.now.Location().String(); zone != "Europe/London" && zone != "Europe/Dublin" && zone != "Europe/Belfast" || !slices.ContainsFunc(d.s.allTimes(), func(sp *span) bool {
		said := strings.ToLower(sp.match.Text)
		return strings.Contains(said, "mother") && !strings.Contains(said, "mothering")
	}) {
		return ""
	}
	for _, year := range []string{"", " next year"} {
		if m, err := dateparse.Parse("easter"+year, d.s.now); err == nil {
			if day := m.Time.AddDate(0, 0, -21); day.After(d.s.now) {
				return "Mother's Day in the UK and Ireland is on " + dayInWords(day) + ". Please say that date instead."
			}
		}
	}
	return ""
}

// losesTopic reports whether a day follows "about", so that it may be the topic instead of the time: "call Bob about
// Friday at 4".
func (d *planReview) losesTopic() bool {
	return slices.ContainsFunc(d.s.allTimes(), func(sp *span) bool {
		from := sp.from
		if d.s.tokens[from].norm != "about" {
			from--
		}
		return from > 0 && from+1 < len(d.s.tokens) && d.s.tokens[from].norm == "about" && d.isWord("weekdays", d.s.tokens[from+1])
	})
}

// openOwner matches the start of a fact without its noun: "my dad's is 4 June".
var openOwner = lazyregexp.New(`^(?:and )?(?:my )?\S+'s (?:is|are)\b`)

// phraseHeads returns the first one, two and three words of a text.
func phraseHeads(words []string) (heads []string) {
	for n := 1; n <= min(3, len(words)); n++ {
		heads = append(heads, strings.Join(words[:n], " "))
	}
	return heads
}

// startsWithNumber reports whether a purpose starts with a number in words that belongs to the amount: "five on shoes".
func (d *planReview) startsWithNumber(words []string) bool {
	_, number := d.g.lex.meaningOf("numbers", words[0])
	_, money := d.g.lex.meaningOf("currencies", words[1])
	return number && !d.isListed("articles", words[0]) && (money || d.isListed("prepositions", words[1]))
}

// guessesHalf reports whether a reminder on another day rings at a bare 6 or 7, which may be in the morning or in the
// evening: "tomorrow at 7 to ring Mum".
func (d *planReview) guessesHalf() bool {
	if d.p.answered || d.isFollowUp() || strings.Contains(d.s.text, "same") || slices.ContainsFunc(d.s.tokens, func(t token) bool {
		return isFullClock(t.norm) || strings.HasPrefix(t.norm, "18") || strings.HasPrefix(t.norm, "0") || d.isWord("half-words", t)
	}) || slices.ContainsFunc(d.s.allTimes(), func(sp *span) bool { return saysHalfOfDay(sp.match.Text) }) {
		return false
	}
	return slices.ContainsFunc(d.p.calls, func(c call) bool {
		at, err := time.Parse(time.RFC3339, stringOf(c.args["at"]))
		at = at.In(d.s.now.Location())
		if c.name != "create_reminder" || err != nil || sameDay(at, d.s.now) || at.Hour() != 18 && (at.Hour() != 7 || at.Minute()%30 > 0) {
			return false
		}
		_, alarm := d.g.lex.meaningOf("plain-reminders", stringOf(c.args["text"]))
		evening := at.Hour() == 18 && slices.ContainsFunc(strings.Fields(strings.ToLower(stringOf(c.args["text"]))), func(f string) bool { return d.isListed("late-events", f) })
		return !alarm && !evening
	})
}

// cleanTexts removes words of the request from the texts of the reminders and tasks that Hob is about to offer: "not to
// forget the tablets", "the cut-off, which is", "ring the dentist to my todo", the reason of an alarm.
func (d *planReview) cleanTexts() {
	d.p.calls = slices.Clone(d.p.calls)
	for i, c := range d.p.calls {
		name := map[string]string{"create_reminder": "text", "create_task": "title"}[c.name]
		text := stringOf(c.args[name])
		if text == "" || d.isQuoted(text) {
			continue
		}
		clean := strings.TrimRight(offeredEdges.ReplaceAllString(text, ""), " ,")
		alarm := slices.ContainsFunc(d.s.tokens, func(t token) bool { return d.isWord("ringing-nouns", t) })
		if alarm && slices.ContainsFunc(phraseHeads(strings.Fields(strings.ToLower(clean))), func(head string) bool { return d.isListed("unreadable-heads", head) }) {
			clean = "alarm"
		}
		if clean != text && clean != "" {
			args := maps.Clone(c.args)
			args[name] = clean
			d.p.calls[i] = call{c.name, args}
		}
	}
}

// offeredEdges matches words of a request at the edges of a text.
var offeredEdges = lazyregexp.New(`(?i)^not to forget (?:to |about )?|,? (?:which|who|that) is$|,? (?:to|on|onto) (?:my|the) to-?do(?: list)?$`)

// moveToNoon moves a reminder at a bare 12 from midnight to noon of the same day before Hob offers it: few people mean
// "lunch at 12.30" at night.
func (d *planReview) moveToNoon() {
	if !d.guessesNight() {
		return
	}
	d.p.calls = slices.Clone(d.p.calls)
	for i, c := range d.p.calls {
		at, err := time.Parse(time.RFC3339, stringOf(c.args["at"]))
		if at = at.In(d.s.now.Location()); c.name == "create_reminder" && err == nil && at.Hour() == 0 {
			args := maps.Clone(c.args)
			args["at"] = at.Add(12 * time.Hour).Format(time.RFC3339)
			d.p.calls[i] = call{c.name, args}
		}
	}
}
