package autonomy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/knowledge/store"
)

// Answer decides a question, or all of a batch that are still open, and lets
// the turns go on. Everything with which an owner can answer ends here: chat,
// API and command line, and whatever comes to have buttons. It returns what was
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

// Decides reports whether a text of the owner may answer a question or order
// something, as commands do, rather than only be talk.
func Decides(text string) bool {
	name, _ := parseCommand(text)
	_, answer := parseAnswer(text)
	return name != "" || answer
}

// everything is "/yes all": the one batch that is open here.
const everything = "all"

// spoken is a plain answer.
type spoken struct{ yes, all bool }

// address is how people begin what they say to Hob in a group, where they have to.
var address = regexp.MustCompile(`(?i)^@?hob[,:]?\s+`)

// parseAnswer reads a bare yes or no, also "Hob, yes".
func parseAnswer(text string) (spoken, bool) {
	text = address.ReplaceAllString(strings.TrimSpace(text), "")
	text = strings.ToLower(strings.Trim(text, ".! "))
	switch text {
	case "yes to all", "yes all", "yes to all of them", "approve all", "all yes":
		return spoken{yes: true, all: true}, true
	case "no to all", "no all", "no to all of them", "deny all", "all no", "none", "none of them":
		return spoken{all: true}, true
	case "yes", "y", "ok", "okay", "yes please", "go ahead", "do it", "approve", "sure", "yep", "confirm":
		return spoken{yes: true}, true
	case "no", "n", "nope", "don't", "do not", "no thanks", "deny", "cancel":
		return spoken{}, true
	}
	return spoken{}, false
}

func (l *Loop) cmdYes(ctx context.Context, ev bus.Event, args string) (string, error) {
	id, rest, _ := strings.Cut(args, " ")
	ans := guard.Answer{Approved: true, By: "chat"}
	word, _, _ := strings.Cut(strings.ToLower(rest), " ")
	if word != "" && word != "for" && !slices.Contains(scopes(), word) {
		ans.Note = rest
		return l.decide(ctx, ev, id, ans)
	}
	var err error
	if ans.Scope, ans.For, err = parseScope(rest); err != nil {
		return "", err
	}
	return l.decide(ctx, ev, id, ans)
}

func (l *Loop) cmdNo(ctx context.Context, ev bus.Event, args string) (string, error) {
	id, note, _ := strings.Cut(args, " ")
	return l.decide(ctx, ev, id, guard.Answer{Note: note, By: "chat"})
}

func scopes() []string { return []string{"once", "session", "task", "pattern"} }

// parseScope reads "", "session", "pattern for 2h", "for 30m".
func parseScope(s string) (scope string, lasting time.Duration, err error) {
	words := strings.Fields(strings.ToLower(s))
	if len(words) > 0 && slices.Contains(scopes(), words[0]) {
		scope, words = words[0], words[1:]
	}
	switch {
	case len(words) == 0:
		return scope, 0, nil
	case len(words) == 2 && words[0] == "for":
		lasting, err = Lasting(words[1])
		return scope, lasting, err
	}
	return "", 0, fmt.Errorf("%q is no scope; write session, task or pattern, and for 30m or for 2h", s)
}

// Lasting reads how long a grant holds: "30m", "2h", "7d".
func Lasting(s string) (time.Duration, error) {
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

// decide answers the named question, or the only one of this conversation: a
// bare yes among several would be a yes to something else than was meant.
func (l *Loop) decide(ctx context.Context, ev bus.Event, id string, ans guard.Answer) (string, error) {
	if err := known(ev); err != nil {
		return "", err
	}
	if id == "" || id == everything {
		waiting, err := l.waiting(ctx, ev)
		if err != nil {
			return "", err
		}
		one := len(waiting) > 0 && !slices.ContainsFunc(waiting, func(a guard.Approval) bool { return a.Batch != waiting[0].Batch })
		switch {
		case len(waiting) == 0:
			return "There is no question waiting for your answer here.", nil
		case len(waiting) == 1:
			id = waiting[0].ID
		case id == everything && one && waiting[0].Batch != "":
			id = waiting[0].Batch
		default:
			return whichOne(waiting, ans.Approved), nil
		}
	}
	decided, err := l.Answer(ctx, id, ans)
	switch {
	case errors.Is(err, guard.ErrDecided), errors.Is(err, guard.ErrNoApproval), errors.Is(err, guard.ErrScope):
		return "", err
	case err != nil:
		return "", fmt.Errorf("your answer could not be saved: %w", err)
	}
	what := decided[0].Summary
	if n := len(decided); n > 1 {
		what = fmt.Sprintf("%s, and %d more like it", what, n-1)
	}
	if ans.Approved {
		return "Thank you. Going on: " + what, nil
	}
	return "All right, I will not do that: " + what, nil
}

// known refuses to let a message decide of which nobody knows what program
// handed it in, or who: it may be one that Hob has started.
func known(ev bus.Event) error {
	m, err := messageOf(ev)
	if err == nil && m.Unknown {
		err = errors.New("it cannot be found out who or which program wrote this, so it decides nothing; use hob approve in a terminal, or a chat that is paired with me")
	}
	return err
}

// waiting lists the questions that an answer in this chat may mean, oldest
// first: still open, and delivered to this very chat before the answer was
// written.
func (l *Loop) waiting(ctx context.Context, ev bus.Event) ([]guard.Approval, error) {
	until := taken(ev.ID)
	if at := ev.ReceivedAt.Add(skew); !ev.ReceivedAt.IsZero() && at.Before(until) {
		until = at
	}
	asked, err := l.o.Bus.Asked(ctx, ev.Session, until)
	if err != nil {
		return nil, err
	}
	var open []guard.Approval
	for _, q := range asked {
		here := q.Channel == ev.Channel && q.Chat == ev.Chat
		if !here && (l.o.Pushes(q.Channel) || l.o.Pushes(ev.Channel)) { // clients that pull share a conversation
			continue
		}
		list, err := l.o.Guard.Approvals(ctx, guard.Pending, "", q.Event, 100)
		if err != nil {
			return nil, err
		}
		for _, a := range list {
			if strings.Contains(q.Text, a.ID) && time.Now().Before(a.ExpiresAt) {
				open = append(open, a)
			}
		}
	}
	slices.SortFunc(open, func(x, y guard.Approval) int {
		return cmp.Or(x.CreatedAt.Compare(y.CreatedAt), cmp.Compare(x.ID, y.ID))
	})
	return slices.CompactFunc(open, func(x, y guard.Approval) bool { return x.ID == y.ID }), nil
}

// skew is how far a platform's clock, which says when a message was written, may
// be behind without an answer being taken for an older one. Many cut to the second.
const skew = 2 * time.Second

// taken is when an event was taken by this machine's clock, which its id tells.
func taken(event string) time.Time {
	id, err := uuid.Parse(event)
	if err != nil {
		return time.Now()
	}
	return time.Unix(id.Time().UnixTime()).Add(time.Millisecond) // it is cut to the millisecond
}

func whichOne(waiting []guard.Approval, yes bool) string {
	word := "/no"
	if yes {
		word = "/yes"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d questions wait for you. Which one do you mean?", len(waiting))
	batches := map[string]bool{"": true}
	for _, a := range waiting {
		if !batches[a.Batch] {
			batches[a.Batch] = true
			fmt.Fprintf(&b, "\n%s %s — all of these alike", word, a.Batch)
		}
		fmt.Fprintf(&b, "\n%s %s — %s", word, a.ID, a.Summary)
	}
	return b.String()
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
	if err := known(ev); err != nil {
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

// Grant makes a grant that nobody asked for.
func (l *Loop) Grant(ctx context.Context, n guard.NewGrant) (g guard.Grant, err error) {
	err = l.o.Store.Write(ctx, func(tx *store.Tx) error {
		g, err = l.o.Guard.GrantTx(ctx, tx, n)
		return err
	})
	return g, err
}

func (l *Loop) cmdPair(ctx context.Context, ev bus.Event, channel string) (string, error) {
	if err := known(ev); err != nil {
		return "", err
	}
	if l.o.Pair == nil {
		return "", errors.New("there is no channel to pair here")
	}
	// Whoever reads a code can be the first to write it.
	if m, err := messageOf(ev); err != nil || m.Shared {
		return "", errors.Join(err, errors.New("others would read the code here, and could use it; write that to me alone, or use hob channel pair in a terminal"))
	}
	return l.o.Pair(ctx, channel, "chat")
}

// cmdPaired answers the message whose code has paired its sender.
func (l *Loop) cmdPaired(_ context.Context, ev bus.Event, _ string) (string, error) {
	said := "This account is yours: what comes from it I take as your word, also when others write or speak there, such as people with whom you share a list or a room. "
	if known(ev) != nil {
		said += "Who that is nobody can tell me, so it answers none of my questions. "
	}
	return said + "`hob channel list` shows it, `hob channel unpair` takes it back.", nil
}
