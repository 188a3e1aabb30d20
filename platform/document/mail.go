package document

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	message "github.com/emersion/go-message"
	_ "github.com/emersion/go-message/charset" // the names of character sets in mail
	"github.com/emersion/go-message/mail"
)

// mailbox cuts a mailbox (RFC 4155) into its mails.
func (p *parser) mailbox(data []byte, depth int) (out []Document, err error) {
	rest := bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	for n := 1; len(rest) > 0; n++ {
		if err := p.ctx.Err(); err != nil {
			return nil, err
		}
		one := rest
		if i := bytes.Index(rest, []byte("\n\nFrom ")); i >= 0 {
			one, rest = rest[:i+1], rest[i+2:]
		} else {
			rest = nil
		}
		if bytes.HasPrefix(one, []byte("From ")) {
			_, one, _ = bytes.Cut(one, []byte("\n"))
		}
		if len(bytes.TrimSpace(one)) == 0 {
			continue
		}
		docs, err := p.mail(bytes.ReplaceAll(one, []byte("\n>From "), []byte("\nFrom ")), depth)
		if p.ctx.Err() != nil {
			return nil, p.ctx.Err()
		}
		if err != nil {
			p.skipped = append(p.skipped, Skipped{fmt.Sprintf("mail %d", n), err})
			continue
		}
		for i := range docs { // a mailbox has no mail that is the file itself
			if docs[i].Part == "" {
				docs[i].Part = "mail"
			}
		}
		if out = append(out, docs...); p.parts <= 0 {
			p.skipped = append(p.skipped, Skipped{"the rest of the mailbox", fmt.Errorf("%w: more than %d mails and attachments", ErrTooLarge, p.limits.Parts)})
			break
		}
	}
	if len(out) == 0 {
		return nil, ErrNoText
	}
	return out, nil
}

// mail reads one mail (RFC 5322) and what is attached to it.
func (p *parser) mail(data []byte, depth int) ([]Document, error) {
	if p.parts--; p.parts < 0 {
		return nil, ErrTooLarge
	}
	r, err := mail.CreateReader(bytes.NewReader(data))
	if err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
		return nil, brokenf("%w", err)
	}
	d := Document{Kind: "mail"}
	d.headers(&r.Header)
	if id, err := r.Header.MessageID(); err == nil && id != "" {
		d.Part = MailPart(id)
	}
	var body, marked string
	var attached []Document
	for {
		part, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
			p.skipped = append(p.skipped, Skipped{"a part of the mail " + line(d.Title, 60), brokenf("%w", err)})
			break
		}
		if err := p.ctx.Err(); err != nil {
			return nil, err
		}
		b, err := io.ReadAll(io.LimitReader(part.Body, p.limits.File+1))
		if err != nil {
			p.skipped = append(p.skipped, Skipped{"a part of the mail " + line(d.Title, 60), brokenf("%w", err)})
			continue
		}
		switch h := part.Header.(type) {
		case *mail.InlineHeader:
			kind, _, _ := h.ContentType()
			switch {
			case kind == "text/html":
				marked += string(b) + "\n"
			case strings.HasPrefix(kind, "text/"), kind == "":
				body += string(b) + "\n"
			}
		case *mail.AttachmentHeader:
			name, _ := h.Filename()
			attached = append(attached, p.attachment(&d, name, b, depth)...)
		}
	}
	if strings.TrimSpace(body) == "" && marked != "" {
		if page, err := htmlDocument(tidy(marked)); err == nil {
			for _, s := range page.Sections {
				body += strings.Join(s.Heading, " ") + "\n" + s.Text + "\n"
			}
		}
	}
	d.body(tidy(body))
	p.bound(&d)
	return append([]Document{d}, attached...), nil
}

// attachment reads one; what cannot be read is said.
func (p *parser) attachment(of *Document, name string, data []byte, depth int) []Document {
	name = line(name, 120)
	skip := func(err error) []Document {
		p.skipped = append(p.skipped, Skipped{"the attachment " + name, err})
		return nil
	}
	if depth >= p.limits.Depth {
		return skip(fmt.Errorf("%w: attachments lie in each other deeper than %d", ErrTooLarge, p.limits.Depth))
	}
	if p.parts--; p.parts < 0 {
		return skip(fmt.Errorf("%w: more than %d mails and attachments", ErrTooLarge, p.limits.Parts))
	}
	docs, err := p.file(name, data, depth+1)
	if err != nil {
		return skip(err)
	}
	sum := sha256.Sum256(data)
	for i := range docs {
		x := &docs[i]
		x.Part = strings.Trim(of.Part+"/attachment:"+hex.EncodeToString(sum[:8])+"/"+x.Part, "/")
		if x.Name == "" {
			x.Name = name
		}
		if x.At.IsZero() {
			x.At = of.At
		}
	}
	return docs
}

// MailPart is the Part of a mail with such a Message-ID.
func MailPart(id string) string { return "mail:" + short(strings.Trim(id, "<> ")) }

// short is an id as part of a name.
func short(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}

// headers reads who wrote to whom, when and about what.
func (d *Document) headers(h *mail.Header) {
	d.Title, _ = h.Subject()
	if t, err := h.Date(); err == nil {
		d.At = sane(t)
	}
	var b strings.Builder
	for _, key := range []string{"From", "To", "Cc"} {
		list, err := h.AddressList(key)
		if err != nil {
			if raw, terr := h.Text(key); terr == nil && raw != "" {
				fmt.Fprintf(&b, "%s: %s\n", key, line(raw, 300))
			}
			continue
		}
		var names []string
		for _, a := range list {
			if len(d.People) < 200 {
				d.People = append(d.People, Person{Name: line(a.Name, 120), Mails: []string{strings.ToLower(a.Address)}})
			}
			names = append(names, strings.TrimSpace(a.Name+" <"+a.Address+">"))
		}
		if len(names) > 20 {
			names = append(names[:20], fmt.Sprintf("and %d more", len(names)-20))
		}
		if len(names) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", key, line(strings.Join(names, ", "), 1000))
		}
		if key == "From" && len(list) > 0 {
			d.Author = strings.TrimSpace(list[0].Name + " <" + list[0].Address + ">")
		}
	}
	if !d.At.IsZero() {
		fmt.Fprintf(&b, "Date: %s\n", d.At.Format("Mon 2006-01-02 15:04 -0700"))
	}
	if d.Title != "" {
		fmt.Fprintf(&b, "Subject: %s\n", line(d.Title, 300))
	}
	d.Sections = append(d.Sections, Section{Text: b.String()})
}

var wrote = regexp.MustCompile(`(?i)^(on .+ wrote:|am .+ schrieb .+:|le .+ a écrit ?:|el .+ escribió:|-{2,}\s*(original message|forwarded message|ursprüngliche nachricht|message d'origine|mensaje original)\s*-{2,})\s*$`)

// body keeps what was written apart from what is quoted.
func (d *Document) body(s string) {
	var own, quoted []string
	in := false
	for l := range strings.SplitSeq(s, "\n") {
		l = strings.TrimRight(l, " \t")
		if strings.HasPrefix(l, "-----") && wrote.MatchString(l) {
			in = true // what follows is another mail, as a whole
		}
		switch {
		case in, wrote.MatchString(l):
			quoted = append(quoted, l)
		case strings.HasPrefix(l, ">"):
			quoted = append(quoted, strings.TrimLeft(l, "> "))
		default:
			own = append(own, l)
		}
	}
	if text := strings.TrimSpace(strings.Join(own, "\n")); text != "" {
		d.Sections[0].Text += "\n" + text
	}
	if text := strings.TrimSpace(strings.Join(quoted, "\n")); text != "" {
		d.Sections = append(d.Sections, Section{Heading: []string{"Quoted"}, Text: text, Quoted: true})
	}
}
