package mail

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/ics"
	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Limits of an invitation.
const (
	maxInvitation = 1 << 20 // bytes
	maxRemark     = 1000    // characters
)

type answerIn struct {
	Mail    string `json:"mail" jsonschema:"id of the email with the invitation, or words of its sender or subject"`
	Answer  string `json:"answer" jsonschema:"accept, decline or tentative"`
	Comment string `json:"comment,omitempty" jsonschema:"a message to the organizer"`
	Mailbox string `json:"mailbox,omitempty" jsonschema:"the folder of the mailbox to search for the words (default inbox)"`
	Account string `json:"account,omitempty" jsonschema:"only this account"`
}

// mailInvitation is an invitation in an email, with the answer to it.
type mailInvitation struct {
	pim.Event
	from  pim.Message
	box   pim.Mailer
	data  []byte
	reply pim.Answer
	word  string // "Accepted"
}

// parseReply parses the answer to an invitation.
func parseReply(s string) (a pim.Answer, word string, err error) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "accept", "accepted", "yes":
		return pim.Accepted, "Accepted", nil
	case "decline", "declined", "no":
		return pim.Declined, "Declined", nil
	case "tentative", "tentatively", "maybe":
		return pim.Tentative, "Tentatively accepted", nil
	}
	return "", "", tools.Errorf(tools.InvalidArguments, "answer must be accept, decline or tentative")
}

// findInvitation reads the invitation in an email (RFC 6047). It must be a request to the user from
// another organizer.
func (d Deps) findInvitation(ctx context.Context, in answerIn, now time.Time) (v mailInvitation, err error) {
	if v.reply, v.word, err = parseReply(in.Answer); err != nil {
		return v, err
	}
	if len([]rune(in.Comment)) > maxRemark {
		return v, tools.Errorf(tools.InvalidArguments, "the comment is longer than %d characters", maxRemark)
	}
	if v.from, v.box, err = d.findMailToMove(ctx, moveIn{Mail: in.Mail, From: in.Mailbox, Account: in.Account}); err != nil {
		return v, tools.ClassifyPIM(err)
	}
	parts, err := readParts(ctx, v.box, v.from.Ref, maxInvitation, func(p pim.MailPart) bool {
		return p.Kind == "text/calendar" || strings.HasSuffix(strings.ToLower(p.Name), ".ics")
	})
	if err != nil {
		return v, err
	}
	if len(parts) == 0 {
		return v, outsideError(tools.Errorf(tools.NotFound, "the email %q contains no invitation", subjectLine(v.from, 100)))
	}
	v.data = parts[0].Data
	if m := strings.ToUpper(cmp.Or(parts[0].Method, calendarMethod(v.data))); m != ics.Request {
		return v, outsideError(tools.Errorf(tools.InvalidArguments, "the email %q contains calendar data, but no invitation to answer (its method is %q)", subjectLine(v.from, 100), textnorm.Ellipsize(m, 20)))
	}
	list, err := ics.Events(v.data, ics.Span{From: now, To: now.AddDate(5, 0, 0), Zone: now.Location()})
	if len(list) == 0 && err != nil {
		return v, outsideError(tools.Errorf(tools.Failed, "the invitation in the email %q cannot be read: %w", subjectLine(v.from, 100), err))
	}
	if len(list) == 0 {
		return v, outsideError(tools.Errorf(tools.InvalidArguments, "the invitation in the email %q contains no event of the next 5 years", subjectLine(v.from, 100)))
	}
	v.Event = list[0]
	own := v.box.From().Address
	switch {
	case own == "":
		return v, tools.Errorf(tools.Unsupported, "the account %s has no address for the user; set its address", tools.Clean(v.box.Name()))
	case strings.EqualFold(v.Organizer.Address, own):
		return v, tools.Errorf(tools.InvalidArguments, "the user is the organizer of this event")
	case len(v.Guests) < ics.MaxGuests && !slices.ContainsFunc(v.Guests, func(p pim.Person) bool { return strings.EqualFold(p.Address, own) }):
		return v, tools.Errorf(tools.InvalidArguments, "the invitation does not name the user (as %s)", tools.Clean(own))
	}
	if err := pim.CheckPerson(pim.Person{Address: v.Organizer.Address}); err != nil {
		return v, tools.ClassifyPIM(fmt.Errorf("the organizer cannot be notified: %w", err))
	}
	return v, nil
}

// calendarMethod returns the METHOD of iCalendar data.
func calendarMethod(data []byte) string {
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && strings.EqualFold(name, "METHOD") {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// approvalBinding identifies the invitation and the answer.
func (v mailInvitation) approvalBinding() string {
	return fmt.Sprintf("%s: %s %s at %s, to %s, from %s", v.from.Ref, v.reply, v.UID, v.Start.UTC().Format(time.RFC3339), v.Organizer.Address, v.box.From().Address)
}

// describeInvitation returns the title and the time.
func (v mailInvitation) describeInvitation(now time.Time) string {
	return fmt.Sprintf("%q, %s", textnorm.Ellipsize(v.Title, 120), dateparse.Format(v.Start.In(now.Location()), now))
}

func (d Deps) answerEmailInvitation() tools.Tool {
	return tools.New(tools.Def[answerIn]{
		Spec: tools.Spec{
			Name: "answer_email_invitation", Category: "mail", Effects: tools.Write | tools.Send, Timeout: 3 * time.Minute,
			Description: "Accept, decline or tentatively accept an invitation inside an email: the organizer gets the answer, and an accepted event goes into the user's calendar. For invitations in the calendar, use answer_invitation.",
			Keywords:    "accept decline rsvp reply invitation invite meeting ics attachment email mail attend tentative",
		},
		Summary: func(in answerIn) string {
			s := fmt.Sprintf("Answer the invitation in the email %q: %s", textnorm.Ellipsize(in.Mail, 100), textnorm.Ellipsize(in.Answer, 20))
			if in.Comment != "" {
				s += fmt.Sprintf(", %q", textnorm.Ellipsize(in.Comment, 240))
			}
			return s
		},
		Judge: func(ctx context.Context, in answerIn) tools.CallAssessment {
			now := time.Now()
			if d.Now != nil {
				now = d.Now()
			}
			v, err := d.findInvitation(ctx, in, now)
			if err != nil {
				return refusedJudgment(err)
			}
			why := fmt.Sprintf("it notifies %s, the organizer of %s", tools.WholePerson(v.Organizer), v.describeInvitation(now))
			if len(v.from.From) == 0 || v.from.From[0].Address != v.Organizer.Address {
				why += "; the email is from another sender, " + senderLabel(v.from)
			}
			return tools.CallAssessment{Exact: v.approvalBinding(), To: []string{v.Organizer.Address}, Why: why}
		},
		Waiting: func(in answerIn) string { return "the answer to the invitation" },
		WasSent: func(ctx context.Context, c tools.Call, in answerIn) (bool, error) {
			v, err := d.findInvitation(ctx, in, c.Now)
			if late, ok := v.box.(pim.LateCommitter); ok && err == nil {
				return late.WasSent(ctx, v.composeReply(c, "").ID)
			}
			return false, err
		},
		Run: d.runAnswerInvitation,
		Undo: func(ctx context.Context, data json.RawMessage) (string, error) {
			var u undoData
			if err := json.Unmarshal(data, &u); err != nil {
				return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
			}
			for _, c := range d.Calendars() {
				if c.Name() == u.Account {
					return "Removed the event from your calendar. The organizer was not notified.", tools.ClassifyPIM(c.TakeBack(ctx, u.Undo))
				}
			}
			return "", tools.Errorf(tools.NotFound, "the calendar of %s no longer exists", tools.Clean(u.Account))
		},
	})
}

// composeReply composes the email to the organizer.
func (v mailInvitation) composeReply(c tools.Call, comment string) composedMail {
	l := composedMail{from: v.box, reply: true}
	l.To = []pim.Person{{Address: v.Organizer.Address}}
	l.Subject = pim.StripInvisible(textnorm.Ellipsize(v.word+": "+v.Title, 240))
	l.Text = v.word + ": " + v.Title
	if comment = strings.TrimSpace(comment); comment != "" {
		l.Text += "\n\n" + comment
	}
	if pim.ValidMessageID(v.from.ID) {
		l.Answers = v.from.ID
	}
	l.setMessageID(c)
	return l
}

func (d Deps) runAnswerInvitation(ctx context.Context, c tools.Call, in answerIn) (tools.Result, error) {
	v, err := d.findInvitation(ctx, in, c.Now)
	if err != nil {
		return tools.Result{}, err
	}
	if v.approvalBinding() != c.Exact {
		return tools.Result{}, tools.Errorf(tools.Conflict, "the request now matches a different invitation than the approved one; nothing was answered")
	}
	l := v.composeReply(c, in.Comment)
	_, l.Invite, err = ics.Answered(v.data, v.Event, v.box.From(), v.reply, strings.TrimSpace(in.Comment), true, v.Start.Location(), c.Now)
	if err != nil {
		return tools.Result{}, tools.ClassifyPIM(err)
	}
	r, err := d.handOver(ctx, c, l)
	if err != nil {
		return tools.Result{}, tools.ClassifyPIM(err)
	}
	if r.Outcome == pim.Uncertain {
		return tools.Result{}, outcomeUnknownError("the answer was sent", r)
	}
	res := l.sendResult(fmt.Sprintf("%s: %s. %s was notified by email.", v.word, v.describeInvitation(c.Now), v.Organizer.Address), r)
	res.Source, res.Origins = provenance.Outside, mailOrigins(v.from, "answer_email_invitation")
	if v.reply != pim.Declined {
		d.addToCalendar(ctx, v, &res)
	}
	return res, nil
}

// findRule returns the recurrence rule of the invitation if an event with this rule has the same
// dates for the next 5 years. Exceptions, or a rule in a distant time zone, give other dates.
func (v mailInvitation) findRule(e pim.NewEvent) string {
	zone := v.Start.Location()
	if e.Rule = ics.RuleOf(v.data, v.UID, zone); e.Rule == "" {
		return ""
	}
	data, err := ics.New(e, pim.Person{}, v.Start)
	if err != nil {
		return ""
	}
	span := ics.Span{From: v.Start, To: v.Start.AddDate(5, 0, 0), Zone: zone}
	want, err := ics.Events(v.data, span)
	if err != nil {
		return ""
	}
	got, err := ics.Events(data, span)
	if err != nil || !slices.EqualFunc(want, got, func(a, b pim.Event) bool { return a.Start.Equal(b.Start) && a.End.Equal(b.End) && !a.Cancelled }) {
		return ""
	}
	return e.Rule
}

// addToCalendar adds an accepted event to the default calendar, unless it is already in a calendar.
// Calendar servers add invitations themselves.
func (d Deps) addToCalendar(ctx context.Context, v mailInvitation, res *tools.Result) {
	if d.Calendars == nil || len(d.Calendars()) == 0 {
		res.Text += " No calendar is configured, so the event was not added."
		return
	}
	for _, c := range d.Calendars() {
		list, err := c.FindEvents(ctx, pim.TimeRange{From: v.Start.Add(-time.Minute), To: v.End.Add(time.Minute), Zone: v.Start.Location()})
		if err == nil && slices.ContainsFunc(list, func(e pim.Event) bool { return e.UID == v.UID }) {
			res.Text += " The event is already in your calendar " + c.Name() + "."
			return
		}
	}
	c := d.Calendars()[0]
	e := pim.NewEvent{UID: v.UID, Title: pim.SanitizeLine(v.Title, 200), Place: pim.SanitizeLine(v.Place, 200), Start: v.Start, End: v.End, AllDay: v.AllDay}
	e.Rule = v.findRule(e)
	r, err := c.CreateEvent(ctx, "", e)
	switch {
	case err != nil:
		res.Incomplete = true
		res.Text += " The event could not be added to your calendar: " + pim.SanitizeLine(err.Error(), 200)
	case r.Outcome == pim.Uncertain:
		res.Incomplete = true
		res.Text += " It is unknown whether the event was added to your calendar."
	default:
		res.Text += " The event is in your calendar " + c.Name() + "."
		switch {
		case e.Rule != "":
			res.Text += " It repeats as in the invitation."
		case v.Occurrence != "":
			res.Text += " Only its first date was added, because one rule cannot express how it repeats."
		}
		if len(r.Undo) > 0 {
			res.Undo = tools.NewUndo("remove the event from the calendar", undoData{c.Name(), r.Undo})
		}
	}
}
