package autonomy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/payload"
	"hob/platform/store"
)

// Answer decides a question, or all open questions of a batch, and lets the turns continue.
// Every way to answer ends here: chat, API, command line and buttons. It returns what was
// decided.
func (l *Loop) Answer(ctx context.Context, id string, ans guard.Answer) (decided []guard.Approval, err error) {
	err = l.o.Store.Write(ctx, func(tx *store.Tx) error {
		if decided, err = l.answerTx(tx, id, ans); err != nil {
			return err
		}
		done := map[string]bool{}
		for _, a := range decided {
			if done[a.Event] {
				continue
			}
			done[a.Event] = true
			if err := l.o.Bus.ResumeTx(tx, a.Event); err != nil {
				return err
			}
		}
		return nil
	})
	return decided, err
}

func (l *Loop) answerTx(tx *store.Tx, id string, ans guard.Answer) ([]guard.Approval, error) {
	if guard.IsBatch(id) {
		return l.o.Guard.AnswerBatchTx(tx, id, ans)
	}
	a, err := l.o.Guard.AnswerTx(tx, id, ans)
	return []guard.Approval{a}, err
}

func (l *Loop) cmdYes(ctx context.Context, ev bus.Event, args string) (string, error) {
	id, rest, _ := strings.Cut(args, " ")
	ans := guard.Answer{Approved: true, By: "chat"}
	word, _, _ := strings.Cut(strings.ToLower(rest), " ")
	if word != "" && word != "for" && !slices.Contains(grantScopes(), word) {
		ans.Note = rest
		return l.decideApproval(ctx, ev, id, ans)
	}
	var err error
	if ans.Scope, ans.For, err = parseScope(rest); err != nil {
		return "", err
	}
	return l.decideApproval(ctx, ev, id, ans)
}

func (l *Loop) cmdNo(ctx context.Context, ev bus.Event, args string) (string, error) {
	id, note, _ := strings.Cut(args, " ")
	return l.decideApproval(ctx, ev, id, guard.Answer{Note: note, By: "chat"})
}

func grantScopes() []string { return []string{"once", "session", "task", "pattern"} }

// parseScope reads "", "session", "pattern for 2h", "for 30m".
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
	return "", 0, fmt.Errorf("unknown scope %q; write session, task or pattern, and for 30m or for 2h", s)
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

// requireKnownOrigin rejects a decision from a message without a known sender and program: a program that
// Hob started may have sent it.
func requireKnownOrigin(ev bus.Event) error {
	m, err := payload.ParseMessage(ev)
	if err == nil && m.Unknown {
		err = errors.New("the sender of this answer is unknown, so it decides nothing; use hob approve in a terminal, or a chat that is paired with me")
	}
	return err
}

func (l *Loop) cmdGrants(ctx context.Context, _ bus.Event, _ string) (string, error) {
	list, err := l.o.Guard.Grants(ctx, false, "", 100)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "You have allowed nothing beforehand.", nil
	}
	var b strings.Builder
	b.WriteString("You have allowed beforehand:")
	for _, g := range list {
		fmt.Fprintf(&b, "\n%s — %s", g.ID, g.Text(l.o.Zone()))
	}
	b.WriteString("\n/revoke ID takes one back.")
	return b.String(), nil
}

func (l *Loop) cmdRevoke(ctx context.Context, ev bus.Event, id string) (string, error) {
	if err := requireKnownOrigin(ev); err != nil {
		return "", err
	}
	if id == "" {
		list, err := l.o.Guard.Grants(ctx, false, "", 2)
		if err != nil {
			return "", err
		}
		if len(list) != 1 {
			return "", errors.New("say which one: /revoke ID; /grants lists them")
		}
		id = list[0].ID
	}
	g, err := l.Revoke(ctx, id, "chat")
	if err != nil {
		return "", err
	}
	return "Taken back: " + g.Text(l.o.Zone()), nil
}

// Revoke ends a grant.
func (l *Loop) Revoke(ctx context.Context, id, by string) (g guard.Grant, err error) {
	err = l.o.Store.Write(ctx, func(tx *store.Tx) error {
		g, err = l.o.Guard.RevokeTx(tx, id, by)
		return err
	})
	return g, err
}

// Grant creates a grant that no question asked for.
func (l *Loop) Grant(ctx context.Context, n guard.NewGrant) (g guard.Grant, err error) {
	err = l.o.Store.Write(ctx, func(tx *store.Tx) error {
		g, err = l.o.Guard.GrantTx(ctx, tx, n)
		return err
	})
	return g, err
}

func (l *Loop) cmdPair(ctx context.Context, ev bus.Event, channel string) (string, error) {
	if err := requireKnownOrigin(ev); err != nil {
		return "", err
	}
	if l.o.Pair == nil {
		return "", errors.New("no channel can be paired")
	}
	// Anyone who reads a code may be the first to send it.
	if m, err := payload.ParseMessage(ev); err != nil || m.Shared {
		return "", errors.Join(err, errors.New("others could read and use the code here; send this in a private chat, or use hob channel pair in a terminal"))
	}
	return l.o.Pair(ctx, channel, "chat")
}

// cmdPaired answers the message whose code has paired its sender.
func (l *Loop) cmdPaired(_ context.Context, ev bus.Event, _ string) (string, error) {
	said := "This account is yours: what comes from it I take as your word, also when others write or speak there, such as people with whom you share a list or a room. "
	if requireKnownOrigin(ev) != nil {
		said += "Who that is nobody can tell me, so it answers none of my questions. "
	}
	return said + "`hob channel list` shows it, `hob channel unpair` undoes it.", nil
}
