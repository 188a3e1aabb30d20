package calendar

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/platform/pim"
	"hob/tools"
)

// DraftMail implements pim.Mailer.
func (p *postbox) DraftMail(_ context.Context, l pim.OutgoingMail) (pim.Receipt, error) {
	if err := l.Check(); err != nil {
		return pim.Receipt{}, err
	}
	p.drafts = append(p.drafts, l)
	return pim.Receipt{Outcome: pim.Sent, Undo: []byte("draft")}, nil
}

// TakeBack implements pim.Undoer.
func (p *postbox) TakeBack(context.Context, []byte) error {
	if len(p.drafts) == 0 {
		return fmt.Errorf("no draft")
	}
	p.drafts = p.drafts[:len(p.drafts)-1]
	return nil
}

func TestScheduleMeeting_DraftsInvitation(t *testing.T) {
	w, box := sharedFixture(t)
	before := w.listEvents()
	j, r, err := w.judgeAndCall("schedule_meeting", `{"title":"Boat council","duration_minutes":60,"preferred_time":"today","attendees":["bob@test.local","eve@example.org"]}`, time.Minute)
	if err != nil || j.Effects != tools.Write {
		t.Fatalf("%v %v", j.Effects, err)
	}
	if !strings.Contains(w.listEvents(), "Boat council 10.11. 13:00-10.11. 14:00") || len(box.letters) != 0 || len(box.drafts) != 1 {
		t.Errorf("%s\n%+v %+v", w.listEvents(), box.letters, box.drafts)
	}
	l := box.drafts[0]
	if l.Subject != "Invitation: Boat council" || !strings.Contains(l.Invite, "METHOD:REQUEST") || len(l.To) != 2 || !strings.Contains(l.Text, "13:00") {
		t.Errorf("%+v", l)
	}
	for _, want := range []string{"Why this time: fills the gap", "It is unknown whether eve@example.org is free then.", "The invitation to bob@test.local, eve@example.org is saved in the drafts of post; nothing was sent."} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("no %q in %q", want, r.Text)
		}
	}
	text, err := w.tools["schedule_meeting"].(tools.Undoer).Undo(t.Context(), r.Undo.Data)
	if err != nil || w.listEvents() != before || len(box.drafts) != 0 || text != "Removed the meeting from the calendar. Removed the draft of the invitation." {
		t.Errorf("%q %v %s", text, err, w.listEvents())
	}
}

func TestScheduleMeeting_SendsAfterApproval(t *testing.T) {
	w, box := sharedFixture(t)
	j, r, err := w.judgeAndCall("schedule_meeting", `{"title":"Boat council","duration_minutes":30,"preferred_time":"tomorrow at 10","attendees":["bob@test.local"],"send_invites":true}`, time.Minute)
	if err != nil || j.Effects != 0 || len(j.To) != 1 || !strings.Contains(j.Why, "it invites bob@test.local to Wed 11 Nov 2026 10:00 EET") {
		t.Fatalf("%+v %v", j, err)
	}
	if len(box.letters) != 1 || len(box.drafts) != 0 || !strings.Contains(w.listEvents(), "Boat council 11.11. 10:00-11.11. 10:30") || !strings.Contains(r.Text, "The invitations were sent by email.") {
		t.Errorf("%s %+v %s", w.listEvents(), box.letters, r.Text)
	}
}

// A named time that is taken is not moved silently, and a plan does not change between its approval
// and its execution.
func TestScheduleMeeting_NeverOverlapsSilently(t *testing.T) {
	w, box := sharedFixture(t)
	before := w.listEvents()
	const taken = `{"title":"Boat council","duration_minutes":60,"preferred_time":"today at 14:30","attendees":["bob@test.local"]}`
	_, _, err := w.judgeAndCall("schedule_meeting", taken, 0)
	if tools.CodeOf(err) != tools.Conflict || !strings.Contains(err.Error(), "today at 14:30 is taken (Osaka review); free on that day: 13:00, 10:30") || w.listEvents() != before {
		t.Errorf("%v %s", err, w.listEvents())
	}
	if _, _, err := w.judgeAndCall("schedule_meeting", strings.Replace(taken, `"attendees"`, `"allow_overlap":true,"attendees"`, 1), 0); err != nil || !strings.Contains(w.listEvents(), "Boat council") {
		t.Error(err, w.listEvents())
	}
	for _, args := range []string{`{"title":"x","duration_minutes":0}`, `{"title":"x","duration_minutes":30,"preferred_time":"yesterday at 10:00"}`, `{"title":"","duration_minutes":30}`, `{"title":"x","duration_minutes":30,"attendees":["nobody"]}`} {
		if _, _, err := w.judgeAndCall("schedule_meeting", args, 0); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
	_, drafts := w.listEvents(), len(box.drafts)
	judged := w.clock
	j, _, err := w.judgeAndCall("schedule_meeting", `{"title":"Late","duration_minutes":60,"preferred_time":"today"}`, 6*time.Hour) // the best time has passed
	if tools.CodeOf(err) != tools.Conflict || strings.Contains(w.listEvents(), "Late") || len(box.drafts) != drafts {
		t.Errorf("%s approved %s at %s: %v", w.listEvents(), j.Exact, judged, err)
	}
}
