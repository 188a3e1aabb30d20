package calendar

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"hob/platform/pim"
	"hob/platform/pim/netaccount"
	"hob/tools"
)

// sentFolder is a mailbox that finds its sent mails again, unless they were deleted.
type sentFolder struct {
	*postbox
	deleted bool
}

func (s *sentFolder) WasSent(_ context.Context, id string) (bool, error) {
	return !s.deleted && slices.ContainsFunc(s.letters, func(l pim.OutgoingMail) bool { return l.ID == id }), nil
}

// plainCalendar hides the optional methods of a calendar, so that its server counts as one that
// notifies guests.
type plainCalendar struct{ pim.Calendars }

// If a call was carried out after a backup and the backup is restored, WasSent recognizes the call
// by its emails or by the state of the calendar.
func TestWasSent_RecognizesCarriedOutCalls(t *testing.T) {
	const invited = "\nORGANIZER:mailto:eve@example.org\nATTENDEE:mailto:tester@test.local"
	for name, tc := range map[string]struct {
		tool, args, event string
		servers           bool // the server notifies the guests
		mails             int
		deleted           tools.Code // error code of WasSent if the emails were deleted
	}{
		"an invitation":               {tool: "create_calendar_event", args: `{"title":"Review","start":"2026-11-12 10:00","guests":["ada@example.org"]}`, mails: 1, deleted: tools.OutcomeUnknown},
		"an invitation by the server": {tool: "create_calendar_event", args: `{"title":"Review","start":"2026-11-12 10:00","guests":["ada@example.org"]}`, servers: true},
		"a move":                      {tool: "update_calendar_event", args: `{"event":"review","start":"2026-11-13 16:00","title":"Budget"}`, event: own, mails: 1, deleted: tools.OutcomeUnknown},
		"a move by the server":        {tool: "update_calendar_event", args: `{"event":"review","start":"2026-11-13 16:00"}`, event: own, servers: true},
		"another place":               {tool: "update_calendar_event", args: `{"event":"review","place":"Room 2"}`, event: own, servers: true},
		"a cancellation":              {tool: "delete_calendar_event", args: `{"event":"review"}`, event: own, mails: 1, deleted: tools.OutcomeUnknown},
		"a cancellation by a server":  {tool: "delete_calendar_event", args: `{"event":"review"}`, event: own, servers: true},
		"an answer":                   {tool: "answer_invitation", args: `{"event":"review","answer":"accept"}`, event: invited[1:], mails: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWritingFixture(t)
			box := &sentFolder{postbox: &postbox{address: "tester@test.local"}}
			a := w.r.Account("tester")
			a.Address = "tester@test.local"
			var in pim.Calendars = netaccount.NewCalendars(a)
			if tc.servers {
				in = plainCalendar{in}
			}
			for _, x := range Tools(Deps{
				Accounts: func() []pim.Account { return []pim.Account{a} }, Calendars: func() []pim.Calendars { return []pim.Calendars{in} },
				Mailers: func() []pim.Mailer { return []pim.Mailer{box} }, Now: w.currentTime,
			}) {
				w.tools[x.Spec().Name] = x
			}
			if tc.event != "" {
				w.r.Put("Work", "review", "SUMMARY:Review\nDTSTART:20261110T120000Z\nDTEND:20261110T130000Z\nATTENDEE:mailto:ada@example.org\n"+tc.event)
			}
			d := w.tools[tc.tool].(tools.Delayer)
			j := tools.JudgmentOf(t.Context(), d, json.RawMessage(tc.args))
			if j.Refused != nil {
				t.Fatal(j.Refused)
			}
			c := tools.Call{ID: "c1", Args: json.RawMessage(tc.args), Now: w.clock, Exact: j.Exact}
			var err error
			if c.Frozen, err = d.Freeze(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if was, err := d.WasSent(t.Context(), c); was || err != nil {
				t.Errorf("WasSent before the call = %v, %v", was, err)
			}
			if r, err := d.Call(t.Context(), c); err != nil || len(box.letters) != tc.mails {
				t.Fatalf("%+v, %v, %d mails", r, err, len(box.letters))
			}
			if was, err := d.WasSent(t.Context(), c); !was || err != nil {
				t.Errorf("WasSent after the call = %v, %v", was, err)
			}
			if box.deleted = true; tc.mails == 0 {
				return
			}
			if was, err := d.WasSent(t.Context(), c); was || tools.CodeOf(err) != tc.deleted && (err != nil || tc.deleted != "") {
				t.Errorf("without the mails: WasSent = %v, %v, want code %q", was, err, tc.deleted)
			}
		})
	}
}
