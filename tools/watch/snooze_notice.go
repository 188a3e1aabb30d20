package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Notices stores notifications. Its errors are tool errors.
type Notices interface {
	// Until parses a duration or a time until which a notification is snoozed.
	Until(text string, now time.Time) (time.Time, error)
	// ListIn lists recent and deferred notifications, newest first.
	ListIn(q store.Querier) ([]tools.Notice, error)
	// SnoozeTx sends a notification at a later time, even if it was already sent. If id is empty,
	// it selects the last notification sent in the conversation. UnsnoozeTx reverts the snooze with
	// the returned data.
	SnoozeTx(tx *store.Tx, id, session string, until time.Time) (tools.Notice, json.RawMessage, error)
	UnsnoozeTx(tx *store.Tx, data json.RawMessage) error
}

type snoozeIn struct {
	Notice string `json:"notice,omitempty" jsonschema:"id or words; empty: the last one sent here"`
	Until  string `json:"until" jsonschema:"1h, 30m, tomorrow at 9"`
}

func (d Deps) noticeTools() []tools.Tool {
	if d.Notices == nil {
		return nil
	}
	return []tools.Tool{d.snoozeNotice()}
}

func (d Deps) snoozeNotice() tools.Tool {
	return tools.New(tools.Def[snoozeIn]{
		Spec: tools.Spec{
			Name: "snooze_notice", Category: "watch", Effects: tools.Write,
			Description: "Snooze a notification: repeat it, or send a deferred one, at another time.",
			Keywords:    "snooze later postpone defer remind me again of this notification not now",
		},
		Summary: func(in snoozeIn) string {
			which := "the last notification"
			if in.Notice != "" {
				which = fmt.Sprintf("the notification %q", textnorm.Ellipsize(in.Notice, 100))
			}
			return "Snooze " + which + ": " + textnorm.Ellipsize(in.Until, 60)
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in snoozeIn) (tools.Result, error) {
			return d.snoozeUntil(tx, c, in)
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			if err := d.Notices.UnsnoozeTx(tx, data); err != nil {
				return "", err
			}
			return "The notification is no longer snoozed.", nil
		},
	})
}

func (d Deps) snoozeUntil(tx *store.Tx, c tools.Call, in snoozeIn) (tools.Result, error) {
	until, err := d.Notices.Until(in.Until, c.Now)
	if err != nil {
		return tools.Result{}, err
	}
	session, id := c.Session, ""
	if strings.HasPrefix(session, "tool:") { // a call that the owner made directly has no conversation
		session = ""
	}
	if query := strings.TrimSpace(in.Notice); query != "" {
		list, err := d.Notices.ListIn(tx)
		if err != nil {
			return tools.Result{}, err
		}
		n, err := tools.Pick("notice", query, list, func(n tools.Notice) (string, string) { return n.ID, n.Text })
		if err != nil {
			var sources []provenance.Source
			for _, n := range list {
				sources = append(sources, n.Provenance)
			}
			return tools.Result{}, tools.Quoting(err, sources...)
		}
		id = n.ID
	}
	n, data, err := d.Notices.SnoozeTx(tx, id, session, until)
	if err != nil {
		return tools.Result{}, err
	}
	about := textnorm.Ellipsize(n.Text, 200)
	return tools.Result{
		Text: fmt.Sprintf("Snoozed until %s: %s", dateparse.Format(until.In(c.Now.Location()), c.Now), about), Data: n, Source: provenance.Worst(provenance.Tool, n.Provenance),
		Undo: &tools.Undo{Label: "unsnooze the notification: " + about, Data: data},
	}, nil
}
