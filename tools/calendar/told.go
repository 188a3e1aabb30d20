package calendar

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hob/platform/pim"
	"hob/platform/pim/ics"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// guestRoute describes how the guests of an event are notified of a change.
type guestRoute string

// The ways to notify guests. A server that does not report whether it notifies guests is assumed to
// notify them.
const (
	nobody guestRoute = ""
	server guestRoute = "the calendar server notifies them"
	byMail guestRoute = "they are notified by email"
)

// serverTells reports whether the calendar server notifies guests, or may do so.
func (Deps) serverTells(ctx context.Context, c pim.Calendars) bool {
	s, ok := c.(pim.Scheduling)
	if !ok {
		return true
	}
	is, err := s.Schedules(ctx)
	return is || err != nil
}

// notificationRoute returns how guests are notified of a change by the owner. No one is notified of
// a change to another organizer's event; the owner must answer the invitation instead.
func (d Deps) notificationRoute(ctx context.Context, f foundEvent) (guestRoute, pim.Mailer) {
	if d.serverTells(ctx, f.in) {
		return server, nil
	}
	own := d.ownAddress(f.in.Name())
	if own == "" || !strings.EqualFold(f.Organizer.Address, own) {
		return nobody, nil
	}
	if box := d.mailerOf(own); box != nil {
		return byMail, box
	}
	return nobody, nil
}

// alone is the route for an event that has no guests to notify.
const alone guestRoute = "there are no guests to notify"

// guestNotificationRoute does the same as notificationRoute, but also accepts an event without
// guests.
func (d Deps) guestNotificationRoute(ctx context.Context, f foundEvent) (guestRoute, pim.Mailer) {
	if len(f.guestAddresses(d.ownAddress(f.in.Name()))) == 0 {
		return alone, nil
	}
	return d.notificationRoute(ctx, f)
}

// mailerOf returns the mailbox that sends from an address, or nil if there is none. Guests would
// not trust an email from another address.
func (d Deps) mailerOf(address string) pim.Mailer {
	if d.Mailers == nil || address == "" { // Mail and Outlook do not report their sender address
		return nil
	}
	for _, m := range d.Mailers() {
		if strings.EqualFold(m.From().Address, address) {
			return m
		}
	}
	return nil
}

// mailGuests emails the guests about the change and describes the outcome. sent is true if nothing
// failed. Lists longer than pim.MaxRecipients need several calls.
func (d Deps) mailGuests(ctx context.Context, c tools.Call, box pim.Mailer, to []pim.Person, what, text, invite string) (said string, sent bool, err error) {
	r, err := box.SendMail(ctx, pim.OutgoingMail{
		ID: guestMailID(c, what, to[0].Address, box.From().Address), To: to, Subject: pim.StripInvisible(textnorm.Ellipsize(what, 240)), Text: text, Date: c.Now, Invite: invite,
	})
	switch {
	case err != nil:
		return "The guests were not notified", false, err
	case r.Outcome == pim.Uncertain:
		return "It is unknown whether the email to the guests was sent; Hob did not send it again.", false, nil
	}
	return "An email was sent to " + joinAddresses(to) + ".", true, nil
}

func joinAddresses(list []pim.Person) string {
	var out []string
	for _, p := range list {
		out = append(out, p.Address)
	}
	return strings.Join(out, ", ")
}

// otherGuests returns the guests except the owner.
func (f foundEvent) otherGuests(own string) (out []pim.Person) {
	for _, a := range f.guestAddresses(own) {
		if p := (pim.Person{Address: a}); pim.CheckPerson(p) == nil {
			out = append(out, p)
		}
	}
	return out
}

// notifyGuests emails the guests that an event was changed or canceled. sent is true if nothing
// failed.
func (d Deps) notifyGuests(ctx context.Context, c tools.Call, f foundEvent, box pim.Mailer, subject, message string) (out string, sent bool) {
	to := f.otherGuests(box.From().Address)
	text := fmt.Sprintf("%s\n%s\n%s", f.Title, f.Start.Format("Monday, 2 January 2006, 15:04 MST"), f.Place)
	sent = true
	for part := range slices.Chunk(to, pim.MaxRecipients) {
		said, ok, err := d.mailGuests(ctx, c, box, part, subject+": "+f.Title, strings.TrimSpace(text), message)
		sent = sent && ok
		if err != nil && len(to) > len(part) {
			said = "Not notified: " + joinAddresses(part)
		}
		if out += " " + said; err != nil {
			out += ": " + pim.SanitizeLine(err.Error(), 300)
		}
	}
	if len(f.Guests) >= ics.MaxGuests {
		out += " Guests beyond the first " + strconv.Itoa(ics.MaxGuests) + ", if there are any, were not notified."
	}
	return out, sent
}

// withChange returns the event with the change applied, for messages.
func (f foundEvent) withChange(ch pim.EventChange) foundEvent {
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

// guestMailText returns the text of the email to the guests; "" if they receive no email.
func guestMailText(ctx context.Context, how guestRoute, f foundEvent, method string, whole bool) (string, error) {
	if how != byMail {
		return "", nil
	}
	s, ok := f.in.(pim.Scheduling)
	if !ok {
		return "", nil
	}
	text, err := s.Message(ctx, method, f.Event, whole)
	return text, tools.ClassifyPIM(err)
}

// changedFor notifies the guests of a change that has been made. sent is true if nothing failed.
func (d Deps) changedFor(ctx context.Context, c tools.Call, f foundEvent, change pim.EventChange, how guestRoute, box pim.Mailer, whole bool) (out string, sent bool) {
	if how != byMail {
		return "", true
	}
	text, err := guestMailText(ctx, how, f, ics.Request, whole)
	if err != nil {
		return " The guests were not notified: " + pim.SanitizeLine(err.Error(), 300), false
	}
	return d.notifyGuests(ctx, c, f.withChange(change), box, "Changed", text)
}
