package mail

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/imapmail"
	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Limits of an answer.
const (
	usual   = 10
	most    = 50
	preview = 500    // maximum characters of a message's text in a list
	whole   = 20_000 // maximum characters of a message that is shown in full
	mostFew = 5      // maximum number of messages that are read in full

	mostLooked = 1000 // maximum number of message headers that are checked per account
)

type readIn struct {
	Limit   int    `json:"limit,omitempty" jsonschema:"default 10, at most 50"`
	Mailbox string `json:"mailbox,omitempty" jsonschema:"inbox (default), sent, drafts, trash, archive, junk or a folder's name"`
	Search  string `json:"search,omitempty" jsonschema:"words in sender or subject"`
	Unread  bool   `json:"unread,omitempty"`
	Matters bool   `json:"matters,omitempty" jsonschema:"only emails that are flagged or from someone the user knows"`
	Since   string `json:"since,omitempty" jsonschema:"a day: today, last Friday"`
	Whole   bool   `json:"whole,omitempty" jsonschema:"return the whole text, of at most 5 emails"`
	Account string `json:"account,omitempty"`
}

type searchIn struct {
	Query   string `json:"query,omitempty" jsonschema:"words anywhere in the email"`
	From    string `json:"from,omitempty" jsonschema:"name or address of the sender"`
	Subject string `json:"subject,omitempty"`
	Unread  bool   `json:"unread,omitempty"`
	Flagged bool   `json:"flagged,omitempty" jsonschema:"only flagged ones"`
	Since   string `json:"since,omitempty" jsonschema:"first day"`
	Until   string `json:"until,omitempty" jsonschema:"last day"`
	Mailbox string `json:"mailbox,omitempty" jsonschema:"default inbox"`
	Limit   int    `json:"limit,omitempty" jsonschema:"default 10, at most 50"`
	Whole   bool   `json:"whole,omitempty" jsonschema:"return the whole text, of at most 5 emails"`
	Account string `json:"account,omitempty"`
}

// mailQuery is the query of read_emails and search_emails.
type mailQuery struct {
	imapmail.Query
	folder, account string
	either          string // words that must occur in the sender or the subject
	limit           int
	whole           bool
	matters         func(pim.Message) string // nil means that every message matters
	until           time.Time
}

// letterOut is a message in Data.
type letterOut struct {
	Account string    `json:"account"`
	ID      string    `json:"id,omitempty"` // id for the tools that change or answer the message
	UID     uint32    `json:"uid"`
	From    string    `json:"from"`
	To      []string  `json:"to,omitempty"`
	Subject string    `json:"subject"`
	At      time.Time `json:"at"`
	Unread  bool      `json:"unread,omitempty"`
	Flagged bool      `json:"flagged,omitempty"`
	Text    string    `json:"text,omitempty"`
	Cut     bool      `json:"cut,omitempty"`
	Files   []string  `json:"files,omitempty"`
}

// mailOut is the Data of read_emails and search_emails.
type mailOut struct {
	Mails []letterOut `json:"mails"`
	Error string      `json:"error,omitempty"` // sources that could not be read
}

func (d Deps) readEmails() tools.Tool {
	return tools.New(tools.Def[readIn]{
		Spec: tools.Spec{
			Name: "read_emails", Category: "mail", Effects: tools.Read, Timeout: time.Minute,
			Description: "Read the newest emails in a folder: sender, subject, time and the beginning of the text. They stay unread.",
			Keywords:    "email mail inbox unread new messages letters who wrote mailed me today newest latest recent",
		},
		Summary: func(in readIn) string { return "Read mail" },
		Run: func(ctx context.Context, c tools.Call, in readIn) (tools.Result, error) {
			w := mailQuery{folder: in.Mailbox, account: in.Account, either: in.Search, limit: in.Limit, whole: in.Whole}
			w.Unseen = in.Unread
			var err error
			if w.Since, err = parsePastDay(in.Since, c.Now); err != nil {
				return tools.Result{}, err
			}
			if in.Matters {
				if w.matters, err = d.importanceReason(ctx); err != nil {
					return tools.Result{}, err
				}
			}
			return d.answerQuery(ctx, c, w, "read_emails")
		},
	})
}

func (d Deps) searchEmails() tools.Tool {
	return tools.New(tools.Def[searchIn]{
		Spec: tools.Spec{
			Name: "search_emails", Category: "mail", Effects: tools.Read, Timeout: time.Minute,
			Description: "Find emails by words, sender, subject or day. They stay unread.",
			Keywords:    "find search look for email mail message from sender about subject invoice attachment",
		},
		Summary: func(in searchIn) string { return "Search the email" },
		Run: func(ctx context.Context, c tools.Call, in searchIn) (tools.Result, error) {
			w := mailQuery{folder: in.Mailbox, account: in.Account, limit: in.Limit, whole: in.Whole}
			w.Query = imapmail.Query{Unseen: in.Unread, Flagged: in.Flagged, From: in.From, Subject: in.Subject, Text: in.Query}
			var err error
			if w.Since, err = parsePastDay(in.Since, c.Now); err != nil {
				return tools.Result{}, err
			}
			if w.until, err = parsePastDay(in.Until, c.Now); err != nil {
				return tools.Result{}, err
			}
			if !w.until.IsZero() {
				w.until = w.until.AddDate(0, 0, 1)
			}
			if w.Query == (imapmail.Query{}) && w.until.IsZero() {
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "give at least one of words, a sender, a subject or a day")
			}
			return d.answerQuery(ctx, c, w, "search_emails")
		},
	})
}

// parsePastDay parses a past day and returns its start. It returns the zero time if words is empty.
func parsePastDay(words string, now time.Time) (time.Time, error) {
	if strings.TrimSpace(words) == "" {
		return time.Time{}, nil
	}
	return tools.ParsePastDay(words, now)
}

func (d Deps) answerQuery(ctx context.Context, c tools.Call, w mailQuery, tool string) (tools.Result, error) {
	if w.limit < 0 {
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "limit must be 1 to %d", most)
	}
	if w.limit == 0 {
		w.limit = usual
	}
	w.limit = min(w.limit, most)
	if w.whole {
		w.limit = min(w.limit, mostFew)
	}
	if w.folder = strings.TrimSpace(w.folder); w.folder == "" || strings.EqualFold(w.folder, inbox) {
		w.folder = inbox
	}
	if len(d.appMailboxes()) > 0 {
		return d.answerApps(ctx, c, w, tool)
	}
	accounts, err := d.accountsNamed(w.account)
	if err != nil {
		return tools.Result{}, err
	}
	list, err := queryAccounts(ctx, accounts, askWait, w.readAccount)
	if err != nil && list == nil {
		return tools.Result{}, err
	}
	sorting.StableByFunc(list, func(a, b letterOut) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.UID, a.UID)) })
	list = list[:min(len(list), w.limit)]
	out := mailOut{Mails: append([]letterOut{}, list...)}
	text := lettersText(list, len(accounts) > 1, c.Now)
	if err != nil {
		out.Error = err.Error()
		text += "\n\nSome sources could not be read: " + out.Error
	}
	var origins []provenance.Origin
	for _, l := range list {
		origins = append(origins, provenance.Origin{Kind: "mail", Label: l.From, Via: tool})
	}
	if len(origins) == 0 {
		origins = []provenance.Origin{{Kind: "mail", Label: accounts[0].Name, Via: tool}}
	}
	return tools.Result{Text: text, Data: out, Source: provenance.Outside, Origins: origins}, nil
}

// readAccount reads the matching messages of one account.
func (w mailQuery) readAccount(ctx context.Context, c *imapmail.Conn, a pim.Account) ([]letterOut, error) {
	s, err := c.Select(ctx, w.folder)
	if err != nil {
		return nil, err
	}
	q := w.Query
	if !q.Since.IsZero() {
		q.Since = q.Since.UTC().AddDate(0, 0, -1) // servers determine the day in their own time zone
	}
	if !w.until.IsZero() {
		q.Before = w.until.UTC().AddDate(0, 0, 2)
	}
	uids, err := w.findUIDs(ctx, c, q)
	if err != nil || len(uids) == 0 {
		return nil, err
	}
	mails, looked, err := w.readMatching(ctx, c, uids)
	if err != nil {
		return nil, err
	}
	var out []letterOut
	for _, m := range mails {
		if err := c.Text(ctx, &m); err != nil {
			m.Text, m.Cut = "", true // return the message without its text
			if ctx.Err() != nil {
				return out, err
			}
		}
		l := w.formatLetter(m, a)
		l.ID = imapmail.Place{Folder: c.Folder(), Validity: s.Validity, UID: m.UID}.Ref(a.Name)
		out = append(out, l)
	}
	if looked < len(uids) && len(out) < w.limit {
		return out, a.Errorf("only the newest %d of %d emails were checked, and %d of them match; narrow the search by days, words or sender", looked, len(uids), len(out))
	}
	return out, nil
}

// readMatching reads message headers, newest first, until enough of them match. looked is the
// number of checked messages.
func (w mailQuery) readMatching(ctx context.Context, c *imapmail.Conn, uids []uint32) (fit []pim.Message, looked int, err error) {
	for looked < min(len(uids), mostLooked) && len(fit) < w.limit {
		end := len(uids) - looked
		n := min(end, imapmail.Page)
		page, err := readNewest(ctx, c, uids[end-n:end], n)
		if err != nil {
			return nil, looked, err
		}
		looked += n
		fit = append(fit, slices.DeleteFunc(page, func(m pim.Message) bool { return !w.isMatch(m) })...)
	}
	return fit[:min(len(fit), w.limit)], looked, nil
}

// isMatch reports whether a message meets the conditions that the server did not check, or did not
// check precisely.
func (w mailQuery) isMatch(m pim.Message) bool {
	return (w.matters == nil || w.matters(m) != "") && !m.Received.Before(w.Since) && (w.until.IsZero() || m.Received.Before(w.until))
}

// findUIDs returns the UIDs of the messages that match the query, including the words in sender or
// subject.
func (w mailQuery) findUIDs(ctx context.Context, c *imapmail.Conn, q imapmail.Query) ([]uint32, error) {
	if w.either == "" {
		return c.Find(ctx, q)
	}
	q.From = w.either
	uids, err := c.Find(ctx, q)
	if err != nil {
		return nil, err
	}
	q.From, q.Subject = "", w.either
	more, err := c.Find(ctx, q)
	uids = append(uids, more...)
	slices.Sort(uids)
	return slices.Compact(uids), err
}

func (w mailQuery) formatLetter(m pim.Message, a pim.Account) letterOut {
	n := preview
	if w.whole {
		n = whole
	}
	text := strings.TrimSpace(pim.SanitizeText(m.Text))
	if !w.whole {
		text = strings.Join(strings.Fields(text), " ")
	}
	cut := textnorm.Ellipsize(text, n)
	l := letterOut{
		Account: a.Name, UID: m.UID, From: senderLabel(m), Subject: subjectLine(m, 300), At: m.Received, Unread: !m.Seen, Flagged: m.Flagged,
		Text: cut, Cut: m.Cut || cut != text, Files: m.Files,
	}
	for _, p := range m.To[:min(len(m.To), 10)] {
		l.To = append(l.To, p.String())
	}
	return l
}

func lettersText(list []letterOut, several bool, now time.Time) string {
	if len(list) == 0 {
		return "No mail matches."
	}
	var b strings.Builder
	for i, l := range list {
		if i > 0 {
			b.WriteString("\n---\n")
		}
		fmt.Fprintf(&b, "From: %s\nSubject: %s\nDate: %s", l.From, l.Subject, dateparse.Format(l.At.In(now.Location()), now))
		if several {
			fmt.Fprintf(&b, " (%s)", l.Account)
		}
		var marks []string
		if l.Unread {
			marks = append(marks, "unread")
		}
		if l.Flagged {
			marks = append(marks, "flagged")
		}
		if len(l.Files) > 0 {
			marks = append(marks, "attached: "+textnorm.Ellipsize(strings.Join(l.Files, ", "), 200))
		}
		if l.ID != "" {
			fmt.Fprintf(&b, "\nId: %s", l.ID)
		}
		if len(marks) > 0 {
			fmt.Fprintf(&b, "\nMarks: %s", strings.Join(marks, ", "))
		}
		if l.Text != "" {
			fmt.Fprintf(&b, "\n%s", l.Text)
		}
	}
	return b.String()
}
