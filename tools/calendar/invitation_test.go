package calendar

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"hob/platform/pim"
	"hob/platform/pim/netaccount"
	"hob/tools"
)

// postbox is a fake mailbox that records the emails sent from its address.
type postbox struct {
	pim.Mailer
	address string
	letters []pim.OutgoingMail
	drafts  []pim.OutgoingMail
}

func (*postbox) Name() string       { return "post" }
func (p *postbox) From() pim.Person { return pim.Person{Address: p.address} }

func (p *postbox) SendMail(_ context.Context, l pim.OutgoingMail) (pim.Receipt, error) {
	if err := l.Check(); err != nil {
		return pim.Receipt{}, err
	}
	p.letters = append(p.letters, l)
	return pim.Receipt{Outcome: pim.Sent}, nil
}

// notifyingCalendar returns a calendar of tester@test.local whose guests are notified by email.
func notifyingCalendar(t *testing.T, from string) (*calendarFixture, *postbox) {
	t.Helper()
	w, box := newWritingFixture(t), &postbox{address: from}
	a := w.r.Account("tester")
	a.Address = "tester@test.local"
	w.c = netaccount.NewCalendars(a)
	d := Deps{
		Accounts: func() []pim.Account { return []pim.Account{a} }, Calendars: func() []pim.Calendars { return []pim.Calendars{w.c} },
		Mailers: func() []pim.Mailer { return []pim.Mailer{box} }, Now: w.currentTime,
	}
	w.tools = map[string]tools.Tool{}
	for _, x := range Tools(d) {
		w.tools[x.Spec().Name] = x
	}
	return w, box
}

const own = "ORGANIZER:mailto:tester@test.local\nATTENDEE:mailto:tester@test.local"

// Guests receive the event with its new time, title and place.
func TestInvitation_HasTheNewTime(t *testing.T) {
	w, box := notifyingCalendar(t, "tester@test.local")
	w.r.Put("Work", "review", "SUMMARY:Review\nLOCATION:Room 1\nDTSTART:20261110T120000Z\nDTEND:20261110T130000Z\nATTENDEE:mailto:ada@example.org\n"+own)
	_, r, err := w.judgeAndCall("update_calendar_event", `{"event":"review","start":"2026-11-13 16:00","title":"Budget","place":"Room 2"}`, 0)
	if err != nil || len(box.letters) != 1 {
		t.Fatal(r.Text, err, box.letters)
	}
	if l := box.letters[0]; l.Subject != "Changed: Budget" || l.Text != "Budget\nFriday, 13 November 2026, 16:00 EET\nRoom 2" || !strings.Contains(l.Invite, "SUMMARY:Budget") {
		t.Errorf("%+v", l)
	}
}

// If one email cannot have all guests as recipients, Hob sends several emails. The result mentions
// that guests beyond the limit of the calendar reader were not notified.
func TestInvitation_ManyGuests(t *testing.T) {
	for n, want := range map[int][]int{25: {20, 5}, 60: {20, 20, 10}} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			w, box := notifyingCalendar(t, "tester@test.local")
			lines := ""
			for i := range n {
				lines += fmt.Sprintf("ATTENDEE:mailto:guest%d@example.org\n", i)
			}
			w.r.Put("Work", "fair", "SUMMARY:Fair\nDTSTART:20261110T120000Z\nDTEND:20261110T130000Z\n"+lines+own)
			_, r, err := w.judgeAndCall("delete_calendar_event", `{"event":"fair"}`, 0)
			if err != nil || strings.Contains(r.Text, "Nobody") || strings.Contains(r.Text, "Guests beyond the first 50") != (n > 50) {
				t.Error(r.Text, err)
			}
			ids := map[string]bool{}
			for i, l := range box.letters {
				if ids[l.ID] = true; i >= len(want) || len(l.To) != want[i] {
					t.Errorf("letter %d to %d", i, len(l.To))
				}
			}
			if len(ids) != len(want) {
				t.Errorf("%d letters", len(ids))
			}
		})
	}
}

// Hob sends no invitation from another address, because the guests' calendars would not accept
// later changes.
func TestInvitation_OnlyFromTheOwnAddress(t *testing.T) {
	w, box := notifyingCalendar(t, "other@example.net")
	_, r, err := w.judgeAndCall("create_calendar_event", `{"title":"Tea","start":"2026-11-13 16:00","guests":["ada@example.org"]}`, 0)
	if err != nil || len(box.letters) > 0 || !strings.HasSuffix(r.Text, "The guests were not notified: no account can send email as tester@test.local.") {
		t.Error(r.Text, err, box.letters)
	}
}

// The user can answer the invitation to a large meeting, although Hob does not read all of its
// guests.
func TestAnswer_LargeMeeting(t *testing.T) {
	w, box := notifyingCalendar(t, "tester@test.local")
	lines := ""
	for i := range 60 {
		lines += fmt.Sprintf("ATTENDEE:mailto:guest%d@example.org\n", i)
	}
	w.r.Put("Work", "fair", "SUMMARY:Fair\nDTSTART:20261110T120000Z\nDTEND:20261110T130000Z\nORGANIZER:mailto:ada@example.org\n"+lines+"ATTENDEE:mailto:tester@test.local")
	w.r.Put("Work", "ball", "SUMMARY:Ball\nDTSTART:20261110T120000Z\nDTEND:20261110T130000Z\nORGANIZER:mailto:ada@example.org\n"+strings.TrimSpace(lines))
	if _, r, err := w.judgeAndCall("answer_invitation", `{"event":"fair","answer":"accept"}`, 0); err != nil || len(box.letters) != 1 || !strings.Contains(box.letters[0].Invite, "PARTSTAT=ACCEPTED") {
		t.Error(r.Text, err)
	}
	if _, _, err := w.judgeAndCall("answer_invitation", `{"event":"ball","answer":"accept"}`, 0); tools.CodeOf(err) != tools.InvalidArguments || len(box.letters) != 1 {
		t.Error(err)
	}
}
