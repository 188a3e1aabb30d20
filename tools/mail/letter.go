package mail

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// lookWait is the time limit for finding the recipients of a message.
const lookWait = 20 * time.Second

type letterIn struct {
	To      []string `json:"to,omitempty" jsonschema:"addresses, or names in the address book; default for a reply: the sender"`
	Cc      []string `json:"cc,omitempty"`
	Bcc     []string `json:"bcc,omitempty"`
	Subject string   `json:"subject,omitempty"`
	Text    string   `json:"text"`
	Answer  string   `json:"answer,omitempty" jsonschema:"the email to reply to: its id, or words of its sender or subject"`
	Attach  []string `json:"attach,omitempty" jsonschema:"paths of files"`
	Account string   `json:"account,omitempty"`
}

// composedMail is a complete message, for the approval request and for sending.
type composedMail struct {
	pim.OutgoingMail
	from  pim.Mailer
	reply bool     // some of the text or recipients come from a message or an address book
	notes []string // notes about the recipients for the owner
}

// composeLetter composes a message from the arguments. It reads the answered message, the address
// book and the files. It has no other effects.
func (d Deps) composeLetter(ctx context.Context, in letterIn) (composedMail, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	all, err := d.mailersNamed(in.Account)
	if err != nil {
		return composedMail{}, err
	}
	out := composedMail{from: all[0]}
	out.Subject, out.Text = strings.TrimSpace(in.Subject), strings.TrimSpace(in.Text)
	if out.Text == "" && len(in.Attach) == 0 {
		return composedMail{}, tools.Errorf(tools.InvalidArguments, "the text is empty")
	}
	if strings.TrimSpace(in.Answer) != "" {
		if err := d.fillReply(ctx, in, all, &out); err != nil {
			return composedMail{}, err
		}
	}
	for _, list := range []struct {
		names []string
		to    *[]pim.Person
	}{{in.To, &out.To}, {in.Cc, &out.Cc}, {in.Bcc, &out.Bcc}} {
		for _, name := range list.names {
			p, err := tools.PersonIn(ctx, name, d.People)
			if err != nil {
				return composedMail{}, err
			}
			out.reply = out.reply || !strings.Contains(name, "@") // the display name comes from a contact
			*list.to = append(*list.to, p)
		}
	}
	if err := d.attachFiles(ctx, in.Attach, &out); err != nil {
		return composedMail{}, err
	}
	if out.Subject == "" {
		out.Subject = textnorm.Ellipsize(strings.Join(strings.Fields(out.Text), " "), 60)
	}
	if err := out.Check(); err != nil {
		return composedMail{}, tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
	}
	if len([]rune(out.recipientText())) > maxWhom {
		return composedMail{}, tools.Errorf(tools.InvalidArguments, "too many addresses to show in the approval request; write to fewer people at once")
	}
	return out, nil
}

// maxWhom limits the length of the recipient list in an approval request, because the list is never
// truncated.
const maxWhom = 1200

// fillReply derives the recipients and the subject from the answered message.
func (d Deps) fillReply(ctx context.Context, in letterIn, all []pim.Mailer, out *composedMail) error {
	m, box, err := d.findMail(ctx, in.Answer, "", all)
	if err != nil {
		return err
	}
	out.from, out.reply = box, true
	if pim.ValidMessageID(m.ID) { // without a valid id, the reply is sent without threading
		out.Answers = m.ID
	}
	out.References = slices.DeleteFunc(slices.Clone(m.Refers), func(id string) bool { return !pim.ValidMessageID(id) })
	if out.Subject == "" {
		out.Subject = pim.StripInvisible(m.Subject)
		if !strings.HasPrefix(strings.ToLower(out.Subject), "re:") {
			out.Subject = "Re: " + out.Subject
		}
		out.Subject = textnorm.Ellipsize(out.Subject, 280)
	}
	if len(in.To) > 0 {
		return nil
	}
	list := m.ReplyTo
	if len(list) == 0 {
		list = m.From
	} else if !slices.EqualFunc(m.ReplyTo, m.From, func(a, b pim.Person) bool { return a.Address == b.Address }) {
		out.notes = append(out.notes, "the sender "+fullNames(m.From)+" requests replies to that address")
	}
	for _, p := range list {
		p.Name = "" // the sender chose this name
		out.To = append(out.To, p)
	}
	if len(out.To) == 0 {
		return tools.Errorf(tools.InvalidArguments, "the email does not name its sender; specify the recipient of the reply")
	}
	return nil
}

// attachFiles reads the files.
func (d Deps) attachFiles(ctx context.Context, paths []string, out *composedMail) error {
	if len(paths) > pim.MaxFiles {
		return tools.Errorf(tools.InvalidArguments, "at most %d files can be attached", pim.MaxFiles)
	}
	if len(paths) > 0 && d.Attach == nil {
		return tools.Errorf(tools.Unsupported, "file access is not configured")
	}
	for _, path := range paths {
		f, err := d.Attach(ctx, path)
		if err != nil {
			return err
		}
		out.Files = append(out.Files, f)
	}
	return nil
}

func fullNames(list []pim.Person) string {
	var out []string
	for _, p := range list {
		out = append(out, tools.WholePerson(p))
	}
	return strings.Join(out, ", ")
}

// recipientText lists all recipients with their complete addresses.
func (l composedMail) recipientText() string {
	var out []string
	for _, x := range []struct {
		word string
		list []pim.Person
	}{{"", l.To}, {"copy to ", l.Cc}, {"blind copy to ", l.Bcc}} {
		if len(x.list) > 0 {
			out = append(out, x.word+fullNames(x.list))
		}
	}
	return strings.Join(out, "; ")
}

// approvalBinding returns the approval binding: all parts of the email that the arguments do not
// contain.
func (l composedMail) approvalBinding() string {
	var b strings.Builder
	fmt.Fprintf(&b, "from %s (%s) to %s", cmp.Or(tools.WholePerson(l.from.From()), "you"), l.from.Name(), cmp.Or(l.recipientText(), "nobody yet"))
	if l.Answers != "" {
		fmt.Fprintf(&b, ", in answer to <%s>", l.Answers)
	}
	fmt.Fprintf(&b, ": %s", l.Subject)
	for _, f := range l.Files {
		sum := sha256.Sum256(f.Data)
		fmt.Fprintf(&b, "; attached %s, %d bytes, sha256 %s", f.Name, len(f.Data), hex.EncodeToString(sum[:8]))
	}
	return b.String()
}

// setMessageID derives the Message-ID from the call, so that a retry after an unknown outcome sends
// the same message.
func (l *composedMail) setMessageID(c tools.Call) {
	sum := sha256.Sum256([]byte("mail " + c.ID))
	_, host, _ := strings.Cut(l.from.From().Address, "@")
	l.ID, l.Date = hex.EncodeToString(sum[:16])+"@"+cmp.Or(host, "localhost"), c.Now
}

// refusedJudgment returns the assessment of an email that cannot be composed.
func refusedJudgment(err error) tools.CallAssessment {
	return tools.CallAssessment{Refused: tools.ClassifyPIM(err)}
}
