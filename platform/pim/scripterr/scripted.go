// Package scripterr maps errors of scripts to errors of pim, for the drivers that
// automate local programs: apple and outlook.
package scripterr

import (
	"errors"
	"fmt"
	"strings"

	"hob/platform/host/osrun"
	"hob/platform/pim"
	"hob/platform/text/mime"
)

// Read converts the error of a reading script.
func Read(err error) error {
	switch osrun.KindOf(err) {
	case osrun.NotFound:
		return fmt.Errorf("%w: %w", pim.ErrNotFound, err)
	case osrun.Changed:
		return fmt.Errorf("%w: %w", pim.ErrChanged, err)
	case osrun.Invalid:
		return fmt.Errorf("%w: %w", pim.ErrInvalid, err)
	}
	return err
}

// Write converts the result of a writing script: the receipt is Uncertain if the
// outcome is unknown.
func Write(r pim.Receipt, err error) (pim.Receipt, error) {
	switch {
	case err == nil:
		return r, nil
	case osrun.IsUncertain(err):
		why := err.Error()
		if e, ok := errors.AsType[*osrun.Error](err); ok && e.Cause != "" {
			why = e.App + ": " + e.Cause
		}
		return pim.Receipt{Outcome: pim.Uncertain, Why: pim.SanitizeLine(why, 200)}, nil
	}
	return pim.Receipt{}, Read(err)
}

// People reads addresses as programs and headers write them.
func People(s string) (out []pim.Person) {
	for _, a := range mime.ReadAddresses(s, 50) {
		out = append(out, pim.Person{Name: pim.SanitizeLine(a.Name, 120), Address: strings.ToLower(pim.SanitizeLine(a.Address, 254))})
	}
	return out
}

// Header fills in the fields from the header of a mail.
func Header(x *pim.Message, head string) {
	h, _ := mime.ReadFields([]byte(head))
	if len(x.To) == 0 {
		x.To = append(People(h.First("to")), People(h.First("cc"))...)
	}
	x.ReplyTo = People(h.First("reply-to"))
	if id := strings.Trim(pim.SanitizeLine(h.First("message-id"), 500), "<> "); id != "" {
		x.ID = id
	}
	for _, r := range strings.Fields(h.First("references")) {
		x.Refers = append(x.Refers, strings.Trim(pim.SanitizeLine(r, 500), "<>"))
	}
	if d := h.Date(); !d.IsZero() {
		x.Date = d
	}
}

// Narrow reports whether a query filters mails.
func Narrow(q pim.MailQuery) bool {
	return q.Unseen || q.Flagged || q.From != "" || q.Subject != "" || q.Text != "" || !q.Since.IsZero() || !q.Before.IsZero()
}

// Fits reports whether a mail's header matches a query; the query's Text is
// compared with subject and sender.
func Fits(x pim.Message, q pim.MailQuery) bool {
	var from strings.Builder
	for _, p := range x.From {
		from.WriteString(p.Name + " " + p.Address + " ")
	}
	return (!q.Unseen || !x.Seen) && (!q.Flagged || x.Flagged) && (q.Since.IsZero() || !x.Received.Before(q.Since)) && (q.Before.IsZero() || x.Received.Before(q.Before)) &&
		containsAll(from.String(), q.From) && containsAll(x.Subject, q.Subject) && containsAll(from.String()+x.Subject, q.Text)
}

func containsAll(text, wanted string) bool {
	text = strings.ToLower(text)
	for _, w := range strings.Fields(strings.ToLower(wanted)) {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// Addresses returns the addresses of people, for a program that writes to them.
func Addresses(list []pim.Person) []string {
	out := make([]string, 0, len(list))
	for _, p := range list {
		out = append(out, p.Address)
	}
	return out
}
