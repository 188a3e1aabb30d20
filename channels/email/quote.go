package email

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// splitPlain is split for plain text. sound: no program has broken its lines.
func splitPlain(text string, flowed, sound bool) (own, quoted string) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	lines := strings.Split(text, "\n")
	if flowed {
		lines = unflow(lines)
	}
	var mine, theirs []string
	left := maxWork
	broken := false // the line before is the end of a quoted one
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		bare := strings.TrimSpace(line)
		broken = tail(lines, i, broken, flowed || sound)
		switch {
		case marked(bare):
			theirs = append(theirs, strings.TrimSpace(strings.TrimLeft(bare, ">＞| ")))
		case broken:
			theirs = append(theirs, bare)
		case forwards(bare) || separator(bare) || header(lines, i, &left) || ruled(lines, i) || left < 0:
			// From here on all of it is somebody else's, down to the end.
			return finish(mine), finish(append(theirs, lines[i:]...))
		default:
			n := attribution(lines, i, &left)
			if n == 0 {
				mine = append(mine, line)
				continue
			}
			theirs = append(theirs, lines[i:i+n]...)
			i += n - 1
			if !marks(lines[i+1:]) { // the quoted text has no marks
				return finish(mine), finish(append(theirs, lines[i+1:]...))
			}
		}
	}
	return finish(mine), finish(theirs)
}

// maxWork bounds how often lines are looked at together, for a mail made so that this
// takes long: what is left of it then is not the sender's.
const maxWork = 30_000

// finish takes the signature away.
func finish(lines []string) string {
	for i, line := range lines {
		// RFC 3676, 4.3; many programs lose the space.
		if bare := strings.TrimRight(line, " \t"); bare == "--" || bare == "—" && len(lines)-i <= maxSignature {
			lines = lines[:i]
			break
		}
	}
	for len(lines) > 0 {
		last := strings.TrimSpace(lines[len(lines)-1])
		if last != "" && !device(last) {
			break
		}
		lines = lines[:len(lines)-1]
	}
	return strings.TrimSpace(squeeze(strings.Join(lines, "\n")))
}

// maxSignature is how many lines a signature has at most that begins in a way that
// could also be the text's.
const maxSignature = 12

var gaps = regexp.MustCompile(`\n[ \t]*\n([ \t]*\n)+`)

func squeeze(s string) string { return gaps.ReplaceAllString(s, "\n\n") }

func marked(line string) bool {
	return strings.HasPrefix(line, ">") || strings.HasPrefix(line, "|>") || strings.HasPrefix(line, "＞") || strings.Contains(line[:min(len(line), 6)], ">") && initials.MatchString(line)
}

// initials stand before the mark in some programs: "AL> Yes".
var initials = regexp.MustCompile(`^[A-Z]{1,3}>+ `)

// marks reports whether the first line of a text that holds anything is quoted.
func marks(lines []string) bool {
	for _, l := range lines {
		if l = strings.TrimSpace(l); l != "" {
			return marked(l)
		}
	}
	return false
}

// tail reports a piece of a quoted line that a program on the way has broken. It stands
// below a long quoted line, or another such piece (broken), with no gap; in a mail whose
// lines are sound it also stands above a quoted one.
func tail(lines []string, i int, broken, sound bool) bool {
	if i == 0 {
		return false
	}
	before, line := strings.TrimSpace(lines[i-1]), strings.TrimSpace(lines[i])
	if line == "" || marked(line) || !broken && (!marked(before) || utf8.RuneCountInString(before) < 60) {
		return false
	}
	return !sound || i+1 < len(lines) && marked(strings.TrimSpace(lines[i+1])) && utf8.RuneCountInString(line) < 40
}

// unflow joins the lines of format=flowed (RFC 3676, 4.1).
func unflow(lines []string) (out []string) {
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		var b strings.Builder
		for strings.HasSuffix(line, " ") && strings.TrimSpace(line) != "--" && strings.TrimSpace(line) != "" && !marked(line) && i+1 < len(lines) && !marked(lines[i+1]) && strings.TrimRight(lines[i+1], " ") != "--" {
			b.WriteString(strings.TrimPrefix(line, " "))
			i++
			line = lines[i]
		}
		b.WriteString(strings.TrimPrefix(line, " "))
		out = append(out, b.String())
	}
	return out
}

// dashed is "-----Original Message-----" in any language.
var dashed = regexp.MustCompile(`^[-_*=]{2,}\s*(.{3,60}?)\s*[-_*=]{2,}$`)

func inside(line string) string {
	if len(line) < 7 || len(line) > 300 || !strings.ContainsRune("-_*=", rune(line[0])) {
		return ""
	}
	if m := dashed.FindStringSubmatch(line); m != nil {
		return strings.ToLower(strings.TrimSpace(m[1]))
	}
	return ""
}

// forwards reports the line above a mail that is passed on, as Gmail, Apple Mail and
// Thunderbird write it.
func forwards(line string) bool {
	if len(line) > 300 {
		return false
	}
	low := strings.ToLower(strings.TrimRight(strings.TrimSpace(line), " :"))
	if slices.Contains([]string{
		"begin forwarded message", "anfang der weitergeleiteten nachricht", "anfang der weitergeleiteten e-mail", "début du message transféré", "début du message réexpédié",
		"inicio del mensaje reenviado", "inizio messaggio inoltrato", "início da mensagem encaminhada", "begin doorgestuurd bericht", "vidarebefordrat brev",
		"start på videresendt besked", "videresendt melding", "välitetty viesti alkaa", "początek przekazywanej wiadomości", "начало переадресованного сообщения",
		"転送されたメッセージ", "下面是被转发的邮件", "전달된 메시지 시작", "i̇letilen ileti başlangıcı",
	}, low) {
		return true
	}
	word := inside(line)
	if word == "" {
		return false
	}
	return slices.ContainsFunc([]string{
		"forward", "weitergeleitet", "transféré", "reenviado", "inoltrato", "encaminhada", "doorgestuurd", "vidarebefordra", "videresend", "välitetty",
		"przekazan", "пересыл", "переслан", "přeposlan", "転送", "转发", "轉寄", "전달",
	}, func(s string) bool { return strings.Contains(word, s) })
}

// separator reports the line above the mail that is answered, as Outlook and others
// write it.
func separator(line string) bool {
	word := inside(line)
	return word != "" && slices.ContainsFunc([]string{
		"original message", "originalnachricht", "ursprüngliche nachricht", "message d'origine", "message d’origine", "message original", "mensaje original",
		"messaggio originale", "mensagem original", "oorspronkelijk bericht", "ursprungligt meddelande", "oprindelig meddelelse", "opprinnelig melding",
		"alkuperäinen viesti", "wiadomość oryginalna", "původní zpráva", "исходное сообщение", "оригинальное сообщение", "eredeti üzenet", "mesajul original",
		"元のメッセージ", "原始邮件", "原始郵件", "원본 메시지", "özgün ileti", "original mail", "reply message",
	}, func(s string) bool { return strings.Contains(word, s) })
}

// rule is the line that Outlook draws above the head of a mail, and word the beginning of
// that head in any language.
var (
	rule = regexp.MustCompile(`^_{10,}$`)
	word = regexp.MustCompile(`^\*?[\p{L}\p{M}' ’.-]{1,30}\*?\s?[:：]\*?\s?\S`)
)

func ruled(lines []string, i int) bool {
	if !rule.MatchString(strings.TrimSpace(lines[i])) {
		return false
	}
	for _, line := range lines[i+1:] {
		if line = strings.TrimSpace(line); line != "" {
			return word.MatchString(line)
		}
	}
	return false
}

// The words before the sender, the date, the recipient and the subject of a mail that
// is quoted with its head.
var headWords = [4][]string{ //nolint:gochecknoglobals // a constant
	{"from", "von", "de", "da", "van", "från", "fra", "lähettäjä", "od", "от", "gönderen", "feladó", "差出人", "发件人", "寄件者", "보낸 사람", "від", "de la", "από", "מאת", "من", "từ", "dari", "จาก", "nga", "saatja", "no", "nuo", "expéditeur", "absender", "remitente", "mittente", "remetente"},
	{"sent", "date", "gesendet", "datum", "envoyé", "enviado", "fecha", "data", "inviato", "verzonden", "skickat", "sendt", "dato", "lähetetty", "päivämäärä", "wysłano", "odesláno", "отправлено", "дата", "gönderildi", "tarih", "küldve", "送信日時", "日時", "日付", "发送时间", "日期", "寄件日期", "보낸 날짜", "날짜", "enviada em", "enviado el", "date d'envoi", "надіслано", "trimis", "trimis la", "στάλθηκε", "נשלח", "تم الإرسال", "التاريخ", "đã gửi", "ngày", "dikirim", "terkirim", "tanggal", "ส่ง", "วันที่", "odoslané", "poslano", "изпратено", "послато", "saadetud", "nosūtīts", "išsiųsta", "datums", "data trimiterii"},
	{"to", "an", "à", "a", "para", "aan", "till", "til", "vastaanottaja", "do", "komu", "кому", "kime", "címzett", "宛先", "收件人", "收件者", "받는 사람", "cc", "kopie", "copie", "către", "προς", "אל", "إلى", "đến", "kepada", "untuk", "ถึง", "za", "до", "на", "за", "kellele", "kam", "kas", "destinataire", "empfänger"},
	{"subject", "betreff", "objet", "asunto", "oggetto", "assunto", "onderwerp", "ämne", "emne", "aihe", "temat", "předmět", "тема", "konu", "tárgy", "件名", "主题", "主旨", "제목", "subiect", "θέμα", "נושא", "الموضوع", "chủ đề", "subjek", "perihal", "เรื่อง", "predmet", "zadeva", "предмет", "teema", "temats", "tema", "sujet"},
}

// header reports the head of a mail that is quoted: at least three of its four lines,
// the sender first, with no gap, and more that a head has: a subject, an address or a
// time.
func header(lines []string, i int, left *int) bool {
	if headWord(lines[i]) != 0 {
		return false
	}
	seen := [4]bool{true}
	n, more := 1, false
	for k, line := range lines[i:min(i+maxAnnounce, len(lines))] {
		if strings.TrimSpace(line) == "" {
			break
		}
		*left--
		more = more || strings.Contains(line, "@") || clocked.MatchString(line)
		if w := headWord(line); k > 0 && w > 0 && !seen[w] {
			seen[w] = true
			n++
		}
	}
	return n >= 3 && (more || seen[3])
}

// maxAnnounce is how many lines may announce a quotation: names are as long as somebody
// else has made them.
const maxAnnounce = 40

var clocked = regexp.MustCompile(`[0-9]{1,2}[:.h時时点][0-9]{2}`)

// headWord is which of headWords a line begins with, -1 none.
func headWord(line string) int {
	line = strings.Trim(strings.TrimSpace(line), "*_ ")
	before, _, ok := strings.Cut(strings.ReplaceAll(line, "：", ":"), ":")
	before = strings.ToLower(strings.Trim(before, "* \u00a0"))
	if !ok || before == "" || len(before) > 40 {
		return -1
	}
	return slices.IndexFunc(headWords[:], func(words []string) bool { return slices.Contains(words, before) })
}

// wrote reports the end of the line above a quotation, in the languages of the large mail
// programs. What follows the word is a name at most.
func wrote(line string) bool {
	line = strings.ToLower(line[max(0, len(line)-300):])
	return slices.ContainsFunc([]string{
		"wrote", "writes", "schrieb", "a écrit", "escribió", "escribio", "ha scritto", "escreveu", "schreef", "skrev", "kirjoitti", "napisał", "pisze", "napsal", "пише", "yazdı", "írta", "a scris", "έγραψε", "のメール", "書きました", "写道", "寫道", "작성", "написа", "je napisao", "je napisal", "napísal", "va escriure", "kirjutas", "rakstīja", "rašė", "كتب", "כתב", "viết", "menulis", "เขียน", "ने लिखा", "نوشت", "shkroi", "skrifaði",
	}, func(s string) bool { return strings.Contains(line, s) })
}

// when is what such a line also holds: the day, or an address.
var when = regexp.MustCompile(`[0-9]{1,4}[./:年-]|[0-9]{4}|@`)

// stamped is such a line in any language: an address in its brackets, a day and a time.
func stamped(s string) bool {
	return addressed.MatchString(s) && when.MatchString(addressed.ReplaceAllString(s, "")) && clocked.MatchString(addressed.ReplaceAllString(s, ""))
}

var addressed = regexp.MustCompile(`<[^<>\s]+@[^<>\s]+>`)

// attribution is how many lines from i on announce a quotation ("On ..., Ada wrote:"),
// 0 when they do not. Programs break such a line, and the name in it may hold a mark.
func attribution(lines []string, i int, left *int) int {
	if strings.TrimSpace(lines[i]) == "" {
		return 0
	}
	var b strings.Builder
	for n := 1; n <= maxAnnounce && i+n <= len(lines); n++ {
		line := strings.TrimSpace(lines[i+n-1])
		if line == "" || marked(line) && (n == 1 || begins(strings.TrimLeft(line, ">＞| ")) || !opens(lines[i]) || !when.MatchString(lines[i])) {
			return 0
		}
		if b.WriteString(line + " "); b.Len() > 4000 || n == 2 && !opens(lines[i]) { // it begins further down, if at all
			return 0
		}
		if end := strings.TrimRight(line, "\u200e\u200f\u061c"); !strings.HasSuffix(end, ":") && !strings.HasSuffix(end, "：") {
			continue
		}
		if *left--; *left < 0 {
			return 0
		}
		joined := strings.TrimRight(strings.TrimSpace(b.String()), "\u200e\u200f\u061c")
		// Gmail says in some languages only when and who.
		if n == 1 && strings.HasSuffix(joined, ">:") && when.MatchString(joined) && marks(lines[i+n:]) {
			return n
		}
		if wrote(joined) && (when.MatchString(joined) || marks(lines[i+n:])) || stamped(joined) {
			return n
		}
	}
	return 0
}

// opens reports a line with which an announcement may begin.
func opens(line string) bool { return begins(line) || strings.Contains(line, "@") }

// begins reports a line that begins with a day, or with a word before one.
func begins(line string) bool {
	line = strings.ToLower(strings.TrimSpace(line))
	for _, w := range []string{
		"on ", "am ", "le ", "el ", "il ", "em ", "op ", "den ", "på ", "w dniu ", "dne ", "в ", "пн", "вт", "ср", "чт", "пт", "сб", "вс", "a ", "la ", "στις ",
		"mon", "tue", "wed", "thu", "fri", "sat", "sun", "lun", "mar", "mer", "jeu", "ven", "sam", "dim", "mo", "di", "mi", "do", "fr", "sa", "so", "ma", "to", "ti", "ke", "pe", "su",
	} {
		if strings.HasPrefix(line, w) {
			return true
		}
	}
	return line != "" && line[0] >= '0' && line[0] <= '9'
}

// device reports the line that a telephone puts under each mail.
func device(line string) bool {
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
