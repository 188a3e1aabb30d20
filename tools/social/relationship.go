package social

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/text/dateparse"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Limits of the history that a relationship is read from.
const (
	mailsRead     = 50 // per folder; the most that a mailbox returns
	historyDays   = 365
	eventsAhead   = 60
	peopleListed  = 15
	contactsShown = 6
)

// contactEntry is one contact with a person: a mail, a message or a meeting.
type contactEntry struct {
	Kind    string    `json:"kind"` // mail, message, meeting
	At      time.Time `json:"at"`
	Mine    bool      `json:"mine"` // you wrote
	Subject string    `json:"subject"`
	ref     string    // of the mail, for its text
	box     pim.Mailer
	auto    bool // written by a program or to a list
	Person  pim.Person
	others  []pim.Person
}

type relationshipIn struct {
	Contact  string `json:"contact,omitempty" jsonschema:"name or address of the person; empty: an overview of the people you are in contact with"`
	Inactive int    `json:"days_inactive,omitempty" jsonschema:"in the overview, days without contact after which a person counts as inactive, default 30"`
}

// relationshipOut is the Data of relationship_summary.
type relationshipOut struct {
	Contact   string         `json:"contact"`
	Addresses []string       `json:"addresses,omitempty"`
	Phones    []string       `json:"phones,omitempty"`
	Birthday  string         `json:"birthday,omitempty"`
	Company   string         `json:"company,omitempty"`
	Received  map[string]int `json:"received"` // by kind
	Sent      map[string]int `json:"sent"`
	Meetings  int            `json:"meetings"`
	First     time.Time      `json:"first,omitzero"`
	Last      time.Time      `json:"last,omitzero"`
	LastMine  bool           `json:"last_from_you"`
	// Usual is the median number of days between two days with contact; 0 if there are too few.
	Usual    float64        `json:"usual_days_between,omitempty"`
	Topics   []topicOf      `json:"topics"`
	Latest   []contactEntry `json:"latest"`
	Upcoming []contactEntry `json:"upcoming"`
	Open     string         `json:"unanswered,omitempty"`
	People   []personRow    `json:"people,omitempty"` // the overview
	Problems []string       `json:"problems,omitempty"`
}

// personRow is one person in the overview.
type personRow struct {
	Person   string    `json:"person"`
	Contacts int       `json:"contacts"`
	Last     time.Time `json:"last"`
	Inactive bool      `json:"inactive"`
}

func (d Deps) relationshipSummary() tools.Tool {
	return tools.New(tools.Def[relationshipIn]{
		Spec: tools.Spec{
			Name: "relationship_summary", Category: "social", Effects: tools.Read, Timeout: messageTime,
			Description: "Summarize the contact with a person from mail, chats, calendar and address book: how often, when last, about what, and what is unanswered.",
			Keywords:    "relationship contact person friend keep in touch last spoke wrote met how often lost network",
		},
		Summary: func(in relationshipIn) string {
			return "Summarize the contact with " + cmp.Or(in.Contact, "everybody")
		},
		Run: func(ctx context.Context, c tools.Call, in relationshipIn) (tools.Result, error) {
			if in.Inactive < 0 {
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "days_inactive must be positive")
			}
			if c.Realm != "" {
				return tools.Result{}, tools.Errorf(tools.PolicyDenied, "only the main agent reads the user's mail and messages together")
			}
			contact := strings.TrimSpace(in.Contact)
			out := relationshipOut{Contact: contact, Received: map[string]int{}, Sent: map[string]int{}, Topics: []topicOf{}, Latest: []contactEntry{}, Upcoming: []contactEntry{}}
			if contact == "" {
				return d.reportPeople(ctx, c, out, cmp.Or(in.Inactive, 30))
			}
			return d.reportPerson(ctx, c, out)
		},
	})
}

// reportPerson summarizes the contact with one person.
func (d Deps) reportPerson(ctx context.Context, c tools.Call, out relationshipOut) (tools.Result, error) {
	match, err := d.findContact(ctx, out.Contact)
	if err != nil {
		out.Problems = append(out.Problems, err.Error())
	}
	if d.People != nil {
		if found, err := d.People(ctx, out.Contact); err == nil && len(found) == 1 {
			p := found[0]
			out.Contact, out.Addresses, out.Phones, out.Birthday, out.Company = cmp.Or(p.Name, out.Contact), p.Addresses, p.Phones, p.Birthday, p.Company
		}
	}
	all, problems := d.readHistory(ctx, c.Now, out.Contact)
	out.Problems = append(out.Problems, problems...)
	all = slices.DeleteFunc(all, func(e contactEntry) bool {
		return !match.matchesPerson(e.Person) && !slices.ContainsFunc(e.others, match.matchesPerson)
	})
	chats, problems, err := d.readChats(ctx, c, messageQuery{contact: out.Contact, since: c.Now.AddDate(0, 0, -historyDays)})
	if err != nil {
		return tools.Result{}, err
	}
	out.Problems = append(out.Problems, problems...)
	for _, m := range chats {
		if m.Who != "hob" {
			all = append(all, contactEntry{Kind: "message", At: m.At, Mine: m.Mine, Subject: textnorm.Ellipsize(textnorm.FirstLine(m.Text), 120)})
		}
	}
	sorting.StableByFunc(all, func(a, b contactEntry) int { return a.At.Compare(b.At) })
	out.addHistory(all, c.Now)
	d.findUnanswered(ctx, &out, all)
	return tools.Result{Text: out.describePerson(c.Now) + problemText(out.Problems), Data: out, Source: worstSource(len(all) > 0 || len(out.Addresses) > 0)}, nil
}

func (m contactMatcher) matchesPerson(p pim.Person) bool {
	return m.matchesLabel(p.Address) || m.matchesLabel(p.Name)
}

// readHistory reads the headers of mails and the events of the past year and the next weeks. With a
// contact, mailboxes search for it.
func (d Deps) readHistory(ctx context.Context, now time.Time, contact string) (out []contactEntry, problems []string) {
	since := now.AddDate(0, 0, -historyDays)
	if d.Mailers != nil {
		for _, box := range d.Mailers() {
			own := strings.ToLower(box.From().Address)
			in, err := box.FindMail(ctx, pim.MailQuery{From: contact, Since: since, Limit: mailsRead})
			sent, serr := box.FindMail(ctx, pim.MailQuery{Folder: "sent", Text: contact, Since: since, Limit: mailsRead})
			if errors.Is(serr, pim.ErrNoFolder) {
				serr = nil
			}
			if err = errors.Join(err, serr); err != nil {
				problems = append(problems, fmt.Sprintf("mail of %s: %v", box.Name(), err))
			}
			for _, m := range in {
				if len(m.From) > 0 && m.From[0].Address != own {
					out = append(out, contactEntry{Kind: "mail", At: m.Received, Subject: m.Subject, ref: m.Ref, box: box, auto: m.IsBulk() || m.Auto != "" && m.Auto != "no", Person: m.From[0]})
				}
			}
			for _, m := range sent {
				e := contactEntry{Kind: "mail", At: m.Received, Mine: true, Subject: m.Subject, ref: m.Ref, box: box, auto: m.Auto != "" && m.Auto != "no", others: m.To}
				if len(m.To) > 0 {
					e.Person = m.To[0]
				}
				out = append(out, e)
			}
		}
	}
	if d.Calendars == nil {
		return out, problems
	}
	for _, k := range d.Calendars() {
		events, err := k.FindEvents(ctx, pim.TimeRange{From: since, To: now.AddDate(0, 0, eventsAhead)})
		if err != nil {
			problems = append(problems, fmt.Sprintf("calendar %s: %v", k.Name(), err))
		}
		for _, e := range events {
			if e.Cancelled || len(e.Guests) == 0 && e.Organizer == (pim.Person{}) && !textnorm.ContainsAllWords(e.Title, textnorm.FoldedWords(contact)) {
				continue
			}
			out = append(out, contactEntry{Kind: "meeting", At: e.Start, Subject: e.Title, Person: e.Organizer, others: append(e.Guests, pim.Person{Name: e.Title})})
		}
	}
	return out, problems
}

// addHistory counts the contacts, oldest first, and separates the upcoming ones.
func (o *relationshipOut) addHistory(all []contactEntry, now time.Time) {
	var texts []string
	var days []time.Time
	for _, e := range all {
		if e.At.After(now) {
			o.Upcoming = append(o.Upcoming, e)
			continue
		}
		switch {
		case e.Kind == "meeting":
			o.Meetings++
		case e.Mine:
			o.Sent[e.Kind]++
		default:
			o.Received[e.Kind]++
		}
		if o.First.IsZero() {
			o.First = e.At
		}
		o.Last, o.LastMine = e.At, e.Mine
		texts = append(texts, e.Subject)
		day := e.At.In(now.Location()).Truncate(24 * time.Hour)
		if len(days) == 0 || !days[len(days)-1].Equal(day) {
			days = append(days, day)
		}
		o.Latest = append(o.Latest, e)
	}
	o.Topics = findTopics(texts, 6)
	o.Latest = o.Latest[max(0, len(o.Latest)-contactsShown):]
	slices.Reverse(o.Latest)
	var gaps []float64
	for i := 1; i < len(days); i++ {
		gaps = append(gaps, days[i].Sub(days[i-1]).Hours()/24)
	}
	if len(gaps) >= 2 {
		sorting.ByFunc(gaps, cmp.Compare[float64])
		o.Usual = gaps[len(gaps)/2]
	}
}

// findUnanswered reads the latest mail or message of the person, unless you wrote after it.
func (d Deps) findUnanswered(ctx context.Context, out *relationshipOut, all []contactEntry) {
	for _, e := range slices.Backward(all) {
		switch {
		case e.Kind == "meeting" || e.auto:
			continue
		case e.Mine:
			return
		case e.Kind == "message":
			out.Open = asksSomething(e.Subject)
		default:
			if m, err := e.box.ReadMail(ctx, e.ref); err == nil {
				out.Open = asksSomething(m.Text)
			}
		}
		return
	}
}

func (o relationshipOut) describePerson(now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Contact with %s in the last year:", textnorm.Ellipsize(o.Contact, 80))
	total := o.Meetings
	for _, kind := range []string{"mail", "message"} {
		total += o.Received[kind] + o.Sent[kind]
		if o.Received[kind]+o.Sent[kind] > 0 {
			fmt.Fprintf(&b, " %s received, %d sent;", textnorm.CountNoun(o.Received[kind], kind, kind+"s"), o.Sent[kind])
		}
	}
	if o.Meetings > 0 {
		fmt.Fprintf(&b, " %s;", textnorm.CountNoun(o.Meetings, "meeting", "meetings"))
	}
	text := strings.TrimSuffix(b.String(), ";")
	b.Reset()
	if total == 0 {
		text += " none found."
	} else {
		who := "from them"
		if o.LastMine {
			who = "from you"
		}
		fmt.Fprintf(&b, ".\nLast contact: %s (%s, %s), %s.", dateparse.Format(o.Last.In(now.Location()), now), o.Last.In(now.Location()).Format(time.DateOnly), formatAge(o.Last, now), who)
	}
	if o.Usual > 0 {
		fmt.Fprintf(&b, " Usually every %.0f days.", o.Usual)
	}
	for _, e := range o.Latest {
		side := "received"
		switch {
		case e.Kind == "meeting":
			side = "held"
		case e.Mine:
			side = "sent"
		}
		fmt.Fprintf(&b, "\n- %s %s %s: %s", e.Kind, side, dateparse.FormatDay(e.At.In(now.Location()), now), textnorm.Ellipsize(e.Subject, 120))
	}
	for _, e := range o.Upcoming {
		fmt.Fprintf(&b, "\nComing up: %s, %s", textnorm.Ellipsize(e.Subject, 120), dateparse.Format(e.At.In(now.Location()), now))
	}
	if o.Open != "" {
		b.WriteString("\nNot answered yet: " + o.Open)
	}
	if o.Birthday != "" {
		b.WriteString("\nBirthday: " + o.Birthday)
	}
	if o.Company != "" {
		b.WriteString("\nCompany: " + textnorm.Ellipsize(o.Company, 80))
	}
	return text + b.String()
}

// formatAge formats the days since t: "today", "1 day ago".
func formatAge(t, now time.Time) string {
	n := int(now.Sub(t).Hours() / 24)
	if n <= 0 {
		return "less than 1 day ago"
	}
	return textnorm.CountNoun(n, "day", "days") + " ago"
}

// reportPeople lists the people that the user is in contact with.
func (d Deps) reportPeople(ctx context.Context, c tools.Call, out relationshipOut, inactive int) (tools.Result, error) {
	all, problems := d.readHistory(ctx, c.Now, "")
	out.Problems = problems
	rows := map[string]*personRow{}
	for _, e := range all {
		if e.auto || e.At.After(c.Now) || e.Person.Address == "" {
			continue
		}
		r := rows[e.Person.Address]
		if r == nil {
			r = &personRow{Person: e.Person.String()}
			rows[e.Person.Address] = r
		}
		r.Contacts++
		if e.At.After(r.Last) {
			r.Last = e.At
		}
	}
	for _, r := range rows {
		r.Inactive = r.Last.Before(c.Now.AddDate(0, 0, -inactive))
		out.People = append(out.People, *r)
	}
	sorting.ByFunc(out.People, func(a, b personRow) int {
		return cmp.Or(cmp.Compare(b.Contacts, a.Contacts), b.Last.Compare(a.Last), strings.Compare(a.Person, b.Person))
	})
	out.People = out.People[:min(len(out.People), peopleListed)]
	var b strings.Builder
	b.WriteString("People you are in contact with by mail and calendar:")
	for _, p := range out.People {
		fmt.Fprintf(&b, "\n- %s: %s, last %s", p.Person, textnorm.CountNoun(p.Contacts, "contact", "contacts"), formatAge(p.Last, c.Now))
		if p.Inactive {
			b.WriteString(" (inactive)")
		}
	}
	if len(out.People) == 0 {
		b.WriteString(" none found.")
	}
	return tools.Result{Text: b.String() + problemText(problems), Data: out, Source: worstSource(len(out.People) > 0)}, nil
}
