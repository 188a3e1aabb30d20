package calendar

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/ics"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type answerIn struct {
	Event   string `json:"event" jsonschema:"words from its title, or the organizer"`
	Answer  string `json:"answer" jsonschema:"accept, decline or tentative"`
	Comment string `json:"comment,omitempty" jsonschema:"a message to the organizer"`
	On      string `json:"on,omitempty" jsonschema:"the day of the event; default the next one"`
	Series  bool   `json:"series,omitempty" jsonschema:"all occurrences of a repeating event, not only this one"`
	Account string `json:"account,omitempty"`
}

// maxComment is the maximum length of the comment to the organizer, in characters.
const maxComment = 1000

func (in answerIn) parseAnswer() (a pim.Answer, word string, err error) {
	switch strings.ToLower(strings.TrimSpace(in.Answer)) {
	case "accept", "accepted", "yes":
		return pim.Accepted, "Accepted", nil
	case "decline", "declined", "no":
		return pim.Declined, "Declined", nil
	case "tentative", "tentatively", "maybe", "perhaps":
		return pim.Tentative, "Tentatively accepted", nil
	}
	return "", "", tools.Errorf(tools.InvalidArguments, "answer must be accept, decline or tentative")
}

// findInvitation finds the invitation and the organizer who receives the answer.
func (d Deps) findInvitation(ctx context.Context, in answerIn, now time.Time) (f foundEvent, s pim.Scheduling, exact string, err error) {
	a, _, err := in.parseAnswer()
	if err != nil {
		return f, nil, "", err
	}
	if len([]rune(in.Comment)) > maxComment {
		return f, nil, "", tools.Errorf(tools.InvalidArguments, "the comment is longer than %d characters", maxComment)
	}
	if f, err = d.findEvent(ctx, in.Event, in.On, in.Account, now); err != nil {
		return f, nil, "", err
	}
	s, ok := f.in.(pim.Scheduling)
	own := d.ownAddress(f.in.Name())
	switch {
	case !ok:
		return f, nil, "", tools.Errorf(tools.Unsupported, "Hob cannot answer invitations in %s; the user must answer in that calendar", tools.Clean(f.in.Name()))
	case own == "":
		return f, nil, "", tools.Errorf(tools.Unsupported, "the account %s has no address for the user; set its address", tools.Clean(f.in.Name()))
	case len(f.Guests) < ics.MaxGuests && !slices.ContainsFunc(f.Guests, func(p pim.Person) bool { return strings.EqualFold(p.Address, own) }) || strings.EqualFold(f.Organizer.Address, own):
		return f, nil, "", tools.Errorf(tools.InvalidArguments, "the user is not invited to that event (as %s)", tools.Clean(own))
	}
	if err := pim.CheckPerson(pim.Person{Address: f.Organizer.Address}); err != nil {
		return f, nil, "", tools.ClassifyPIM(fmt.Errorf("the organizer cannot be notified: %w", err))
	}
	exact = fmt.Sprintf("%s: %s, to %s", f.approvalBinding(), a, f.Organizer.Address)
	if in.Series {
		exact += ", whole series"
	}
	return f, s, exact, nil
}

// answerInvitation tells the organizer whether the owner will attend.
func (d Deps) answerInvitation() tools.Tool {
	return tools.New(tools.Def[answerIn]{
		Spec: tools.Spec{
			Name: "answer_invitation", Category: "calendar", Effects: tools.Write | tools.Send, Timeout: 2 * time.Minute,
			Description: "Accept, decline or tentatively accept an invitation in the user's calendar; the organizer is notified.",
			Keywords:    "accept decline refuse rsvp reply respond to meeting invitation invite tentative maybe attend come",
		},
		Summary: func(in answerIn) string {
			s := fmt.Sprintf("Answer the invitation to %q: %s", textnorm.Ellipsize(in.Event, 120), textnorm.Ellipsize(in.Answer, 20))
			if in.Comment != "" {
				s += fmt.Sprintf(", %q", textnorm.Ellipsize(in.Comment, 240))
			}
			return s
		},
		Judge: func(ctx context.Context, in answerIn) tools.CallAssessment {
			f, _, exact, err := d.findInvitation(ctx, in, d.currentTime())
			if err != nil {
				return tools.CallAssessment{Refused: err}
			}
			return tools.CallAssessment{Exact: exact, To: []string{f.Organizer.Address}, Why: "it notifies " + tools.WholePerson(f.Organizer) + ", the organizer"}
		},
		Waiting: func(in answerIn) string {
			return fmt.Sprintf("the answer to %q", textnorm.Ellipsize(in.Event, 60))
		},
		Run:     d.runAnswer,
		WasSent: d.wasAnswerSent,
		Undo:    d.undoChange("Restored the invitation in your calendar. The organizer was not notified, unless the server did so."),
	})
}

func (d Deps) runAnswer(ctx context.Context, c tools.Call, in answerIn) (tools.Result, error) {
	f, s, exact, err := d.findInvitation(ctx, in, c.Now)
	if err != nil {
		return tools.Result{}, err
	}
	if exact != c.Exact {
		return tools.Result{}, tools.Errorf(tools.Conflict, "the request now matches a different invitation than the approved one; nothing was answered")
	}
	a, word, err := in.parseAnswer()
	if err != nil {
		return tools.Result{}, err
	}
	is, unknown := s.Schedules(ctx)
	if err := c.Commit(); err != nil {
		return tools.Result{}, err
	}
	r, reply, err := s.AnswerEvent(ctx, f.Event, a, in.Comment, in.Series)
	if err := checkReceipt(r, err); err != nil {
		return tools.Result{}, err
	}
	text := fmt.Sprintf("%s: %q, %s.", word, textnorm.Ellipsize(f.Title, 120), dateparse.Format(f.Start.In(c.Now.Location()), c.Now))
	box, incomplete := d.mailerOf(d.ownAddress(f.in.Name())), false
	switch {
	case is:
		text += " The server notifies " + f.Organizer.Address + "."
	case unknown != nil:
		incomplete = true
		text += " It is unknown whether the server notifies " + f.Organizer.Address + "; no email was sent."
	case box == nil:
		incomplete = true
		text += " " + f.Organizer.Address + " was not notified: no account can send email as " + d.ownAddress(f.in.Name()) + "."
	default:
		body := word + ": " + f.Title
		if in.Comment != "" {
			body += "\n\n" + in.Comment
		}
		said, sent, err := d.mailGuests(ctx, c, box, []pim.Person{{Address: f.Organizer.Address}}, word+": "+f.Title, body, reply)
		if text += " " + said; err != nil {
			text += ": " + pim.SanitizeLine(err.Error(), 300)
		}
		incomplete = !sent
	}
	res := changeResult("answer_invitation", f.in, text, r, f.Event)
	res.Incomplete = incomplete
	res.Undo = undoOf("remove the answer from the calendar", f.in, r, false)
	return res, nil
}
