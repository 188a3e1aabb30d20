package email

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/channels"
	"hob/platform/pim"
	"hob/platform/pim/imapmail"
	"hob/platform/text/lazyregexp"
)

// replyContext is stored with a message and returned with the answers to it.
type replyContext struct {
	To      string   `json:"to"` // the author, who receives the answers
	Name    string   `json:"name,omitempty"`
	ID      string   `json:"id,omitempty"`
	Refers  []string `json:"refers,omitempty"`
	Subject string   `json:"subject,omitempty"`
	Thread  string   `json:"thread"`
	Hops    int      `json:"hops,omitempty"`
}

// isVerified reports whether the author of an email is verified, either by the trusted host or by a
// DKIM signature of the author's domain.
func (l *parsedMail) isVerified(trusted string) bool {
	return l.proved != "" || trustedVerdict(l.fields, trusted, l.from) == vouches
}

// toInbound converts an email to a message. why is the reason to ignore the email, such as its
// subject or a loop; "" means accept.
func (c *Channel) toInbound(l *parsedMail) (in channels.Inbound, why string) {
	subject, ok := c.ownSubject(l.Subject)
	if !ok {
		return in, "its subject does not begin with " + c.conf.SubjectPrefix
	}
	thread, hops := threadOf(l.ID, l.refers)
	if l.ID == "" && len(l.refers) == 0 {
		thread = hashOf(mailDigest(l.Message))
	}
	if hops >= maxHops {
		return in, fmt.Sprintf("its thread has more than %d emails from Hob; start a new thread", maxHops)
	}
	address := l.from
	in = channels.Inbound{Channel: Name, Sender: address, ChatName: subject, At: l.Received}
	if len(l.From) > 0 {
		in.SenderName = l.From[0].Name
	}
	in.OnlyReplies = true // subject and address do not show which question a bare yes answers
	if in.ReplyTo = parseMessageIDs(l.fields.First("in-reply-to")); len(in.ReplyTo) == 0 && len(l.refers) > 0 {
		in.ReplyTo = l.refers[len(l.refers)-1:]
	}
	if !l.isVerified(c.trusted) {
		if address == "" {
			address = l.claimed
		}
		// Set Forwarded, because the author of Text is unknown. A pairing code in the text is
		// ignored.
		address = unverified + address
		in.Sender, in.Forwarded = address, true
	}
	in.Chat = chatOf(address, thread)
	if in.Group, in.Mentioned = c.groupState(l); in.Group {
		in.Chat = chatOf("group", thread)
	}
	switch {
	case l.quoted != "":
		in.Outside = []string{l.quoted}
	case (l.answer || mayBeForwarded(l)) && !l.bounded:
		in.Outside = []string{unmarked}
	}
	switch in.Text = senderText(subject, l, len(in.Outside) > 0); {
	case l.own == "" && l.quoted != "":
		in.Text, in.Outside, in.Forwarded = l.quoted, nil, true
	case l.own == "" && passedOn(l):
		in.Forwarded = true // the subject was written by another person
	}
	if in.Text == "" && len(l.files) == 0 {
		return in, "it is empty"
	}
	// Malformed values would produce an answer that servers reject.
	refers := slices.DeleteFunc(slices.Clone(l.refers), func(s string) bool { return strings.ContainsFunc(s, isInvalidIDRune) })
	id := l.ID
	if strings.ContainsFunc(id, isInvalidIDRune) {
		id = ""
	}
	if len(refers) > 20 {
		refers = append(slices.Clone(refers[:1]), refers[len(refers)-19:]...)
	}
	raw, err := json.Marshal(replyContext{To: address, Name: in.SenderName, ID: id, Refers: refers, Subject: subject, Thread: thread, Hops: hops})
	if err != nil {
		return in, "storing it failed: " + err.Error()
	}
	in.Payload = raw
	return in, ""
}

// unmarked stands for the quotation in a reply or forward in which no quotation was recognized. Its
// text may have another author, so a turn that reads it is tainted.
const unmarked = "[This email replies to or forwards another one, but no quotation was recognized in it.]"

// senderText returns the sender's own text, with the subject if it is part of the message.
func senderText(subject string, l *parsedMail, quotes bool) string {
	short := len(l.own) <= 60 && !strings.ContainsFunc(l.own, isInvalidIDRune) // probably a code
	switch {
	case l.own == "":
		return subject
	case subject == "" || quotes || passedOn(l) || short || strings.HasPrefix(l.own, "/") || strings.HasPrefix(l.own, "!"):
		return l.own
	case strings.HasPrefix(strings.ToLower(l.own), strings.ToLower(subject)):
		return l.own
	}
	return subject + "\n\n" + l.own
}

// passedOn reports whether the subject of an email may have another author, because the email is a
// reply or forward.
func passedOn(l *parsedMail) bool {
	_, answers := stripReplyMarks(l.Subject)
	return answers || len(l.refers) > 0 || slices.ContainsFunc(l.files, func(f part) bool {
		return f.kind == "message/rfc822" || f.kind == "message/global" || strings.EqualFold(path.Ext(f.name), ".eml") || strings.EqualFold(path.Ext(f.name), ".msg")
	})
}

// mayBeForwarded reports whether an email may be a forward without the usual headers. The subject
// of such an email begins with an unlisted word and a colon, as written by programs in other
// languages, and its text has several paragraphs.
func mayBeForwarded(l *parsedMail) bool {
	subject, _ := stripReplyMarks(l.Subject)
	mark, rest, ok := strings.Cut(strings.Replace(subject, "：", ":", 1), ":")
	mark = strings.TrimSpace(mark)
	if !ok || mark == "" || strings.TrimSpace(rest) == "" || utf8.RuneCountInString(mark) > maxMark || len(strings.Fields(mark)) > 2 {
		return false
	}
	return strings.IndexFunc(mark, unicode.IsDigit) < 0 && blankLine.MatchString(l.own)
}

// maxMark is the maximum number of letters in a reply or forward mark.
const maxMark = 20

var blankLine = lazyregexp.New(`\n[ \t\r]*\n`)

// stripReplyMarks returns subject without reply and forward marks.
func stripReplyMarks(subject string) (s string, answers bool) {
	s = strings.TrimSpace(subject)
	for {
		before, rest, ok := strings.Cut(strings.Replace(s, "：", ":", 1), ":")
		if !ok || !slices.Contains(marksOfSubjects, strings.ToLower(strings.TrimSpace(strings.TrimRight(before, "[]()0123456789 ")))) {
			return s, answers
		}
		s, answers = strings.TrimSpace(rest), true
	}
}

var marksOfSubjects = []string{
	"ha", "пд", "пересл", "ats", "pers", "atb", "pārs", "απ", "πρθ", "σχετ", "edasi", "továbbítás", "tl", "trả lời", "chuyển tiếp", "ตอบ", "ตอบกลับ", "ส่งต่อ", "رد", "إعادة توجيه", "תגובה", "השב", "הועבר",
	"doorst", "doorgestuurd", "per", "persiųsta", "redirecționare", "redirecționat", "răspuns", "redir", "továbbítva", "přeposláno", "preposlané", "proslijeđeno", "препратено", "vidaresänt", "videresendt",
	"轉發", "답장", "회신", "전달", "उत्तर", "अग्रे", "odg", "prosl", "răsp", "bls", "trs", "balas", "terusan", "i̇lt",
	"re", "fw", "fwd", "aw", "antw", "wg", "tr", "rv", "sv", "vs", "vl", "vb", "ref", "res", "enc", "i", "r", "rif", "odp", "pd", "ynt", "ilt", "vá", "отв", "на", "ответ", "回复", "答复", "转发", "返信", "転送", "回覆", "轉寄",
}

// ownSubject returns an email's subject without marks and prefix. ok is false if a required prefix
// is missing.
func (c *Channel) ownSubject(s string) (string, bool) {
	s, _ = stripReplyMarks(s)
	p := c.conf.SubjectPrefix
	if p == "" {
		return s, true
	}
	if len(s) < len(p) || !strings.EqualFold(s[:len(p)], p) {
		return s, false
	}
	s, _ = stripReplyMarks(s[len(p):])
	return s, true
}

// groupState reports whether an email has recipients other than Hob, and whether Hob is in To. A Cc
// copy is only for information.
func (c *Channel) groupState(l *parsedMail) (group, mentioned bool) {
	// If the delivery address differs from Hob's own, it is another name of this mailbox.
	var here []string
	for _, name := range []string{"delivered-to", "x-original-to", "envelope-to", "x-delivered-to"} {
		here = append(here, strings.ToLower(strings.Trim(l.fields.First(name), "<> ")))
	}
	for _, f := range l.fields {
		if f.Name != "to" && f.Name != "cc" {
			continue
		}
		var x pim.Message
		imapmail.Head([]byte("To: "+f.Value+"\n\n"), &x)
		for _, p := range x.To {
			switch {
			case p.Address == "" || p.Address == l.claimed || !strings.Contains(p.Address, "@"):
			case c.isOwnAddress(p.Address) || slices.Contains(here, p.Address):
				mentioned = mentioned || f.Name == "to"
			default:
				group = true
			}
		}
	}
	return group, mentioned || !group
}
