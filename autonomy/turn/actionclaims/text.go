package actionclaims

import (
	"slices"
	"strings"
	"unicode"

	"hob/platform/text/lazyregexp"
)

// maxName is the maximum number of words in a line that contains the name at the end of a letter.
const maxName = 4

var (
	fenced  = lazyregexp.New("(?s)(```.*?(```|$)|~~~.*?(~~~|$))")
	inline  = lazyregexp.New("`[^`\n]*`")
	quoted  = lazyregexp.New(`"[^"\n]*"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|»[^«\n]*«|‘[^’\n]*’|(^|[\s(])'[^'\n]+'`)
	bullet  = lazyregexp.New(`^\s*([-*+•]|\d+[.)])\s`)
	draft   = lazyregexp.New(`(?i)\b(draft|version|template|wording|translation|translated|example|sample|suggestion|text|letter|story|poem|entwurf|vorschlag|übersetzung|beispiel|brouillon|proposition|traduction|exemple|borrador|propuesta|traducción|ejemplo|bozza|proposta|traduzione|esempio|concept|voorstel|vertaling|voorbeeld|rascunho|proposta|tradução|exemplo)\b[^.!?\n]*:\s*$`)
	salute  = lazyregexp.New(`(?i)^\s*(hi|hello|dear|hey|hallo|liebe[rs]?|sehr geehrte[rs]?|bonjour|chère?|salut|hola|estimad[oa]|querid[oa]|ciao|gentile|car[oa]|beste|geachte|olá|prezad[oa]|subject|betreff|objet|asunto|oggetto|onderwerp|assunto)\b[^.!?\n]{0,60}[,:]`)
	subject = lazyregexp.New(`(?i)^\s*(subject|betreff|objet|asunto|oggetto|onderwerp|assunto)\s*:`)
	header  = lazyregexp.New(`(?i)^\s*(sent|from|to|cc|date|saved|deleted|scheduled|created|updated|modified|status|gesendet|von|envoyé|enviado|inviato|verzonden)\s*:`)
	open    = lazyregexp.New(`(?i)^([-*+•]\s*)?\[ \]|\(to.?do\)`)
	rule    = lazyregexp.New(`^([-*_=]\s*){3,}$`)
	closing = lazyregexp.New(`(?i)^(best|(kind|best|warm|many) (regards|wishes)|regards|sincerely|yours|cheers|thanks|thank you|love|take care|mit freundlichen|viele grüße|liebe grüße|herzliche|beste grüße|schöne grüße|gruß|lg|cordialement|bien à|amicalement|bises|saludos|atentamente|un abrazo|cordiali|distinti|saluti|un saluto|groet|groeten|met vriendelijke|hartelijke|abraços|atenciosamente|cumprimentos|com os melhores)\b.{0,60}$`)
	wants   = lazyregexp.New(`(?i)\b(write|draft|compose|translate|rewrite|rephrase|reword|word it|poem|story|letter|template|proofread|example|sample|text for|wording|caption|speech|schreib\w*|entw\w+|verfass\w*|formulier\w*|übersetz\w*|brief|gedicht|geschichte|beispiel|écri\w*|rédig\w*|brouillon|tradui\w*|lettre|poème|exemple|escrib\w*|redact\w*|borrador|tradu\w*|carta|poema|ejemplo|scriv\w*|bozza|traduci\w*|lettera|poesia|esempio|schrijf\w*|vertaal\w*|gedicht|voorbeeld|escrev\w*|rascunho|traduz\w*|exemplo)`)
	toUser  = lazyregexp.New(`(?i)^\s*(i have|i've|i |done|all |your|you|it's|it is|ich habe|dein|ihre?|erledigt|j'ai|votre|ton|vos|c'est|he |tu |su |ho |il tuo|la tua|ik heb|je |eu |já |seu|sua)`)
	address = lazyregexp.New(`[\w.+-]+@[\w.-]+\w|\w+://\S*[\w/]`)
	ending  = lazyregexp.New(`([.!?…]+["')\]]*)(\s+|$)|\n+`)
	between = lazyregexp.New(`[,;()]|\s[–—-]\s|—|:\s`)
	words   = lazyregexp.New(`[\pL\pN]+(?:['’\-][\pL\pN]+)*`)
)

// asksForText reports whether a request asks for a written text. In that case, an unquoted text in
// the answer is the requested text.
func asksForText(request string) bool { return wants.MatchString(request) }

// ownWords returns an answer without quoted parts: code, quotations and quoted lines. If the user
// asked for a text, it also removes letters and drafts up to their end; see draftEnd. In every
// other answer, letters and drafts count: a model may greet the user as in a letter, and "Here is
// the text:" does not introduce a requested text.
func ownWords(s string, asked bool) string {
	s = fenced.ReplaceAllString(s, "\n")
	s = inline.ReplaceAllString(s, "it")
	s = address.ReplaceAllString(s, "it")
	s = quoted.ReplaceAllString(s, " it ")
	lines := strings.Split(s, "\n")
	var out []string
	for i := 0; i < len(lines); i++ {
		t := strings.TrimSpace(lines[i])
		mark := bullet.FindString(t)
		item := strings.TrimSpace(t[len(mark):])
		switch {
		case strings.HasPrefix(t, ">"), strings.HasPrefix(t, "|"), open.MatchString(t):
			continue
		case header.MatchString(t) && !subject.MatchString(t):
			continue
		case asked && (subject.MatchString(t) || isSalutation(t)):
			i = letterEnd(lines, i)
			continue
		}
		out = append(out, strings.Trim(strings.TrimLeft(item, "#"), "*_ "))
		if asked && draft.MatchString(t) {
			i = draftEnd(lines, i+1) - 1
		}
	}
	return strings.Join(out, "\n")
}

// letterEnd returns the last line of the letter that begins at line from: a rule, the last line of
// the closing with the names below it, or else the last line of the text.
func letterEnd(lines []string, from int) int {
	for i := from + 1; i < len(lines); i++ {
		t := strings.TrimSpace(lines[i])
		if rule.MatchString(t) {
			return i
		}
		if !closing.MatchString(t) {
			continue
		}
		for i+1 < len(lines) && strings.TrimSpace(lines[i+1]) != "" && len(strings.Fields(lines[i+1])) <= maxName {
			i++
		}
		return i
	}
	return len(lines) - 1
}

// draftEnd returns the line after the draft that begins at line from. The draft ends at a rule or
// at the end of its letter. A last paragraph that addresses the user again is not part of the
// draft.
func draftEnd(lines []string, from int) int {
	last := len(lines)
	for i := from; i < len(lines); i++ {
		t := strings.TrimSpace(lines[i])
		switch {
		case rule.MatchString(t) && i > from+1:
			return i
		case subject.MatchString(t), isSalutation(t):
			return letterEnd(lines, i) + 1
		case t == "" && i > from+1:
			if strings.TrimSpace(strings.Join(lines[i:], "")) != "" {
				last = i
			}
		}
	}
	if last < len(lines) && toUser.MatchString(strings.Join(lines[last:], " ")) {
		return last
	}
	return len(lines)
}

// isSalutation reports whether a line consists only of the salutation of a letter.
func isSalutation(line string) bool {
	m := salute.FindString(line)
	return m != "" && strings.TrimSpace(line[len(m):]) == ""
}

// splitSentences splits s into sentences. Each sentence includes its final punctuation mark.
func splitSentences(s string) (out []string) {
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

// clause is a part of a sentence that contains a single statement.
type clause struct {
	text  string
	words []string // in lower case
	colon bool     // whether a colon follows the clause
}

// splitClauses splits a sentence at punctuation marks. splitClause splits at conjunctions, which
// depend on the language.
func splitClauses(s string) (out []clause) {
	for s != "" {
		piece, mark := s, ""
		if m := between.FindStringIndex(s); m != nil {
			piece, mark, s = s[:m[0]], s[m[0]:m[1]], s[m[1]:]
		} else {
			s = ""
		}
		piece = strings.TrimSpace(piece)
		if w := splitWords(piece); len(w) > 0 {
			out = append(out, clause{piece, w, strings.HasPrefix(mark, ":")})
		}
	}
	return out
}

func splitWords(s string) []string {
	found := words.FindAllString(strings.ToLower(strings.ReplaceAll(s, "’", "'")), -1)
	return slices.DeleteFunc(found, func(w string) bool { return strings.IndexFunc(w, unicode.IsLetter) < 0 })
}
