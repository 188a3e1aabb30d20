// Package triples extracts subject-relation-object triples from sentences. For example, "my sister
// Ana lives in Kaunas since May" yields Ana, lives_in, Kaunas, from May. Callers use the triples to
// detect that a newer statement corrects an older one, and to fill the knowledge graph.
//
// The package prefers missing a statement to misreading one. Hedged, reported or postponed
// statements and questions yield no triple, or a triple that corrects no other statement. The
// package stores no data and calls no model. Its vocabulary is in words.txt. Package knowledge, its
// graph and the extraction after a turn use it.
package triples

import (
	"slices"
	"strings"
	"time"

	"hob/platform/text/lazyregexp"
)

// Triple is one triple extracted from a text.
type Triple struct {
	Subject Subject
	// Attr is the relation: a verb of words.txt ("lives_in"), a noun ("password"), or one of When,
	// Where, Is, Called and Any. Attr and the subject are empty if the text only corrects a value
	// ("VALUE, not OLD").
	Attr  string
	Value string // the value as written, without the time
	Old   string // the value that is no longer true: "not OLD but VALUE", "from OLD to VALUE"
	// Ended is true if the value is no longer true or never was. With Any, this applies to all
	// values of the subject.
	Ended bool
	// One is true if the subject can have only one value at a time.
	One bool
	// More is true if the statement adds a value or is uncertain. It then corrects no other
	// statement.
	More bool
	// Now is true if the text says that the statement is new ("now", "new", "moved"). Sure is true
	// if the statement explicitly contradicts an earlier one ("actually", "I meant", "no longer",
	// "not X but Y").
	Now, Sure bool
	// Past is true if the statement was only true in the past. It corrects no other statement and
	// cannot be corrected.
	Past        bool
	From, Until time.Time // period of validity in the text
	// Text is the part of the sentence that contains the statement, including its subject.
	Text string
}

// Relations other than the verbs and nouns of words.txt.
const (
	When   = "when"   // an event takes place at a time
	Where  = "where"  // an item is at a location
	Is     = "is"     // any other property of the subject
	Called = "called" // the subject's name is the value
	Any    = "*"      // any relation of the subject
)

// Subject is the person or item that a statement is about.
type Subject struct {
	Text  string // as written
	Owner bool   // the subject is the owner: "I", "we"
	// Role and Name are the parts of a phrase such as "my sister Ana", folded: "sister" and "ana".
	// A role is a relation to a person, usually to the user.
	Role, Name string
	// Key consists of the subject's words, folded and sorted. It is "owner" for the owner. If the
	// subject has a name, Key does not contain the role.
	Key string
	// Person is true if the words identify a person.
	Person bool
}

// Owner is the key of the owner.
const Owner = "owner"

// Limits of the text that Read parses.
const (
	maxText       = 4000 // bytes
	maxStatements = 16
	maxValue      = 14 // words
)

// Read returns the statements in text. now is the current time in the user's zone. Relative times
// such as "until June" are based on it.
func Read(text string, now time.Time) []Triple {
	return readText(text, now).out
}

func readText(text string, now time.Time) reader {
	r := reader{now: now, text: blankQuotes(truncateText(text))}
	for _, s := range splitSentences(r.text) {
		r.readSentence(s)
		if len(r.out) >= maxStatements {
			r.out = r.out[:maxStatements]
			break
		}
	}
	return r
}

type reader struct {
	text string
	now  time.Time
	out  []Triple
	last Subject // subject that "she" and similar words refer to
	said []textSpan
}

// textSpan is a range of the text, in bytes, with the statements starting at index n.
type textSpan struct{ from, to, n int }

// readSentence reads the clauses of one sentence.
func (r *reader) readSentence(toks []tok) {
	l := readOpening(toks)
	if l.skip || len(l.toks) == 0 {
		return
	}
	subject := Subject{}
	if len(verbsOf(l.toks)) == 0 {
		if v := r.valueOf(l.toks); l.sure && len(v.old) > 0 { // "I meant Kaunas, not Vilnius" has no verb but corrects a value
			r.markUsedText(toks[0].from, toks)
			r.out = append(r.out, Triple{Value: r.spanText(v.toks), Old: r.spanText(v.old), Sure: true, Text: r.spanText(toks)})
		}
		return
	}
	for i, c := range splitClauses(l.toks) {
		from := toks[0].from
		if i > 0 {
			from = c.toks[0].from
			more := readOpening(c.toks)
			if more.skip {
				return
			}
			l.sure, l.more, l.now = l.sure || more.sure, more.more, l.now || more.now
			c.verb.at -= len(c.toks) - len(more.toks)
			c.toks = more.toks
			if c.verb.at < 0 {
				continue
			}
		}
		st, s, ok := r.readClause(c, subject)
		if s.Key != "" {
			if subject = s; !s.Owner {
				r.last = s
			}
		}
		if !ok || len(st) == 0 {
			continue
		}
		r.markUsedText(from, c.toks)
		for _, x := range st {
			x.Sure, x.Now, x.More = x.Sure || l.sure, x.Now || l.now, x.More || l.more
			r.out = append(r.out, x)
		}
	}
}

// markUsedText records which part of the text the statements cover. A part after a comma or "and"
// is not covered if it is not a parsed clause.
func (r *reader) markUsedText(from int, toks []tok) {
	end := len(toks)
	for i := 1; i+3 < len(toks); i++ {
		if toks[i].after != 0 && slices.Contains(joining, toks[i+1].w) {
			end = i + 1
			break
		}
	}
	r.said = append(r.said, textSpan{from, toks[end-1].to, len(r.out)})
}

// Unread returns the parts of text from which Read extracts no statement.
func Unread(text string, now time.Time) (out []string) {
	text = strings.ToValidUTF8(text, " ")
	r := readText(text, now)
	at := 0
	add := func(to int) {
		part := strings.Trim(text[at:max(at, to)], " \t\r\n,;:.!–—-)")
		for {
			first, more, _ := strings.Cut(part, " ")
			if !slices.Contains(joining, strings.ToLower(first)) {
				break
			}
			part = strings.TrimSpace(more)
		}
		if len(Words(part)) > 0 {
			out = append(out, part)
		}
	}
	for _, s := range r.said {
		if s.n < len(r.out) {
			add(s.from)
			at = max(at, s.to)
		}
	}
	add(len(text))
	return out
}

// ClassOf returns the class of a value.
func ClassOf(value string, now time.Time) Class {
	r := reader{now: now, text: truncateText(value)}
	for _, toks := range splitSentences(r.text) {
		return r.classOf(toks)
	}
	return Other
}

// blankQuotes replaces long quotations by spaces, because they contain other people's words. It
// keeps short quotations, because they may be names. It keeps the length of the text, so that
// positions stay valid.
func blankQuotes(s string) string {
	return quotes.ReplaceAllStringFunc(s, func(q string) string {
		if len(strings.Fields(q)) <= 3 {
			return q
		}
		return strings.Repeat(" ", len(q))
	})
}

var quotes = lazyregexp.New("\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|„[^“”\n]*[“”]|`[^`\n]*`")
