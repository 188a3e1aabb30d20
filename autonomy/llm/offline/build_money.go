package offline

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"hob/platform/text/dateparse"
)

func moneyBuilders() map[string]builder {
	return map[string]builder{
		"money.add": addExpense,
		"money.add.none": func(w *intentDraft) (plan, bool) {
			if what := w.slotDetails("what", nil); what.text != "" {
				return planQuestion("How much was it?", fillBetween("spent", strings.TrimSpace("on "+w.slotString("what"))))
			}
			return planQuestion("How much was it, and for what?", fillBetween("spent", ""))
		},
		"money.sum":      sumExpenses,
		"budget.set":     setBudget,
		"budget.check":   checkBudget,
		"recurring.list": func(w *intentDraft) (plan, bool) { return planCall("recurring_costs", nil) },
		"receipt.read": func(w *intentDraft) (plan, bool) {
			return planCall("parse_receipt", argsOf("path", w.pathOf("path"), "log", w.hasSlot("log"), "category", bareName(w.slotString("few_category"))))
		},
		"expense.import": func(w *intentDraft) (plan, bool) {
			return planCall("import_expenses", argsOf("path", w.pathOf("path")))
		},
		"follow.total": totalExpenses,
		"money.income": func(w *intentDraft) (plan, bool) {
			c, _ := w.captureOf("amount")
			certain := c.currency != "" || w.hasSlot("refund") || w.hasKeyword("paid") && c.to == len(w.s.tokens)
			if !certain || w.isQuestion() { // "took 2 pills"
				return noPlan()
			}
			return planReply(w.g.replyText("debt"))
		},
	}
}

// purchase holds the details found in the words around an amount.
type purchase struct {
	category, vendor string
}

func addExpense(w *intentDraft) (plan, bool) {
	c, ok := w.captureOf("amount")
	if !ok || w.isQuestion() {
		return noPlan()
	}
	if w.s.lex.containsPhrase("owed-to-user", w.s.normalizedText(0, len(w.s.tokens))) { // see keepPlace
		return noPlan()
	}
	if w.isRepayment() {
		return planReply(w.g.replyText("repaid"))
	}
	if w.isDebt() {
		return planReply(w.g.replyText("debt"))
	}
	if w.isWish() || c.currency == "" && c.to < len(w.s.tokens) && w.g.lex.containsWord("counted-people", w.s.tokens[c.to].norm) {
		return noPlan()
	}
	if said := w.s.originalText(c.from, c.to); doubtfulAmount.MatchString(said) {
		return planQuestion("I am not sure how to read "+quoteText(said)+". How much was it?", func(answer string) (string, bool) {
			return strings.Replace(w.s.text, said, strings.Trim(answer, " .!"), 1), !doubtfulAmount.MatchString(answer) && strings.ContainsAny(answer, "0123456789")
		})
	}
	if said := w.s.originalText(c.from, c.to); c.currency == "" && !w.isSpending() && isBareClock(said, w.s.now) && strings.ContainsAny(said, ".:") && len(w.s.allTimes()) == 0 && w.s.hasWordOf(0, len(w.s.tokens), "timed-nouns") {
		if w.s.hasWordOf(0, len(w.s.tokens), "ringing-nouns") { // "alarm 5.05"
			return noPlan()
		}
		return planQuestion("Is "+quoteText(said)+" a price or a time of day? Say \"spent ... on ...\" or \"remind me at ... to ...\".", nil)
	}
	if said := w.s.originalText(c.from, c.to); c.currency == "" && !w.isSpending() && len(w.s.allTimes()) > 0 && isBareClock(said, w.s.now) && strings.ContainsAny(said, ".:") {
		return noPlan() // "parents evening thursday 6.30"
	}
	if c.currency == "" && !w.isSpending() && !w.hasPriceForm(c) {
		return noPlan()
	}
	var b purchase
	times := w.lead
	for _, name := range []string{"what", "tail", "who", "few_what"} {
		if !w.hasSlot(name) {
			continue
		}
		d := w.slotDetails(name, nil)
		times = append(times[:len(times):len(times)], d.times...)
		switch {
		case name == "who":
			if b.vendor = bareName(d.text); slices.ContainsFunc(strings.Fields(strings.ToLower(b.vendor)), func(f string) bool { return w.g.lex.containsWord("bills", f) }) { // "paid rent 540"
				b.category, b.vendor = b.vendor, ""
			}
		case name == "tail":
			b.parseDetails("on " + d.text)
		default:
			verb, rest, more := strings.Cut(d.text, " ")
			if _, past := w.g.baseForm(strings.ToLower(verb)); past && more && name == "few_what" { // "took the bus, 2.80"
				d.text = rest
			}
			b.parseDetails(d.text)
		}
	}
	if w.asksInside("what") || w.asksInside("tail") || w.asksInside("few_what") || w.isTransfer(b) { // "34 dollars for paint what is the average"
		return noPlan()
	}
	head, tail, _ := strings.Cut(b.category, ",") // "17.99 for the badge, it was on friday"
	if w.g.lex.containsWord("no-purchases", strings.ToLower(firstField(strings.TrimSpace(tail)))) {
		b.category = strings.TrimSpace(head)
		for _, f := range strings.Fields(strings.ToLower(tail)) {
			if !slices.ContainsFunc([]string{"no-purchases", "auxiliaries", "prepositions"}, func(list string) bool { return w.g.lex.containsWord(list, f) }) {
				return planQuestion("I am not sure how to read "+quoteText(strings.TrimSpace(tail))+" in that, so I logged nothing. Can you say it in other words?", nil)
			}
		}
	}
	if w.g.lex.containsWord("no-purchases", strings.ToLower(firstField(b.category))) { // "it's 412 pounds"
		return noPlan()
	}
	if w.s.hasWordOf(0, len(w.s.tokens), "sum-words") || w.hasSlot("bare") && c.currency == "" && !strings.ContainsAny(w.slotNorm("amount"), ".,") { // "20 pounds plus 5 pounds", "bought milk 2"
		return noPlan()
	}
	unpaid := func(word string) bool { return w.g.lex.containsWord("unpaid-words", strings.Trim(word, ".,!")) }
	if slices.ContainsFunc(strings.Fields(strings.ToLower(w.s.text)), unpaid) && !w.moneyWords() && (!w.hasKeyword("came") || strings.Contains(strings.ToLower(w.s.text), " due ")) { // "electric bill 214.37 due on the 15th"
		return planQuestion("Have you paid that already? Then say \"spent ... on ...\". For a bill to pay, say \"remind me on ... to pay ...\".", nil)
	}
	if short, ok := w.withoutToo(b.category); ok {
		if it, task := w.g.talk.focusItem(); task && it.kind == "task" && w.hasKeyword("add") {
			return planQuestion("Should that be an expense or a task? Say \"spent ...\" or \"add a task to ...\".", nil)
		}
		b.category = short
	}
	if w.hasSecondAmount(b.vendor) {
		b.category = b.vendor
	}
	if b.category != "" && !strings.ContainsFunc(b.category, unicode.IsLetter) { // "11 40 at lidl"
		return planQuestion("I am not sure how to read the amount in that, so I logged nothing. Can you write it as 12.50?", nil)
	}
	if w.hasSecondAmount(b.category) {
		return planQuestion("I am not sure how to read "+quoteText(b.category)+" in that, so I logged nothing. Can you send one expense at a time?", nil)
	}
	b.vendor = strings.TrimSuffix(b.vendor, " back")           // "paid Tom back 20"
	if strings.HasPrefix(strings.ToLower(b.vendor), "same ") { // "4 for a coffee at the same place"
		b.vendor = ""
	}
	if strings.HasPrefix(b.vendor, "by ") || strings.HasPrefix(b.vendor, "with ") || b.vendor == "cash" { // "paid by card 12 for lunch"
		b.vendor = ""
	}
	if !w.multiplyEach(&b, &c.value) {
		return planReply(w.g.replyText("each"))
	}
	if b.category == "" && b.vendor == "" && !w.moneyWords() || w.g.lex.containsWord("units", strings.ToLower(firstField(b.category))) {
		return noPlan()
	}
	if first := strings.ToLower(firstField(b.category)); c.currency == "" && (w.g.lex.containsWord("to-hob", first) || w.g.lex.containsWord("record-verbs", first)) { // "move the visit to 4.30"
		return noPlan()
	}
	day, err := w.pastDay(times)
	if err != nil {
		said := w.s.text
		if len(times) > 0 { // the answer replaces the day
			said = strings.Replace(said, times[0].originalPhrase(), "", 1)
		}
		return w.askTime(err, "On which day was that?", func(when string) string { return said + " " + when })
	}
	if c.currency == "" && w.beginsWithAnd() {
		c.currency = w.g.talk.lastCurrency()
	}
	return planCall("log_expense", argsOf("amount", c.value, "currency", c.currency, "category", b.category,
		"vendor", b.vendor, "date", day))
}

// lastCurrency returns the currency that the last message named for an expense, or "".
func (d *dialogue) lastCurrency() string {
	x, _ := d.exchangeAgo(0)
	for _, p := range slices.Backward(x.acts) {
		if p.tool == "log_expense" && !p.failed {
			return p.stringArg("currency")
		}
	}
	return ""
}

// withoutToo removes "too" or "as well" from the end of a purpose.
func (w *intentDraft) withoutToo(text string) (string, bool) {
	for _, tail := range []string{" too", " as well", " also"} {
		if short, ok := strings.CutSuffix(text, tail); ok {
			return short, true
		}
	}
	return text, false
}

// isTransfer reports whether money stays with the user: "put 100 into savings".
func (w *intentDraft) isTransfer(b purchase) bool {
	return slices.ContainsFunc(strings.Fields(strings.ToLower(b.category+" "+b.vendor)), func(f string) bool { return w.g.lex.containsWord("own-accounts", f) })
}

// doubtfulAmount matches an amount whose point may group thousands: "12.345".
var doubtfulAmount = regexp.MustCompile(`^\D*\d{1,3}\.\d{3}\D*$`)

// isWish reports whether the sentence says what the user wants to do instead of what happened: "I want to spend
// 20 on lunch". Polite phrases are not part of the tokens.
func (w *intentDraft) isWish() bool {
	if len(w.s.tokens) == 0 || w.s.tokens[0].start == 0 || w.g.lex.containsWord("recording-verbs", w.s.firstWord(0)) {
		return false
	}
	return slices.ContainsFunc(splitTokens(w.s.text[:w.s.tokens[0].start], w.g.lex), func(t token) bool { return w.g.lex.containsWord("wish-words", t.norm) })
}

// hasSecondAmount reports whether a purpose contains another amount or payment: "milk and bread 3", "or 25 on
// lunch", "lunch but Tom paid me back".
func (w *intentDraft) hasSecondAmount(category string) bool {
	words := strings.Fields(strings.ToLower(category))
	if len(words) < 2 {
		return false
	}
	if slices.ContainsFunc(words, func(f string) bool { return f == "+" || strings.Contains(f, ".") && parsesAsFigure(f) }) {
		return true
	}
	for i := 1; i+1 < len(words); i++ { // "10 on food 20 on drinks"
		if parsesAsFigure(words[i]) && (words[i+1] == "on" || words[i+1] == "for" || words[i+1] == "at") {
			return true
		}
	}
	return parsesAsFigure(words[len(words)-1]) || slices.ContainsFunc(words, func(f string) bool { return w.g.lex.containsWord("no-category", f) }) || words[0] == "and"
}

// multiplyEach multiplies the price of one in "two coffees at 3.60 each". It returns false if the number
// is missing.
func (w *intentDraft) multiplyEach(b *purchase, value *float64) bool {
	words := strings.Fields(b.category)
	i := slices.IndexFunc(words, func(word string) bool { return w.g.lex.containsWord("each-words", strings.ToLower(word)) })
	if i < 0 {
		return true
	}
	words = slices.Delete(words, i, i+1)
	if len(words) < 2 {
		return false
	}
	n, err := strconv.Atoi(words[0])
	if m, ok := w.g.lex.meaningOf("numbers", strings.ToLower(words[0])); ok && err != nil {
		n, err = strconv.Atoi(m)
	}
	if err != nil || n < 2 {
		return false
	}
	b.category = strings.Join(words[1:], " ")
	*value = math.Round(*value*float64(n)*100) / 100
	return true
}

// isDebt reports whether the sentence is about money that was not spent: a debt, a loan or income.
func (w *intentDraft) isDebt() bool {
	return slices.ContainsFunc(w.s.tokens, func(t token) bool { return w.s.lex.containsWord("unspent", t.norm) })
}

// isRepayment reports whether money went back: "I gave her 5 back", "paid back 20 to Jo". In "paid 40 for a back
// massage", the word belongs to a noun.
func (w *intentDraft) isRepayment() bool {
	i := slices.IndexFunc(w.s.tokens, func(t token) bool { return t.norm == "back" })
	if i < 1 || !w.s.hasWordOf(0, min(i, 3), "returning-verbs") {
		return false
	}
	if i+1 == len(w.s.tokens) || w.s.tokens[i+1].kind == punct || w.s.spanAt(i+1) != nil || w.s.lex.containsWord("returning-verbs", w.s.tokens[i-1].norm) {
		return true
	}
	next := w.s.tokens[i+1].norm
	return w.s.lex.containsWord("prepositions", next) || w.s.lex.containsWord("joiners", next)
}

// hasPriceForm reports whether the amount looks like a price, as in "groceries 35.20".
func (w *intentDraft) hasPriceForm(amount capture) bool {
	n := w.slotNorm("amount")
	i := strings.LastIndexAny(n, ".,")
	if amount.from == 0 && isBareClock(n, w.s.now) { // "6.30 dinner"
		return false
	}
	listed := w.hasSlot("what") && amount.from == 0 && (w.hasKeyword("on") || w.hasKeyword("for")) // "42.50 on groceries"
	alone := w.hasSlot("few_what") && (amount.to == len(w.s.tokens) || amount.from == 0)
	logged := w.hasSlot("what") && !alone && amount.from > 0
	return (alone || logged || listed) && i > 0 && len(n)-i == 3
}

// isSpending reports whether the words refer to money although no currency is given. "I had 2 for
// lunch" and "reading 20" do not.
func (w *intentDraft) isSpending() bool {
	if w.moneyWords() {
		return true
	}
	for _, word := range []string{"cost", "costs", "bought", "purchased", "gave", "handed", "ordered", "came"} {
		if w.hasKeyword(word) {
			return true
		}
	}
	return false
}

func (w *intentDraft) moneyWords() bool {
	for _, word := range []string{"spent", "paid", "payed", "spend", "expense", "expenses", "expenditure", "payment", "purchase", "blew", "spending"} {
		if w.hasKeyword(word) {
			return true
		}
	}
	return false
}

// parseDetails splits text such as "lunch at Luigi's", "to the plumber" or "for a book from
// Waterstones" into the purpose and the payee.
func (b *purchase) parseDetails(words string) {
	preposition := ""
	var piece []string
	flush := func() {
		text := bareName(strings.Join(piece, " "))
		piece = nil
		switch {
		case text == "" || text == "on":
		case (preposition == "at" || preposition == "to" || preposition == "from" || preposition == "in") && b.vendor == "":
			b.vendor = text
		case b.category == "":
			b.category = text
		case preposition == "for": // "poinsettias at 6.99 for the porch"
			b.category += " for " + text
		default:
			b.category += " " + text
		}
	}
	for _, f := range strings.Fields(words) {
		switch lower := strings.ToLower(f); lower {
		case "under": // "netflix under subscriptions"
			flush()
			if b.vendor == "" {
				b.vendor, b.category = b.category, ""
			}
			preposition = "on"
		case "at", "to", "from", "in", "on", "for":
			if len(piece) > 0 && (lower == "from" || lower == "to") && slices.ContainsFunc(piece, isJourney) {
				piece = append(piece, f) // "a taxi home from the station"
				continue
			}
			if len(piece) > 0 && (lower == "on" || lower == "for" || lower == "in") && b.vendor == "" && preposition == "" {
				piece = append(piece, f) // "tickets for the zoo" is one item
				continue
			}
			flush()
			preposition = lower
		default:
			piece = append(piece, f)
		}
	}
	flush()
}

// isJourney reports whether a word of a purpose is a journey, after which "from" and "to" name no payee.
func isJourney(word string) bool {
	return slices.Contains([]string{"taxi", "cab", "uber", "train", "bus", "flight", "ferry", "coach", "tram", "fare", "ride", "lift"}, strings.ToLower(word))
}

// pastDay formats the day of a past event. "" means today, the default.
func (w *intentDraft) pastDay(times []*span) (string, error) {
	if len(times) == 0 {
		return "", nil
	}
	t, err := w.joinTimes(times)
	if err != nil {
		return "", err
	}
	if t.every != "" || t.vague {
		return "", errNoDay
	}
	if week := t.at.AddDate(0, 0, 7); strings.HasPrefix(strings.ToLower(t.phrase), "last ") && w.g.lex.containsWord("weekdays", strings.ToLower(t.phrase[len("last "):])) && week.Before(startOfDay(w.s.now)) {
		choices := []string{week.Format("Monday 2 January"), t.at.Format("Monday 2 January")} // on a Sunday, "last Friday" may be the day before yesterday
		return "", &dateparse.AmbiguousError{Phrase: t.phrase, Choices: choices}
	}
	day := t.at
	if words := strings.Fields(strings.ToLower(t.phrase)); day.After(endOfDay(w.s.now)) && slices.ContainsFunc(words, func(s string) bool {
		return slices.Contains([]string{"tomorrow", "next", "coming", "following", "in", "after"}, s)
	}) { // "tomorrow" cannot mean a day of last week
		return "", errNoDay
	}
	if from := times[0].from; day.After(endOfDay(w.s.now)) && (strings.HasPrefix(strings.ToLower(times[0].match.Text), "for ") || from > 0 && times[0].owner.tokens[from-1].norm == "for") {
		return "", errNoDay // "tickets for Saturday"
	}
	for n := range 60 { // "on Monday" means last Monday, "the 1st" that of this month, and "3 May" the last 3 May
		if !day.After(endOfDay(w.s.now)) {
			return day.Format(time.DateOnly), nil
		}
		if isDayOfMonth(t.phrase) {
			day = time.Date(t.at.Year(), t.at.Month()-time.Month(n+1), t.at.Day(), 0, 0, 0, 0, t.at.Location())
			if day.Day() != t.at.Day() {
				day = endOfDay(w.s.now).AddDate(0, 0, 1) // that month has no such day
			}
			continue
		}
		if strings.ContainsAny(t.phrase, "0123456789") || t.at.Sub(w.s.now) > 8*24*time.Hour {
			day = day.AddDate(-1, 0, 0)
		} else {
			day = day.AddDate(0, 0, -7)
		}
	}
	return "", errNoDay
}

// isDayOfMonth reports whether a phrase names only a day of the month, such as "the 1st".
func isDayOfMonth(phrase string) bool {
	words := strings.Fields(strings.ToLower(phrase))
	if len(words) > 0 && words[0] == "the" {
		words = words[1:]
	}
	return len(words) == 1 && isDigit(words[0][0]) && strings.Trim(words[0], "0123456789stndrh") == "" && len(words[0]) <= 4 && !parsesAsFigure(words[0])
}

// addLocalExpense logs an expense in a language other than English. It needs a currency, because "ich habe 20
// für dich" is no expense.
func addLocalExpense(w *intentDraft) (plan, bool) {
	c, ok := w.captureOf("amount")
	if !ok || c.currency == "" && !w.hasSlot("spent") || strings.HasSuffix(strings.TrimSpace(w.s.text), "?") {
		return noPlan()
	}
	slot := "thing"
	if w.hasSlot("shop") {
		slot = "shop"
	}
	d := w.localText(slot)
	name := w.g.cleanName(d.text)
	switch {
	case d.wrong != "":
		return planRefusal(w.g.replyText(d.wrong))
	case w.hasSlot(slot) && w.isLocalUnspecific(name):
		return noPlan()
	}
	day, err := w.pastDay(d.spans)
	if err != nil {
		return planRefusal(w.g.replyText("times"))
	}
	what := map[string]string{slot: name}
	return planCall("log_expense", argsOf("amount", c.value, "currency", c.currency, "category", what["thing"], "vendor", what["shop"], "date", day))
}
