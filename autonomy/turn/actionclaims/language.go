package actionclaims

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"hob/platform/text/sorting"
)

//go:embed words
var wordFiles embed.FS

// language holds the words that express claims in one language.
type language struct {
	name    string
	openers [][]string      // words that begin a claim, such as "i have"
	leads   map[string]bool // words that may precede a claim, such as "done" and "and"
	fillers map[string]bool // words that may be between the opener and the verb
	free    bool            // whether any words may be between the opener and the verb, because the verb comes last
	strong  map[string]Kind // verbs that make a claim without a known object
	weak    map[string]Kind // verbs that make a claim only with an object from things
	things  map[string]bool // items that outlast the answer, such as a file or a reminder
	said    map[string]bool // verbs that include the first person, such as "envié"
	being   map[string]bool // words between an item and the verb, such as "has been"
	joins   map[string]bool // words that join two verbs or clauses, such as "and"
	but     map[string]bool // words that begin another clause, such as "but"
	unless  map[string]bool // a clause that contains one of these words contains no claim
	example map[string]bool // a sentence that contains one of these words contains no claim
	earlier map[string]bool // words that refer to an earlier time
	reports map[string]bool // text after one of these words and a colon is a quotation
	after   map[string]bool // words that may follow a verb at the start of a sentence

	// Words for statements about a state; see state.go.
	is        map[string]bool // forms of "to be"
	pronouns  map[string]bool // subjects that refer to an item, such as "it"
	own       map[string]bool // words such as "your"
	adverbs   map[string]bool // words that may be anywhere in a statement; if it is empty, fillers is used
	subjects  map[string]bool // subjects of a statement other than items
	condition map[string]bool // a sentence that contains one of these words contains no statement, for example "if"
	habit     map[string]bool // words in a sentence that explains how something works
	plan      map[string]bool // items in a calendar or a clock
	text      map[string]bool // files and notes
	states    []claimPattern  // phrases that may follow a subject, such as "is on its way"
	promises  []claimPattern  // beginnings of clauses, such as "i will remind you"
	complete  [][]string      // complete answers, such as "all set"
	managed   [][]string      // words before a verb in its base form, such as "i managed to"
	progress  [][]string      // words before a verb in its progressive form, such as "i am"
	base      verbSet         // verbs such as "send"
	doing     verbSet         // verbs such as "sending"
	telling   map[string]bool // words that occur in states, promises, base forms or "-ing" forms; see statementWords
}

// claimPattern is a sequence of words that claims something.
type claimPattern struct {
	words []string
	kind  Kind
}

// verbSet holds the verbs in one form. Strong verbs make a claim without a known object, and weak
// verbs only with one.
type verbSet struct{ strong, weak map[string]Kind }

var languages = sync.OnceValue(func() (out []*language) {
	files, err := fs.Glob(wordFiles, "words/*.txt")
	if err != nil {
		panic(err) // cannot happen: the pattern is constant
	}
	for _, f := range files {
		b, err := wordFiles.ReadFile(f)
		if err != nil {
			panic(err) // cannot happen: the files are embedded
		}
		out = append(out, parseLanguage(f, string(b)))
	}
	return out
})

// parseLanguage parses lines of the form "section: word word". "#" begins a comment, and "|"
// separates openers.
func parseLanguage(name, text string) *language {
	l := &language{name: strings.TrimSuffix(path.Base(name), ".txt"), strong: map[string]Kind{}, weak: map[string]Kind{}, said: map[string]bool{}}
	sets := map[string]*map[string]bool{
		"leads": &l.leads, "fillers": &l.fillers, "things": &l.things, "being": &l.being, "joins": &l.joins, "but": &l.but,
		"unless": &l.unless, "example": &l.example, "earlier": &l.earlier, "after": &l.after, "reports": &l.reports,
		"is": &l.is, "pronouns": &l.pronouns, "own": &l.own, "habit": &l.habit, "adverbs": &l.adverbs, "subjects": &l.subjects, "conditional": &l.condition, "plan": &l.plan, "text": &l.text,
	}
	phrases := map[string]*[][]string{"openers": &l.openers, "complete": &l.complete, "managed": &l.managed, "progress": &l.progress}
	l.base, l.doing = newVerbs(), newVerbs()
	forms := map[string]map[string]Kind{"base": l.base.strong, "weakbase": l.base.weak, "doing": l.doing.strong, "weakdoing": l.doing.weak}
	sayings := map[string]*[]claimPattern{"states": &l.states, "promises": &l.promises}
	kinds := map[string]Kind{"sent": Sent, "changed": Changed, "deleted": Deleted}
	for line := range strings.Lines(text) {
		key, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || strings.HasPrefix(key, "#") {
			continue
		}
		list := strings.Fields(rest)
		how, kind, _ := strings.Cut(key, " ")
		switch {
		case phrases[key] != nil:
			*phrases[key] = append(*phrases[key], parsePhrases(rest)...)
		case sayings[how] != nil:
			for _, p := range parsePhrases(rest) {
				*sayings[how] = append(*sayings[how], claimPattern{p, kinds[kind]})
			}
		case forms[how] != nil:
			for _, w := range list {
				forms[how][w] = kinds[kind]
			}
		case key == "free":
			l.free = true
		case kinds[kind] != 0:
			into := l.strong
			if strings.HasPrefix(how, "weak") {
				into = l.weak
			}
			for _, w := range list {
				into[w] = kinds[kind]
				l.said[w] = strings.HasSuffix(how, "-said")
			}
		case sets[key] != nil:
			if *sets[key] == nil {
				*sets[key] = map[string]bool{}
			}
			for _, w := range list {
				(*sets[key])[w] = true
			}
		default:
			panic(fmt.Sprintf("claim: %s: no section is called %q", name, key)) // any test finds this mistake
		}
	}
	l.telling = l.statementWords()
	sorting.ByFunc(l.openers, func(a, b []string) int { return len(b) - len(a) }) // longest first
	return l
}

func newVerbs() verbSet { return verbSet{map[string]Kind{}, map[string]Kind{}} }

// parsePhrases parses word sequences separated by "|".
func parsePhrases(text string) (out [][]string) {
	for p := range strings.SplitSeq(text, "|") {
		out = append(out, strings.Fields(p))
	}
	return out
}
