package offline

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/sorting"
)

// languageBuilders maps the intents of the grammars in grammar/languages to their builders. English
// builders that do not look at words are shared.
func languageBuilders() map[string]builder {
	say := func(title string) builder {
		return func(w *intentDraft) (plan, bool) { return planReply(w.g.replyText(title)) }
	}
	refuse := func(title string) builder {
		return func(w *intentDraft) (plan, bool) { return planRefusal(w.g.replyText(title)) }
	}
	askFor := func(title, wish string) builder {
		return func(w *intentDraft) (plan, bool) { return w.askLocal(title, w.fillWish(wish, "{text}")) }
	}
	return map[string]builder{
		"reminder.add":         addLocalReminder,
		"reminder.add.none":    askLocalReminder,
		"reminder.timer":       addLocalTimer,
		"reminder.list":        listReminders,
		"reminder.cancel":      localCall("cancel_reminder", "reminder"),
		"reminder.cancel.none": askFor("ask-cancel", "wish-cancel"),
		"reminder.move":        moveLocal("update_reminder", "reminder", "at"),
		"task.add":             addLocalTask,
		"task.add.none":        askFor("ask-task", "wish-task"),
		"task.list":            listLocalTasks,
		"task.done":            localCall("complete_task", "task"),
		"task.delete":          localCall("delete_task", "task"),
		"task.move":            moveLocal("update_task", "task", "due"),
		"list.add":             addToLocalList,
		"list.show":            func(w *intentDraft) (plan, bool) { return planCall("list_tasks", argsOf("project", w.localList())) },
		"list.tick":            tickLocal,
		"money.add":            addLocalExpense,
		"money.sum":            sumLocalExpenses,
		"day":                  briefLocal,
		"time":                 tellLocalTime,
		"date":                 tellLocalDate,
		"until":                tellLocalUntil,
		"sum":                  tellLocalSum,
		"note.add":             addLocalNote,
		"undo":                 func(*intentDraft) (plan, bool) { return planCall("undo", nil) },
		"help":                 say("help"),
		"hello":                say("hello"),
		"thanks":               say("thanks"),
		"bye":                  say("bye"),
		"yes":                  say("yes"),
		"nevermind":            undoMentioned(say("never-mind")),
		"negated":              refuse("negation"),
		"bulk":                 refuse("bulk"),
		"reminder.event":       askLocalEvent,
		"fact.ask":             askLocalFact,
		"fact.state":           keepLocalFact,
		"follow.when":          followLocal(followWhen),
		"follow.delete":        followLocal(followDelete),
		"follow.done":          followLocal(followDone),
	}
}

// askLocal asks a question of the language's replies.
func (w *intentDraft) askLocal(title string, complete func(string) (string, bool), pairs ...string) (plan, bool) {
	p, ok := planQuestion(w.g.replyText(title, pairs...), complete)
	p.question.lang = w.g
	return p, ok
}

// fillWish returns a function that completes the request called wish with an answer in quotes.
func (w *intentDraft) fillWish(wish, slot string) func(string) (string, bool) {
	return func(answer string) (string, bool) {
		s := w.g.parseSentence(answer, w.s.now)
		if reading := w.g.allReadings(s, false); len(reading) > 0 && reading[0].intent.name == w.intent.name {
			return answer, true // the answer repeats the request
		}
		answer = w.g.cleanName(s.originalText(0, len(s.tokens)))
		return w.g.replyText(wish, slot, quoteFree(answer)), answer != ""
	}
}

// quoteFree returns s without the marks that end a quotation.
func quoteFree(s string) string {
	return strings.NewReplacer(`"`, "'", "“", "'", "”", "'").Replace(s)
}

// localDetails is the free text of a request without its times.
type localDetails struct {
	text  string
	spans []*span
	when  string // the times as written
	wrong string // the reply if the text contains words that would change the request
}

// localText separates the times from the text of a slot. It reports words that the request does not
// account for: negations, conditions, more times, durations, English.
func (w *intentDraft) localText(slot string) localDetails {
	c, ok := w.captureOf(slot)
	d := localDetails{spans: w.allSpans()}
	if ok {
		from, to, times := w.s.liftTimes(c.from, c.to)
		d.spans = append(slices.Clone(d.spans), times...)
		d.text = w.s.originalText(from, to)
		if inner := w.s.timesInside(from, to); len(inner) == 1 && len(d.spans) == 0 && !w.s.isTied(inner[0], inner[0].from) {
			sp := inner[0]
			d.text = strings.TrimSpace(w.s.originalText(from, sp.from) + " " + w.s.originalText(sp.to, to))
			d.spans = inner
		} else if len(inner) > 0 && (len(d.spans) > 0 || !w.s.isTied(inner[0], inner[0].from)) {
			d.wrong = "times"
		}
		if from < to && slot == "bare" && w.g.lex.containsWord("openers", w.s.tokens[from].norm) {
			d.wrong = "condition"
		} else if slot == "bare" && w.s.hasWordOf(from, to, "connectors") {
			d.wrong = "times"
		}
		d.wrong = cmp.Or(w.unaccountedWords(from, to), d.wrong)
	}
	if slot == "thing" {
		d.text = w.g.cleanName(d.text)
	}
	for _, r := range w.g.rewrites {
		d.text = r.from.ReplaceAllString(d.text, r.to)
	}
	sorting.StableByFunc(d.spans, func(a, b *span) int { return a.from - b.from })
	for i, sp := range d.spans {
		d.when += " " + w.s.text[sp.match.Start:sp.match.End]
		if i > 0 && sp.from > d.spans[i-1].to+1 && !joinsDayAndClock(d.spans[i-1], sp) {
			d.wrong = cmp.Or(d.wrong, "times")
		}
	}
	d.when = strings.TrimSpace(d.when)
	return d
}

// unaccountedWords returns the reply for words in a text that change the meaning of the request.
func (w *intentDraft) unaccountedWords(from, to int) string {
	for i := from; i < to; i++ {
		t := w.s.tokens[i]
		if t.kind != word {
			continue
		}
		switch {
		case w.g.lex.containsWord("negations", t.norm):
			return "negation"
		case w.g.lex.containsWord("conditions", t.norm):
			return "condition"
		case w.g.lex.containsWord("english", t.norm):
			return "mixed"
		case w.g.lex.containsWord("month", t.norm) && i > from && (isDigit(w.s.tokens[i-1].norm[0]) || i > from+1 && isDigit(w.s.tokens[i-2].norm[0])): // "el 31 de febrero"
			return "times"
		case w.g.lex.containsWord("leftover", t.norm), w.g.isTimeTypo(t.norm), clockForm.MatchString(t.norm), dateForm.MatchString(t.norm):
			return "times"
		}
		if _, isUnit := w.g.lex.meaningOf("unit", t.norm); isUnit && i > from {
			if _, ok := w.s.numberAt(i - 1); ok {
				return "times"
			}
		}
	}
	for _, m := range dateparse.Find(w.s.originalText(from, to), w.s.now) {
		if m.Moment != nil && strings.ContainsAny(strings.ToLower(m.Text), "abcdefghijklmnopqrstuvwxyz") && !w.g.lex.containsWord("not english", w.g.lex.fold(m.Text)) {
			return "mixed"
		}
	}
	return ""
}

// filledSlot returns the slot that holds the text of a request.
func (w *intentDraft) filledSlot() string {
	for _, slot := range []string{"thing", "bare"} {
		if w.hasSlot(slot) {
			return slot
		}
	}
	return "text"
}

func addLocalReminder(w *intentDraft) (plan, bool) {
	d := w.localText(w.filledSlot())
	if w.hasSlot("wake") {
		d.text = w.g.replyText("wake-up")
		d.spans = w.atMorning(d.spans)
	}
	switch {
	case d.wrong != "":
		return planRefusal(w.g.replyText(d.wrong))
	case w.isLocalUnspecific(d.text):
		return askLocalReminder(w)
	}
	return w.localReminder(d)
}

// askLocalEvent asks for the time of a reminder whose text contains the time of the event: "that I
// have to be at the airport at 6".
func askLocalEvent(w *intentDraft) (plan, bool) {
	text := quoteFree(w.slotString("event"))
	return w.askLocal("ask-when", func(answer string) (string, bool) {
		when := w.localAnswer("", answer)
		return w.g.replyText("wish-reminder", "{when}", when, "{text}", text), when != ""
	})
}

// isLocalUnspecific reports whether a text is too vague to remind of, such as "das".
func (w *intentDraft) isLocalUnspecific(text string) bool {
	norm := w.g.lex.fold(text)
	return norm == "" || w.g.lex.containsWord("unspecific", norm) || w.g.lex.containsWord("articles", norm)
}

// localReminder creates the call when the text is known.
func (w *intentDraft) localReminder(d localDetails) (plan, bool) {
	if slices.ContainsFunc(d.spans, func(sp *span) bool { return w.s.hasWordOf(max(0, sp.from-2), sp.to, "starting words") }) {
		return planRefusal(w.g.replyText("times")) // "ab Montag jeden Tag"
	}
	wish := func(when string) string {
		return w.g.replyText("wish-reminder", "{when}", when, "{text}", quoteFree(d.text))
	}
	t, p, ok := w.localTime(d, wish, true)
	if !ok {
		return p, true
	}
	if t.every != "" {
		return planCall("create_reminder", argsOf("text", d.text, "every", t.every))
	}
	return planCall("create_reminder", argsOf("text", d.text, "at", t.rfc3339()))
}

// askLocalReminder asks what to remind the user of.
func askLocalReminder(w *intentDraft) (plan, bool) {
	d := w.localText(w.filledSlot())
	if d.wrong != "" {
		return planRefusal(w.g.replyText(d.wrong))
	}
	return w.askLocal("ask-what", func(answer string) (string, bool) {
		s := w.g.parseSentence(answer, w.s.now)
		if reading := w.g.allReadings(s, false); len(reading) > 0 && reading[0].intent.name == "reminder.add" {
			return answer, true
		}
		from, to, times := s.liftTimes(0, len(s.tokens))
		when := d.when
		for _, sp := range times {
			when += " " + s.text[sp.match.Start:sp.match.End]
		}
		wish := w.g.replyText("wish-bare", "{when}", when, "{text}", s.originalText(from, to)) // "an die Milch"
		if p := w.g.planAll(wish, w.s.now, 0); p.intent != nil && p.intent.name == "reminder.add" {
			return wish, true
		}
		text := w.g.cleanName(s.originalText(from, to))
		return w.g.replyText("wish-reminder", "{when}", when, "{text}", quoteFree(text)), text != ""
	})
}

// addLocalTimer handles "Timer auf 10 Minuten".
func addLocalTimer(w *intentDraft) (plan, bool) {
	n, _ := w.numberOf("number")
	c, _ := w.captureOf("of_unit")
	m, ok := wholeMatch(w.s, "in "+strconv.FormatFloat(n, 'f', -1, 64)+" "+c.path)
	if !ok || m.Moment == nil || !m.Moment.HasClock || !w.noLead() {
		return noPlan()
	}
	return planCall("create_reminder", argsOf("text", "timer", "at", m.Moment.Time.Format(time.RFC3339)))
}

// localName returns the name of a record in a slot, without a time at its end.
func (w *intentDraft) localName(slot string) (string, bool) {
	c, ok := w.captureOf(slot)
	if !ok {
		return "", false
	}
	name := w.g.cleanName(w.s.originalText(c.from, c.to))
	return name, !w.isLocalUnspecific(name) && w.unaccountedWords(c.from, c.to) == "" && len(w.s.timesInside(c.from, c.to)) == 0
}

// localCall returns the builder of a request that names one record.
func localCall(tool, arg string) builder {
	return func(w *intentDraft) (plan, bool) {
		if w.isLocalQuestion() {
			return noPlan()
		}
		name, ok := w.localName("text")
		if !ok || !w.noLead() {
			return planRefusal(w.g.replyText("unclear-name"))
		}
		return planCall(tool, argsOf(arg, name))
	}
}

// isLocalQuestion reports whether the sentence ends with a question mark although it is not a polite
// request. It is for forms that are statements: "ich muss Milch kaufen".
func (w *intentDraft) isLocalQuestion() bool {
	return w.hasSlot("statement") && strings.HasSuffix(strings.TrimSpace(w.s.text), "?")
}

// moveLocal returns the builder of requests that move a record to another time.
func moveLocal(tool, arg, key string) builder {
	return func(w *intentDraft) (plan, bool) {
		name, ok := w.localName("text")
		if !ok {
			return planRefusal(w.g.replyText("unclear-name"))
		}
		d := localDetails{spans: w.allSpans()}
		for _, sp := range d.spans {
			d.when = strings.TrimSpace(d.when + " " + w.s.text[sp.match.Start:sp.match.End])
		}
		wish := func(when string) string {
			return w.g.replyText("wish-move-"+arg, "{when}", when, "{text}", quoteFree(name))
		}
		t, p, ok := w.localTime(d, wish, false)
		switch {
		case !ok:
			return p, true
		case t.none, t.every != "":
			return planRefusal(w.g.replyText("times"))
		case t.clock && !t.at.After(w.s.now), !t.clock && t.at.Before(startOfDay(w.s.now)):
			return w.askLocal("ask-passed", func(answer string) (string, bool) {
				when := w.localAnswer("", answer)
				return wish(when), when != ""
			})
		}
		at := t.dueDate()
		if arg == "reminder" && t.clock && !t.part && w.isClockOnly(t) {
			at = w.literalClock(t).Format("15:04")
		}
		return planCall(tool, argsOf(arg, name, key, at))
	}
}

func addLocalTask(w *intentDraft) (plan, bool) {
	if w.isLocalQuestion() {
		return noPlan()
	}
	d := w.localText(w.filledSlot())
	switch {
	case d.wrong != "":
		return planRefusal(w.g.replyText(d.wrong))
	case w.isLocalUnspecific(d.text):
		return w.askLocal("ask-task", w.fillWish("wish-task", "{text}"))
	}
	t, p, ok := w.localTime(d, func(when string) string {
		return w.g.replyText("wish-task-due", "{when}", when, "{text}", quoteFree(d.text))
	}, false)
	switch {
	case !ok:
		return p, true
	case t.every != "":
		return planRefusal(w.g.replyText("no-repeat"))
	}
	level, _ := w.g.lex.meaningOf("level", w.slotNorm("priority"))
	titles := []string{d.text}
	if w.hasSlot("several") {
		titles = w.splitLocal(d.text)
	}
	out := plan{outcome: act}
	for _, title := range titles {
		out.calls = append(out.calls, call{"create_task", argsOf("title", title, "due", t.dueDate(), "priority", level)})
	}
	return out, true
}

func listLocalTasks(w *intentDraft) (plan, bool) {
	args := argsOf("due", w.slotMeaning("due", "due"), "status", w.slotMeaning("status", "status"))
	if spans := w.allSpans(); len(spans) > 0 {
		due, ok := w.filterDay(spans)
		if !ok {
			return planRefusal(w.g.replyText("one-day"))
		}
		args["due"] = due
	}
	return planCall("list_tasks", args)
}

// slotMeaning returns the meaning of a slot in a word list.
func (w *intentDraft) slotMeaning(slot, list string) string {
	m, _ := w.g.lex.meaningOf(list, w.slotNorm(slot))
	return m
}

// localList returns the project that holds a named list. It is in the language of the user, except
// for the shopping list, which all languages share.
func (w *intentDraft) localList() string {
	name := cmp.Or(w.slotNorm("list"), w.g.lex.fold(w.g.replyText("shopping-list")))
	words := strings.Fields(name)
	for i, word := range words {
		if w.g.vocab[word] {
			continue
		}
		for _, known := range slices.Sorted(maps.Keys(w.g.vocab)) {
			if isTypo(word, known) {
				words[i] = known
				break
			}
		}
	}
	name = strings.Join(words, " ")
	if m, ok := w.g.lex.meaningOf("lists", name); ok {
		return m
	}
	return name
}

// splitLocal splits an enumeration at commas and the words of the list "joints".
func (w *intentDraft) splitLocal(text string) (out []string) {
	s := w.g.parseSentence(text, w.s.now)
	from := 0
	for i, t := range s.tokens {
		if t.kind == word && s.lex.containsWord("joints", t.norm) || t.kind == punct && strings.Contains(",;", t.norm) {
			out = append(out, s.originalText(from, i))
			from = i + 1
		}
	}
	out = append(out, s.originalText(from, len(s.tokens)))
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

func addToLocalList(w *intentDraft) (plan, bool) {
	asked := strings.HasSuffix(strings.TrimSpace(w.s.text), "?") && w.s.tokens[0].start <= len("¿")
	if c, ok := w.captureOf("items"); ok && (asked || w.g.lex.containsWord("asking verbs", w.s.firstWord(c.from)) || w.g.lex.containsWord("asking verbs", w.s.firstWord(0))) {
		return planCall("list_tasks", argsOf("project", w.localList())) // "steht Milch auf der Einkaufsliste?"
	}
	return w.eachListItem("items", "list-add", func(name string) call {
		return call{"create_task", argsOf("title", name, "project", w.localList())}
	})
}

func tickLocal(w *intentDraft) (plan, bool) {
	return w.eachListItem("items", "list-tick", func(name string) call {
		return call{"complete_task", argsOf("task", name, "project", w.localList())}
	})
}

// eachListItem makes a call for each item of an enumeration.
func (w *intentDraft) eachListItem(slot, unclear string, make func(name string) call) (plan, bool) {
	c, _ := w.captureOf(slot)
	if reply := w.unaccountedWords(c.from, c.to); reply != "" {
		return planRefusal(w.g.replyText(reply))
	}
	if !w.noLead() || len(w.s.timesInside(c.from, c.to)) > 0 {
		return planRefusal(w.g.replyText("list-time"))
	}
	out := plan{outcome: act}
	for _, item := range w.splitLocal(w.slotString(slot)) {
		name := w.g.cleanName(item)
		if w.isLocalUnspecific(name) {
			return planRefusal(w.g.replyText(unclear))
		}
		out.calls = append(out.calls, make(name))
	}
	return out, len(out.calls) > 0
}

// briefLocal shows a day: "was steht morgen an?".
func briefLocal(w *intentDraft) (plan, bool) {
	spans := w.allSpans()
	if len(spans) == 0 {
		return planCall("daily_briefing", nil)
	}
	t, err := w.joinTimes(spans)
	if err != nil || t.vague || t.every != "" || t.clock && !t.part {
		return planRefusal(w.g.replyText("one-day"))
	}
	return planCall("daily_briefing", argsOf("date", t.at.Format(time.DateOnly)))
}

// undoMentioned returns a builder that undoes the actions for the previous message. If there are
// none, or only an undo, it calls b.
func undoMentioned(b builder) builder {
	return func(w *intentDraft) (plan, bool) {
		x, _ := w.g.talk.exchangeAgo(0)
		p := plan{outcome: act}
		for _, a := range x.acts {
			if a.changesRecords() && a.tool != "undo" {
				p.calls = append(p.calls, a.undoCall())
			}
		}
		if len(p.calls) == 0 || strings.HasSuffix(x.reply, "?") {
			return b(w)
		}
		return p, true
	}
}

// followLocal returns the English builder b for use in another language. It declines if the
// conversation has mentioned no record.
func followLocal(b builder) builder {
	return func(w *intentDraft) (plan, bool) {
		if w.g.talk == nil || len(w.g.talk.mentionedItems()) == 0 {
			return noPlan()
		}
		return b(w)
	}
}
