package injection

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// Limits for decoding, per text.
const (
	maxPieces = 12
	maxPiece  = 4 << 10
	minPiece  = 16
)

// longest is the maximum length of one hidden text. The part beyond it is ignored.
const longest = 4000

// hiddenTexts lists the text that a page or a document contains but does not display: comments,
// elements that are not displayed, descriptions of images, and titles of links.
func hiddenTexts(text string) (out []string) {
	take := func(s string) {
		if len(s) >= minPiece && len(out) < maxPieces {
			out = append(out, s[:min(len(s), longest)])
		}
	}
	for i := 0; i < len(text) && len(out) < maxPieces; {
		n := strings.IndexAny(text[i:], "<]")
		if n < 0 {
			break
		}
		i += n
		rest := text[i:]
		switch {
		case strings.HasPrefix(rest, "<!--"):
			inside, _, _ := strings.Cut(rest[4:], "-->")
			take(inside)
			i += 4 + len(inside)
		case rest[0] == '<':
			tag := rest[1:min(len(rest), 600)]
			end := strings.IndexByte(tag, '>')
			if end < 0 {
				i++
				continue
			}
			tag = tag[:end]
			i += end + 2
			inTag(tag, text[min(i, len(text)):], take)
		case strings.HasPrefix(rest, "]("):
			inside, _, _ := strings.Cut(rest[2:min(len(rest), 2000)], ")")
			if _, title, ok := strings.Cut(inside, " \""); ok {
				take(title)
			}
			i += 2
		case strings.HasPrefix(rest, "]: #"):
			line, _, _ := strings.Cut(rest[4:], "\n")
			take(line)
			i += 4
		default:
			i++
		}
	}
	return out
}

// inTag collects the text that an element hides: its descriptions, and its content if the element
// is not displayed.
func inTag(tag, behind string, take func(string)) {
	low := strings.ToLower(tag)
	for _, a := range []string{"alt=", "title=", "aria-label=", "content=", "data-"} {
		if k := strings.Index(low, a); k > 0 {
			value := tag[k:]
			if _, v, ok := strings.Cut(value, "="); ok && v != "" {
				v, _, _ = strings.Cut(strings.TrimLeft(v, "\"'"), v[:1])
				take(v)
			}
		}
	}
	tight := strings.ReplaceAll(low, " ", "")
	for _, h := range []string{"display:none", "visibility:hidden", "font-size:0", "opacity:0", "color:white", "color:#fff", "color:transparent", "aria-hidden"} {
		if strings.Contains(tight, h) {
			inside, _, _ := strings.Cut(behind, "<")
			take(inside)
			return
		}
	}
	if strings.HasSuffix(low, " hidden") || strings.Contains(low, " hidden ") {
		inside, _, _ := strings.Cut(behind, "<")
		take(inside)
	}
}

// encodedRuns returns at most n runs that may be base64 or hex.
func encodedRuns(s string, n int) (out []string) {
	from := -1
	for i := 0; i <= len(s) && len(out) < n; i++ {
		if i < len(s) && (s[i] == '+' || s[i] == '/' || s[i] == '_' || s[i] == '-' || s[i] == '=' && from >= 0 || '0' <= s[i] && s[i] <= '9' || isLetter(s[i]|0x20) && s[i] < 0x80) {
			if from < 0 {
				from = i
			}
			continue
		}
		if from >= 0 && i-from >= minPiece {
			out = append(out, s[from:i])
		}
		from = -1
	}
	return out
}

// spelledOut returns sequences of eight or more single letters with separators.
func spelledOut(s string) (out []string) {
	from, letters, gap := -1, 0, 0
	close := func(at int) {
		if from >= 0 && letters >= 8 && len(out) < maxPieces {
			out = append(out, s[from:at])
		}
		from, letters, gap = -1, 0, 0
	}
	for i := range len(s) {
		c := s[i]
		between := strings.IndexByte(" .-_*|/", c) >= 0
		alone := (i == 0 || strings.IndexByte(" .-_*|/\n", s[i-1]) >= 0) && (i+1 == len(s) || strings.IndexByte(" .-_*|/\n,", s[i+1]) >= 0)
		switch {
		case !between && alone && c > ' ' && c < 0x80:
			if from < 0 {
				from = i
			}
			letters, gap = letters+1, 0
		case between && from >= 0 && gap < 3:
			gap++
		default:
			close(i)
		}
	}
	close(len(s))
	return out
}

// alternativeReadings lists other ways to read a text: with encoded parts decoded, with spaced-out
// letters joined, with digits interpreted as letters, with ROT13 decoded, and reversed.
func alternativeReadings(plain, raw string) (out []string) {
	total := 0
	add := func(s string) {
		if total < maxPieces {
			total++
			out = append(out, s)
		}
	}
	for _, run := range encodedRuns(raw, 4*maxPieces) {
		if s, ok := decodeRun(run); ok {
			p, _ := Normal(s)
			add(p)
			for _, inner := range encodedRuns(s, 1) { // decode one more level, but no deeper
				if s, ok := decodeRun(inner); ok {
					p, _ := Normal(s)
					add(p)
				}
			}
		}
	}
	for _, m := range spelledOut(plain) {
		add(joinSpacedLetters(m))
	}
	if hasLeet(plain) { // 1 stands for i or l
		add(strings.Map(leetToLetter, plain))
		add(strings.Map(leetToLetter, strings.ReplaceAll(plain, "1", "i")))
	}
	e := countEnglishWords(plain)
	if strings.Contains(plain, "gur ") || strings.Contains(plain, "vafgehpgvba") || strings.Contains(plain, " naq ") || strings.Contains(plain, " lbh") {
		if r := strings.Map(rot13, plain); countEnglishWords(r) > 0 {
			add(r)
		}
	}
	if strings.Contains(plain, " eht ") || strings.Contains(plain, "noitcurtsni") || strings.Contains(plain, " lla ") || strings.Contains(plain, "dna ") {
		if b := reverseText(plain); countEnglishWords(b) > e {
			add(b)
		}
	}
	return out
}

func decodeRun(run string) (string, bool) {
	if len(run) > maxPiece {
		run = run[:maxPiece]
	}
	if b, err := hex.DecodeString(run[:len(run)&^1]); err == nil && isMostlyReadable(b) {
		return string(b), true
	}
	run = strings.TrimRight(run, "=")
	run = run[:len(run)-map[bool]int{true: 1}[len(run)%4 == 1]]
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if b, err := enc.DecodeString(run); err == nil && isMostlyReadable(b) {
			return string(b), true
		}
	}
	return "", false
}

// isMostlyReadable reports whether b consists mostly of letters and spaces.
func isMostlyReadable(b []byte) bool {
	if len(b) < 8 || !utf8.Valid(b) {
		return false
	}
	good := 0
	for _, c := range b {
		if c == ' ' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80 {
			good++
		}
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' {
			return false
		}
	}
	return good*10 >= len(b)*8
}

// joinSpacedLetters joins letters that are separated by single separators. Two separators end a
// word.
func joinSpacedLetters(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if strings.IndexByte(" .-_*|/", s[i]) < 0 {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && strings.IndexByte(" .-_*|/", s[i+1]) >= 0 {
			b.WriteByte(' ')
			i++
		}
	}
	return strings.Map(leetToLetter, b.String())
}

func leetToLetter(r rune) rune {
	if i := strings.IndexRune("01345789@$!|+", r); i >= 0 {
		return rune("oleastbgasilt"[i])
	}
	return r
}

// hasLeet reports whether digits occur within words.
func hasLeet(s string) bool {
	n := 0
	for i := 1; i+1 < len(s); i++ {
		if strings.IndexByte("0134579@$!", s[i]) >= 0 && isLetter(s[i-1]) && isLetter(s[i+1]) {
			if n++; n >= 3 {
				return true
			}
		}
	}
	return false
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' }

func rot13(r rune) rune {
	if 'a' <= r && r <= 'z' {
		return 'a' + (r-'a'+13)%26
	}
	return r
}

func reverseText(s string) string {
	r := []rune(s)
	for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
		r[i], r[j] = r[j], r[i]
	}
	return string(r)
}

// countEnglishWords counts words that occur in nearly every English text.
func countEnglishWords(s string) (n int) {
	for _, w := range []string{" the ", " and ", " to ", " you ", " all ", " of ", " your ", "instructions", "ignore "} {
		n += strings.Count(s, w)
	}
	return n
}
