package document

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"hob/platform/text/lazyregexp"
	"hob/platform/text/mime"
)

// maxMailParts is the maximum number of parts that are read from one email.
const maxMailParts = 1000

// readMail is a parsed message with its attached files. The worker parses the message and its HTML.
// Attached files are parsed like other files.
type readMail struct {
	Document Document       `json:"document"`
	Files    []attachedFile `json:"files,omitempty"`
}

// attachedFile is an attachment of a message.
type attachedFile struct {
	Name string `json:"name,omitempty"`
	Data []byte `json:"data,omitempty"`
	// Sum identifies Data. If the attachment is itself a message, Mails contains the messages in it
	// and Data is empty.
	Sum   string     `json:"sum"`
	Mails []readMail `json:"mails,omitempty"`
	// Failed is the reason why the file cannot be read.
	Failed *workerFailure `json:"failed,omitempty"`
}

// readMails reads a message or a mailbox, in the worker process if there is one.
func (p *parser) readMails(kind string, data []byte, depth int) ([]Document, error) {
	if p.parts <= 0 {
		return nil, ErrTooLarge
	}
	list, err := p.parseMails(kind, data)
	if err != nil {
		return nil, err
	}
	docs := p.mailDocuments(list, depth)
	if kind == "mailbox" {
		for i := range docs { // a message in a mailbox must not have the Part "", which means the file itself
			if docs[i].Part == "" {
				docs[i].Part = "mail"
			}
		}
	}
	return docs, nil
}

func (p *parser) parseMails(kind string, data []byte) ([]readMail, error) {
	limits := p.limits
	limits.Parts = p.parts // the parser stops at this limit, and documents are counted separately
	if len(p.limits.Helper) == 0 {
		q := &parser{ctx: p.ctx, limits: limits, parts: p.parts}
		list, err := q.mailsIn(kind, data, 0)
		p.skipped = append(p.skipped, q.skipped...)
		return list, err
	}
	// attached files are sent as Base64, and each message has its own header
	a, err := p.callWorker(workerRequest{Limits: limits, Kind: kind}, data, int64(len(data))*3+int64(limits.Text)*3+helperAnswer)
	if err != nil {
		return nil, err
	}
	return a.Mails, nil
}

// mailsIn parses a mail or a mailbox in this process.
func (p *parser) mailsIn(kind string, data []byte, depth int) ([]readMail, error) {
	if kind == "mailbox" {
		return p.parseMailbox(data, depth)
	}
	if p.parts--; p.parts < 0 {
		return nil, ErrTooLarge
	}
	return []readMail{p.parseMail(data, depth)}, p.ctx.Err()
}

// parseMailbox splits a mailbox (RFC 4155) into its messages.
func (p *parser) parseMailbox(data []byte, depth int) (out []readMail, err error) {
	rest := bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	for len(rest) > 0 {
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
		if p.parts--; p.parts < 0 {
			p.skipped = append(p.skipped, Skipped{"the rest of the mailbox", fmt.Errorf("%w: more than %d messages and attachments", ErrTooLarge, p.limits.Parts)})
			break
		}
		out = append(out, p.parseMail(bytes.ReplaceAll(one, []byte("\n>From "), []byte("\nFrom ")), depth))
	}
	if len(out) == 0 {
		return nil, ErrNoText
	}
	return out, p.ctx.Err()
}

// parseMail parses one mail (RFC 5322).
func (p *parser) parseMail(data []byte, depth int) readMail {
	m := mime.Parse(data, mime.Limits{Parts: maxMailParts})
	r := readMail{Document: Document{Kind: "mail"}}
	d := &r.Document
	d.readHeaders(m.Header)
	var body, marked strings.Builder
	for _, part := range m.Parts {
		if p.ctx.Err() != nil {
			break
		}
		text := strings.HasPrefix(part.Kind, "text/")
		switch {
		case part.Disposition != "" && part.Disposition != "inline", part.Disposition == "" && !text:
			r.Files = append(r.Files, p.readAttachedFile(part, depth))
		case part.Kind == "text/html":
			marked.WriteString(part.Text(p.limits.File) + "\n")
		case text:
			body.WriteString(part.Text(p.limits.File) + "\n")
		}
	}
	text := body.String()
	if strings.TrimSpace(text) == "" && marked.Len() > 0 {
		if page, err := htmlDocument(dropControlRunes(marked.String())); err == nil {
			for _, s := range page.Sections {
				text += strings.Join(s.Heading, " ") + "\n" + s.Text + "\n"
			}
		}
	}
	d.addMailBody(dropControlRunes(text))
	p.truncateDocument(d)
	if m.Cut != nil {
		d.Cut = true
		p.skipped = append(p.skipped, Skipped{"the rest of the message " + singleLine(d.Title, 60), fmt.Errorf("%w: %s", ErrTooLarge, strings.TrimPrefix(m.Cut.Error(), mime.ErrLimit.Error()+": "))})
	}
	return r
}

// readAttachedFile reads an attachment. It parses an attached message.
func (p *parser) readAttachedFile(part mime.Part, depth int) attachedFile {
	data := part.Bytes(p.limits.File + 1)
	sum := sha256.Sum256(data)
	f := attachedFile{Name: singleLine(part.Name, 120), Sum: hex.EncodeToString(sum[:8])}
	fail := func(err error) attachedFile {
		why := encodeFailure("", err)
		f.Failed = &why
		return f
	}
	switch kind := Detect(f.Name, data); {
	case depth >= p.limits.Depth:
		return fail(fmt.Errorf("%w: attachments are nested deeper than %d levels", ErrTooLarge, p.limits.Depth))
	case int64(len(data)) > p.limits.File:
		return fail(fmt.Errorf("%w: %d bytes; the limit is %d", ErrTooLarge, len(data), p.limits.File))
	case kind == "mail", kind == "mailbox":
		mails, err := p.mailsIn(kind, data, depth+1)
		if err != nil {
			return fail(err)
		}
		f.Mails = mails
	default:
		f.Data = data
	}
	return f
}

// mailDocuments returns the documents of the messages and their attachments, in order.
func (p *parser) mailDocuments(list []readMail, depth int) (out []Document) {
	for _, m := range list {
		if p.parts--; p.parts < 0 {
			p.skipped = append(p.skipped, Skipped{"the rest of the messages", fmt.Errorf("%w: more than %d messages and attachments", ErrTooLarge, p.limits.Parts)})
			return out
		}
		out = append(out, m.Document)
		for _, f := range m.Files {
			out = append(out, p.parseAttachment(&m.Document, f, depth)...)
		}
	}
	return out
}

// parseAttachment parses an attachment. An attachment that cannot be read is reported as skipped.
func (p *parser) parseAttachment(of *Document, f attachedFile, depth int) (docs []Document) {
	skip := func(err error) []Document {
		p.skipped = append(p.skipped, Skipped{"the attachment " + f.Name, err})
		return nil
	}
	if p.ctx.Err() != nil {
		return skip(p.ctx.Err())
	}
	if p.parts--; p.parts < 0 {
		return skip(fmt.Errorf("%w: more than %d messages and attachments", ErrTooLarge, p.limits.Parts))
	}
	switch {
	case f.Failed != nil:
		return skip(f.Failed.toError())
	case len(f.Mails) > 0:
		docs = p.mailDocuments(f.Mails, depth+1)
	default:
		var err error
		if docs, err = p.parseFile(f.Name, f.Data, depth+1); err != nil {
			return skip(err)
		}
	}
	for i := range docs {
		x := &docs[i]
		x.Part = strings.Trim(of.Part+"/attachment:"+f.Sum+"/"+x.Part, "/")
		if x.Name == "" {
			x.Name = f.Name
		}
		if x.At.IsZero() {
			x.At = of.At
		}
	}
	return docs
}

// MailPart returns the Part of the message with a Message-ID.
func MailPart(id string) string { return "mail:" + shortID(strings.Trim(id, "<> ")) }

// shortID returns a short hash of an id.
func shortID(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}

// readHeaders reads sender, recipients, date and subject.
func (d *Document) readHeaders(h mime.Fields) {
	d.Title = singleLine(mime.DecodeWords(h.First("subject")), 300)
	d.At = plausibleTime(h.Date())
	if _, id, ok := strings.Cut(h.First("message-id"), "<"); ok {
		if id, _, ok = strings.Cut(id, ">"); ok && id != "" {
			d.Part = MailPart(id)
		}
	}
	var b strings.Builder
	for _, key := range []string{"From", "To", "Cc"} {
		var names []string
		list := mime.ReadAddresses(h.First(strings.ToLower(key)), 1000)
		for _, a := range list {
			if a.Address != "" && len(d.People) < 200 {
				d.People = append(d.People, Person{Name: singleLine(a.Name, 120), Mails: []string{strings.ToLower(strings.TrimSpace(a.Address))}})
			}
			names = append(names, fullName(a))
		}
		if len(names) > 20 {
			names = append(names[:20], fmt.Sprintf("and %d more", len(names)-20))
		}
		if len(names) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", key, singleLine(strings.Join(names, ", "), 1000))
		}
		if key == "From" && len(list) > 0 {
			d.Author = fullName(list[0])
		}
	}
	if !d.At.IsZero() {
		fmt.Fprintf(&b, "Date: %s\n", d.At.Format("Mon 2006-01-02 15:04 -0700"))
	}
	if d.Title != "" {
		fmt.Fprintf(&b, "Subject: %s\n", singleLine(d.Title, 300))
	}
	d.Sections = append(d.Sections, Section{Text: b.String()})
}

func fullName(a mime.Address) string {
	if a.Address == "" {
		return strings.TrimSpace(a.Name)
	}
	return strings.TrimSpace(a.Name + " <" + strings.TrimSpace(a.Address) + ">")
}

var wrote = lazyregexp.New(`(?i)^(on .+ wrote:|am .+ schrieb .+:|le .+ a écrit ?:|el .+ escribió:|-{2,}\s*(original message|forwarded message|ursprüngliche nachricht|message d'origine|mensaje original)\s*-{2,})\s*$`)

// addMailBody separates new text from quoted text.
func (d *Document) addMailBody(s string) {
	var own, quoted []string
	in := false
	for l := range strings.SplitSeq(s, "\n") {
		l = strings.TrimRight(l, " \t")
		if strings.HasPrefix(l, "-----") && wrote.MatchString(l) {
			in = true // a complete forwarded message follows
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
