package offline

import (
	"cmp"
	"regexp"
	"slices"

	"hob/platform/text/sorting"
	"hob/watchers"
)

// intent is one kind of request, with its patterns.
type intent struct {
	name     string
	patterns []node // in the order of the file
	byFirst  firstIndex
	examples []string
	// rank orders interpretations; the score decides only between equal ranks. 0 is normal, and
	// catch-all intents have a lower rank.
	rank int
	// timed means that a time may precede the sentence.
	timed bool
	// dated means that a time may precede and follow the sentence, for any pattern.
	dated bool
	// verbatim means that the text is kept as written, so the next sentence counts as a separate
	// request only if it is clearly one.
	verbatim bool
	// statement means that a sentence that begins like a statement may lead to this intent, and talk that
	// its sentences are small talk. See classOf.
	statement, talk bool
	// again is prepended to the text after "and" if that text is not a complete request, as in
	// "spent 5 on tea and 3 on cake".
	again string
	// againWith lists the allowed first words in such text. Empty allows any word.
	againWith []string
}

// fallbackRank is the rank of intents that explain why a request is not possible. They are tried after
// all others, with and without typos.
const fallbackRank = -3

// grammar is the compiled form of grammar/*.txt, with the builders.
type grammar struct {
	name     string            // name of the assistant
	setup    map[string]string // see Options.Setup
	lex      *lexicon
	intents  []*intent
	build    map[string]builder
	vocab    map[string]bool // words that are not treated as typos
	starters map[string]bool // first words of common requests
	// requestWords holds the words of requests for reminders and tasks. See findLostWord.
	requestWords map[string]bool
	before       []node    // polite phrases and names allowed at the start
	after        []node    // polite phrases allowed at the end
	ending       []node    // phrases allowed at the end of a question
	asking       []node    // polite phrases allowed at the end of a request that began politely
	inquiry      []node    // phrases before an indirect question
	remarks      []node    // phrases at the end of a statement that are not part of it
	edges        []*intent // phrases that may be at the start or end of free text

	languages []*grammar      // the other languages
	code      string          // code of a language such as "de"; "" for English
	texts     string          // replies; "" for English
	dates     []dateRule      // see dateRule
	timeWords map[string]bool // words of times
	rewrites  []rewriteRule
	results   []resultRule    // translations of results
	times     []timeRule      // translations of times in results
	signals   map[string]bool // words of another language that English does not have

	talk   *dialogue            // the conversation so far; nil for a sentence on its own
	parsed map[string]*sentence // see parseSentence; nil for a sentence on its own

	kinds       map[watchers.Subject]string // name of each kind of watcher
	site        string                      // see watchers.Description.Site
	channelForm *regexp.Regexp              // see formatChannelForm
}

// inDialogue returns the grammar for the next message of a conversation.
func (g *grammar) inDialogue(d *dialogue) *grammar {
	out := *g
	out.talk, out.parsed = d, map[string]*sentence{}
	return &out
}

// interpretation is one possible interpretation of a sentence.
type interpretation struct {
	intent *intent
	score  int
	caps   []capture
	lead   []*span
	s      *sentence
}

// allReadings lists every intent that matches the complete sentence, best first.
func (g *grammar) allReadings(s *sentence, loose bool) []interpretation {
	var out []interpretation
	lead, after := s.leadingTimes()
	first, second := s.firstWord(0), s.firstWord(after)
	try := matchAttempt{s: s, loose: loose, budget: maxSteps}
	from, to, ending := s.liftTimes(0, len(s.tokens))
	part := *s // the sentence without the time at its end
	part.tokens = part.tokens[:max(from, to)]
	if from >= to {
		ending = nil
	}
	undated, third := matchAttempt{s: &part, loose: loose, budget: maxSteps}, part.firstWord(from)
	for _, in := range g.intents {
		if in.rank > 0 && g.talk == nil {
			continue
		}
		var best *interpretation
		for p := range in.candidatesFor(first, loose) {
			best = g.betterReading(best, in, p, &try, 0, nil)
		}
		if in.timed && len(lead) > 0 {
			for p := range in.candidatesFor(second, loose) {
				best = g.betterReading(best, in, p, &try, after, lead)
			}
		}
		if in.dated && len(ending) > 0 {
			for p := range in.candidatesFor(third, loose) {
				best = g.betterReading(best, in, p, &undated, from, ending)
			}
		}
		if best != nil {
			out = append(out, *best)
		}
	}
	sorting.StableByFunc(out, func(a, b interpretation) int {
		return cmp.Or(cmp.Compare(b.intent.rank, a.intent.rank), cmp.Compare(b.score, a.score))
	})
	return out
}

// matchAttempt is the state shared by the patterns that are tried on one sentence.
type matchAttempt struct {
	s      *sentence
	loose  bool
	budget int
}

func (g *grammar) betterReading(best *interpretation, in *intent, p node, try *matchAttempt, from int, lead []*span) *interpretation {
	r := run{s: try.s, g: g, loose: try.loose, budget: &try.budget}
	if !r.tryMatch(p, from) {
		return best
	}
	score := r.score + 2*len(lead)
	if best != nil && best.score >= score {
		return best
	}
	return &interpretation{intent: in, score: score, caps: slices.Clone(r.caps), lead: lead, s: try.s}
}

// peelPolite removes polite phrases from both ends of a sentence. Phrases that only accompany a
// request ("for me", "if you can") are removed only if they follow a request.
func (g *grammar) peelPolite(s *sentence) {
	g.peelEnd(s, g.after)
	if g.peelFront(s) {
		g.peelEnd(s, g.asking)
		g.peelEnd(s, g.after)
	}
}

// withoutEnding returns a question without a filler such as "now" at its end.
func (g *grammar) withoutEnding(s *sentence) (*sentence, bool) {
	if !g.lex.containsWord("questions", s.firstWord(0)) {
		return s, false
	}
	part := *s
	g.peelEnd(&part, g.ending)
	return &part, len(part.tokens) < len(s.tokens)
}

func (g *grammar) peelFront(s *sentence) bool {
	polite := false
	for again := true; again; {
		again = false
		asks := len(s.tokens) > 2 && (s.tokens[1].norm == "you" || s.tokens[1].norm == "u") && g.lex.containsWord("asking-verbs", s.tokens[0].norm)
		for _, p := range g.before {
			r := run{s: s, g: g}
			end := 0
			p.matchAt(&r, 0, func(i int) bool { end = max(end, s.skipPunctuation(i)); return false })
			if end > 0 && end < len(s.tokens) {
				s.corrects = s.corrects || slices.ContainsFunc(s.tokens[:end], func(t token) bool { return t.norm == "actually" })
				s.tokens = s.tokens[end:]
				again, polite = true, true
				s.requested = s.requested || asks
			}
		}
	}
	return polite
}

func (g *grammar) peelEnd(s *sentence, ends []node) {
	for again := true; again; {
		again = false
		for n := max(s.skipPunctuation(0)+1, len(s.tokens)-8); n < len(s.tokens) && !again; n++ { // the longest phrase first
			for _, p := range ends {
				if r := (run{s: s, g: g}); s.tokens[n].kind == word && r.tryMatch(p, n) {
					s.tokens = s.tokens[:n]
					again = true
					break
				}
			}
		}
	}
}
