package social

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/platform/pim"
	"hob/platform/retry"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// ReplierOptions are the options of NewReplier. All are required, unless their comment says
// otherwise.
type ReplierOptions struct {
	State   StateStore
	Mailers func() []pim.Mailer
	// People searches the address books. It may be nil.
	People func(ctx context.Context, words string) ([]pim.Contact, error)
	// Allowed returns why the policy forbids a reply to an address; nil if it does not.
	Allowed func(ctx context.Context, to, subject, text string) error
	// Paused reports whether background work is paused.
	Paused func(ctx context.Context) (bool, error)
	// Notify sends the user a notice once per key. Zone returns the user's time zone.
	Notify func(ctx context.Context, key, text string) error
	Zone   func() *time.Location
	Log    *slog.Logger
	// Poll is how often the mailboxes are read while the replies are on (default 15 s).
	Poll time.Duration
}

// Replier sends the automatic replies of set_auto_reply. It reads the mailboxes only while a rule is
// on. Before it sends, it records the person, so that a crash never causes a second reply.
type Replier struct {
	o    ReplierOptions
	wake chan struct{}
	mu   sync.Mutex // serializes changes of the rule
}

// NewReplier returns a Replier.
func NewReplier(o ReplierOptions) *Replier {
	o.Poll = cmp.Or(o.Poll, 15*time.Second)
	return &Replier{o: o, wake: make(chan struct{}, 1)}
}

// ruleKey is the key of the rule in the state.
const ruleKey = "rule"

// replyAgain is how long a person who got a reply gets no other one, as in vacation(1).
const replyAgain = 7 * 24 * time.Hour

// States of a reply.
const (
	replySent    = "sent"
	replyFailed  = "failed"
	replyUnknown = "unknown"
)

// skipReasons are the reasons for not answering, in the order of reports.
var skipReasons = []string{
	skipAutomatic, skipList, skipNotToYou, skipStranger, skipPeople, skipHours, skipAgain, skipPolicy,
}

const (
	skipAutomatic = "sent by a program"
	skipList      = "sent to a list or to many people"
	skipNotToYou  = "not addressed to you"
	skipStranger  = "not in the address book"
	skipPeople    = "not one of the people of the rule"
	skipHours     = "outside the hours"
	skipAgain     = "already answered"
	skipPolicy    = "forbidden by the policy"
)

// currentRule returns the current or last rule; nil if there was none.
func (r *Replier) currentRule(ctx context.Context) (*replyRule, error) {
	b, err := r.o.State.Get(ctx, ruleKey)
	if err != nil || b == nil {
		return nil, err
	}
	out := &replyRule{Skipped: map[string]int{}, Seen: map[string]time.Time{}}
	if err := json.Unmarshal(b, out); err != nil {
		return nil, fmt.Errorf("social: read the automatic replies: %w", err)
	}
	return out, nil
}

// saveRule stores a rule that a call sets, and wakes Run.
func (r *Replier) saveRule(ctx context.Context, rule *replyRule) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.storeRule(ctx, rule); err != nil {
		return err
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return nil
}

func (r *Replier) storeRule(ctx context.Context, rule *replyRule) error {
	if rule == nil {
		return r.o.State.Set(ctx, ruleKey, nil)
	}
	b, err := json.Marshal(rule)
	if err != nil {
		return fmt.Errorf("social: store the automatic replies: %w", err)
	}
	return r.o.State.Set(ctx, ruleKey, b)
}

// restoreRule undoes a call of set_auto_reply.
func (r *Replier) restoreRule(ctx context.Context, u autoReplyUndo) (string, error) {
	now, err := r.currentRule(ctx)
	if err != nil {
		return "", err
	}
	if now == nil || now.ID != u.ID {
		return "", tools.Errorf(tools.Conflict, "the automatic replies were changed since")
	}
	switch {
	case !u.New && now.Enabled:
		return "", tools.Errorf(tools.Conflict, "the automatic replies are on")
	case !u.New:
		return "The automatic replies are on again.", r.saveRule(ctx, u.Before)
	case len(now.Answered) > 0: // the report of what was answered stays
		now.ID += " undone" // the call cannot be undone twice
		now.Enabled, now.Why, now.Reported = false, "you took it back", true
		return "The automatic replies are off again; those that were sent cannot be called back.", r.saveRule(ctx, now)
	case u.Before != nil && u.Before.Enabled:
		return "Restored the earlier automatic replies.", r.saveRule(ctx, u.Before)
	}
	return "The automatic replies are off again.", r.saveRule(ctx, u.Before)
}

// autoMailers returns the mailboxes whose replies can be marked as automatic.
func (r *Replier) autoMailers() (out []pim.AutoMarker) {
	if r == nil {
		return nil
	}
	for _, m := range r.o.Mailers() {
		if a, ok := m.(pim.AutoMarker); ok && m.From().Address != "" {
			out = append(out, a)
		}
	}
	return out
}

// Run answers mail until ctx ends.
func (r *Replier) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		on, err := r.answerNew(ctx)
		if err != nil && ctx.Err() == nil {
			r.o.Log.Warn("automatic replies: mail not read; trying again", "err", err)
		}
		wait := r.o.Poll
		if !on {
			wait = longestReply // until a call sets a rule
		}
		_ = retry.Wait(ctx, wait, r.wake) // ends with ctx
	}
	return nil
}

// answerNew answers the mail that arrived since the last call. on reports whether a rule is on.
func (r *Replier) answerNew(ctx context.Context) (on bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rule, err := r.currentRule(ctx)
	if err != nil || rule == nil {
		return err != nil, err
	}
	if !rule.Enabled {
		return false, r.reportEnd(ctx, rule)
	}
	if paused, err := r.o.Paused(ctx); err != nil || paused {
		return true, err
	}
	now := time.Now()
	for _, box := range r.autoMailers() {
		list, ferr := box.FindMail(ctx, pim.MailQuery{Since: rule.From, Limit: 50})
		err = errors.Join(err, ferr)
		for _, m := range slices.Backward(list) {
			if serr := r.answerMail(ctx, rule, box, m); serr != nil {
				return true, errors.Join(err, serr)
			}
			if !rule.Enabled {
				return false, r.reportEnd(ctx, rule)
			}
		}
	}
	rule.forgetSeen()
	if !now.Before(rule.Until) {
		rule.Enabled, rule.Why = false, "the time is over"
		return false, errors.Join(err, r.reportEnd(ctx, rule))
	}
	return true, err
}

// forgetSeen removes the mails that arrived longer than seenFor before the newest one. They count as
// handled, because servers deliver mail in the order of its arrival.
func (r *replyRule) forgetSeen() {
	for _, at := range r.Seen {
		if done := at.Add(-seenFor); done.After(r.Done) {
			r.Done = done
		}
	}
	maps.DeleteFunc(r.Seen, func(_ string, at time.Time) bool { return at.Before(r.Done) })
}

// seenFor is how long the ids of mails are kept.
const seenFor = 10 * time.Minute

// reportEnd tells the user once that the replies ended by themselves.
func (r *Replier) reportEnd(ctx context.Context, rule *replyRule) error {
	if rule.Reported {
		return nil
	}
	if err := r.o.Notify(ctx, "auto_reply:"+rule.ID, fmt.Sprintf("The automatic replies have ended, because %s. Answered: %d. For the list, ask for the report of the automatic replies.", rule.Why, len(rule.Answered))); err != nil {
		return err
	}
	rule.Reported = true
	return r.storeRule(ctx, rule)
}

// answerMail answers one mail, or counts why it gets no answer.
func (r *Replier) answerMail(ctx context.Context, rule *replyRule, box pim.AutoMarker, m pim.Message) error {
	key := cmp.Or(m.ID, m.Ref)
	if m.Received.Before(rule.From.Truncate(time.Second)) || !m.Received.Before(rule.Until) || m.Received.Before(rule.Done) || !rule.Seen[key].IsZero() {
		return nil
	}
	rule.Seen[key] = m.Received
	why, err := r.skipReason(ctx, rule, box, m)
	if err != nil {
		delete(rule.Seen, key)
		return err
	}
	to := replyAddress(m)
	subject := m.Subject
	if !strings.HasPrefix(strings.ToLower(subject), "re:") {
		subject = "Re: " + subject
	}
	if why == "" {
		if perr := r.o.Allowed(ctx, to.Address, subject, rule.Message); perr != nil {
			r.o.Log.Info("automatic reply forbidden by the policy", "err", perr)
			why = skipPolicy
		}
	}
	if why != "" {
		rule.Skipped[why]++
		return r.storeRule(ctx, rule)
	}
	rule.Answered = append(rule.Answered, replyRow{To: to.Address, Subject: textnorm.Ellipsize(m.Subject, 60), At: time.Now(), State: replyUnknown})
	row := &rule.Answered[len(rule.Answered)-1]
	if err := r.storeRule(ctx, rule); err != nil { // before sending: at most one reply, even after a crash
		return err
	}
	sum := sha256.Sum256([]byte(rule.ID + "\x00" + key))
	_, domain, _ := strings.Cut(box.From().Address, "@")
	receipt, err := box.SendMail(ctx, pim.OutgoingMail{
		ID: "auto." + hex.EncodeToString(sum[:12]) + "@" + domain, To: []pim.Person{to}, Subject: subject, Text: rule.Message, Answers: m.ID, References: m.Refers, Auto: "auto-replied",
	})
	switch {
	case err != nil:
		row.State = replyFailed
		r.o.Log.Warn("automatic reply not sent", "err", err)
	case receipt.Outcome != pim.Uncertain:
		row.State = replySent
	}
	if len(rule.Answered) >= rule.Limit {
		rule.Enabled, rule.Why = false, fmt.Sprintf("the limit of %d replies is reached", rule.Limit)
	}
	return r.storeRule(ctx, rule)
}

// replyAddress returns the person who gets the reply. Reply-To is ignored unless it is the sender's
// own address, because anyone can set it to the address of another person.
func replyAddress(m pim.Message) pim.Person {
	if len(m.From) == 0 {
		return pim.Person{}
	}
	return m.From[0]
}

// skipReason returns why a mail gets no automatic reply (RFC 3834, section 2); "" if it gets one.
func (r *Replier) skipReason(ctx context.Context, rule *replyRule, box pim.AutoMarker, m pim.Message) (string, error) {
	to := replyAddress(m).Address
	var own []string
	for _, b := range r.o.Mailers() {
		own = append(own, strings.ToLower(b.From().Address))
	}
	me := strings.ToLower(box.From().Address)
	switch {
	case to == "" || slices.Contains(own, to) || m.Auto != "" && m.Auto != "no" || isProgramAddress(to) || slices.ContainsFunc(m.Refers, func(id string) bool { return strings.HasPrefix(id, "auto.") }):
		return skipAutomatic, nil
	case m.IsBulk():
		return skipList, nil
	case !slices.ContainsFunc(m.To, func(p pim.Person) bool { return p.Address == me }):
		return skipNotToYou, nil
	case len(rule.People) > 0 && !slices.Contains(rule.People, to) || slices.Contains(rule.Except, to):
		return skipPeople, nil
	case !rule.isWithinHours(m.Received.In(r.o.Zone())):
		return skipHours, nil
	case slices.ContainsFunc(rule.Answered, func(a replyRow) bool { return a.To == to && a.At.After(time.Now().Add(-replyAgain)) }):
		return skipAgain, nil
	case !rule.Contacts:
		return "", nil
	case r.o.People == nil:
		return skipStranger, nil
	}
	found, err := r.o.People(ctx, to)
	if err != nil {
		return "", fmt.Errorf("search the address book: %w", err)
	}
	if !slices.ContainsFunc(found, func(p pim.Contact) bool { return slices.Contains(p.Addresses, to) }) {
		return skipStranger, nil
	}
	return "", nil
}

// isProgramAddress reports whether an address belongs to a program by its name.
func isProgramAddress(address string) bool {
	local, _, _ := strings.Cut(strings.ToLower(address), "@")
	bare := strings.NewReplacer("-", "", "_", "", ".", "").Replace(local)
	for _, w := range []string{"noreply", "donotreply", "mailerdaemon", "postmaster", "bounce", "notification", "autoreply"} {
		if strings.Contains(bare, w) {
			return true
		}
	}
	return strings.HasSuffix(local, "-request") || strings.HasPrefix(local, "owner-") || strings.HasPrefix(local, "listserv")
}
