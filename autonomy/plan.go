package autonomy

import (
	"context"
	"errors"
	"time"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/platform/provenance"
)

// nothingOn is the answer of a plan that had nothing to say; nobody is told it.
const nothingOn = "Nothing is on today, so there was no plan to tell."

// dayOver is the answer of a plan that was not told on its day.
const dayOver = "The day of this plan was over before it could be told."

// dayPlan tells the plan of the day where the owner is. It is worded now and not
// when it became due.
func (l *Loop) dayPlan(ctx context.Context, ev bus.Event) (result, error) {
	res := result{how: "plan", kind: channels.Notice}
	if l.o.Plan == nil {
		return res, errors.New("there is no plan of the day any more ([plan] at)")
	}
	var err error
	if res.session, res.channel, res.chat, err = l.place(ctx, ""); err != nil {
		return res, err
	}
	if l.o.Plan.Over(ev, time.Now()) {
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
