package offline

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"

	"hob/watchers"
)

//go:embed grammar/*.txt
var grammarFiles embed.FS

// loadGrammar compiles the embedded grammar files.
func loadGrammar(o Options) (*grammar, error) {
	lex, err := newLexicon(wordsText, nil)
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(grammarFiles, "grammar/*.txt")
	if err != nil {
		return nil, err
	}
	l := loader{g: &grammar{name: o.Name, setup: o.Setup, lex: lex, build: builderTable(), vocab: map[string]bool{}, starters: map[string]bool{}, kinds: map[watchers.Subject]string{}}}
	for _, k := range slices.Backward(o.Watchers) {
		if l.g.kinds[k.Subject] = k.Kind; k.Subject == watchers.Repository {
			l.g.site = k.Site
		}
	}
	l.g.channelForm = formatChannelForm(o.Channels)
	l.c = newCompiler(map[string]string{"hob": callNames(o.Name), "forge": cmp.Or(l.g.site, "forge")}, l.g.vocab)
	for w := range lex.lists["real-words"] {
		l.g.vocab[w] = true
	}
	for _, step := range []func(string) error{l.parseMacros, l.parseIntents} {
		for _, file := range names {
			if strings.HasSuffix(file, "words.txt") {
				continue
			}
			text, err := fs.ReadFile(grammarFiles, file)
			if err != nil {
				return nil, err
			}
			if err := step(string(text)); err != nil {
				return nil, fmt.Errorf("%s:%w", file, err)
			}
		}
	}
	l.g.requestWords = l.collectRequestWords()
	if l.g.languages, err = loadLanguages(o); err != nil {
		return nil, err
	}
	for _, other := range l.g.languages {
		for _, english := range []iter.Seq[string]{maps.Keys(l.g.vocab), maps.Keys(lex.lists["english"])} {
			for w := range english {
				delete(other.signals, other.lex.fold(w))
			}
		}
		maps.DeleteFunc(other.signals, func(w string, _ bool) bool { return isDigit(w[0]) })
	}
	return l.g, l.checkBuilders()
}

// collectRequestWords returns the words of requests for reminders and tasks, with the polite phrases around them.
func (l *loader) collectRequestWords() map[string]bool {
	out := map[string]bool{}
	patterns := slices.Concat(l.g.before, l.g.after, l.g.ending, l.g.asking, l.g.remarks)
	for _, in := range slices.Concat(l.g.intents, l.g.edges) {
		if strings.HasPrefix(in.name, "reminder.") || strings.HasPrefix(in.name, "task.") || strings.HasPrefix(in.name, "suffix.") || strings.HasPrefix(in.name, "prefix.") {
			patterns = append(patterns, in.patterns...)
		}
	}
	for _, p := range patterns {
		addLiterals(p, out)
	}
	return out
}

// checkBuilders finds intents without a builder, and builders without an intent.
func (l *loader) checkBuilders() error {
	named := map[string]bool{}
	for _, in := range l.g.intents {
		named[in.name] = true
		if l.g.build[in.name] == nil {
			return fmt.Errorf("intent %s has no builder", in.name)
		}
	}
	for name := range l.g.build {
		if !named[name] {
			return fmt.Errorf("builder %s has no intent", name)
		}
	}
	return nil
}

// callNames returns the names with which the user may address Hob.
func callNames(name string) string {
	var plain []string
	for _, w := range strings.Fields(strings.ToLower(name)) {
		if !strings.ContainsAny(w, "|()[]{}@=#") {
			plain = append(plain, w)
		}
	}
	if len(plain) == 0 || len(plain) == 1 && plain[0] == "hob" {
		return "hob"
	}
	return "hob|" + strings.Join(plain, " ")
}

// loader parses grammar files. Files with macros have names that sort first.
type loader struct {
	g   *grammar
	c   *compiler
	now *intent
}

// parseMacros parses the lines "@name = alternatives".
func (l *loader) parseMacros(text string) error {
	for line := range strings.Lines(text) {
		if name, body, ok := strings.Cut(line, "="); ok && strings.HasPrefix(name, "@") {
			name = strings.TrimSpace(name[1:])
			if l.c.macros[name] != "" {
				return fmt.Errorf("@%s is defined twice", name)
			}
			l.c.macros[name] = strings.TrimSpace(body)
		}
	}
	return nil
}

func (l *loader) parseIntents(text string) error {
	l.now = nil
	for n, line := range strings.Split(text, "\n") {
		if i := strings.IndexByte(line, '#'); i >= 0 {
			line = line[:i]
		}
		indented := strings.HasPrefix(line, " ")
		line = strings.TrimSpace(line)
		var err error
		switch {
		case line == "", strings.HasPrefix(line, "@") && !indented:
		case indented:
			err = l.parseDateRule(line)
		default:
			err = l.parseHead(line)
		}
		if err != nil {
			return fmt.Errorf("%d: %w", n+1, err)
		}
	}
	return nil
}

func (l *loader) parseHead(line string) error {
	fields := strings.Fields(line)
	if fields[0] != "intent" || len(fields) < 2 {
		return fmt.Errorf("%q is neither a macro nor an intent", line)
	}
	l.now = &intent{name: fields[1]}
	if l.now.name == "dates" || l.now.name == "rewrites" { // see dateRule and rewriteRule
		return nil
	}
	for _, f := range fields[2:] {
		switch f {
		case "timed":
			l.now.timed = true
		case "dated":
			l.now.timed, l.now.dated = true, true
		case "verbatim":
			l.now.verbatim = true
		case "statement":
			l.now.statement = true
		case "talk":
			l.now.talk = true
		case "follow":
			l.now.rank = 1
		case "weak":
			l.now.rank = -1
		case "last":
			l.now.rank = -2
		case "fallback":
			l.now.rank = fallbackRank
		default:
			return fmt.Errorf("unknown flag %q", f)
		}
	}
	switch {
	case strings.HasPrefix(l.now.name, "suffix."), strings.HasPrefix(l.now.name, "prefix."):
		l.g.edges = append(l.g.edges, l.now)
	case !strings.HasPrefix(l.now.name, "polite."):
		l.g.intents = append(l.g.intents, l.now)
	}
	return nil
}

func (l *loader) parseInside(line string) error {
	if l.now == nil {
		return fmt.Errorf("%q is outside an intent", line)
	}
	if ex, ok := strings.CutPrefix(line, "> "); ok {
		l.now.examples = append(l.now.examples, ex)
		return nil
	}
	if again, ok := strings.CutPrefix(line, "again "); ok {
		lead, with, _ := strings.Cut(strings.TrimPrefix(again, `"`), `"`)
		l.now.again, l.now.againWith = lead, strings.Fields(with)
		return nil
	}
	if strings.HasPrefix(l.now.name, "language.") { // words of other languages are not typos of English words
		defer func(v map[string]bool) { l.c.vocab = v }(l.c.vocab)
		l.c.vocab = map[string]bool{}
	}
	n, err := l.c.compilePattern(line)
	if err != nil {
		return err
	}
	switch l.now.name {
	case "polite.before":
		l.g.before = append(l.g.before, n)
	case "polite.after":
		l.g.after = append(l.g.after, n)
	case "polite.question":
		l.g.ending = append(l.g.ending, n)
	case "polite.asking":
		l.g.asking = append(l.g.asking, n)
	case "polite.inquiry":
		l.g.inquiry = append(l.g.inquiry, n)
	case "polite.statement":
		l.g.remarks = append(l.g.remarks, n)
	default:
		if f := l.now.addPattern(n); l.now.rank == 0 {
			maps.Copy(l.g.starters, f.words)
		}
	}
	return nil
}
