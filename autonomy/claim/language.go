package claim

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed words
var wordFiles embed.FS

// language is how claims are made in one language.
type language struct {
	name    string
	openers [][]string      // what a claim begins with: "i have"
	leads   map[string]bool // what may stand before it: "done", "and"
	fillers map[string]bool // what may stand between it and the verb
	free    bool            // anything may: the verb comes last
	strong  map[string]Kind // verbs that claim by themselves
	weak    map[string]Kind // verbs that claim with one of the things
	things  map[string]bool // what lasts beyond the answer: file, reminder
	said    map[string]bool // verbs in the first person by themselves: "envié"
	being   map[string]bool // between thing and verb: "has been"
	joins   map[string]bool // what joins two verbs or clauses: "and"
	but     map[string]bool // what begins another clause: "but"
	unless  map[string]bool // with one of them in the clause there is no claim
	example map[string]bool // with one of them in the sentence there is none
	earlier map[string]bool // another time is meant
	reports map[string]bool // what stands behind it and a colon is somebody's words
	after   map[string]bool // what may follow a verb that begins a sentence
}

var languages = sync.OnceValue(func() (out []*language) {
	files, err := fs.Glob(wordFiles, "words/*.txt")
	if err != nil {
		panic(err) // the pattern is ours
	}
	for _, f := range files {
		b, err := wordFiles.ReadFile(f)
		if err != nil {
			panic(err) // it is part of the program
		}
		out = append(out, parse(f, string(b)))
	}
	return out
})

// parse reads lines of the form "section: word word", where "#" begins a
// comment and openers are parted by "|".
func parse(name, text string) *language {
	l := &language{name: strings.TrimSuffix(path.Base(name), ".txt"), strong: map[string]Kind{}, weak: map[string]Kind{}, said: map[string]bool{}}
	sets := map[string]*map[string]bool{
		"leads": &l.leads, "fillers": &l.fillers, "things": &l.things, "being": &l.being, "joins": &l.joins, "but": &l.but,
		"unless": &l.unless, "example": &l.example, "earlier": &l.earlier, "after": &l.after, "reports": &l.reports,
	}
	kinds := map[string]Kind{"sent": Sent, "changed": Changed, "deleted": Deleted}
	for line := range strings.Lines(text) {
		key, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || strings.HasPrefix(key, "#") {
			continue
		}
		list := strings.Fields(rest)
		how, kind, _ := strings.Cut(key, " ")
		switch {
		case key == "openers":
			for o := range strings.SplitSeq(rest, "|") {
				l.openers = append(l.openers, strings.Fields(o))
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
			panic(fmt.Sprintf("claim: %s: no section is called %q", name, key)) // the first test finds it
		}
	}
	slices.SortFunc(l.openers, func(a, b []string) int { return len(b) - len(a) }) // the longest first
	return l
}
