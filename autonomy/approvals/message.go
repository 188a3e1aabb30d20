package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/intake/chattext"
	"hob/autonomy/payload"
)

// ApproveByMessage runs /approve and returns the reply. args is an id or "all", followed by a scope
// or a note.
func (d *Decider) ApproveByMessage(ctx context.Context, ev bus.Event, args string) (string, error) {
	id, rest, _ := strings.Cut(args, " ")
	ans := guard.Answer{Approved: true, By: "chat"}
	word, _, _ := strings.Cut(strings.ToLower(rest), " ")
	if word != "" && word != "for" && !slices.Contains(grantScopes(), word) {
		ans.Note = rest
		return d.decideInMessage(ctx, ev, id, ans)
	}
	var err error
	if ans.Scope, ans.For, err = parseScope(rest); err != nil {
		return "", err
	}
	return d.decideInMessage(ctx, ev, id, ans)
}

// DenyByMessage runs /deny and returns the reply. args is an id or "all", followed by a note.
func (d *Decider) DenyByMessage(ctx context.Context, ev bus.Event, args string) (string, error) {
	id, note, _ := strings.Cut(args, " ")
	return d.decideInMessage(ctx, ev, id, guard.Answer{Note: note, By: "chat"})
}

func grantScopes() []string { return []string{"once", "session", "task", "pattern"} }

// parseScope parses "", "session", "pattern for 2h" or "for 30m".
func parseScope(s string) (scope string, lasting time.Duration, err error) {
	words := strings.Fields(strings.ToLower(s))
	if len(words) > 0 && slices.Contains(grantScopes(), words[0]) {
		scope, words = words[0], words[1:]
	}
	switch {
	case len(words) == 0:
		return scope, 0, nil
	case len(words) == 2 && words[0] == "for":
		lasting, err = ParseGrantDuration(words[1])
		return scope, lasting, err
	}
	return "", 0, fmt.Errorf("unknown scope %q; write session, task or pattern, and optionally a duration such as \"for 30m\" or \"for 2h\"", s)
}

// ParseGrantDuration parses the duration of a grant: "30m", "2h", "7d".
func ParseGrantDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if d, err = time.ParseDuration(days + "h"); err == nil {
			d *= 24
		}
	}
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a duration such as 30m, 2h or 7d", s)
	}
	return d, nil
}

// RequireKnownOrigin rejects a decision from a message whose sender or program is unknown, because
// a program started by Hob may have sent it.
func RequireKnownOrigin(ev bus.Event) error {
	m, err := payload.ParseMessage(ev)
	if err == nil && m.Unknown {
		err = errors.New("the sender of this answer is unknown, so the answer does not count; use hob approve in a terminal, or answer in a paired chat")
	}
	return err
}

// AnswersHere reports whether Hob handles a bare word in a message as an answer, not as
// conversation.
func (d *Decider) AnswersHere(ctx context.Context, ev bus.Event) (bool, error) {
	p, err := placeOfAnswer(ev)
	if err != nil {
		return false, err
	}
	t, err := d.findTarget(ctx, p)
	return t.hasTarget(), err
}

// ReplyToTalk returns the reply to a word of agreement, such as "ok", which decides nothing. The
// reply reminds the user of the open request. asks lists the ids of the requests that it shows
// again.
func (d *Decider) ReplyToTalk(ctx context.Context, ev bus.Event) (text string, asks []string, err error) {
	p, err := placeOfAnswer(ev)
	if err != nil {
		return "", nil, err
	}
	t, err := d.findTarget(ctx, p)
	switch {
	case err != nil:
		return "", nil, err
	case len(t.decides) == 1:
		return fmt.Sprintf("Reply yes to approve or no to deny: %s.", strings.TrimRight(t.decides[0].API().Sentence(), ".")), t.asks, nil
	}
	return nameOne(append(t.decides, t.open...), p), nil, nil
}

// QuestionsToRepeat returns the ids of the requests that the reply to a bare answer lists again,
// because the answer could refer to any of them.
func (d *Decider) QuestionsToRepeat(ctx context.Context, ev bus.Event, all bool) ([]string, error) {
	p, err := placeOfAnswer(ev)
	if err != nil {
		return nil, err
	}
	t, err := d.findTarget(ctx, p)
	if err != nil || len(t.decides) < 2 {
		return nil, err
	}
	if _, one := t.singleApproval(all); one {
		return nil, nil
	}
	return t.asks, nil
}

// decideInMessage decides the request called id, or the last one shown in this chat.
func (d *Decider) decideInMessage(ctx context.Context, ev bus.Event, id string, ans guard.Answer) (string, error) {
	if err := RequireKnownOrigin(ev); err != nil {
		return "", err
	}
	p, err := placeOfAnswer(ev)
	if err != nil {
		return "", err
	}
	if id == "" || id == chattext.All {
		t, err := d.findTarget(ctx, p)
		if err != nil {
			return "", err
		}
		var one bool
		if id, one = t.singleApproval(id == chattext.All); !one {
			return nameOne(append(t.decides, t.open...), p), nil
		}
	} else if err := d.mayName(ctx, p, id); err != nil {
		return "", err
	}
	decided, err := d.AnswerInChat(ctx, id, ans)
	switch {
	case errors.Is(err, guard.ErrDecided), errors.Is(err, guard.ErrNoApproval), errors.Is(err, guard.ErrScope), errors.Is(err, guard.ErrTooLong):
		return "", err
	case err != nil:
		return "", fmt.Errorf("your answer could not be saved: %w", err)
	}
	what := decided[0].API().Sentence()
	if n := len(decided); n > 1 {
		what = fmt.Sprintf("%s, and %d more like it", what, n-1)
	}
	if ans.Approved {
		return "Thank you. Continuing with: " + what, nil
	}
	return "All right, I will not do that: " + what, nil
}

// mayName rejects an answer by id on a channel that accepts only replies, unless the message is a
// reply to that request. If the request was already decided, the error says so.
func (d *Decider) mayName(ctx context.Context, p answerPlace, id string) error {
	if !p.onlyReplies {
		return nil
	}
	t, err := d.findTarget(ctx, p)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(t.decides, func(a guard.Approval) bool { return a.ID == id || a.Batch == id }) {
		return nil
	}
	if a, err := d.o.Guard.Approval(ctx, id); err == nil && a.State != guard.Pending {
		return fmt.Errorf("request %s is already %s: %w", id, a.State, guard.ErrDecided)
	}
	return errOnlyReplies
}

// nameOne returns text that explains how to answer requests that a bare answer cannot decide.
func nameOne(open []guard.Approval, p answerPlace) string {
	if len(open) == 0 {
		return "No approval request is waiting for your answer here."
	}
	var b strings.Builder
	if len(open) == 1 {
		fmt.Fprintf(&b, "I did not understand that as an answer to this request: %s.\n", strings.TrimRight(open[0].API().Sentence(), "."))
	} else {
		fmt.Fprintf(&b, "%d requests are waiting for your answer. Which one do you mean?\n", len(open))
	}
	if p.onlyReplies {
		b.WriteString("Reply to the message with the request:\n")
	}
	batches := map[string]bool{"": true}
	for _, a := range open {
		if !batches[a.Batch] && len(open) > 1 {
			batches[a.Batch] = true
			fmt.Fprintf(&b, "/yes %s or /no %s: all similar requests\n", a.Batch, a.Batch)
		}
		fmt.Fprintf(&b, "/yes %s or /no %s: %s\n", a.ID, a.ID, a.API().Sentence())
	}
	fmt.Fprintf(&b, "All details: hob approvals show %s", open[0].ID)
	return b.String()
}
