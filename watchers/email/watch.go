package email

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/imapmail"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/watchers"
)

const (
	// older is the maximum difference between the start of a watcher and the earlier date of a
	// message that counts as new, because clocks differ. Messages with an earlier date were moved
	// to the folder, for example from an archive.
	older = 24 * time.Hour
	// again is the time span before the last check from which the watcher reads a renumbered folder
	// again.
	again = 48 * time.Hour
	// maxTold is the maximum length of a message's text in its signal, in characters.
	maxTold = 4000
	// maxPast is the number of newest messages that Past reads.
	maxPast = 1000
)

type watch struct {
	id      string
	filter  filter
	account pim.Account
	deps    watchers.Deps
	hub     *hub
}

type fire = func(context.Context, []watchers.Signal, func(*store.Tx) error) error

// Run implements watchers.Watcher.
func (w *watch) Run(ctx context.Context, fire fire) error {
	at, err := w.loadCursor(ctx)
	if err != nil {
		return err
	}
	b := w.hub.joinBox(w.account, w.filter.Folder, w.deps.Log) //nolint:contextcheck // the connection is shared and may outlive this watcher
	defer w.hub.leaveBox(b)
	for seen := 0; ; {
		n, err := b.awaitNews(ctx, seen)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		seen = n.count
		switch {
		case n.err != nil && b.mustReport():
			w.deps.Trouble(ctx, w.id, n.err)
		case n.err == nil && w.hub.isWorking(b.at):
			w.deps.Trouble(ctx, w.id, nil)
		}
		if n.err != nil {
			continue
		}
		err = w.catchUp(ctx, b, n, &at, fire)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errBoxOver): // the next connection fetches the remaining messages
		case err != nil:
			return err
		}
	}
}

// catchUp fires the matching new messages and moves the cursor to the end of the folder.
func (w *watch) catchUp(ctx context.Context, b *box, n boxState, at *cursor, fire fire) error {
	end := cursor{since: at.since, box: b.at.account + boxSeparator + b.at.folder, validity: n.validity, next: n.next, looked: time.Now()}
	if at.validity != n.validity || at.box != end.box {
		return w.rescanMails(ctx, b, at, end, fire)
	}
	if at.next >= n.next {
		return nil
	}
	for at.next < n.next {
		page, upTo, err := b.pageHeaders(ctx, n, at.next)
		if err != nil {
			return err
		}
		to := end
		to.next = upTo
		if err := w.fireMatches(ctx, b, page, at.since.Add(-older), &to, fire); err != nil {
			return err
		}
		*at = to
	}
	return nil
}

// rescanMails reads all messages since the last check or, if the cursor has no valid UID, since the
// creation of the watcher. It moves the cursor only at the end, so that a crash repeats the work.
// It skips messages that were reported.
func (w *watch) rescanMails(ctx context.Context, b *box, at *cursor, end cursor, fire fire) error {
	from, not := at.since, at.since
	renumbered := at.validity != 0 && at.box == end.box
	if renumbered {
		not = at.since.Add(-older)
		if from = at.looked.Add(-again); from.Before(not) {
			from = not
		}
	} else if at.validity != 0 { // the watcher now uses another account
		from, not = at.looked, at.looked
	}
	uids, err := b.uidsSince(ctx, from, end.next)
	if err != nil {
		return err
	}
	for len(uids) > 0 {
		page := uids[:min(len(uids), imapmail.Page)]
		uids = uids[len(page):]
		mails, err := b.fetchHeaders(ctx, page)
		if err != nil {
			return err
		}
		if renumbered {
			mails = mailsDatedSince(mails, not)
		}
		if err := w.fireMatches(ctx, b, mails, not, nil, fire); err != nil {
			return err
		}
	}
	if err := fire(ctx, nil, func(tx *store.Tx) error { return end.saveCursor(tx, w.id) }); err != nil {
		return err
	}
	*at = end
	return nil
}

// mailsDatedSince drops messages whose Date header is before t. A server that lost its index may
// report all messages as new.
func mailsDatedSince(mails []pim.Message, t time.Time) (out []pim.Message) {
	for _, m := range mails {
		if m.Date.IsZero() || !m.Date.Before(t) {
			out = append(out, m)
		}
	}
	return out
}

// fireMatches fires the matching messages that arrived since t and were not reported. It moves the
// cursor to to, unless to is nil.
func (w *watch) fireMatches(ctx context.Context, b *box, mails []pim.Message, t time.Time, to *cursor, fire fire) error {
	var signals []watchers.Signal
	var names [][]byte
	wanted := w.resolvedFilter(ctx)
	for _, m := range mails {
		if !m.Received.IsZero() && m.Received.Before(t) {
			w.recordMismatch(m, watchers.RuleOld, "it arrived before the watcher was created")
			continue
		}
		if m.Refused == "" && !wanted.matchesHeader(m) {
			w.recordMismatch(m, watchers.RuleCondition, wanted.headerMismatch(m))
			continue
		}
		name := mailDigest(b.nameOf(m))
		if known, err := w.wasReported(ctx, name); err != nil || known {
			if err != nil {
				return err
			}
			continue
		}
		if m.Refused == "" {
			if err := b.loadText(ctx, &m); err != nil {
				return err
			}
		}
		if m.Refused == "" && !w.filter.matchesText(m) {
			w.recordMismatch(m, watchers.RuleCondition, "it does not contain all requested words: "+strings.Join(w.filter.Words, ", "))
			continue
		}
		s, err := w.buildSignal(b, m)
		if err != nil {
			return err
		}
		signals, names = append(signals, s), append(names, name)
	}
	if len(signals) == 0 && to == nil {
		return nil
	}
	return fire(ctx, signals, func(tx *store.Tx) error {
		for _, n := range names {
			if err := markReported(tx, w.id, n); err != nil {
				return err
			}
		}
		if to == nil {
			return nil
		}
		return to.saveCursor(tx, w.id)
	})
}

// resolvedFilter returns the filter with the known aliases of the people in it.
func (w *watch) resolvedFilter(ctx context.Context) filter {
	return w.filter.withAliases(func(name string) []string { return w.deps.Called(w.deps.Store.Reader(ctx), name) })
}

// recordMismatch records a message that does not match.
func (w *watch) recordMismatch(m pim.Message, rule watchers.Rule, why string) {
	w.deps.Pass(watchers.SuppressedSignal{Watcher: w.id, Rule: rule, Key: fmt.Sprintf("passed:%s:%d", m.ID, m.UID), Text: textOf(m), Why: why})
}

// textOf returns a line that identifies a message for the user.
func textOf(m pim.Message) string {
	from, subject := "an unknown sender", m.Subject
	if len(m.From) > 0 {
		from = m.From[0].String()
	}
	if subject == "" {
		subject = "(no subject)"
	}
	return textnorm.Ellipsize("Mail from "+from+": "+subject, 400)
}

// Past implements watchers.Historian.
func (w *watch) Past(ctx context.Context, since time.Time) (out []watchers.Signal, err error) {
	b := w.hub.joinBox(w.account, w.filter.Folder, w.deps.Log) //nolint:contextcheck // the connection is shared and may outlive this watcher
	defer w.hub.leaveBox(b)
	n, err := b.awaitNews(ctx, 0)
	if err = errors.Join(err, n.err); err != nil {
		return nil, err
	}
	uids, err := b.uidsSince(ctx, since, n.next)
	if err != nil {
		return nil, err
	}
	wanted := w.resolvedFilter(ctx)
	for page := range slices.Chunk(uids[max(len(uids)-maxPast, 0):], imapmail.Page) {
		mails, err := b.fetchHeaders(ctx, page)
		if err != nil {
			return nil, err
		}
		for _, m := range mails {
			if m.Refused != "" || m.Received.Before(since) || !wanted.matchesHeader(m) {
				continue
			}
			if err := b.loadText(ctx, &m); err != nil {
				return nil, err
			}
			if !w.filter.matchesText(m) {
				continue
			}
			s, err := w.buildSignal(b, m)
			if err != nil {
				return nil, err
			}
			out = append(out, s)
		}
	}
	return out, nil
}

// payload is the JSON form of a message.
type payload struct {
	Account   string       `json:"account"`
	Folder    string       `json:"folder"`
	MessageID string       `json:"message_id,omitempty"`
	From      []pim.Person `json:"from"`
	To        []pim.Person `json:"to,omitempty"`
	Subject   string       `json:"subject"`
	Date      time.Time    `json:"date,omitzero"`
	Received  time.Time    `json:"received"`
	Text      string       `json:"text,omitempty"`
	Cut       bool         `json:"cut,omitempty"` // the text is truncated
	Files     []string     `json:"files,omitempty"`
}

func (w *watch) buildSignal(b *box, m pim.Message) (watchers.Signal, error) {
	p := payload{
		Account: b.at.account, Folder: b.at.folder, MessageID: m.ID, From: m.From, To: m.To[:min(len(m.To), 20)], Subject: m.Subject,
		Date: m.Date, Received: m.Received, Text: m.Text, Cut: m.Cut, Files: m.Files[:min(len(m.Files), 20)],
	}
	if r := []rune(p.Text); len(r) > maxTold {
		p.Text, p.Cut = string(r[:maxTold]), true
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return watchers.Signal{}, err
	}
	from := "an unknown sender"
	if len(m.From) > 0 {
		from = m.From[0].String()
	}
	about := ""
	if m.ID != "" || len(m.From) > 0 {
		about = "from " + from + " "
	}
	if m.Refused != "" {
		return watchers.Signal{
			Key: b.nameOf(m), Text: textnorm.Ellipsize(fmt.Sprintf("An email %s(%s) could not be read, so I cannot tell whether it matches: %s",
				about, b.at.folder, m.Refused), 500), Payload: raw, Source: provenance.Outside, At: time.Now(), Notice: true,
		}, nil
	}
	return watchers.Signal{
		Key: b.nameOf(m), Text: textOf(m), Payload: raw,
		Source: provenance.Outside, At: m.Received,
	}, nil
}
