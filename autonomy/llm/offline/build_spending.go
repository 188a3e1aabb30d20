package offline

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"hob/platform/text/dateparse"
)

// sumExpenses answers "how much did I spend on food this month?".
func sumExpenses(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	if c, ok := w.captureOf("tail"); ok && w.s.firstWord(0) == "spent" && c.from < c.to && w.s.spanAt(c.from) == nil && !w.s.hasWordOf(c.from, c.from+1, "prepositions") { // "spent a tenner on tickets"
		return noPlan()
	}
	args := map[string]any{}
	for _, name := range []string{"period", "tail"} {
		c, ok := w.captureOf(name)
		if !ok {
			continue
		}
		if p, done := w.periodAndCategory(c, args); done {
			return p, p.outcome != 0
		}
	}
	if cat := w.slotString("few_category"); cat != "" {
		args["category"] = bareName(cat)
	}
	return spendingOrTotal(args)
}

// spendingOrTotal returns the spending on a category. If there is none, the answer also contains all spending of the
// period, because it may be logged in other words.
func spendingOrTotal(args map[string]any) (plan, bool) {
	p, _ := planCall("spending_summary", args)
	if args["category"] == nil {
		return p, true
	}
	all := maps.Clone(args)
	delete(all, "category")
	return planLookup(func(results []done) plan {
		r := results[0].result
		if r == nil || r.Error {
			return plan{outcome: chat, say: formatLookup(results[0])}
		}
		if !strings.HasPrefix(r.Text, "No spending on ") {
			return plan{outcome: chat, say: r.Text}
		}
		p, _ := planLookup(func(more []done) plan {
			say := r.Text
			if more[0].result != nil && !more[0].result.Error && !strings.HasPrefix(more[0].result.Text, "No ") {
				say += "\n\n" + more[0].result.Text
			}
			return plan{outcome: chat, say: say}
		}, call{"spending_summary", all})
		return p
	}, p.calls...)
}

// formatLookup returns the answer to a question whose lookup failed.
func formatLookup(d done) string {
	if d.result == nil {
		return d.name + " returned no result."
	}
	if d.result.Error {
		return formatFailure(d.result.Text)
	}
	return strings.TrimSpace(d.result.Text)
}

// periodAndCategory parses text such as "on food this month", "in February" or "last week for
// petrol". done is true if the plan is final, even if it is empty.
func (w *intentDraft) periodAndCategory(c capture, args map[string]any) (p plan, done bool) {
	for size := min(3, c.to-c.from); size > 0; size-- { // "this week so far"
		if totalWords.ReplaceAllString(w.s.normalizedText(c.to-size, c.to), "") == "" {
			c.to -= size
			break
		}
		if size == c.to-c.from-1 && w.s.tokens[c.to-1].norm == "today" && totalWords.ReplaceAllString(w.s.normalizedText(c.from, c.from+size), "") == "" { // "in total today"
			c.from += size
			break
		}
	}
	c, period := w.fixedPeriod(c)
	if period == "" {
		var times []*span
		c.from, c.to, times = w.s.liftTimes(c.from, c.to)
		if slices.ContainsFunc(times, func(sp *span) bool {
			return w.g.lex.containsWord("open-edges", strings.ToLower(firstField(sp.originalPhrase())))
		}) { // "before Monday"
			p, _ = planQuestion(w.g.replyText("periods"), nil)
			return p, true
		}
		if len(times) > 0 {
			month, ok := w.monthArgument(times)
			if !ok {
				month, ok = w.pastPeriod(times)
			}
			if !ok {
				p, _ = planQuestion(w.g.replyText("periods"), nil)
				return p, true
			}
			period = month
		}
	}
	if period != "" {
		args["period"] = period
	}
	words := totalWords.ReplaceAllString(bareName(w.s.originalText(c.from, c.to)), "")
	head, tail, _ := strings.Cut(words, " ")
	switch strings.ToLower(head) {
	case "on", "for", "at", "to", "in", "with", "into":
		words = bareName(tail)
	case "spent", "spend":
		return plan{}, false
	}
	words = strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(words, " cost me"), " so far"))
	if strings.ContainsAny(words, "0123456789") {
		return plan{}, true // "what did I spend 20 euros on?"
	}
	if w.g.containsOnly("total-words", words) { // "how much have I spent in total, today"
		words = ""
	}
	if w.mentionsOther(words) || strings.HasSuffix(words, " and") || strings.HasPrefix(words, "and ") || slices.Contains(strings.Fields(words), "than") { // "on lunch not including today"
		p, _ = planQuestion(w.g.replyText("periods"), nil)
		return p, true
	}
	if words != "" && !w.g.isUnspecific(words) {
		args["category"] = words
	}
	return plan{}, false
}

// fixedPeriod removes a period such as "last week" from the start or end of c and returns the
// tool's name for it. The name is "" if c contains no such period.
func (w *intentDraft) fixedPeriod(c capture) (capture, string) {
	for size := min(5, c.to-c.from); size > 0; size-- {
		for _, at := range []int{c.to - size, c.from} {
			name, ok := w.g.lex.meaningOf("periods", w.s.normalizedText(at, at+size))
			if !ok {
				continue
			}
			if at == c.from && size < c.to-c.from {
				c.from += size
				return c, name
			}
			c.to = at
			for c.to > c.from && (w.s.tokens[c.to-1].kind == punct || w.g.lex.containsWord("prepositions", w.s.tokens[c.to-1].norm)) {
				c.to--
			}
			return c, name
		}
	}
	return c, ""
}

// pastPeriod returns another period that started before now, such as the last weekend, or a day in the past.
func (w *intentDraft) pastPeriod(times []*span) (string, bool) {
	if len(times) != 1 || times[0].match.Every != nil {
		return "", false
	}
	phrase := strings.ToLower(withoutPreposition(times[0].match.Text))
	if phrase = strings.TrimPrefix(strings.TrimPrefix(phrase, "over "), "the "); phrase == "weekend" {
		if phrase = "last weekend"; w.s.now.Weekday() == time.Saturday || w.s.now.Weekday() == time.Sunday {
			phrase = "this weekend"
		}
	}
	if p, err := dateparse.ParsePeriod(phrase, w.s.now); err == nil && !p.From.IsZero() && !p.From.After(w.s.now) && !p.To.IsZero() && !isBareClock(phrase, w.s.now) {
		if p.To.Sub(p.From) < 26*time.Hour {
			phrase = "on " + phrase
		}
		return phrase, true
	}
	day, err := w.pastDay(times)
	return "on " + day, err == nil && day != ""
}

// monthArgument formats a calendar month for the tool: 2026-03.
func (w *intentDraft) monthArgument(times []*span) (string, bool) {
	if len(times) != 1 {
		return "", false
	}
	phrase := strings.TrimPrefix(strings.TrimPrefix(times[0].match.Text, "in "), "during ")
	p, err := dateparse.ParsePeriod(phrase, w.s.now)
	if err != nil || p.From.IsZero() || p.From.Day() != 1 || !p.From.AddDate(0, 1, 0).Equal(p.To) {
		return "", false
	}
	return p.From.Format("2006-01"), true
}

func startOfDay(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, t.Location())
}

func endOfDay(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 23, 59, 59, 0, t.Location())
}

func firstField(s string) string {
	head, _, _ := strings.Cut(s, " ")
	return head
}

// sumLocalExpenses answers "wie viel habe ich diese Woche ausgegeben?".
func sumLocalExpenses(w *intentDraft) (plan, bool) {
	period, ok := w.g.lex.meaningOf("periods", w.slotNorm("period"))
	if !ok || !w.noLead() {
		return noPlan()
	}
	return planCall("spending_summary", argsOf("period", period))
}

// totalExpenses answers "how much is that altogether?" while the conversation is about expenses.
func totalExpenses(w *intentDraft) (plan, bool) {
	for n := range recent {
		x, _ := w.g.talk.exchangeAgo(n)
		if len(x.acts) == 0 {
			continue
		}
		if last := x.acts[len(x.acts)-1]; last.failed || last.tool != "log_expense" && last.tool != "spending_summary" {
			break
		}
		period, _ := w.g.lex.meaningOf("periods", w.slotNorm("period"))
		return planCall("spending_summary", argsOf("period", cmp.Or(period, w.spendingPeriod())))
	}
	return noPlan()
}

// spendingPeriod returns the period that contains all expenses of the conversation.
func (w *intentDraft) spendingPeriod() string {
	period := "today"
	for n := range remembered {
		x, _ := w.g.talk.exchangeAgo(n)
		for _, p := range x.acts {
			day, err := time.ParseInLocation(time.DateOnly, p.stringArg("date"), w.s.now.Location())
			switch {
			case p.tool != "log_expense" || p.failed || err != nil || sameDay(day, w.s.now):
			case day.Year() != w.s.now.Year():
				return "all"
			case day.Month() != w.s.now.Month():
				period = "this_year"
			case period == "today":
				period = "this_month"
			}
		}
	}
	return period
}

// setBudget limits the spending on a category. "a budget of 300" is one for each month.
func setBudget(w *intentDraft) (plan, bool) {
	c, ok := w.captureOf("amount")
	if !ok || !w.noLead() || w.isQuestion() || w.g.classOf(w.s) == aQuestion { // "is a budget of 300 enough?"
		return noPlan()
	}
	period := map[string]string{"daily": "day", "weekly": "week", "monthly": "month", "quarterly": "quarter", "yearly": "year"}[w.slotNorm("period")]
	return planCall("budget_check", argsOf("action", "set", "category", w.budgetCategory(), "limit", c.value, "currency", c.currency, "period", cmp.Or(period, w.slotNorm("period"))))
}

func checkBudget(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	return planCall("budget_check", argsOf("category", w.budgetCategory()))
}

// budgetCategory returns the category of a budget, "" for all spending.
func (w *intentDraft) budgetCategory() string {
	category := bareName(w.slotString("few_category"))
	if w.g.isUnspecific(category) {
		return ""
	}
	return category
}
