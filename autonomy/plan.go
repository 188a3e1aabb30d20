package autonomy

import (
	"context"
	"errors"
	"time"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/platform/provenance"
)

// nothingOn is the answer of an empty plan. It is not sent.
const nothingOn = "Nothing is planned today, so no plan was sent."

// dayOver is the answer of a plan whose day passed before it was sent.
const dayOver = "The day of this plan ended before it could be sent."

// dayPlan sends the daily plan to the owner's active channel. It writes the text now, not when
// the plan became due.
func (l *Loop) dayPlan(ctx context.Context, ev bus.Event) (result, error) {
	res := result{how: "plan", kind: channels.Notice}
	if l.o.Plan == nil {
		return res, errors.New("the daily plan is switched off ([plan] at)")
	}
	var err error
	if res.session, res.channel, res.chat, err = l.resolveNoticeTarget(ctx, ""); err != nil {
		return res, err
	}
	if l.o.Plan.IsOver(ev, time.Now()) {
		res.Answer, res.Source = dayOver, provenance.Hob
		return res, nil
	}
	if res.Answer, res.Source, err = l.o.Plan.Text(ctx, time.Now()); err != nil {
		return res, err
	}
	if res.said = res.Answer != ""; !res.said {
		res.Answer = nothingOn
	}
	return res, nil
}
