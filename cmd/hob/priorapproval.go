package main

import (
	"context"
	"fmt"

	"hob/autonomy/api"
)

// priorApproval is the approval that the user gave in advance.
type priorApproval int

const (
	noPriorApproval priorApproval = iota
	// turnApproval is --yes: it covers the requests of the command's own turn, as far as the
	// server accepts prior approval (guard.Answer.Beforehand).
	turnApproval
	// commandApproval covers the one call that the command makes itself, with arguments of
	// the user's own: `hob memory forget --yes`, `hob undo`.
	commandApproval
)

// resolveApprovals gets the user's answers to the questions of an event and waits until it is
// finished. It asks on a terminal unless prior approval covers the question.
func (a *cli) resolveApprovals(ctx context.Context, c *client, event string, questions []api.Approval, given priorApproval) (api.EventStatus, error) {
	if event == "" { // a server of an older version does not name it
		event = questions[0].Event
	}
	for {
		for _, q := range questions {
			if err := a.answerQuestion(ctx, c, event, q, given); err != nil {
				return api.EventStatus{}, err
			}
		}
		st, err := c.waitEvent(ctx, event, questions)
		if err != nil || len(st.Approvals) == 0 {
			return st, err
		}
		questions = st.Approvals
	}
}

// answerQuestion answers one request: by prior approval if that covers it, otherwise by asking
// on the terminal.
func (a *cli) answerQuestion(ctx context.Context, c *client, event string, q api.Approval, given priorApproval) error {
	if given == commandApproval && q.Event == event {
		_, err := c.Answer(ctx, q.ID, api.Answer{Approved: true})
		return err
	}
	if given == turnApproval {
		_, err := c.Answer(ctx, q.ID, api.Answer{Approved: true, Beforehand: event})
		if err == nil {
			fmt.Fprintf(a.err, "Approved by --yes: %s\n", approvalSummary(q))
			return nil
		}
		f, ok := failureIn(err)
		if !ok || f.code != exitDenied {
			return err
		}
		fmt.Fprintf(a.err, "Not approved by --yes: %s\n    %s\n", approvalSummary(q), sanitizePrintable(f.cause))
	}
	ok, err := a.confirmApproval(ctx, q)
	if err != nil {
		return err
	}
	_, err = c.Answer(ctx, q.ID, api.Answer{Approved: ok})
	return err
}
