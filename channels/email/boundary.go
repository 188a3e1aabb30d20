package email

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/platform/text/lazyregexp"
)

// The end of the sender's own text is recognized by form: marks, separators, header fields, and the
// line with author and date. Mail programs write these lines in many languages, and a quoted email
// can contain any word, but only the mail program determines the form.

// lineForm describes the form of one line in an email.
type lineForm struct {
	blank    bool
	marked   bool // whether the line begins with a quote mark
	indented bool // whether the line is indented by at least 4 columns
	label    bool // whether the line has the form "Word: value"
	head     int  // index in headWords of the label, or -1
	closing  bool // whether the line ends with a colon
	framed   bool // words within a separator: "----- Original message -----"
	bare     bool // whether the line is a separator without words
	address  bool // whether the line contains an email address
	bracket  bool // whether the line contains an email address in brackets
	date     bool // whether the line contains a year or a full date
	clock    bool // whether the line contains a time of day
}

// hasDateForm reports whether a line contains a date or time.
func (f lineForm) hasDateForm() bool { return f.date || f.clock }

// namesWriterOrDate reports whether a line contains an author, a date or a time.
func (f lineForm) namesWriterOrDate() bool { return f.address || f.date || f.clock }

var (
	mailAddress = lazyregexp.New(`[^\s<>\[\]()"',;:@]+@[^\s<>\[\]()"',;:@]+`)
	// bracketed matches an address after a name, as written by mail programs.
	bracketed = lazyregexp.New(`[<\[(](mailto:)?[^\s<>\[\]()@]+@[^\s<>\[\]()@]+[>\])]`)
	// wholeDate matches a year, including years of the Buddhist era, or a numeric date.
	wholeDate = lazyregexp.New(`(^|[^0-9])((19|20|2[45])[0-9]{2}([^0-9]|$)|[0-9]{1,4}\s?[./\-年년]\s?[0-9]{1,2}\s?[./\-月월]\s?[0-9]{1,4})`)
	dayTime   = lazyregexp.New(`(^|[^0-9])([0-9]{1,2}[:.h][0-9]{2}([^0-9]|$)|[0-9]{1,2}\s?[時时点點시])`)
	// labeled matches a header field, with the marks that mail programs put around bold text.
	labeled = lazyregexp.New(`^[*_]{0,2}\p{L}[\p{L}\p{M}\p{N}'’./()\- ]{0,39}[*_]{0,2}\s?:[*_]{0,2}(\s|$|[^/\s])`)
	// initials matches the letters that some programs write before the quote mark: "AL> Yes".
	initials = lazyregexp.New(`^\p{L}{1,4}>+( |$)`)
)

// formText normalizes a line for comparing its form: it removes invisible characters and unifies
// colons, blanks and digits. It keeps both ends of a long line.
func formText(line string) string {
	const end = 400
	if len(line) > 2*end+utf8.UTFMax {
		line = strings.ToValidUTF8(line[:end], "") + " " + strings.ToValidUTF8(line[len(line)-end:], "")
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '：' || r == '﹕' || r == '∶' || r == '︓' || r == 'ː' || r == '꞉' || r == '׃':
			return ':'
		case r == '＠' || r == '﹫':
			return '@'
		case r == '＜' || r == '〈' || r == '‹':
			return '<'
		case r == '＞' || r == '〉' || r == '›':
			return '>'
		case r == '\t' || r == '\u3000' || unicode.Is(unicode.Zs, r):
			return ' '
		case unicode.Is(unicode.Nd, r):
			return '0' + digitValue(r)
		case unicode.In(r, unicode.Cf, unicode.Variation_Selector):
			return -1
		}
		return r
	}, line)
}

// digitValue returns the value of a decimal digit in any script. The digits of a script are
// consecutive, in ranges of ten (Unicode, 4.6).
func digitValue(r rune) rune {
	if r <= '9' {
		return r - '0'
	}
	zero := r
	for n := 0; n < 9 && unicode.Is(unicode.Nd, zero-1); n++ {
		zero--
	}
	if r >= 0x1d7ce && r <= 0x1d7ff { // five adjacent sets of mathematical digits
		return (r - 0x1d7ce) % 10
	}
	return r - zero
}

// formOf determines the form of one line.
func formOf(line string) (f lineForm) {
	text := formText(line)
	bare := strings.TrimSpace(text)
	if bare == "" {
		return lineForm{blank: true}
	}
	f.marked = hasQuoteMark(bare)
	f.indented = indentOf(line) >= 4
	f.closing = strings.HasSuffix(strings.TrimRight(bare, "*_ "), ":")
	f.framed, f.bare = separatorForm(bare)
	f.head = -1
	if f.label = !f.framed && labeled.MatchString(bare); f.label {
		f.head = headWord(bare)
	}
	f.address = mailAddress.MatchString(bare)
	f.bracket = f.address && bracketed.MatchString(bare)
	rest := bare
	if f.address {
		rest = mailAddress.ReplaceAllString(bare, " ")
	}
	if strings.ContainsAny(rest, "0123456789") {
		f.date, f.clock = wholeDate.MatchString(rest), dayTime.MatchString(rest)
	}
	return f
}

// indentOf returns the indent of a line in columns.
func indentOf(line string) (n int) {
	for _, r := range line {
		switch {
		case r == '\t':
			n += 4
		case r == '\u3000':
			n += 2
		case unicode.Is(unicode.Zs, r):
			n++
		default:
			return n
		}
	}
	return 0
}

// hasQuoteMark reports whether a line begins with a quote mark.
func hasQuoteMark(line string) bool {
	r, size := utf8.DecodeRuneInString(line)
	switch r {
	case '>', '＞', '›', '〉', '»', '❯', '|', '¦', '│', '┃', '┆', '┊', '║', '▌', '▎', '▏', '￨', '｜', '∣', '⎮', '❘':
		return true
	case ':': // ": " as written by old programs, but not ":-)" or ":wave:"
		return strings.HasPrefix(line[size:], " ")
	}
	return strings.Contains(line[:min(len(line), 20)], ">") && initials.MatchString(line)
}

// separatorForm reports whether a line is a separator of dashes or similar characters. framed means
// that it also contains words, bare that it does not.
func separatorForm(line string) (framed, bare bool) {
	lead, firm, rest := separatorRun(line)
	if rest == "" {
		return false, lead >= 3
	}
	tail := 0
	for rest != "" {
		r, size := utf8.DecodeLastRuneInString(rest)
		is, _ := separatorKind(r)
		if !is && r != ' ' {
			break
		}
		if is {
			tail++
		}
		rest = rest[:len(rest)-size]
	}
	return firm >= 3 && tail >= 3 || lead >= 5 && tail >= 5 || firm >= 4, false
}

// separatorRun counts the separator characters at the start of a line. firm is the number of strong
// ones; weak ones are also used for emphasis.
func separatorRun(line string) (n, firm int, rest string) {
	for rest = line; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		is, strong := separatorKind(r)
		if !is && (r != ' ' || n == 0) {
			break
		}
		if is {
			n++
		}
		if strong {
			firm++
		}
		rest = rest[size:]
	}
	return n, firm, rest
}

func separatorKind(r rune) (is, strong bool) {
	switch r {
	case '=', '~', '*', '#', '+':
		return true, r == '='
	case '-', '_', '¯', '￣', '＿', '＝':
		return true, true
	}
	strong = unicode.Is(unicode.Pd, r) || r >= '─' && r <= '╿'
	return strong, strong
}

// lineScan holds the lines of an email with their forms.
type lineScan struct {
	lines []string
	forms []lineForm
	// answer reports whether the email is a reply or is forwarded. Quoted text is then likely, so
	// weaker signs count.
	answer bool
}

// maxSpan is the maximum number of lines in the text that introduces a quotation: names can be
// long, and mail programs wrap the line.
const maxSpan = 40

// maxScanned is the maximum number of lines that are scanned. Later lines do not count as the
// sender's.
const maxScanned = 5000

// findBoundary returns the index of the first line that the sender did not write, or -1 if all
// lines may be the sender's. Its running time is bounded by maxScanned.
func findBoundary(lines []string, answer bool) int {
	if len(lines) > maxScanned {
		if at := findBoundary(lines[:maxScanned], answer); at >= 0 {
			return at
		}
		return maxScanned
	}
	s := lineScan{lines: lines, forms: make([]lineForm, len(lines)), answer: answer}
	for i, line := range lines {
		s.forms[i] = formOf(line)
	}
	for i, f := range s.forms {
		switch {
		case f.blank:
		case f.marked, answer && s.hasCommonPrefix(i):
			return s.announcementStart(i, s.hasForwardHeader(i))
		case f.framed, f.bare && (answer || s.isFollowedByHeader(i)):
			return s.announcementStart(i, true)
		case f.label && s.isHeaderBlock(i):
			return s.announcementStart(s.headerTop(i), true)
		case f.indented && s.isIndentedBlock(i):
			return s.announcementStart(i, false)
		case s.isAttribution(i):
			return s.sentenceStart(i)
		}
	}
	return -1
}

// announcementStart returns the first line of the announcement of the quotation at line i, which is
// in the paragraph directly above i, or i if there is no announcement. certain means that line i is
// certainly quoted, so that any line that ends with a colon announces it.
func (s lineScan) announcementStart(i int, certain bool) int {
	last := i - 1
	for last >= 0 && i-last <= 4 && s.forms[last].blank {
		last--
	}
	if last < 0 || s.forms[last].blank {
		return i
	}
	first, seen := -1, lineForm{}
	for k := last; k >= 0 && last-k < maxSpan && !s.forms[k].blank; k-- {
		f := s.forms[k]
		if f.namesWriterOrDate() {
			first = k
		}
		seen.address, seen.date, seen.clock = seen.address || f.address, seen.date || f.date, seen.clock || f.clock
	}
	switch {
	case !s.forms[last].closing:
		// The colon is missing or belongs to the quotation.
		if seen.date && (seen.clock || seen.address) && first >= 0 {
			return s.sentenceStart(first)
		}
		return i
	case first >= 0 && (seen.hasDateForm() || s.answer || certain):
		return s.sentenceStart(first)
	case s.answer || certain:
		return s.sentenceStart(last)
	}
	return i // a line of the author, for example "Please translate this:"
}

// sentenceStart returns the first line of the sentence that ends at line i if a mail program
// wrapped it: the lines above are full, or line i begins with the address that follows a name.
func (s lineScan) sentenceStart(i int) int {
	for n := 0; n < maxSpan && i > 0 && !s.forms[i-1].blank && !s.forms[i-1].marked; n++ {
		line := strings.TrimSpace(formText(s.lines[i]))
		word, _, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(line, "<") && displayWidth(s.lines[i-1])+displayWidth(word) < minBroken {
			break
		}
		i--
	}
	return i
}

// minBroken is the minimum total width in columns of a line and the word that follows it, if a mail
// program wrapped the line before that word.
const minBroken = 60

// displayWidth returns the display width of s in columns.
func displayWidth(s string) (n int) {
	for _, r := range strings.TrimSpace(s) {
		if n++; r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) {
			n++
		}
	}
	return n
}

// hasCommonPrefix reports whether line i and the next nonblank line begin with the same character
// and a blank that are not a list marker. Such a prefix is a custom quote mark.
func (s lineScan) hasCommonPrefix(i int) bool {
	sign := signOf(s.lines[i])
	if sign == 0 {
		return false
	}
	for k := i + 1; k < len(s.lines) && k < i+3; k++ {
		if !s.forms[k].blank {
			return signOf(s.lines[k]) == sign
		}
	}
	return false
}

func signOf(line string) rune {
	line = strings.TrimSpace(line)
	r, size := utf8.DecodeRuneInString(line)
	if !unicode.IsPunct(r) && !unicode.IsSymbol(r) || !strings.HasPrefix(line[size:], " ") || strings.ContainsRune("-*+•‣◦·–—▪●○■□☐☑✓✔✗✘([{\"'“„«¿¡", r) {
		return 0
	}
	return r
}

// hasForwardHeader reports whether the quotation at i begins with an email header, as in Apple
// Mail's forwards.
func (s lineScan) hasForwardHeader(i int) bool {
	n := 0
	for k := i; k < len(s.lines) && k < i+10 && s.forms[k].marked; k++ {
		if f := formOf(strings.TrimLeft(formText(s.lines[k]), " >|¦")); f.label && !f.closing {
			n++
		}
	}
	return n >= 2
}

// isFollowedByHeader reports whether the next nonblank line after separator i is a header field.
func (s lineScan) isFollowedByHeader(i int) bool {
	for k := i + 1; k < len(s.forms); k++ {
		if !s.forms[k].blank {
			return s.forms[k].label && !s.forms[k].closing
		}
	}
	return false
}

// isHeaderBlock reports whether the header of a quoted email begins at line i. Such a header
// consists of consecutive fields, possibly with single blank lines between them, whose values are
// an address, a date or a time.
func (s lineScan) isHeaderBlock(i int) bool {
	n, addresses, times, blank, known := 0, 0, 0, 0, map[int]bool{}
	for k := i; k < len(s.forms) && k < i+2*maxSpan && blank < 2; k++ {
		f := s.forms[k]
		if f.blank {
			blank++
			continue
		}
		if !f.label {
			break
		}
		blank = 0
		n++
		if f.address {
			addresses++
		}
		if f.hasDateForm() {
			times++
		}
		if f.head >= 0 {
			known[f.head] = true
		}
	}
	switch {
	case n >= 3 && addresses+times > 0, n >= 2 && addresses > 0 && times > 0:
		return true
	case len(known) >= 3 && known[3], len(known) >= 2 && addresses+times > 0:
		return true
	}
	return s.answer && (n >= 3 || n >= 2 && addresses+times > 0)
}

// headerTop returns the line of the first field in the header recognized at line i. The value of an
// earlier field can span several lines.
func (s lineScan) headerTop(i int) int {
	first := i
	for k := i - 1; k >= 0 && i-k < maxSpan && !s.forms[k].blank; k-- {
		if s.forms[k].label {
			first = k
		}
	}
	return first
}

// isIndentedBlock reports whether the lines from i on form a separate indented block. In an email
// that is not a reply, the block needs at least 2 lines.
func (s lineScan) isIndentedBlock(i int) bool {
	if i > 0 && !s.forms[i-1].blank && !s.forms[i-1].closing && !s.answer {
		return false
	}
	n := 0
	for k := i; k < len(s.forms) && n < 2; k++ {
		switch {
		case s.forms[k].blank:
		case s.forms[k].indented:
			n++
		default:
			return s.answer && n > 0
		}
	}
	return n >= 2 || s.answer
}

// isAttribution reports whether line i introduces a quotation with its author and date ("On ...,
// Ada wrote:").
func (s lineScan) isAttribution(i int) bool {
	if !s.forms[i].namesWriterOrDate() {
		return false
	}
	var seen lineForm
	for k := i; k < len(s.forms) && k-i < maxSpan && !s.forms[k].blank && !s.forms[k].marked; k++ {
		f := s.forms[k]
		seen.address, seen.bracket = seen.address || f.address, seen.bracket || f.bracket
		seen.date, seen.clock = seen.date || f.date, seen.clock || f.clock
		whole := seen.bracket && seen.date
		switch {
		case whole && seen.clock && k-i < 2: // Lotus Notes writes no colon
			return true
		case !f.closing:
		case whole, s.answer && k == i:
			return true
		case s.answer && seen.address && (seen.date || seen.clock), s.answer && seen.date && seen.clock:
			return true
		}
	}
	return false
}

// headWords lists the header field names of the most common mail programs: sender, date, recipient,
// subject. They only supplement the form, in emails that are not replies.
var headWords = [4][]string{ //nolint:gochecknoglobals // a constant
	{"from", "von", "de", "da", "van", "från", "fra", "lähettäjä", "od", "от", "gönderen", "feladó", "差出人", "发件人", "寄件者", "보낸 사람", "від"},
	{"sent", "date", "gesendet", "datum", "envoyé", "enviado", "fecha", "data", "inviato", "verzonden", "skickat", "sendt", "dato", "lähetetty", "wysłano", "odesláno", "отправлено", "дата", "gönderildi", "tarih", "küldve", "送信日時", "日時", "发送时间", "日期", "寄件日期", "보낸 날짜"},
	{"to", "an", "à", "a", "para", "aan", "till", "til", "vastaanottaja", "do", "komu", "кому", "kime", "címzett", "宛先", "收件人", "收件者", "받는 사람"},
	{"subject", "betreff", "objet", "asunto", "oggetto", "assunto", "onderwerp", "ämne", "emne", "aihe", "temat", "předmět", "тема", "konu", "tárgy", "件名", "主题", "主旨", "제목"},
}

// headWord returns the index of the headWords entry at the start of line, which formText has
// normalized, or -1 if there is none.
func headWord(line string) int {
	before, _, ok := strings.Cut(line, ":")
	before = strings.ToLower(strings.Trim(before, "*_ "))
	if !ok || before == "" || len(before) > 40 {
		return -1
	}
	for i, words := range headWords {
		for _, w := range words {
			if w == before {
				return i
			}
		}
	}
	return -1
}
