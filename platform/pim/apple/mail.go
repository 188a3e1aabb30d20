package apple

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hob/platform/host/osrun"
	"hob/platform/pim"
	"hob/platform/pim/scriptapp"
)

// Mail is the Mail app, for users without an account in Hob. Since macOS 15, other programs display
// its messages as quotations, and its replies are not linked to the message that they answer. An
// account (IMAP, SMTP) works better.
type Mail struct{ scriptapp.App }

// NewMail returns a Mail that runs its scripts with r.
func NewMail(r osrun.Runner) *Mail {
	return &Mail{newApp(r, "com.apple.mail", "Mail", mailScript)}
}

// From implements pim.Mailer. It returns the zero value, because Mail chooses the sender.
func (*Mail) From() pim.Person { return pim.Person{} }

func mailScript(file string) osrun.Script { return loadScript(file, "mail.applescript") }

// Limits of a search, in number of newest messages.
const (
	scanFew     = 25
	scanMany    = 200
	scanSeconds = 35
	mostText    = 100_000
)

type mailHead struct {
	Ident    int64   `json:"ident"`
	Key      string  `json:"mailKey"`
	Topic    string  `json:"topic"`
	From     string  `json:"fromWhom"`
	Received float64 `json:"receivedMs"`
	Seen     bool    `json:"seenAlready"`
	Flag     bool    `json:"flagSet"`
}

// mailRef is the prefix of a message's reference: apple/mail/id/folder.
const mailRef = name + "/mail/"

func (h mailHead) toPIMMessage(folder string) pim.Message {
	at := time.UnixMilli(int64(h.Received)).UTC()
	return pim.Message{
		Ref: mailRef + strconv.FormatInt(h.Ident, 10) + "/" + folder, ID: strings.Trim(pim.SanitizeLine(h.Key, 500), "<>"), From: scriptapp.ParsePeople(h.From),
		Subject: pim.SanitizeLine(h.Topic, 300), Date: at, Received: at, Seen: h.Seen, Flagged: h.Flag,
	}
}

// FindMail implements pim.Mailer. It reads the newest messages of a folder, because a search by
// Mail itself blocks the app. A warning describes the messages that were not searched.
func (m *Mail) FindMail(ctx context.Context, q pim.MailQuery) ([]pim.Message, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = 10
	}
	limit = min(limit, 50)
	in := struct {
		Folder  string `json:"folder"`
		Scan    int    `json:"scan"`
		Seconds int    `json:"seconds"`
	}{q.Folder, max(limit, scanFew), scanSeconds}
	if scriptapp.HasFilter(q) {
		in.Scan = scanMany
	}
	var got struct {
		Rows     []mailHead
		Total    int
		CutShort bool
	}
	if err := m.Read(ctx, "find_mail.applescript", in, &got); err != nil {
		return nil, err
	}
	var out []pim.Message
	for _, h := range got.Rows {
		if x := h.toPIMMessage(q.Folder); len(out) < limit && scriptapp.MatchesQuery(x, q) {
			out = append(out, x)
		}
	}
	var warnings []string
	if len(out) < limit && len(got.Rows) < got.Total && in.Scan == scanMany && !reachesBefore(got.Rows, q.Since) {
		warnings = append(warnings, fmt.Sprintf("Mail: searched only the newest %d of %d messages", len(got.Rows), got.Total))
	}
	if q.Text != "" {
		warnings = append(warnings, "Mail: searched subjects and senders only, not the text of messages")
	}
	return out, pim.Partial(warnings...)
}

// reachesBefore reports whether rows include a message from before since.
func reachesBefore(rows []mailHead, since time.Time) bool {
	return !since.IsZero() && len(rows) > 0 && time.UnixMilli(int64(rows[len(rows)-1].Received)).Before(since)
}

func parseMailRef(ref string) (int64, string, error) {
	id, folder, ok := strings.Cut(strings.TrimPrefix(ref, mailRef), "/")
	n, err := strconv.ParseInt(id, 10, 32)
	if !ok || err != nil || n <= 0 || !strings.HasPrefix(ref, mailRef) {
		return 0, "", fmt.Errorf("Mail: %w: message %q", pim.ErrNotFound, pim.SanitizeLine(ref, 100))
	}
	return n, folder, nil
}

// ReadMail implements pim.Mailer.
func (m *Mail) ReadMail(ctx context.Context, ref string) (pim.Message, error) {
	n, folder, err := parseMailRef(ref)
	if err != nil {
		return pim.Message{}, err
	}
	var got struct {
		mailHead
		Head  string   `json:"headText"`
		Body  string   `json:"bodyText"`
		Cut   bool     `json:"cutShort"`
		Files []string `json:"fileNames"`
	}
	in := struct {
		Folder string `json:"folder"`
		Ident  int64  `json:"ident"`
		Most   int    `json:"most"`
	}{folder, n, mostText}
	if err := m.Read(ctx, "read_mail.applescript", in, &got); err != nil {
		return pim.Message{}, err
	}
	got.Ident = n
	x := got.mailHead.toPIMMessage(folder)
	x.Text, x.Cut = pim.SanitizeText(got.Body), got.Cut
	for _, f := range got.Files {
		x.Files = append(x.Files, pim.SanitizeLine(f, 200))
	}
	scriptapp.FillFromHeader(&x, got.Head)
	return x, nil
}

// SendMail implements pim.Mailer.
func (m *Mail) SendMail(ctx context.Context, l pim.OutgoingMail) (pim.Receipt, error) {
	return m.composeMail(ctx, l, "send", pim.Receipt{Outcome: pim.Pending, Why: "the Mail app accepted the message and will send it"})
}

// DraftMail implements pim.Mailer.
func (m *Mail) DraftMail(ctx context.Context, l pim.OutgoingMail) (pim.Receipt, error) {
	return m.composeMail(ctx, l, "draft", pim.Receipt{Outcome: pim.Sent})
}

func (m *Mail) composeMail(ctx context.Context, l pim.OutgoingMail, how string, r pim.Receipt) (pim.Receipt, error) {
	if err := l.Check(); err != nil {
		return pim.Receipt{}, err
	}
	if len(l.Files) > 0 || l.Invite != "" {
		return pim.Receipt{}, fmt.Errorf("Mail: %w: attachments and invitations need an account; add one with hob account add", errors.ErrUnsupported)
	}
	in := struct {
		How   string   `json:"how"`
		Topic string   `json:"topic"`
		Body  string   `json:"bodyText"`
		To    []string `json:"toList"`
		Cc    []string `json:"ccList"`
		Bcc   []string `json:"bccList"`
	}{how, l.Subject, l.Text, scriptapp.Addresses(l.To), scriptapp.Addresses(l.Cc), scriptapp.Addresses(l.Bcc)}
	var got struct{ Taken bool }
	return m.Write(ctx, "write_mail.applescript", in, &got, func() pim.Receipt {
		if !got.Taken {
			return pim.Receipt{Outcome: pim.Uncertain, Why: "the Mail app did not confirm that it accepted the message"}
		}
		return r
	})
}

// MoveMail implements pim.Mailer. It cannot be undone, because the message gets a new id in the
// other folder.
func (m *Mail) MoveMail(ctx context.Context, ref, folder string) (pim.Receipt, error) {
	n, from, err := parseMailRef(ref)
	if err != nil {
		return pim.Receipt{}, err
	}
	in := struct {
		Folder string `json:"folder"`
		Ident  int64  `json:"ident"`
		Target string `json:"target"`
	}{from, n, folder}
	return m.Write(ctx, "move_mail.applescript", in, nil, func() pim.Receipt { return pim.Receipt{Outcome: pim.Sent} })
}

// TakeBack implements pim.Undoer. A message sent through Mail cannot be undone.
func (*Mail) TakeBack(context.Context, []byte) error {
	return fmt.Errorf("Mail: %w: this action cannot be undone", errors.ErrUnsupported)
}
