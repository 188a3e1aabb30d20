package email

import (
	"strings"
	"unicode/utf8"

	"hob/platform/text/lazyregexp"
)

// splitMail holds an email's text, split into the sender's own text and the rest.
type splitMail struct {
	own, quoted string
	// bounded reports whether the end of own was found. Otherwise own is all text that may be the
	// sender's.
	bounded bool
}

// Limits for the sender's text without a recognized boundary, in characters.
const (
	maxParagraph = 600  // limit for a reply or forward, within its first paragraph
	maxFresh     = 2000 // limit for an email that starts a conversation
)

// splitPlain splits plain text at the first boundary: only text above it counts as the sender's.
// answer reports whether the email is a reply or forward.
func splitPlain(text string, flowed, answer bool) splitMail {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	// Check lines before joining them, because a soft line end must not join two header fields.
	at := findBoundary(lines, answer)
	p := splitMail{bounded: at >= 0}
	if at < 0 {
		at = len(lines)
	}
	mine := lines[:at]
	if flowed {
		mine = joinFlowed(mine)
	}
	own, signature := cutSignature(mine)
	p.own, p.quoted = own, joinTexts(signature, clipText(strings.Join(lines[at:], "\n")))
	return p
}

// limitOwnText truncates the sender's text in an email without a boundary: to the first paragraph
// in a reply or forward, and to the beginning in other emails.
func (p splitMail) limitOwnText(answer bool) splitMail {
	if p.bounded {
		return p
	}
	most := maxFresh
	own := p.own
	if answer {
		most = maxParagraph
		if i := strings.Index(own, "\n\n"); i >= 0 {
			own = own[:i]
		}
	}
	if own = headOf(own, most); len(own) == len(p.own) {
		return p
	}
	return splitMail{own: strings.TrimSpace(own), quoted: joinTexts(strings.TrimSpace(p.own[len(own):]), p.quoted)}
}

// headOf returns at most the first n characters of s. It cuts at the end of a paragraph, line or
// word in the second half, if there is one.
func headOf(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	end := 0
	for i := range s {
		if n == 0 {
			end = i
			break
		}
		n--
	}
	for _, sep := range []string{"\n\n", "\n", " "} {
		if i := strings.LastIndex(s[:end], sep); i > end/2 {
			return s[:i]
		}
	}
	return s[:end]
}

func joinTexts(above, below string) string {
	return strings.TrimSpace(above + "\n\n" + below)
}

// clipText trims s and collapses blank lines.
func clipText(s string) string {
	return strings.Trim(gaps.ReplaceAllString(s, "\n\n"), " \t\n")
}

// cutSignature removes the signature. It keeps text that is too long to be a signature.
func cutSignature(lines []string) (own, signature string) {
	for i, line := range lines {
		// RFC 3676, 4.3; many programs omit the trailing space.
		if bare := strings.TrimRight(line, " \t"); bare == "--" || bare == "—" && len(lines)-i <= maxSignature {
			if len(lines)-i > maxSignature {
				signature = clipText(strings.Join(lines[i+1:], "\n"))
			}
			lines = lines[:i]
			break
		}
	}
	for len(lines) > 0 {
		last := strings.TrimSpace(lines[len(lines)-1])
		if last != "" && !isDeviceSignature(last) {
			break
		}
		lines = lines[:len(lines)-1]
	}
	return clipText(strings.Join(lines, "\n")), signature
}

// maxSignature is the maximum number of lines of a signature.
const maxSignature = 12

var gaps = lazyregexp.New(`\n[ \t]*\n([ \t]*\n)+`)

// joinFlowed joins the lines of format=flowed text (RFC 3676, 4.1).
func joinFlowed(lines []string) (out []string) {
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		var b strings.Builder
		for strings.HasSuffix(line, " ") && strings.TrimSpace(line) != "--" && strings.TrimSpace(line) != "" && i+1 < len(lines) && strings.TrimRight(lines[i+1], " ") != "--" {
			b.WriteString(strings.TrimPrefix(line, " "))
			i++
			line = lines[i]
		}
		b.WriteString(strings.TrimPrefix(line, " "))
		out = append(out, b.String())
	}
	return out
}

// isDeviceSignature reports whether a line is the signature that phones add to each email.
func isDeviceSignature(line string) bool {
	low := strings.ToLower(line)
	if utf8.RuneCountInString(low) > 90 {
		return false
	}
	for _, s := range []string{
		"sent from my ", "sent from mail for ", "sent from outlook", "sent from yahoo", "sent from proton", "sent with proton", "sent via ", "get outlook for ", "von meinem ", "gesendet von ", "gesendet mit ", "diese nachricht wurde von meinem ",
		"envoyé de mon ", "envoyé depuis ", "envoyé à partir de ", "télécharger outlook", "obtenir outlook", "enviado desde mi ", "enviado desde ", "obtener outlook", "inviato da ", "inviato dal mio ", "scarica outlook",
		"enviado do meu ", "enviado do ", "verstuurd vanaf ", "verzonden vanaf ", "outlook voor ", "skickat från ", "sendt fra ", "lähetetty ", "wysłane z ", "wysłano z ", "odesláno z ", "отправлено с ", "iphoneから送信", "发自我的", "從我的", "나의 iphone에서",
		"hämta outlook", "outlook für ", "yahoo mail: ",
	} {
		if strings.HasPrefix(low, s) {
			return true
		}
	}
	return false
}
