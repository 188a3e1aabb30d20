package tasks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type completeIn struct {
	Reminder string `json:"reminder" jsonschema:"words from it"`
	In       string `json:"in,omitempty" jsonschema:"the app or account, if several contain such an item"`
}

// completeReminder marks an item on a list of the owner's apps as done. Hob's own reminders
// complete automatically when they fire.
func (d Deps) completeReminder() tools.Tool {
	return tools.New(tools.Def[completeIn]{
		Spec: tools.Spec{
			Name: "complete_reminder", Category: "tasks", Effects: tools.Write, Timeout: 2 * time.Minute,
			Description: "Mark an item on a list in the user's apps or accounts as done.",
			Keywords:    "tick off check off done finished bought completed complete reminder to-do todo shopping list item",
		},
		Summary: func(in completeIn) string {
			return fmt.Sprintf("Mark %q as done", textnorm.Ellipsize(in.Reminder, 100))
		},
		Judge: func(ctx context.Context, in completeIn) tools.CallAssessment {
			e, _, err := d.pickErrand(ctx, in)
			if err != nil {
				return tools.CallAssessment{Refused: err}
			}
			return tools.CallAssessment{Effects: tools.Write, Exact: e.approvalBinding()}
		},
		Run: func(ctx context.Context, c tools.Call, in completeIn) (tools.Result, error) {
			e, l, err := d.pickErrand(ctx, in)
			if err != nil {
				return tools.Result{}, err
			}
			if e.approvalBinding() != c.Exact {
				return tools.Result{}, tools.Errorf(tools.Conflict, "the request now matches a different item than the approved one; nothing was changed")
			}
			r, err := l.CompleteReminder(ctx, e.Ref)
			if err := checkReceipt(r, err); err != nil {
				return tools.Result{}, err
			}
			e.Repeat = e.Repeat && r.Why != pim.LastOne
			e.Done = !e.Repeat
			text := fmt.Sprintf("Done: %s.", e.itemLine(c.Now))
			if e.Repeat {
				text += " It will repeat."
			}
			return tools.Result{
				Text: text, Data: e, Source: provenance.Outside, Origins: reminderOrigins(e.In, "complete_reminder"),
				Undo: undoOf(fmt.Sprintf("put %q back on the list", textnorm.Ellipsize(e.Title, 80)), e.In, r),
			}, nil
		},
		Undo: func(ctx context.Context, data json.RawMessage) (string, error) {
			if err := d.takeBack(ctx, data); err != nil {
				return "", err
			}
			return "The item is open again.", nil
		},
	})
}

// approvalBinding returns the binding of an approval, which identifies the item.
func (e ListItem) approvalBinding() string {
	sum := sha256.Sum256([]byte(e.In + "\x00" + e.Ref))
	return fmt.Sprintf("%q on the list %s (%s)", textnorm.Ellipsize(e.Title, 120), e.In, hex.EncodeToString(sum[:6]))
}

func (d Deps) pickErrand(ctx context.Context, in completeIn) (ListItem, pim.Reminders, error) {
	lists := d.reminderLists()
	if in.In != "" {
		l, _, err := d.resolveList(in.In)
		if err != nil {
			return ListItem{}, nil, err
		}
		lists = []pim.Reminders{l}
	}
	if len(lists) == 0 {
		return ListItem{}, nil, &tools.Error{Source: provenance.Tool, Code: tools.Unsupported, Message: "no account or app has lists", Remedy: "Hob's own reminders end automatically, or with cancel_reminder"}
	}
	all, err := readListItems(ctx, lists, askWait)
	e, perr := tools.Pick("reminder", in.Reminder, all, func(e ListItem) (string, string) { return e.Ref, e.Title })
	if perr != nil {
		if tools.CodeOf(perr) == tools.NotFound && err != nil {
			return ListItem{}, nil, err // an unreadable list may contain the item
		}
		if terr, is := errors.AsType[*tools.Error](perr); is && terr.Code == tools.NotFound {
			terr.Remedy = "to end one of Hob's own reminders, use cancel_reminder"
		}
		return ListItem{}, nil, tools.Quoting(perr, provenance.Outside)
	}
	for _, l := range lists {
		if l.Name() == e.In {
			return e, l, nil
		}
	}
	return ListItem{}, nil, tools.Errorf(tools.NotFound, "there is no list %q", e.In)
}
