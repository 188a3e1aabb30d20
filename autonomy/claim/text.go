package claim

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	fenced  = regexp.MustCompile("(?s)(```.*?(```|$)|~~~.*?(~~~|$))")
	inline  = regexp.MustCompile("`[^`\n]*`")
	quoted  = regexp.MustCompile(`"[^"\n]*"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|»[^«\n]*«|‘[^’\n]*’|(^|[\s(])'[^'\n]+'`)
	bullet  = regexp.MustCompile(`^\s*([-*+•]|\d+[.)])\s`)
	draft   = regexp.MustCompile(`(?i)\b(draft|version|template|wording|translation|translated|example|sample|suggestion|text|letter|story|poem|entwurf|vorschlag|übersetzung|beispiel|brouillon|proposition|traduction|exemple|borrador|propuesta|traducción|ejemplo|bozza|proposta|traduzione|esempio|concept|voorstel|vertaling|voorbeeld|rascunho|proposta|tradução|exemplo)\b[^.!?\n]*:\s*$`)
	salute  = regexp.MustCompile(`(?i)^\s*(hi|hello|dear|hey|hallo|liebe[rs]?|sehr geehrte[rs]?|bonjour|chère?|salut|hola|estimad[oa]|querid[oa]|ciao|gentile|car[oa]|beste|geachte|olá|prezad[oa]|subject|betreff|objet|asunto|oggetto|onderwerp|assunto)\b[^.!?\n]{0,60}[,:]`)
	subject = regexp.MustCompile(`(?i)^\s*(subject|betreff|objet|asunto|oggetto|onderwerp|assunto)\s*:`)
	header  = regexp.MustCompile(`(?i)^\s*(sent|from|to|cc|date|saved|deleted|scheduled|created|updated|modified|status|gesendet|von|envoyé|enviado|inviato|verzonden)\s*:`)
	address = regexp.MustCompile(`[\w.+-]+@[\w.-]+\w|\w+://\S*[\w/]`)
	ending  = regexp.MustCompile(`([.!?…]+["')\]]*)(\s+|$)|\n+`)
	between = regexp.MustCompile(`[,;()]|\s[–—-]\s|—|:\s`)
	words   = regexp.MustCompile(`[\pL\pN]+(?:['’\-][\pL\pN]+)*`)
)

// ownWords drops what an answer quotes: code, quotations, quoted lines, and
// letters and drafts that somebody else is to say.
func ownWords(s string) string {
	s = fenced.ReplaceAllString(s, "\n")
	s = inline.ReplaceAllString(s, "it")
	s = address.ReplaceAllString(s, "it")
	s = quoted.ReplaceAllString(s, " it ")
	var out []string
	for _, line := range strings.Split(s, "\n") {
		t := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(t, ">"), strings.HasPrefix(t, "|"), strings.HasPrefix(t, "#"):
			continue
		case bullet.MatchString(t): // an item of a list is rarely a statement of its own
			continue
		case header.MatchString(t) && !subject.MatchString(t):
			continue
		case subject.MatchString(t), letter(t):
			return strings.Join(out, "\n")
		}
		out = append(out, strings.Trim(t, "*_ "))
		if draft.MatchString(t) {
			break
		}
	}
	return strings.Join(out, "\n")
}

// letter reports whether a line is the salutation that begins a letter: it
// stands alone.
func letter(line string) bool {
	m := salute.FindString(line)
	return m != "" && strings.TrimSpace(line[len(m):]) == ""
}

// sentences splits a text; each keeps the mark it ends with.
func sentences(s string) (out []string) {
	for s != "" {
		m := ending.FindStringSubmatchIndex(s)
		if m == nil {
			return appendSentence(out, s)
		}
		end := m[0]
		if m[3] > 0 {
			end = m[3]
		}
		out = appendSentence(out, s[:end])
		s = s[m[1]:]
	}
	return out
}

func appendSentence(out []string, s string) []string {
	if s = strings.TrimSpace(s); s != "" {
		return append(out, s)
	}
	return out
}

// clause is a piece of a sentence that says one thing.
type clause struct {
	text  string
	words []string // in lower case
	colon bool     // a colon stands behind it
}

// clauses splits a sentence at marks; words that join are for the languages.
func clauses(s string) (out []clause) {
	for s != "" {
		piece, mark := s, ""
		if m := between.FindStringIndex(s); m != nil {
			piece, mark, s = s[:m[0]], s[m[0]:m[1]], s[m[1]:]
		} else {
			s = ""
		}
		piece = strings.TrimSpace(piece)
		if w := split(piece); len(w) > 0 {
			out = append(out, clause{piece, w, strings.HasPrefix(mark, ":")})
		}
	}
	return out
}

func split(s string) []string {
	found := words.FindAllString(strings.ToLower(strings.ReplaceAll(s, "’", "'")), -1)
	return slices.DeleteFunc(found, func(w string) bool { return strings.IndexFunc(w, unicode.IsLetter) < 0 })
}
