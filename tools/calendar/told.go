package calendar

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hob/platform/phrase"
	"hob/platform/pim"
	"hob/platform/pim/ics"
	"hob/tools"
)

// way is how the guests of an event are notified of a change.
type way string

// The ways. A server that does not say whether it notifies guests counts as one that does.
const (
	nobody way = ""
	server way = "what keeps the calendar tells them"
	byMail way = "they are told by mail"
)

// serverTells reports whether the calendar server notifies guests or may do so.
func (Deps) serverTells(ctx context.Context, c pim.Calendars) bool {
	s, ok := c.(pim.Scheduling)
	if !ok {
		return true
	}
	is, err := s.Schedules(ctx)
	return is || err != nil
}

// way returns how guests are notified of a change by the owner. For an event of another
// organizer no one is notified: the owner answers it instead.
func (d Deps) way(ctx context.Context, f found) (way, pim.Mailer) {
	if d.serverTells(ctx, f.in) {
		return server, nil
	}
	own := d.own(f.in.Name())
	if own == "" || !strings.EqualFold(f.Organizer.Address, own) {
		return nobody, nil
	}
	if box := d.box(own); box != nil {
		return byMail, box
	}
	return nobody, nil
}

// alone is the way of an event without guests to notify.
const alone way = "there is nobody to tell"

// heard does the same as way for an event that may have no guests.
func (d Deps) heard(ctx context.Context, f found) (way, pim.Mailer) {
	if len(f.guests(d.own(f.in.Name()))) == 0 {
		return alone, nil
	}
	return d.way(ctx, f)
}

// box returns the mailbox that sends from an address, nil if there is none: guests would
// not trust a mail from another address.
func (d Deps) box(address string) pim.Mailer {
	if d.Mailers == nil || address == "" { // Mail and Outlook do not report the sender address
		return nil
	}
	for _, m := range d.Mailers() {
		if strings.EqualFold(m.From().Address, address) {
			return m
		}
	}
	return nil
}

// post mails the change to the guests and describes the outcome. Lists longer than
// pim.MaxRecipients need several calls.
func (d Deps) post(ctx context.Context, c tools.Call, box pim.Mailer, to []pim.Person, what, text, invite string) (string, error) {
	sum := sha256.Sum256([]byte(what + " " + c.ID + " " + to[0].Address))
	_, host, _ := strings.Cut(box.From().Address, "@")
	r, err := box.SendMail(ctx, pim.Letter{
		ID: hex.EncodeToString(sum[:16]) + "@" + cmp.Or(host, "localhost"), To: to, Subject: pim.Seen(phrase.Cut(what, 240)), Text: text, Date: c.Now, Invite: invite,
	})
	switch {
	case err != nil:
		return "The guests were not notified", err
	case r.Outcome == pim.Uncertain:
		return "It is unknown whether the mail to the guests was sent; Hob did not send it again.", nil
	}
	return "Mail was sent to " + addresses(to) + ".", nil
}

func addresses(list []pim.Person) string {
	var out []string
	for _, p := range list {
		out = append(out, p.Address)
	}
	return strings.Join(out, ", ")
}

// audience returns the guests without the owner.
func (f found) audience(own string) (out []pim.Person) {
	for _, a := range f.guests(own) {
		if p := (pim.Person{Address: a}); pim.CheckPerson(p) == nil {
			out = append(out, p)
		}
	}
	return out
}

// tell mails the guests that an event was changed or cancelled.
func (d Deps) tell(ctx context.Context, c tools.Call, f found, box pim.Mailer, subject, message string) string {
	to := f.audience(box.From().Address)
	text := fmt.Sprintf("%s\n%s\n%s", f.Title, f.Start.Format("Monday, 2 January 2006, 15:04 MST"), f.Place)
	var out string
	for part := range slices.Chunk(to, pim.MaxRecipients) {
		said, err := d.post(ctx, c, box, part, subject+": "+f.Title, strings.TrimSpace(text), message)
		if err != nil && len(to) > len(part) {
			said = "Not notified: " + addresses(part)
		}
		if out += " " + said; err != nil {
			out += ": " + pim.Line(err.Error(), 300)
		}
	}
	if len(f.Guests) >= ics.MaxGuests {
		out += " Guests beyond the first " + strconv.Itoa(ics.MaxGuests) + ", if there are any, were not notified."
	}
	return out
}

// after returns the event with the change applied, for messages.
func (f found) after(ch pim.EventChange) found {
	if ch.Title != nil {
		f.Title = *ch.Title
	}
	if ch.Place != nil {
		f.Place = *ch.Place
	}
	if ch.Start != nil {
		f.Start = *ch.Start
	}
	return f
}

// message returns the mail text for the guests; "" if they get no mail.
func message(ctx context.Context, how way, f found, method string, whole bool) (string, error) {
	if how != byMail {
		return "", nil
	}
	s, ok := f.in.(pim.Scheduling)
	if !ok {
		return "", nil
	}
	text, err := s.Message(ctx, method, f.Event, whole)
	return text, classify(err)
}

// changedFor notifies the guests of a completed change.
func (d Deps) changedFor(ctx context.Context, c tools.Call, f found, change pim.EventChange, how way, box pim.Mailer, whole bool) string {
	if how != byMail {
		return ""
	}
	text, err := message(ctx, how, f, ics.Request, whole)
	if err != nil {
		return " The guests were not notified: " + pim.Line(err.Error(), 300)
	}
	return d.tell(ctx, c, f.after(change), box, "Changed", text)
}
