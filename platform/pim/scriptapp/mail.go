package scriptapp

import (
	"strings"

	"hob/platform/pim"
	"hob/platform/text/mime"
)

// ParsePeople parses a list of addresses as it appears in programs and headers.
func ParsePeople(s string) (out []pim.Person) {
	for _, a := range mime.ReadAddresses(s, 50) {
		out = append(out, SanitizePerson(pim.Person{Name: a.Name, Address: a.Address}))
	}
	return out
}

// FillFromHeader sets the fields of x from the header of the message.
func FillFromHeader(x *pim.Message, head string) {
	h, _ := mime.ReadFields([]byte(head))
	if len(x.To) == 0 {
		x.To = append(ParsePeople(h.First("to")), ParsePeople(h.First("cc"))...)
	}
	x.ReplyTo = ParsePeople(h.First("reply-to"))
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

// HasFilter reports whether a query restricts the messages that it returns.
func HasFilter(q pim.MailQuery) bool {
	return q.Unseen || q.Flagged || q.From != "" || q.Subject != "" || q.Text != "" || !q.Since.IsZero() || !q.Before.IsZero()
}

// MatchesQuery reports whether the header of a message matches a query. It compares the query's
// Text with the subject and the sender.
func MatchesQuery(x pim.Message, q pim.MailQuery) bool {
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

// SanitizePerson sanitizes the name and the address of a person.
func SanitizePerson(p pim.Person) pim.Person {
	return pim.Person{Name: pim.SanitizeLine(p.Name, 120), Address: strings.ToLower(pim.SanitizeLine(p.Address, 254))}
}

// Addresses returns the addresses of people, for a program that writes to them.
func Addresses(list []pim.Person) []string {
	out := make([]string, 0, len(list))
	for _, p := range list {
		out = append(out, p.Address)
	}
	return out
}
