package triples

import (
	"slices"
	"strings"
	"sync"
	"time"

	"hob/platform/text/lazyregexp"
	"hob/platform/text/textnorm"
)

// maxOwn is the maximum length in bytes of the part of a message that OwnWords analyzes.
const maxOwn = 1500

var quotedText = lazyregexp.New("(?s)```.*?(```|$)|`[^`\n]*`|\"[^\"]*(\"|$)|“[^”]*(”|$)|«[^»]*(»|$)|„[^“”]*([“”]|$)")

// OwnWords returns the owner's own words in a message: the first paragraph without quotations, up
// to a line that introduces another text.
func OwnWords(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, " "))
	text, _, _ = strings.Cut(text, "\n\n")
	text = quotedText.ReplaceAllStringFunc(text, func(q string) string {
		if len(strings.Fields(q)) <= 2 && len(q) < 40 { // probably a name
			return strings.Trim(q, "\"“”«»„`")
		}
		return " … "
	})
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, ">") || strings.HasPrefix(strings.ToLower(line), "from:") || strings.HasPrefix(strings.ToLower(line), "subject:") {
			break
		}
		head, _, announced := strings.Cut(line, ": ")
		if announced && len(textnorm.FoldedWords(head)) > 0 && introducesQuote(head) {
			break
		}
		lines = append(lines, line)
		if strings.HasSuffix(line, ":") {
			break
		}
	}
	text = strings.Join(lines, "\n")
	if len(text) > maxOwn {
		text = strings.ToValidUTF8(text[:maxOwn], "")
	}
	return text
}

// introducesQuote reports whether the words before a colon introduce another person's text or text
// to process, as in "translate: ..." or "he wrote: ...".
func introducesQuote(head string) bool {
	return slices.ContainsFunc(textnorm.FoldedWords(head), func(w string) bool {
		return slices.Contains([]string{"wrote", "writes", "said", "says", "mail", "email", "text", "message", "translate", "summarise", "summarize", "rewrite", "proofread", "correct", "letter", "draft", "article", "quote", "reply", "answer", "schrieb", "ecrit"}, w)
	})
}

// storedAttributes lists the attributes that are stored without a request. It does not include
// passwords.
var storedAttributes = []string{
	"lives_in", "lives_at", "works_at", "works_as", "works_with", "studies_at", "married_to", "engaged_to", "dating", "reports_to", "member_of", "allergic_to",
	"likes", "prefers", "speaks", "plays", "owns", "drives", "born", "bank", "birthday", "anniversary", "address", "phone", "number", "email", "height", "size", "employer",
	"hometown", "job", "occupation", "profession", "nationality", "nickname", "age", Called, "switched", "replaced", "",
}

// hedgeWords lists words that mark uncertain or short-lived statements. Such statements are not
// stored.
var hedgeWords = []string{"maybe", "perhaps", "probably", "think", "guess", "might", "vielleicht", "peutetre", "quizas", "forse", "if", "would", "tomorrow", "today", "yesterday", "tonight"}

// Lasting returns the statements in words that are worth storing without a request. These
// statements are about the owner, or about a person with a name or a role.
func Lasting(words string, at time.Time) (out []Triple) {
	for _, s := range Read(words, at) {
		about := s.Subject.Owner || s.Subject.Role != "" || s.Subject.Name != "" || s.Attr == ""
		text := textnorm.FoldedWords(s.Text)
		switch {
		case !about, s.Past, !slices.Contains(storedAttributes, s.Attr) && !strings.HasPrefix(s.Attr, "favourite "):
		case slices.ContainsFunc(text, func(w string) bool { return slices.Contains(hedgeWords, w) || IsSecretWord(w) }):
		case s.More && !slices.ContainsFunc(text, func(w string) bool { return slices.Contains(alsoWords(), w) }):
		case s.Attr == Called && s.More && s.Subject.Role != "" && len(out) > 0 && out[len(out)-1].Text == s.Text:
		case s.Attr == "number" && !slices.Contains(text, "phone"):
		case s.Attr == "likes" && (len(text) < 3 || s.Subject.Name != "" && s.Subject.Role == ""):
		case s.Attr == "owns" && !s.Ended && !slices.ContainsFunc(lastingPossessions(), func(w string) bool { return slices.Contains(text, w) }):
		case len(s.Text) > 200 || len(text) < 2:
		default:
			out = append(out, s)
		}
	}
	return out[:min(len(out), 6)]
}

// lastingPossessions lists words for possessions that are worth storing. Other possessions, as in
// "I have a headache", are not stored.
var lastingPossessions = sync.OnceValue(func() []string {
	return strings.Fields(`own owns bought house flat apartment car bike bicycle motorbike boat dog cat horse garden cabin van camper piano guitar daughter son sister brother
	child children kids company shop farm pet parrot rabbit hamster twins`)
})

// alsoWords lists words that add a value instead of replacing one, such as "also".
var alsoWords = sync.OnceValue(func() []string {
	return strings.Fields("also too another second both auch aussi tambien anche tez taip")
})

// IsSecretWord reports whether a folded word names a secret. No statement with such a word is stored
// without a request.
func IsSecretWord(w string) bool {
	return slices.Contains([]string{"password", "passcode", "passphrase", "pin", "passwort", "kennwort", "iban", "combination", "secret", "token", "cvv", "haslo", "slaptazodis"}, w)
}
