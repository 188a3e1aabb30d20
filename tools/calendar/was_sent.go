package calendar

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/tools"
)

// frozenChange describes a delayed change, so that WasSent can check whether it was made. The call
// itself resolves its arguments again.
type frozenChange struct {
	Account    string
	UID        string
	Occurrence string // "" for a change of the whole series
	From, To   time.Time
	Change     *pim.EventChange // nil for a deletion
	// Mails contains the Message-IDs of the emails to the guests; nil if the server notifies the
	// guests.
	Mails []string
}

// freezeChange describes a change of an event, or its deletion if change is nil. subject is the first
// word of the subjects of the mails to the guests.
func (d Deps) freezeChange(ctx context.Context, c tools.Call, f foundEvent, change *pim.EventChange, subject string, series bool) frozenChange {
	x := frozenChange{Account: f.in.Name(), UID: f.UID, Occurrence: f.Occurrence, From: f.Start, To: f.End, Change: change}
	if series {
		x.Occurrence = ""
	}
	if change != nil {
		f = f.withChange(*change)
		x.From, x.To = earlierOf(x.From, f.Start), laterOf(x.To, f.Start)
	}
	if how, box := d.guestNotificationRoute(ctx, f); how == byMail {
		for part := range slices.Chunk(f.otherGuests(box.From().Address), pim.MaxRecipients) {
			x.Mails = append(x.Mails, guestMailID(c, subject+": "+f.Title, part[0].Address, box.From().Address))
		}
	}
	return x
}

func earlierOf(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func laterOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// guestMailID returns the Message-ID of a mail to guests.
func guestMailID(c tools.Call, what, first, from string) string {
	sum := sha256.Sum256([]byte(what + " " + c.ID + " " + first))
	return mailID(sum, from)
}

func mailID(sum [sha256.Size]byte, from string) string {
	_, host, _ := strings.Cut(from, "@")
	return hex.EncodeToString(sum[:16]) + "@" + cmp.Or(host, "localhost")
}

// errPartlySent returns the error for a change that is in the calendar, if it is unknown whether
// its emails were sent.
func errPartlySent() error {
	return tools.Errorf(tools.OutcomeUnknown, "the calendar contains the change, but it is unknown whether all guests were notified; ask the guests before you retry")
}

// wasChangeSent implements Delayer.WasSent for changes and deletions.
func (d Deps) wasChangeSent(ctx context.Context, c tools.Call) (bool, error) {
	var x frozenChange
	if err := json.Unmarshal(c.Frozen, &x); err != nil { // a call that an older version delayed
		return false, nil //nolint:nilerr // unknown
	}
	sent, partly, err := d.wereMailsSent(ctx, x.Mails)
	if sent || err != nil {
		return sent, err
	}
	applied, err := d.isChangeApplied(ctx, x)
	switch {
	case err != nil:
		return false, err
	case partly || applied && len(x.Mails) > 0:
		return false, errPartlySent()
	}
	return applied, nil
}

// wereMailsSent looks for mails in the folders of sent mails. partly is true if it found only some
// of them.
func (d Deps) wereMailsSent(ctx context.Context, ids []string) (all, partly bool, err error) {
	if d.Mailers == nil {
		return false, false, nil
	}
	found := 0
	var failed []error
	for _, id := range ids {
		for _, m := range d.Mailers() {
			late, ok := m.(pim.LateCommitter)
			if !ok {
				continue
			}
			sent, err := late.WasSent(ctx, id)
			if failed = append(failed, err); sent {
				found++
				break
			}
		}
	}
	if found == 0 {
		return false, false, tools.ClassifyPIM(errors.Join(failed...))
	}
	return found == len(ids), found < len(ids), nil
}

// isChangeApplied reports whether the calendar contains the change. An event that was changed in
// another way does not count; the call then finds that it differs from the approved one.
func (d Deps) isChangeApplied(ctx context.Context, x frozenChange) (bool, error) {
	in, err := d.writableCalendars(x.Account)
	if err != nil {
		return false, err
	}
	list, err := in[0].FindEvents(ctx, pim.TimeRange{From: x.From.AddDate(0, 0, -1), To: x.To.AddDate(0, 0, 1), Zone: x.From.Location()})
	if err != nil {
		return false, tools.ClassifyPIM(err)
	}
	isIt := func(e pim.Event) bool {
		return e.UID == x.UID && !e.Cancelled && (x.Occurrence == "" || e.Occurrence == x.Occurrence) && (x.Change == nil || hasChange(e, *x.Change))
	}
	return slices.ContainsFunc(list, isIt) == (x.Change != nil), nil
}

// hasChange reports whether an event has the values of a change.
func hasChange(e pim.Event, ch pim.EventChange) bool {
	for _, x := range []struct {
		have string
		want *string
	}{{e.Title, ch.Title}, {e.Place, ch.Place}, {e.Notes, ch.Notes}} {
		if x.want != nil && strings.TrimSpace(x.have) != strings.TrimSpace(*x.want) {
			return false
		}
	}
	return (ch.Start == nil || e.Start.Equal(*ch.Start)) && (ch.End == nil || e.End.Equal(*ch.End))
}

// wasInvitationSent implements Delayer.WasSent for new events. The user may have deleted the event in the
// meantime; then the mail shows that the guests were invited.
func (d Deps) wasInvitationSent(ctx context.Context, c tools.Call, in createIn) (bool, error) {
	e, err := d.planEvent(ctx, in, c)
	if err != nil {
		return false, err
	}
	all, err := d.writableCalendars(in.Account)
	if err != nil {
		return false, err
	}
	byMail := !d.serverTells(ctx, all[0])
	if box, _ := d.invitationSender(all[0]); byMail && box != nil {
		if sent, _, err := d.wereMailsSent(ctx, []string{invitationID(c, box.From().Address)}); sent || err != nil {
			return sent, err
		}
	}
	list, err := all[0].FindEvents(ctx, pim.TimeRange{From: e.Start.AddDate(0, 0, -1), To: e.End.AddDate(0, 0, 1), Zone: e.Start.Location()})
	if err != nil {
		return false, tools.ClassifyPIM(err)
	}
	exists := slices.ContainsFunc(list, func(x pim.Event) bool { return x.UID == e.UID })
	if exists && byMail {
		return false, errPartlySent()
	}
	return exists, nil
}

// invitationID returns the Message-ID of the invitations to a new event.
func invitationID(c tools.Call, from string) string {
	return mailID(sha256.Sum256([]byte("invitation "+c.ID)), from)
}

// wasAnswerSent implements Delayer.WasSent for answers to invitations. A server does not notify the
// organizer again of an answer that it already has, so only a mail could be repeated.
func (d Deps) wasAnswerSent(ctx context.Context, c tools.Call, in answerIn) (bool, error) {
	f, _, _, err := d.findInvitation(ctx, in, c.Now)
	if err != nil {
		return false, err
	}
	_, word, err := in.parseAnswer()
	if err != nil {
		return false, err
	}
	sent, _, err := d.wereMailsSent(ctx, []string{guestMailID(c, word+": "+f.Title, f.Organizer.Address, d.ownAddress(f.in.Name()))})
	return sent, err
}
