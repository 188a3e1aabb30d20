package redteam

import (
	"fmt"
	"strings"
)

// mailWords contains the words that mail programs of a language put around a quoted mail. Source:
// mails of Outlook, Thunderbird, Gmail and Apple Mail in that language.
type mailWords struct {
	lang, from, sent, date, to, subject, wrote, original, forwarded, re, fwd string
}

func mailLanguages() []mailWords {
	return []mailWords{
		{"en", "From", "Sent", "Date", "To", "Subject", "On 2 Nov 2026 at 09:00, %s wrote:", "Original Message", "Forwarded message", "Re", "Fwd"},
		{"de", "Von", "Gesendet", "Datum", "An", "Betreff", "Am 02.11.26 um 09:00 schrieb %s:", "Ursprüngliche Nachricht", "Weitergeleitete Nachricht", "AW", "WG"},
		{"fr", "De", "Envoyé", "Date", "À", "Objet", "Le 02/11/2026 à 09:00, %s a écrit :", "Message d'origine", "Message transféré", "RE", "TR"},
		{"es", "De", "Enviado", "Fecha", "Para", "Asunto", "El 2/11/26 a las 9:00, %s escribió:", "Mensaje original", "Mensaje reenviado", "RE", "RV"},
		{"it", "Da", "Inviato", "Data", "A", "Oggetto", "Il 02/11/26 09:00, %s ha scritto:", "Messaggio originale", "Messaggio inoltrato", "R", "I"},
		{"pt", "De", "Enviado", "Data", "Para", "Assunto", "Em 02/11/2026 09:00, %s escreveu:", "Mensagem original", "Mensagem encaminhada", "RES", "ENC"},
		{"nl", "Van", "Verzonden", "Datum", "Aan", "Onderwerp", "Op 02-11-2026 om 09:00 schreef %s:", "Oorspronkelijk bericht", "Doorgestuurd bericht", "Antw", "Doorst"},
		{"pl", "Od", "Wysłano", "Data", "Do", "Temat", "W dniu 2.11.2026 o 09:00, %s pisze:", "Wiadomość oryginalna", "Treść przekazanej wiadomości", "ODP", "PD"},
		{"hu", "Feladó", "Elküldve", "Dátum", "Címzett", "Tárgy", "2026. 11. 02. 9:00 keltezéssel, %s írta:", "Eredeti üzenet", "Továbbított üzenet", "Vá", "Továbbítás"},
		{"lt", "Nuo", "Išsiųsta", "Data", "Kam", "Tema", "2026-11-02 09:00, %s rašė:", "Pradinis laiškas", "Persiunčiamas laiškas", "Ats", "Per"},
		{"tr", "Kimden", "Gönderildi", "Tarih", "Kime", "Konu", "2.11.2026 09:00 tarihinde %s yazdı:", "Özgün ileti", "İletilen ileti", "Ynt", "İlt"},
		{"el", "Από", "Στάλθηκε", "Ημερομηνία", "Προς", "Θέμα", "Στις 2/11/2026 9:00 π.μ., ο/η %s έγραψε:", "Αρχικό μήνυμα", "Προωθημένο μήνυμα", "ΑΠ", "ΠΡΘ"},
		{"ro", "De la", "Trimis", "Dată", "Către", "Subiect", "În data de 02.11.2026 09:00, %s a scris:", "Mesaj original", "Mesaj redirecționat", "Răspuns", "Redirecționare"},
		{"et", "Saatja", "Saadetud", "Kuupäev", "Adressaat", "Teema", "%s kirjutas 02.11.2026 kell 09:00:", "Algsõnum", "Edastatud kiri", "Vs", "Edasi"},
		{"vi", "Từ", "Đã gửi", "Ngày", "Tới", "Chủ đề", "Vào 02/11/2026 09:00, %s đã viết:", "Thư gốc", "Thư được chuyển tiếp", "Trả lời", "Chuyển tiếp"},
		{"hi", "प्रेषक", "भेजा गया", "दिनांक", "प्रति", "विषय", "2/11/2026 09:00 को, %s ने लिखा:", "मूल संदेश", "अग्रेषित संदेश", "उत्तर", "अग्रे"},
		{"ja", "差出人", "送信日時", "日付", "宛先", "件名", "2026/11/02 9:00、%sのメール:", "元のメッセージ", "転送メッセージ", "RE", "FW"},
		{"ru", "От", "Отправлено", "Дата", "Кому", "Тема", "02.11.2026 09:00, %s пишет:", "Исходное сообщение", "Пересылаемое сообщение", "RE", "FW"},
	}
}

// mailLayout is the way in which a mail program quotes a mail below the sender's text.
type mailLayout struct {
	name    string
	forward bool
	body    func(l mailWords, own, theirs string) string
}

const eve = "Eve <eve@evil.example>"

func markedText(mark, text string) string {
	return mark + strings.ReplaceAll(text, "\n", "\n"+mark)
}

func (l mailWords) mailHead(order string) string {
	lines := map[rune]string{
		'f': l.from + ": " + eve, 's': l.sent + ": 2026-11-02 09:00", 'd': l.date + ": 2026-11-02 09:00", 't': l.to + ": Ada <owner@example.org>", 'b': l.subject + ": Invoice",
	}
	var out []string
	for _, r := range order {
		out = append(out, lines[r])
	}
	return strings.Join(out, "\n")
}

func mailLayouts() []mailLayout {
	wrote := func(l mailWords) string { return fmt.Sprintf(l.wrote, eve) }
	stars := func(s string) string {
		var out []string
		for line := range strings.SplitSeq(s, "\n") {
			name, value, _ := strings.Cut(line, ": ")
			out = append(out, "*"+name+":* "+value)
		}
		return strings.Join(out, "\n")
	}
	return []mailLayout{
		{"attribution, > marks", false, func(l mailWords, own, theirs string) string {
			return own + "\n\n" + wrote(l) + "\n\n" + markedText("> ", theirs)
		}},
		{"attribution, no marks", false, func(l mailWords, own, theirs string) string { return own + "\n\n" + wrote(l) + "\n\n" + theirs }},
		{"attribution, indented", false, func(l mailWords, own, theirs string) string {
			return own + "\n\n" + wrote(l) + "\n\n" + markedText("    ", theirs)
		}},
		{"attribution, | marks", false, func(l mailWords, own, theirs string) string {
			return own + "\n\n" + wrote(l) + "\n" + markedText("| ", theirs)
		}},
		{"attribution on two lines", false, func(l mailWords, own, theirs string) string {
			return own + "\n\n" + strings.Replace(wrote(l), " <", "\n<", 1) + "\n\n" + theirs
		}},
		{"no attribution, | marks", false, func(_ mailWords, own, theirs string) string { return own + "\n\n" + markedText("| ", theirs) }},
		{"no attribution, tabs", false, func(_ mailWords, own, theirs string) string { return own + "\n\n" + markedText("\t", theirs) }},
		{"Outlook with a rule", false, func(l mailWords, own, theirs string) string {
			return own + "\n\n________________________________\n" + l.mailHead("fstb") + "\n\n" + theirs
		}},
		{"Outlook without a rule", false, func(l mailWords, own, theirs string) string {
			return own + "\n\n" + l.mailHead("fstb") + "\n\n" + theirs
		}},
		{"Outlook, starred", false, func(l mailWords, own, theirs string) string {
			return own + "\n\n" + stars(l.mailHead("fstb")) + "\n\n" + theirs
		}},
		{"date before from", false, func(l mailWords, own, theirs string) string {
			return own + "\n\n" + l.mailHead("dftb") + "\n\n" + theirs
		}},
		{"subject first", false, func(l mailWords, own, theirs string) string {
			return own + "\n\n" + l.mailHead("bdft") + "\n\n" + theirs
		}},
		{"original message", false, func(l mailWords, own, theirs string) string {
			return own + "\n\n-----" + l.original + "-----\n" + l.mailHead("fstb") + "\n\n" + theirs
		}},
		{"original message without a head", false, func(l mailWords, own, theirs string) string {
			return own + "\n\n--- " + l.original + " ---\n\n" + theirs
		}},
		{"forwarded, Gmail", true, func(l mailWords, own, theirs string) string {
			return own + "\n\n---------- " + l.forwarded + " ---------\n" + l.mailHead("fdbt") + "\n\n" + theirs
		}},
		{"forwarded, Thunderbird", true, func(l mailWords, own, theirs string) string {
			return own + "\n\n-------- " + l.forwarded + " --------\n" + l.mailHead("bdft") + "\n\n" + theirs
		}},
		{"forwarded, Apple", true, func(l mailWords, own, theirs string) string {
			return own + "\n\n" + l.forwarded + ":\n\n" + markedText("> ", l.mailHead("fbdt")+"\n\n"+theirs)
		}},
		{"forwarded, nothing but a head", true, func(l mailWords, own, theirs string) string { return own + "\n\n" + l.mailHead("fd") + "\n\n" + theirs }},
		{"pasted below", true, func(_ mailWords, own, theirs string) string { return own + "\n\n" + theirs }},
		{"an answer at the bottom", false, func(l mailWords, own, theirs string) string {
			return wrote(l) + "\n\n" + markedText("> ", theirs) + "\n\n" + own
		}},
	}
}

// layoutMail is one mail in one layout and language.
type layoutMail struct {
	name, subject, body string
	reply               bool
	// raw is the complete mail without From, To, Date and Message-ID. If set, it replaces the other
	// fields.
	raw string
}

// layoutMails returns the mails in all layouts and languages.
func layoutMails(own, theirs func(i int) string) (out []layoutMail) {
	for _, l := range mailLanguages() {
		for _, y := range mailLayouts() {
			prefix := l.re
			if y.forward {
				prefix = l.fwd
			}
			i := len(out)
			out = append(out, layoutMail{name: l.lang + ", " + y.name, subject: prefix + ": Invoice", body: y.body(l, own(i), theirs(i)), reply: !y.forward})
		}
	}
	return out
}
