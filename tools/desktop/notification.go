package desktop

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	desk "hob/platform/host/desktop"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// NotificationClient shows notifications; *desk.Notifier implements it.
type NotificationClient interface {
	Notify(ctx context.Context, n desk.Notification) error
}

// Limits of a notification, in characters.
const (
	maxNoteTitle = 200
	maxNoteText  = 1000
)

type notificationIn struct {
	Title   string `json:"title,omitempty"`
	Message string `json:"message" jsonschema:"its text"`
}

// buildNotification builds the notification. It names Hob as the sender, so that the notification
// cannot imitate another program's.
func (in notificationIn) buildNotification(id string) (desk.Notification, error) {
	n := desk.Notification{ID: "tool:" + id, Title: strings.TrimSpace(in.Title), Body: strings.TrimSpace(in.Message), Urgency: desk.Normal}
	switch {
	case n.Body == "":
		return n, tools.Errorf(tools.InvalidArguments, "the message is empty")
	case utf8.RuneCountInString(n.Title) > maxNoteTitle || utf8.RuneCountInString(n.Body) > maxNoteText:
		return n, tools.Errorf(tools.InvalidArguments, "the title may be at most %d characters long, and the message at most %d", maxNoteTitle, maxNoteText)
	}
	if n.Title == "" {
		n.Title = "Hob"
	} else {
		n.Title = "Hob: " + n.Title
	}
	return n, nil
}

// sendNotification shows a notification immediately, if the user requests it. Hob's own
// notifications use the outbox instead and respect quiet hours. The tool needs approval if the
// context contains untrusted text, or if the user did not directly request the notification.
func (d Deps) sendNotification() tools.Tool {
	return tools.New(tools.Def[notificationIn]{
		Spec: tools.Spec{
			Name: "send_notification", Category: "desktop", Effects: tools.Send,
			Description: "Show a notification on the user's desktop now, when the user asks for one.",
			Keywords:    "notification notify popup banner alert toast show desktop message pop up",
		},
		Summary: func(in notificationIn) string {
			return "Show a notification: " + textnorm.Ellipsize(strings.TrimSpace(in.Title+" "+in.Message), 200)
		},
		Judge: func(_ context.Context, in notificationIn) tools.CallAssessment {
			_, err := in.buildNotification("")
			return tools.CallAssessment{Refused: err, To: []string{tools.Owner}}
		},
		Run: func(ctx context.Context, c tools.Call, in notificationIn) (tools.Result, error) {
			n, err := in.buildNotification(c.ID)
			if err != nil {
				return tools.Result{}, err
			}
			switch err = d.Notes.Notify(ctx, n); {
			case err == nil:
				return tools.Result{Source: provenance.Tool, Text: "Showed the notification."}, nil
			case errors.Is(err, desk.ErrNoSession), errors.Is(err, desk.ErrNoServer):
				return tools.Result{}, tools.Errorf(tools.Unsupported, "%w", tools.CleanErr(err))
			case errors.Is(err, desk.ErrUnsure):
				return tools.Result{}, tools.Quoting(tools.Errorf(tools.OutcomeUnknown, "%w", err), provenance.Outside)
			}
			return tools.Result{}, classifyProgramError(err)
		},
	})
}
