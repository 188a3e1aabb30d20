// Package outlook implements the drivers of platform/pim for classic Outlook on Windows. It uses
// Outlook's object model through PowerShell. The new Outlook has no object model; its users
// configure a network account instead. The scripts are constants and are compiled on every system;
// the daemon creates the drivers on Windows only.
package outlook

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/platform/host/osrun"
	"hob/platform/pim"
	"hob/platform/pim/scripterr"
)

//go:embed scripts
var scripts embed.FS

// name is the users' name for these drivers.
const name = "outlook"

func outlookApp() osrun.App { return osrun.App{ID: "Outlook.Application", Name: "Outlook"} }

// bulk is the time limit of a call; a cold start of Outlook is slow.
const bulk = 75 * time.Second

func loadScript(file string, shared ...string) osrun.Script {
	var parts []string
	for _, f := range append(append([]string{"outlook.ps1"}, shared...), file) {
		b, err := scripts.ReadFile("scripts/" + f)
		if err != nil {
			b = []byte("missing " + f) // the tests read every script
		}
		parts = append(parts, string(b))
	}
	return osrun.NewScript("outlook/"+file, parts...)
}

// Mail is the mailbox of Outlook's usual profile.
type Mail struct{ run osrun.Runner }

// NewMail returns a Mail that runs its scripts with r.
func NewMail(r osrun.Runner) *Mail { return &Mail{r} }

// Name implements pim.Driver.
func (*Mail) Name() string { return name }

// From implements pim.Mailer: Outlook decides.
func (*Mail) From() pim.Person { return pim.Person{} }

func (m *Mail) runScript(ctx context.Context, file string, in, out any, write bool) error {
	return m.run.Run(ctx, osrun.Call{Script: loadScript(file), App: outlookApp(), In: in, Write: write, Wait: bulk}, out)
}

// Limits of a search: how many of the newest mails are searched.
const (
	scanFew  = 50
	scanMany = 1000
	mostText = 100_000
)

type head struct {
	ID, Subject, Name, Address, Key string
	Received                        int64
	Unread, Flagged                 bool
}

// mailRef begins the name of a mail: outlook/mail/entry/store, both hexadecimal.
const mailRef = name + "/mail/"

func (h head) toPIMMessage(store string) pim.Message {
	at := time.UnixMilli(h.Received).UTC()
	from := pim.Person{Name: pim.SanitizeLine(h.Name, 120)}
	if strings.Contains(h.Address, "@") { // otherwise it is a name in Exchange
		from.Address = strings.ToLower(pim.SanitizeLine(h.Address, 254))
	}
	return pim.Message{
		Ref: mailRef + h.ID + "/" + store, ID: strings.Trim(pim.SanitizeLine(h.Key, 500), "<>"), From: []pim.Person{from}, Subject: pim.SanitizeLine(h.Subject, 300),
		Date: at, Received: at, Seen: !h.Unread, Flagged: h.Flagged,
	}
}

// FindMail implements pim.Mailer. It searches the newest mails of a folder; a warning names the
// mails that it did not search.
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
	if scripterr.Narrow(q) {
		in.Scan = scanMany
	}
	var got struct {
		Rows        []head
		Store       string
		Seen, Total int
	}
	if err := m.runScript(ctx, "find_mail.ps1", in, &got, false); err != nil {
		return nil, scripterr.Read(err)
	}
	var out []pim.Message
	for _, h := range got.Rows {
		if x := h.toPIMMessage(got.Store); len(out) < limit && scripterr.Fits(x, q) {
			out = append(out, x)
		}
	}
	var warnings []string
	older := !q.Since.IsZero() && len(got.Rows) > 0 && time.UnixMilli(got.Rows[len(got.Rows)-1].Received).Before(q.Since)
	if len(out) < limit && got.Seen < got.Total && in.Scan == scanMany && !older {
		warnings = append(warnings, fmt.Sprintf("Outlook: searched only the newest %d of %d mails", got.Seen, got.Total))
	}
	if q.Text != "" {
		warnings = append(warnings, "Outlook: searched subjects and senders only, not the texts")
	}
	return out, pim.Partial(warnings...)
}

// entry identifies a mail to the scripts.
type entry struct {
	ID    string `json:"id"`
	Store string `json:"store"`
}

func parseRef(ref string) (entry, error) {
	id, store, ok := strings.Cut(strings.TrimPrefix(ref, mailRef), "/")
	odd := func(r rune) bool { return !strings.ContainsRune("0123456789ABCDEFabcdef", r) }
	if !ok || !strings.HasPrefix(ref, mailRef) || id == "" || strings.ContainsFunc(id+store, odd) {
		return entry{}, fmt.Errorf("in Outlook: %w: no mail %q", pim.ErrNotFound, pim.SanitizeLine(ref, 100))
	}
	return entry{id, store}, nil
}

// ReadMail implements pim.Mailer.
func (m *Mail) ReadMail(ctx context.Context, ref string) (pim.Message, error) {
	e, err := parseRef(ref)
	if err != nil {
		return pim.Message{}, err
	}
	var got struct {
		head
		To    []pim.Person
		Files []string
		Text  string
		Cut   bool
		Head  string
	}
	in := struct {
		entry
		Most int `json:"most"`
	}{e, mostText}
	if err := m.runScript(ctx, "read_mail.ps1", in, &got, false); err != nil {
		return pim.Message{}, scripterr.Read(err)
	}
	got.ID = e.ID
	x := got.toPIMMessage(e.Store)
	x.Text, x.Cut = pim.SanitizeText(got.Text), got.Cut
	for _, p := range got.To {
		x.To = append(x.To, pim.Person{Name: pim.SanitizeLine(p.Name, 120), Address: strings.ToLower(pim.SanitizeLine(p.Address, 254))})
	}
	for _, f := range got.Files {
		x.Files = append(x.Files, pim.SanitizeLine(f, 200))
	}
	scripterr.Header(&x, got.Head)
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
	}{how, l.Subject, l.Text, scripterr.Addresses(l.To), scripterr.Addresses(l.Cc), scripterr.Addresses(l.Bcc)}
	var got struct{ Waiting bool }
	err := m.runScript(ctx, "write_mail.ps1", in, &got, true)
	r := pim.Receipt{Outcome: pim.Sent}
	if how == "send" {
		r = pim.Receipt{Outcome: pim.Pending, Why: "Outlook accepted the mail and sends it"}
	}
	if got.Waiting {
		r.Why = "the mail is in Outlook's outbox; open Outlook to send it"
	}
	return scripterr.Write(r, err)
}

// moveUndo is the undo data of a move.
type moveUndo struct {
	Ref  string `json:"ref"`
	From string `json:"from"`
}

// MoveMail implements pim.Mailer.
func (m *Mail) MoveMail(ctx context.Context, ref, folder string) (pim.Receipt, error) {
	e, err := parseRef(ref)
	if err != nil {
		return pim.Receipt{}, err
	}
	var got struct{ ID, Store, From string }
	err = m.runScript(ctx, "move_mail.ps1", struct {
		entry
		Target string `json:"target"`
	}{e, folder}, &got, true)
	r := pim.Receipt{Outcome: pim.Sent, ID: mailRef + got.ID + "/" + got.Store}
	if b, bad := json.Marshal(moveUndo{r.ID, got.From}); bad == nil && got.From != "" {
		r.Undo = b
	}
	return scripterr.Write(r, err)
}

// TakeBack implements pim.Undoer: it moves a mail back to its former folder.
func (m *Mail) TakeBack(ctx context.Context, undo []byte) error {
	var u moveUndo
	if err := json.Unmarshal(undo, &u); err != nil {
		return fmt.Errorf("%w: invalid undo record: %w", pim.ErrInvalid, err)
	}
	r, err := m.MoveMail(ctx, u.Ref, u.From)
	return errors.Join(err, r.Known())
}
