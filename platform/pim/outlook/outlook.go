// Package outlook implements the drivers of platform/pim for classic Outlook on Windows. It uses
// Outlook's object model through PowerShell. The new Outlook has no object model; its users
// configure a network account instead. The scripts are constant and are compiled on every system.
// The daemon creates the drivers only on Windows.
package outlook

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/platform/host/osrun"
	"hob/platform/pim"
	"hob/platform/pim/scriptapp"
)

//go:embed scripts
var scripts embed.FS

// name is the name that users give to these drivers.
const name = "outlook"

// newApp returns Outlook with the time limit of a cold start, which is slow.
func newApp(r osrun.Runner, load func(file string) osrun.Script) scriptapp.App {
	return scriptapp.App{Runner: r, Driver: name, App: osrun.App{ID: "Outlook.Application", Name: "Outlook"}, Wait: 75 * time.Second, Load: load}
}

func itemScript(file string) osrun.Script { return loadScript(file) }

func eventScript(file string) osrun.Script { return loadScript(file, "events.ps1") }

func loadScript(file string, shared ...string) osrun.Script {
	var parts []string
	for _, f := range append(append([]string{"outlook.ps1"}, shared...), file) {
		b, err := scripts.ReadFile("scripts/" + f)
		if err != nil {
			b = []byte("missing " + f) // a missing file cannot occur, because the tests read every script
		}
		parts = append(parts, string(b))
	}
	return osrun.NewScript("outlook/"+file, parts...)
}

// Mail is the mailbox of Outlook's default profile.
type Mail struct{ scriptapp.App }

// NewMail returns a Mail that runs its scripts with r.
func NewMail(r osrun.Runner) *Mail { return &Mail{newApp(r, itemScript)} }

// From implements pim.Mailer. It returns the zero value, because Outlook chooses the sender.
func (*Mail) From() pim.Person { return pim.Person{} }

// The maximum numbers of newest messages that a search reads.
const (
	scanFew  = 50
	scanMany = 1000
	mostText = 100_000
)

type mailHead struct {
	ID, Subject, Name, Address, Key string
	Received                        int64
	Unread, Flagged                 bool
}

// mailRef is the prefix of a message's reference: outlook/mail/entry/store, where entry and store
// are hexadecimal.
const mailRef = name + "/mail/"

func (h mailHead) toPIMMessage(store string) pim.Message {
	at := time.UnixMilli(h.Received).UTC()
	from := sanitizePerson(pim.Person{Name: h.Name, Address: h.Address})
	return pim.Message{
		Ref: mailRef + h.ID + "/" + store, ID: strings.Trim(pim.SanitizeLine(h.Key, 500), "<>"), From: []pim.Person{from}, Subject: pim.SanitizeLine(h.Subject, 300),
		Date: at, Received: at, Seen: !h.Unread, Flagged: h.Flagged,
	}
}

func sanitizePerson(p pim.Person) pim.Person {
	if !strings.Contains(p.Address, "@") { // an address without "@" is a name in Exchange
		p.Address = ""
	}
	return scriptapp.SanitizePerson(p)
}

// FindMail implements pim.Mailer. It searches the newest messages of a folder. A warning describes
// the messages that were not searched.
func (m *Mail) FindMail(ctx context.Context, q pim.MailQuery) ([]pim.Message, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = 10
	}
	limit = min(limit, 50)
	in := struct {
		Folder string `json:"folder"`
		Scan   int    `json:"scan"`
	}{q.Folder, scanFew}
	if scriptapp.HasFilter(q) {
		in.Scan = scanMany
	}
	var got struct {
		Rows        []mailHead
		Store       string
		Seen, Total int
	}
	if err := m.Read(ctx, "find_mail.ps1", in, &got); err != nil {
		return nil, err
	}
	var out []pim.Message
	for _, h := range got.Rows {
		if x := h.toPIMMessage(got.Store); len(out) < limit && scriptapp.MatchesQuery(x, q) {
			out = append(out, x)
		}
	}
	var warnings []string
	older := !q.Since.IsZero() && len(got.Rows) > 0 && time.UnixMilli(got.Rows[len(got.Rows)-1].Received).Before(q.Since)
	if len(out) < limit && got.Seen < got.Total && in.Scan == scanMany && !older {
		warnings = append(warnings, fmt.Sprintf("Outlook: searched only the newest %d of %d messages", got.Seen, got.Total))
	}
	if q.Text != "" {
		warnings = append(warnings, "Outlook: searched subjects and senders only, not the message text")
	}
	return out, pim.Partial(warnings...)
}

// mailKey identifies an email for the scripts.
type mailKey struct {
	ID    string `json:"id"`
	Store string `json:"store"`
}

func parseMailRef(ref string) (mailKey, error) {
	id, store, ok := strings.Cut(strings.TrimPrefix(ref, mailRef), "/")
	odd := func(r rune) bool { return !strings.ContainsRune("0123456789ABCDEFabcdef", r) }
	if !ok || !strings.HasPrefix(ref, mailRef) || id == "" || strings.ContainsFunc(id+store, odd) {
		return mailKey{}, fmt.Errorf("in Outlook: %w: no message %q", pim.ErrNotFound, pim.SanitizeLine(ref, 100))
	}
	return mailKey{id, store}, nil
}

// ReadMail implements pim.Mailer.
func (m *Mail) ReadMail(ctx context.Context, ref string) (pim.Message, error) {
	e, err := parseMailRef(ref)
	if err != nil {
		return pim.Message{}, err
	}
	var got struct {
		mailHead
		To    []pim.Person
		Files []string
		Text  string
		Cut   bool
		Head  string
	}
	in := struct {
		mailKey
		Most int `json:"most"`
	}{e, mostText}
	if err := m.Read(ctx, "read_mail.ps1", in, &got); err != nil {
		return pim.Message{}, err
	}
	got.ID = e.ID
	x := got.toPIMMessage(e.Store)
	x.Text, x.Cut = pim.SanitizeText(got.Text), got.Cut
	for _, p := range got.To {
		x.To = append(x.To, scriptapp.SanitizePerson(p))
	}
	for _, f := range got.Files {
		x.Files = append(x.Files, pim.SanitizeLine(f, 200))
	}
	scriptapp.FillFromHeader(&x, got.Head)
	return x, nil
}

// SendMail implements pim.Mailer.
func (m *Mail) SendMail(ctx context.Context, l pim.OutgoingMail) (pim.Receipt, error) {
	return m.composeMail(ctx, l, "send")
}

// DraftMail implements pim.Mailer.
func (m *Mail) DraftMail(ctx context.Context, l pim.OutgoingMail) (pim.Receipt, error) {
	return m.composeMail(ctx, l, "draft")
}

func (m *Mail) composeMail(ctx context.Context, l pim.OutgoingMail, how string) (pim.Receipt, error) {
	if err := l.Check(); err != nil {
		return pim.Receipt{}, err
	}
	if len(l.Files) > 0 || l.Invite != "" {
		return pim.Receipt{}, fmt.Errorf("with Outlook: %w: attachments and invitations need an account; add one with: hob account add", errors.ErrUnsupported)
	}
	in := struct {
		How     string   `json:"how"`
		Subject string   `json:"subject"`
		Text    string   `json:"text"`
		To      []string `json:"to"`
		Cc      []string `json:"cc"`
		Bcc     []string `json:"bcc"`
	}{how, l.Subject, l.Text, scriptapp.Addresses(l.To), scriptapp.Addresses(l.Cc), scriptapp.Addresses(l.Bcc)}
	var got struct{ Waiting bool }
	return m.Write(ctx, "write_mail.ps1", in, &got, func() pim.Receipt {
		r := pim.Receipt{Outcome: pim.Sent}
		if how == "send" {
			r = pim.Receipt{Outcome: pim.Pending, Why: "Outlook accepted the message and will send it"}
		}
		if got.Waiting {
			r.Why = "the message is in Outlook's outbox; open Outlook to send it"
		}
		return r
	})
}

// moveUndo is the undo data of a move.
type moveUndo struct {
	Ref  string `json:"ref"`
	From string `json:"from"`
}

// MoveMail implements pim.Mailer.
func (m *Mail) MoveMail(ctx context.Context, ref, folder string) (pim.Receipt, error) {
	e, err := parseMailRef(ref)
	if err != nil {
		return pim.Receipt{}, err
	}
	var got struct{ ID, Store, From string }
	return m.Write(ctx, "move_mail.ps1", struct {
		mailKey
		Target string `json:"target"`
	}{e, folder}, &got, func() pim.Receipt {
		r := pim.Receipt{Outcome: pim.Sent, ID: mailRef + got.ID + "/" + got.Store}
		if got.From != "" {
			r.Undo = scriptapp.MarshalUndo(moveUndo{r.ID, got.From})
		}
		return r
	})
}

// TakeBack implements pim.Undoer. It moves a message back to its former folder.
func (m *Mail) TakeBack(ctx context.Context, undo []byte) error {
	u, err := scriptapp.ReadUndo[moveUndo](undo)
	if err != nil {
		return err
	}
	r, err := m.MoveMail(ctx, u.Ref, u.From)
	return errors.Join(err, r.Known())
}
