package email

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// splitPlain parts the sender's own words from what he quotes or passes on. What is in
// doubt is not his.
func splitPlain(text string, flowed bool) (own, quoted string) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	lines := strings.Split(text, "\n")
	if flowed {
		lines = unflow(lines)
	}
	var mine, theirs []string
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		bare := strings.TrimSpace(line)
		switch {
		case marked(bare):
			theirs = append(theirs, strings.TrimSpace(strings.TrimLeft(bare, "> ")))
		case tail(lines, i):
			theirs = append(theirs, bare)
		case forwards(bare) || separator(bare) || header(lines, i):
			// From here on all of it is somebody else's, down to the end.
			return finish(mine), finish(append(theirs, lines[i:]...))
		default:
			n := attribution(lines, i)
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

func marked(line string) bool { return strings.HasPrefix(line, ">") || strings.HasPrefix(line, "|>") }

// marks reports whether the first line of a text that holds anything is quoted.
func marks(lines []string) bool {
	for _, l := range lines {
		if l = strings.TrimSpace(l); l != "" {
			return marked(l)
		}
	}
	return false
}

// tail reports the end of a quoted line that a program on the way has broken: it
// stands between two quoted lines, the first of which is long.
func tail(lines []string, i int) bool {
	if i == 0 || i+1 >= len(lines) {
		return false
	}
	before, line, after := strings.TrimSpace(lines[i-1]), strings.TrimSpace(lines[i]), strings.TrimSpace(lines[i+1])
	return line != "" && marked(before) && marked(after) && utf8.RuneCountInString(before) >= 60 && utf8.RuneCountInString(line) < 40
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
	if m := dashed.FindStringSubmatch(line); m != nil {
		return strings.ToLower(strings.TrimSpace(m[1]))
	}
	return ""
}

// forwards reports the line above a mail that is passed on, as Gmail, Apple Mail and
// Thunderbird write it.
func forwards(line string) bool {
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

// The words before the sender, the date, the recipient and the subject of a mail that
// is quoted with its head.
var headWords = [4][]string{ //nolint:gochecknoglobals // a constant
	{"from", "von", "de", "da", "van", "från", "fra", "lähettäjä", "od", "от", "gönderen", "feladó", "差出人", "发件人", "寄件者", "보낸 사람"},
	{"sent", "date", "gesendet", "datum", "envoyé", "enviado", "fecha", "data", "inviato", "verzonden", "skickat", "sendt", "dato", "lähetetty", "päivämäärä", "wysłano", "odesláno", "отправлено", "дата", "gönderildi", "tarih", "küldve", "送信日時", "日時", "日付", "发送时间", "日期", "寄件日期", "보낸 날짜", "날짜", "enviada em", "enviado el", "date d'envoi"},
	{"to", "an", "à", "a", "para", "aan", "till", "til", "vastaanottaja", "do", "komu", "кому", "kime", "címzett", "宛先", "收件人", "收件者", "받는 사람", "cc", "kopie", "copie"},
	{"subject", "betreff", "objet", "asunto", "oggetto", "assunto", "onderwerp", "ämne", "emne", "aihe", "temat", "předmět", "тема", "konu", "tárgy", "件名", "主题", "主旨", "제목"},
}

// header reports the head of a mail that is quoted: at least three of its four lines,
// the sender first, within six lines.
func header(lines []string, i int) bool {
	if headWord(lines[i]) != 0 {
		return false
	}
	var seen [4]bool
	seen[0] = true
	n := 1
	for _, line := range lines[i+1 : min(i+7, len(lines))] {
		if k := headWord(line); k > 0 && !seen[k] {
			seen[k] = true
			n++
		}
	}
	return n >= 3
}

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

// wrote ends the line above a quotation, in the languages of the large mail programs.
var wrote = regexp.MustCompile(`(?i)(wrote|writes|schrieb|a écrit|escribió|escribio|ha scritto|escreveu|schreef|skrev|kirjoitti|napisał|napisała|napisał\(a\)|pisze|napsal|napsala|napsal\(a\)|написал|написала|написал\(а\)|пишет|пише|yazdı|írta|ezt írta|a scris|έγραψε|のメール|書きました|写道|寫道|님이 작성|작성)\b?[^\n]{0,120}[:：]?\s*$`)

// when is what such a line also holds: the day, or an address.
var when = regexp.MustCompile(`[0-9]{1,4}[./:年-]|[0-9]{4}|@`)

// attribution is how many lines from i on announce a quotation ("On ..., Ada wrote:"),
// 0 when they do not. Programs break such a line into up to four.
func attribution(lines []string, i int) int {
	if strings.TrimSpace(lines[i]) == "" {
		return 0
	}
	var b strings.Builder
	for n := 1; n <= 4 && i+n <= len(lines); n++ {
		line := strings.TrimSpace(lines[i+n-1])
		if line == "" || marked(line) {
			return 0
		}
		b.WriteString(line + " ")
		joined := strings.TrimSpace(b.String())
		if len(joined) > 400 {
			return 0
		}
		// Gmail says in some languages only when and who.
		if n == 1 && strings.HasSuffix(joined, ">:") && when.MatchString(joined) && marks(lines[i+n:]) {
			return n
		}
		if (strings.HasSuffix(joined, ":") || strings.HasSuffix(joined, "：")) && wrote.MatchString(joined) && (when.MatchString(joined) || marks(lines[i+n:])) {
			if n > 1 && !opens(lines[i]) {
				return 0 // the announcement begins further down
			}
			return n
		}
	}
	return 0
}

// opens reports a line with which an announcement may begin.
func opens(line string) bool {
	line = strings.ToLower(strings.TrimSpace(line))
	for _, w := range []string{
		"on ", "am ", "le ", "el ", "il ", "em ", "op ", "den ", "på ", "w dniu ", "dne ", "в ", "пн", "вт", "ср", "чт", "пт", "сб", "вс", "a ", "la ", "στις ",
		"mon", "tue", "wed", "thu", "fri", "sat", "sun", "lun", "mar", "mer", "jeu", "ven", "sam", "dim", "mo", "di", "mi", "do", "fr", "sa", "so", "ma", "to", "ti", "ke", "pe", "su",
	} {
		if strings.HasPrefix(line, w) {
			return true
		}
	}
	return line != "" && line[0] >= '0' && line[0] <= '9' || strings.Contains(line, "@")
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
