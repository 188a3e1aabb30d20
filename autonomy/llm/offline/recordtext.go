package offline

import (
	"slices"
	"strings"
	"unicode"

	"hob/platform/text/lazyregexp"
)

// maxWords is the maximum number of words in a plain text of a record, by argument.
var maxWords = map[string]int{"text": 9, "title": 9, "category": 5, "vendor": 3, "task": 9, "reminder": 9, "habit": 4, "note": 9}

// longNumber matches a number that is no age and no day.
var longNumber = lazyregexp.New(`\d[\d ]{3,}\d`)

// recordText is a free text of a call while it is searched for signs of more than the record contains.
type recordText struct {
	*planReview
	c     call
	name  string // of the argument
	text  string
	s     *sentence
	words []token // without marks
}

// signInText returns a sign in a free text of a call.
func (d *planReview) signInText(c call, name, text string) string {
	r := &recordText{planReview: d, c: c, name: name, text: text}
	r.s = d.g.parseSentence(text, d.s.now)
	r.words = slices.DeleteFunc(slices.Clone(r.s.tokens), func(t token) bool { return t.kind == punct })
	if len(r.words) == 0 {
		return ""
	}
	stated := c.name == "remember" || c.name == "create_note" || c.name == "append_note"
	for i, t := range r.words {
		switch {
		case t.kind != word:
		case d.isWord("second-thoughts", t) && (i > 1 || !stated), !stated && d.isWord("hedges", t):
			return "correction " + t.norm
		case i > 0 && d.isWord("request-words", t) && !(stated && (d.isWord("to-hob", t) || d.isWord("recording-verbs", t))): // "a code that I always forget"
			return "request " + t.norm
		}
	}
	if stated {
		return r.signInStatement()
	}
	if sign := r.signInShape(); sign != "" {
		return sign
	}
	return r.signInWords()
}

// isWord reports whether a token is in a list.
func (d *planReview) isWord(list string, t token) bool { return d.g.lex.containsWord(list, t.norm) }

// signInStatement returns a sign in a fact or a note.
func (r *recordText) signInStatement() string {
	first, last := r.words[0], r.words[len(r.words)-1]
	switch {
	case slices.ContainsFunc(r.s.tokens, func(t token) bool { return t.kind == punct && r.isWord("please", t) }):
		return "request please"
	case r.isFollowUp() && longNumber.MatchString(r.text): // "my apprentice is 087 555 1243"
		return "figure"
	case len(r.words) > 1 && r.c.name == "remember" && r.isWord("open-references", first), r.c.name == "create_note" && (len(r.words) > 1 && r.isWord("person-words", first) || r.isWord("prepositions", first) || r.isAmount() || r.quotesPart()):
		return "reference " + first.norm
	case r.c.name == "create_note" && r.g.lex.containsWord("pencil-verbs", r.planReview.s.firstWord(0)) && len(r.planReview.s.allTimes()) > 0: // "put down park with the twins saturday 10am"
		return "time"
	case r.c.name == "remember" && last.norm == "right" && len(r.words) > 8 && slices.ContainsFunc(r.words, func(t token) bool { return t.norm == "so" }): // "so he owes me 5, right"
		return "question"
	case len(r.words) > 1 && r.isWord("request-edges", last) && !strings.Contains(r.planReview.s.text, ":"), r.c.name == "create_note" && last.norm == "list":
		return "stray " + last.norm
	case r.c.name == "remember" && len(r.words) > 1 && r.isWord("prepositions", first):
		return "start " + first.norm
	case r.c.name == "remember" && (r.asksToKeep() || r.isWord("asking-modals", last) || last.norm == "might" || last.norm == "must" || last.norm == "will"):
		return "request"
	case r.c.name != "remember" || r.p.intent != nil && r.p.intent.verbatim:
	case r.g.lacksVerb(r.text, r.planReview.s.now):
		return "no verb"
	case r.isWord("dangling-ends", last):
		return "end " + last.norm
	case r.countWords("hob-words") > 0: // "which is what you ought to know"
		return "you"
	case len(r.words) > 18:
		return "length"
	}
	return ""
}

// asksToKeep reports whether a fact contains a request to keep it: "my size is 12, keep that for christmas".
func (r *recordText) asksToKeep() bool {
	for i := 2; i+1 < len(r.words); i++ {
		next := r.words[i+1].norm
		if next == "forget" && r.words[i].norm != "i" {
			return true
		}
		if slices.Contains([]string{"keep", "remember", "save", "store", "note", "log", "write"}, r.words[i].norm) && (next == "that" || next == "it" || next == "this") {
			return true
		}
	}
	return false
}

// signInShape returns a sign in the length, the marks, the first or the last word of a text.
func (r *recordText) signInShape() string {
	n := len(r.words)
	first, last := r.words[0], r.words[n-1]
	if r.p.answered && r.isNoText() {
		return "answer"
	}
	listed := strings.HasSuffix(stringOf(r.c.args["project"]), " list")
	switch {
	case listed && (!strings.ContainsFunc(r.text, unicode.IsLetter) || last.norm == "one" || last.norm == "ones"), // "12.40", "the big ones"
		listed && n > 1 && r.isWord("list-edits", first): // "swap bread for rolls"
		return "items"
	case r.c.name == "create_task" && !listed && strings.Contains(strings.ToLower(r.planReview.s.text), "the list"), r.c.name == "create_task" && !listed && n < 3 && r.isWord("groceries", first) && slices.ContainsFunc(r.planReview.s.tokens, func(t token) bool { return t.norm == "list" }): // "add milk to the list for tomorrow"
		return "list"
	}
	if n > maxWords[r.name] || n > 8 && r.c.name == "create_task" && r.g.lex.containsWord("own-needs", r.planReview.s.firstWord(0)) {
		return "length"
	}
	for i, t := range r.s.tokens {
		if t.kind == punct && i < len(r.s.tokens)-1 && !r.isPlainMark(i) {
			return "mark " + t.norm
		}
	}
	if n == 1 {
		return ""
	}
	if stray := r.strayWord(); stray != "" {
		return "stray " + stray
	}
	if next := r.words[1].norm; r.isWord("articles", first) && (slices.Contains([]string{"a", "half", "quarter", "fortnight"}, next) || r.isWord("typo-units", r.words[1])) || r.isWord("hesitations", first) && !r.isWord("task-verbs", first) { // "in an hour an a half pizza", "a fortnight that he comes", "er pick it up"
		return "time"
	}
	if !(first.norm == "not" && r.words[1].norm == "to") && (r.isWord("prepositions", first) || r.isWord("joints", first) || r.isWord("loose-starts", first)) {
		return "start " + first.norm
	}
	if r.isWord("loose-ends", last) || r.isWord("prepositions", last) && !r.isWord("phrasal-verbs", first) && !r.isWord("linking-verbs", r.words[n-2]) {
		return "end " + last.norm
	}
	if !listed {
		return ""
	}
	if d := r.planReview.s; n == 2 && r.isListStart(d.firstWord(0)) && !strings.ContainsAny(d.text, ",:") { // "make a list with passport charger and adapter"
		return "items"
	}
	for i := 1; i < n && n > 2; i++ { // "eggs milk half and half"
		if r.isWord("groceries", r.words[i-1]) && r.isWord("groceries", r.words[i]) {
			return "items"
		}
	}
	if joined := r.countWords("joiners"); r.countWords("groceries") > 1 && joined == 0 || n > 3 && joined+r.countWords("prepositions")+r.countWords("belonging") == 0 {
		return "items"
	}
	return ""
}

// isListStart reports whether a request starts a new list.
func (r *recordText) isListStart(first string) bool {
	return first == "make" || first == "create" || first == "start" || first == "new" || first == "set"
}

// signInWords returns a sign in a word of a text: a clause, a time or a figure.
func (r *recordText) signInWords() string {
	spends := r.c.name == "log_expense"
	for i, t := range r.words {
		var prev, next token
		if i > 0 {
			prev = r.words[i-1]
		}
		if i+1 < len(r.words) {
			next = r.words[i+1]
		}
		_, number := r.g.lex.meaningOf("numbers", t.norm)
		number = number && !r.isWord("articles", t)
		digit := t.kind == word && isDigit(t.norm[0])
		switch {
		case t.kind != word, prev.norm == "at" && next.norm == "" && len(t.norm) == 5 && t.norm[2] == ':': // "dentist at 15:00", which Hob wrote
		case i > 0 && strings.HasSuffix(strings.TrimSpace(r.s.text[:t.start]), ".") && r.isWord("person-subjects", t): // "call Tom. He owes me money"
		case i > 0 && (r.isWord("clause-subjects", t) || r.isWord("negations", t) || r.isWord("condition-words", t) || r.isWord("w-words", t)):
			return "clause " + t.norm
		case r.c.name == "create_reminder" && t.norm == "to" && i == 2 && r.isWord("articles", r.words[0]) && next.norm != "" && !r.isWord("belonging", next): // "before five a side to fill my bottle"
			return "clause to"
		case t.norm == "every", r.isWord("time-words", t) && !(r.isWord("named-parts", t) && r.isWord("part-names", prev)) && (next.norm == "" || r.isWord("prepositions", next) || r.isWord("joiners", next) || r.isWord("joints", next)):
			return "time " + t.norm
		case spends && (digit || number && (i > 0 || len(r.words) > 2) || r.isWord("no-purpose", t)):
			return "figure " + t.norm
		case digit && (strings.Contains(t.norm, ":") || r.isWord("prepositions", prev) || prev.norm == "or" || r.isWord("typo-units", next) || next.norm == "" && len(t.norm) < 3):
			return "figure " + t.norm
		}
	}
	return ""
}

// countWords returns how many words are in a list.
func (r *recordText) countWords(list string) (n int) {
	for _, t := range r.words {
		if r.isWord(list, t) {
			n++
		}
	}
	return n
}

// isNoText reports whether an answer left nothing that a record can be about: "no, at 4pm" to "What should I remind you of?".
func (r *recordText) isNoText() bool {
	return !slices.ContainsFunc(r.words, func(t token) bool {
		return t.kind != word || !slices.ContainsFunc([]string{"answer-fillers", "negations", "correction-starts", "reference-words", "yes"}, func(list string) bool { return r.isWord(list, t) })
	})
}

// isAmount reports whether a note begins with an amount of money: "thirty-two pounds for diesel" may be an expense.
func (r *recordText) isAmount() bool {
	words, d := r.words, r.planReview
	_, number := d.g.lex.meaningOf("numbers", words[0].norm)
	if head, _, ok := strings.Cut(words[0].norm, "-"); ok {
		_, number = d.g.lex.meaningOf("numbers", head)
	}
	if !number && !isDigit(words[0].norm[0]) {
		return strings.ContainsAny(words[0].norm, "£$€")
	}
	return slices.ContainsFunc(words[1:min(len(words), 4)], func(t token) bool {
		_, money := d.g.lex.meaningOf("currencies", t.norm)
		return money || d.g.lex.containsWord("cents", t.norm) || t.norm == "pounds" || t.norm == "pound" || t.norm == "quid"
	})
}

// quotesPart reports whether a note contains a quotation and other words: the words "Dear Sir".
func (r *recordText) quotesPart() bool {
	return slices.ContainsFunc(r.planReview.s.tokens, func(t token) bool {
		return t.kind == quoted && strings.Contains(t.inner, " ") && strings.Contains(r.text, t.inner) && len(r.text) < len(t.inner)+20
	})
}

// isPlainMark reports whether a mark inside a text joins no second request: "buy milk, eggs and bread", "Dr. Smith".
func (r *recordText) isPlainMark(i int) bool {
	lex, s := r.g.lex, r.s
	next := s.firstWord(i + 1)
	switch s.tokens[i].norm {
	case ",":
		return next != "" && isDigit(next[0]) || r.isWord("purchase-verbs", r.words[0]) && !r.g.starters[next] && !lex.containsWord("task-verbs", next)
	case ".":
		return i > 0 && lex.containsWord("titles", s.tokens[i-1].norm) || lex.containsWord("person-subjects", next)
	case "(", ")":
		return strings.Count(s.text, "(") == strings.Count(s.text, ")") && (s.tokens[i].norm == ")" || len(next) > 1)
	}
	return false
}

func stringOf(v any) string {
	s, _ := v.(string)
	return s
}
