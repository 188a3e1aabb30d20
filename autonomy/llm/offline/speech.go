package offline

import (
	"strings"

	"hob/platform/text/lazyregexp"
)

// tidySpeech drops the fillers of dictated speech from a message ("um", "you know,") and puts a few spoken turns into
// their usual order. Quoted texts stay as they are, and so does a message in another language, where "um" is a word.
func (g *grammar) tidySpeech(text string) string {
	if g.code != "" || len(text) > maxSpoken || !spokenWords.MatchString(text) {
		return text
	}
	bare := loneFillers.ReplaceAllString(text, "")
	if l, _ := g.languageOf(bare); l != nil {
		return text
	}
	for _, l := range g.languages {
		if n := l.countSignals(bare); n > 0 && 3*n >= len(strings.Fields(text)) {
			return text
		}
	}
	text = g.dropFillers(text)
	if strings.ContainsAny(text, "\"“”„«") {
		return text
	}
	text = splitParticle.ReplaceAllString(text, "$1 down $2 ")
	text = bareParticle.ReplaceAllString(text, "${1}add a task to ")
	if spokenRequest.MatchString(text) {
		text = ownZone.ReplaceAllString(text, "$1")
		if !hasHalfOfDay.MatchString(partWords.ReplaceAllString(text, "")) {
			text = partBeforeClock.ReplaceAllString(text, "at $3 in the $1$2$4")
		}
	}
	return text
}

// maxSpoken is the maximum length in bytes of a message that is treated as speech.
const maxSpoken = 2000

// dropFillers removes the fillers between the words of a message, with the marks around them.
func (g *grammar) dropFillers(text string) string {
	tokens := splitTokens(text, g.lex)
	var out strings.Builder
	last, kept := 0, 0
	for i := 0; i < len(tokens); i++ {
		n := g.fillerAt(text, tokens, i)
		if n == 0 {
			kept++
			continue
		}
		from, to := tokens[i].start, i+n
		open := i == 0 || tokens[i-1].kind == punct || g.lex.containsWord("prepositions", tokens[i-1].norm) || g.lex.containsWord("articles", tokens[i-1].norm) || tokens[i-1].norm == "and" || tokens[i-1].norm == "to"
		for open && to < len(tokens) && tokens[to].kind == punct && strings.Contains(",.…—–-", tokens[to].norm) {
			to++
		}
		out.WriteString(strings.TrimRight(text[last:from], " "))
		if last = tokens[to-1].end; out.Len() > 0 && last < len(text) && text[last] != ' ' && tokens[min(to, len(tokens)-1)].kind != punct {
			out.WriteByte(' ')
		}
		i = to - 1
	}
	if last == 0 || kept == 0 {
		return text
	}
	out.WriteString(text[last:])
	if tidy := strings.TrimLeft(out.String(), " ,.…"); tidy != "" {
		return strings.TrimSpace(tidy)
	}
	return text
}

// fillerAt returns the number of tokens of the filler at token i, or 0.
func (g *grammar) fillerAt(text string, tokens []token, i int) int {
	norm := func(j int) string {
		if j < 0 || j >= len(tokens) {
			return ""
		}
		return tokens[j].norm
	}
	t := tokens[i]
	t.norm = strings.TrimRight(t.norm, ".…")
	if t.kind != word {
		return 0
	}
	written := text[t.start:t.end]
	before := i == 0 || tokens[i-1].kind == punct || norm(i-1) == "and" || loneFiller.MatchString(norm(i-1))
	comma := norm(i+1) == ","
	switch {
	case written == strings.ToUpper(written) && loneFiller.MatchString(t.norm): // "the ER"
		return 0
	case t.norm == "er" && (i == len(tokens)-1 && i > 0 || norm(i-1) == "the" || norm(i-1) == "an"),
		t.norm == "uh" && (norm(i+1) == "huh" || norm(i+1) == "oh"), t.norm == "mm" && (!before || norm(i+1) == "hmm" || norm(i+1) == "hm"), // "3 mm"
		t.norm == "um" && i == 0 && len(tokens) > 1 && len(tokens) < 4 && isDigit(norm(1)[0]): // "um 9" is German
		return 0
	case i == 0 && strings.HasPrefix(t.norm, "hm"): // it may begin a correction: "hmm can we do 11 instead"
		return 0
	case loneFiller.MatchString(t.norm):
		if i+1 < len(tokens) && g.isPlainFigure(norm(i-1)) && g.isPlainFigure(norm(i+1)) { // "at 5 er 6" is a correction
			return 0
		}
		return 1
	case t.norm == "like" && comma && i > 0 && norm(i-1) == ",", t.norm == "like" && i > 0 && loneFiller.MatchString(norm(i-1)):
		return 1
	case t.norm == "you" && norm(i+1) == "know" && before && (norm(i+2) == "," || i > 0 && i+2 < len(tokens) && loneFiller.MatchString(norm(i+2))):
		return 2
	case i > 0 && before && i+2 < len(tokens) && (norm(i+1) == "so" && (t.norm == "okay" || t.norm == "ok" || t.norm == "yeah") || t.norm == "so" && (norm(i+1) == "yeah" || norm(i+1) == "okay")):
		return 2
	}
	return 0
}

// isPlainFigure reports whether a word is a number or a day of the week.
func (g *grammar) isPlainFigure(norm string) bool {
	_, number := g.lex.meaningOf("numbers", norm)
	return number && !g.lex.containsWord("articles", norm) || g.lex.containsWord("weekdays", norm) || strings.ContainsAny(norm, "0123456789")
}

var (
	// loneFiller matches a word that has no meaning, loneFillers such words in a text.
	loneFiller  = lazyregexp.New(`^(?:u+m+|u+h+m*|erm+|er|ehm|h+m+|mm+)$`)
	loneFillers = lazyregexp.New(`(?i)\b(?:u+m+|u+h+m*|erm+|er|ehm|h+m+|mm+)\b`)
	// spokenWords matches what tidySpeech may change.
	spokenWords = lazyregexp.New(`(?i)\b(?:u+m+|u+h+m*|erm+|er|ehm|h+m+|mm+|like|you know|so|down|time|in the)\b`)
	// spokenRequest matches a request about a time, in which a remark on the clock is no part of a text.
	spokenRequest = lazyregexp.New(`(?i)\b(?:remind|reminder|alarm|wake|nudge|ping|timer|schedule|move|push|change|make it)\b|^(?:no |at |and )`)
	// splitParticle matches "put a task down to ...", bareParticle "jot down to ...".
	splitParticle = lazyregexp.New(`(?i)\b(put|jot|note|write|get|set) ((?:a|an|another|one more|the) (?:new |quick |urgent |high priority )*(?:task|to-?do|reminder|note|memo|item)) down `)
	bareParticle  = lazyregexp.New(`(?i)^((?:please |can you |could you |and |also |ok |okay |so |then )*)(?:put|jot|note|write) (?:it |this |that |me )?down to `)
	// ownZone matches the user's own time zone after a time of day.
	ownZone = lazyregexp.New(`(?i)\b(noon|midnight|midday|morning|afternoon|evening|tonight|[ap]\.?m\.?|o'?clock|\d(?:am|pm)?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|half|quarter|thirty|fifteen|forty-?five),? (?:in )?(?:our|my|local|my local|our local) time(?: zone)?\b`)
	// partWords matches a part of the day.
	partWords = lazyregexp.New(`(?i)\bin the (?:morning|afternoon|evening)\b`)
	// partBeforeClock matches a part of the day before its hour: "in the morning too at 7".
	partBeforeClock = lazyregexp.New(`(?i)\bin the (morning|afternoon|evening)((?: too| as well| also| please)?),?(?: (?:like|around|about|say))? at ((?:half past |quarter past |quarter to |a quarter past |a quarter to )?(?:\d{1,2}(?:[:.]\d\d)?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?: o'?clock| thirty| fifteen)?)($|[ ,.!?])`)
)
