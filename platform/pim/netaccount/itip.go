package netaccount

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/caldav"
	"hob/platform/pim/ics"
)

// Message implements pim.Scheduling.
func (c *Calendars) Message(ctx context.Context, method string, e pim.Event, whole bool) (text string, err error) {
	err = c.withClient(ctx, func(d *caldav.Client) error {
		data, _, err := d.Read(ctx, e.Ref)
		if err != nil {
			return err
		}
		text, err = ics.Message(method, data, e, whole, e.Start.Location(), time.Now())
		return err
	})
	return text, err
}

// AnswerEvent implements pim.Scheduling.
func (c *Calendars) AnswerEvent(ctx context.Context, e pim.Event, a pim.Answer, comment string, whole bool) (r pim.Receipt, message string, err error) {
	me := pim.Person{Address: strings.ToLower(c.account.Address)}
	if me.Address == "" {
		return r, "", fmt.Errorf("account %s: %w: the account has no address, so your entry in the guest list is unknown; set address", c.account.Name, pim.ErrInvalid)
	}
	r, err = c.rewriteObject(ctx, e.Ref, func(b []byte) (after []byte, err error) {
		after, message, err = ics.Answered(b, e, me, a, comment, whole, e.Start.Location(), time.Now())
		return after, err
	})
	return r, message, err
}
