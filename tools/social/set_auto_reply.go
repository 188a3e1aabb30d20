package social

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Limits of automatic replies.
const (
	maxReplyText   = 4_000 // characters
	maxReplyPeople = 50
	maxReplies     = 150 // answers of one rule, all of which fit into the stored state
	usualReplies   = 100
	longestReply   = 60 * 24 * time.Hour
	usualReply     = time.Hour
)

// StateStore stores small values under a key. It is safe for concurrent use.
type StateStore interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Set(ctx context.Context, key string, value []byte) error
}

// replyRule says who gets which automatic reply, and until when.
type replyRule struct {
	ID       string    `json:"id"`
	Enabled  bool      `json:"enabled"`
	Message  string    `json:"message"`
	From     time.Time `json:"from"`
	Until    time.Time `json:"until"`
	Contacts bool      `json:"contacts_only"`
	People   []string  `json:"people,omitempty"` // only these; empty means everyone
	Except   []string  `json:"except,omitempty"`
	// Start and End bound the hours of a day in minutes after midnight; equal values mean all day.
	Start int `json:"start,omitempty"`
	End   int `json:"end,omitempty"`
	Limit int `json:"limit"`
	// Why is why the rule ended before Until: its limit, or that the user turned it off.
	Why      string     `json:"why,omitempty"`
	Answered []replyRow `json:"answered"`
	// Skipped counts mails that got no answer, by reason.
	Skipped map[string]int `json:"skipped"`
	// Seen are the handled mails that arrived after Done.
	Seen     map[string]time.Time `json:"seen,omitempty"`
	Done     time.Time            `json:"done,omitzero"`
	Reported bool                 `json:"reported,omitempty"`
}

// replyRow is one automatic reply.
type replyRow struct {
	To      string    `json:"to"`
	Subject string    `json:"subject"`
	At      time.Time `json:"at"`
	State   string    `json:"state"` // sent, failed, or unknown after a crash
}

type autoReplyIn struct {
	Enabled  *bool    `json:"enabled,omitempty" jsonschema:"true turns the replies on, false off; without it, the report of what was answered"`
	Message  string   `json:"message,omitempty" jsonschema:"text of the reply, in the user's words"`
	Minutes  int      `json:"duration_minutes,omitempty" jsonschema:"how long, default 60; at most 60 days"`
	Until    string   `json:"until,omitempty" jsonschema:"instead of duration_minutes: the end, such as Monday at 8:00"`
	Contacts *bool    `json:"contacts_only,omitempty" jsonschema:"answer only people in the address book (default true)"`
	People   []string `json:"people,omitempty" jsonschema:"answer only these addresses"`
	Except   []string `json:"except,omitempty" jsonschema:"never answer these addresses"`
	Hours    string   `json:"hours,omitempty" jsonschema:"only mail that arrives in these hours, such as 18:00-08:00"`
	Limit    int      `json:"limit,omitempty" jsonschema:"at most so many replies, default 100"`
}

// autoReplyUndo is the undo data.
type autoReplyUndo struct {
	ID     string     `json:"id"` // rule that the call stored or turned off
	New    bool       `json:"new"`
	Before *replyRule `json:"before"`
}

func (d Deps) setAutoReply() tools.Tool {
	return tools.New(tools.Def[autoReplyIn]{
		Spec: tools.Spec{
			Name: "set_auto_reply", Category: "social", Effects: tools.Write | tools.Send,
			Description: "Answer mail automatically for a time (out of office), turn that off, or report what was answered. Each person gets one reply; mailing lists and programs get none.",
			Keywords:    "auto reply autoreply automatic answer out of office vacation away holiday absence responder",
		},
		Summary: d.summarizeAutoReply,
		Judge: func(_ context.Context, in autoReplyIn) tools.CallAssessment {
			switch {
			case in.Enabled == nil:
				return tools.CallAssessment{Effects: tools.Read}
			case !*in.Enabled:
				return tools.CallAssessment{Effects: tools.Write}
			}
			if _, err := d.checkReplyRule(in); err != nil { // before anyone is asked for approval
				return tools.CallAssessment{Refused: err}
			}
			return tools.CallAssessment{Why: "everyone who writes and fits the rule gets the reply until it ends"}
		},
		Run: d.runAutoReply,
		Undo: func(ctx context.Context, data json.RawMessage) (string, error) {
			var u autoReplyUndo
			if err := json.Unmarshal(data, &u); err != nil {
				return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
			}
			return d.Replies.restoreRule(ctx, u)
		},
	})
}

func (d Deps) summarizeAutoReply(in autoReplyIn) string {
	switch {
	case in.Enabled == nil:
		return "Report the automatic replies"
	case !*in.Enabled:
		return "Turn off the automatic replies"
	}
	who := "everyone in the address book who writes"
	switch {
	case len(in.People) > 0:
		who = strings.Join(in.People, ", ")
	case in.Contacts != nil && !*in.Contacts:
		who = "everyone who writes"
	}
	end := cmp.Or(in.Until, textnorm.CountNoun(cmp.Or(in.Minutes, int(usualReply.Minutes())), "minute", "minutes"))
	return fmt.Sprintf("Answer %s automatically (%s): %s", who, end, textnorm.Ellipsize(in.Message, 200))
}

func (d Deps) runAutoReply(ctx context.Context, c tools.Call, in autoReplyIn) (tools.Result, error) {
	now, err := d.Replies.currentRule(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	if in.Enabled == nil {
		if now == nil {
			return tools.Result{Text: "There are no automatic replies.", Data: replyRule{Answered: []replyRow{}, Skipped: map[string]int{}}, Source: provenance.Tool}, nil
		}
		return tools.Result{Text: now.describeRule(c.Now), Data: now.withoutSeen(), Source: worstSource(len(now.Answered) > 0)}, nil
	}
	if !*in.Enabled {
		if now == nil || !now.Enabled {
			return tools.Result{Text: "The automatic replies are off.", Source: provenance.Tool}, nil
		}
		next := *now
		next.Enabled, next.Why, next.Reported = false, "you turned it off", true
		if err := d.Replies.saveRule(ctx, &next); err != nil {
			return tools.Result{}, err
		}
		return tools.Result{
			Text: "Turned off the automatic replies.\n" + next.describeRule(c.Now), Data: next.withoutSeen(), Source: worstSource(len(next.Answered) > 0),
			Undo: tools.NewUndo("turn the automatic replies on again", autoReplyUndo{ID: next.ID, Before: now}),
		}, nil
	}
	rule, err := d.newReplyRule(c, in)
	if err != nil {
		return tools.Result{}, err
	}
	if err := d.Replies.saveRule(ctx, rule); err != nil {
		return tools.Result{}, err
	}
	return tools.Result{
		Text: rule.describeRule(c.Now), Data: rule.withoutSeen(), Source: provenance.Tool,
		Undo: tools.NewUndo("turn off the automatic replies", autoReplyUndo{ID: rule.ID, New: true, Before: now}),
	}, nil
}

// newReplyRule checks the arguments of a new rule, and sets its end.
func (d Deps) newReplyRule(c tools.Call, in autoReplyIn) (*replyRule, error) {
	r, err := d.checkReplyRule(in)
	if err != nil {
		return nil, err
	}
	r.ID, r.From, r.Until = c.ID, c.Now, c.Now.Add(cmp.Or(time.Duration(in.Minutes)*time.Minute, usualReply))
	if in.Until != "" {
		m, err := dateparse.Parse(in.Until, c.Now)
		if err != nil {
			return nil, tools.Errorf(tools.InvalidArguments, "until: %w", tools.CleanErr(err))
		}
		r.Until = m.Time
	}
	if !r.Until.After(c.Now) || r.Until.After(c.Now.Add(longestReply)) {
		return nil, errReplyEnd()
	}
	return r, nil
}

func errReplyEnd() error {
	return tools.Errorf(tools.InvalidArguments, "the end must be within the next 60 days; automatic replies without an end are not possible")
}

// checkReplyRule checks the arguments that do not depend on the time of the call.
func (d Deps) checkReplyRule(in autoReplyIn) (*replyRule, error) {
	if len(d.Replies.autoMailers()) == 0 {
		return nil, &tools.Error{Source: provenance.Tool, Code: tools.Unsupported, Message: "automatic replies need a mail account with IMAP and SMTP, because programs such as Mail cannot mark a reply as automatic", Remedy: "add one with: hob account add"}
	}
	r := &replyRule{
		Enabled: true, Message: strings.TrimSpace(in.Message), Contacts: in.Contacts == nil || *in.Contacts,
		Limit: cmp.Or(in.Limit, usualReplies), Answered: []replyRow{}, Skipped: map[string]int{}, Seen: map[string]time.Time{},
	}
	switch {
	case r.Message == "":
		return nil, tools.Errorf(tools.InvalidArguments, "message is required: the text of the reply")
	case utf8.RuneCountInString(r.Message) > maxReplyText:
		return nil, tools.Errorf(tools.InvalidArguments, "the message has more than %d characters; shorten it", maxReplyText)
	case in.Minutes < 0 || in.Minutes > 0 && in.Until != "":
		return nil, tools.Errorf(tools.InvalidArguments, "give one of duration_minutes and until, and a positive duration")
	case in.Limit < 0 || in.Limit > maxReplies:
		return nil, tools.Errorf(tools.InvalidArguments, "limit must be 1 to %d", maxReplies)
	case len(in.People) > maxReplyPeople || len(in.Except) > maxReplyPeople:
		return nil, tools.Errorf(tools.InvalidArguments, "people and except have at most %d addresses each", maxReplyPeople)
	case time.Duration(in.Minutes) > longestReply/time.Minute:
		return nil, errReplyEnd()
	}
	for _, list := range []struct {
		from []string
		to   *[]string
	}{{in.People, &r.People}, {in.Except, &r.Except}} {
		for _, a := range list.from {
			a = strings.ToLower(strings.TrimSpace(a))
			if !strings.Contains(a, "@") || strings.ContainsAny(a, " \r\n") {
				return nil, tools.Errorf(tools.InvalidArguments, "%q is not an email address", tools.Clean(textnorm.Ellipsize(a, 80)))
			}
			*list.to = append(*list.to, a)
		}
	}
	var err error
	if r.Start, r.End, err = parseHours(in.Hours); err != nil {
		return nil, err
	}
	r.Contacts = r.Contacts && len(r.People) == 0
	return r, nil
}

// parseHours parses "18:00-08:00" to minutes after midnight.
func parseHours(s string) (start, end int, err error) {
	if s = strings.TrimSpace(s); s == "" {
		return 0, 0, nil
	}
	a, b, _ := strings.Cut(s, "-")
	from, err := time.Parse("15:04", strings.TrimSpace(a))
	to, terr := time.Parse("15:04", strings.TrimSpace(b))
	if err != nil || terr != nil {
		return 0, 0, tools.Errorf(tools.InvalidArguments, "hours must have the form 18:00-08:00, not %q", tools.Clean(textnorm.Ellipsize(s, 40)))
	}
	return from.Hour()*60 + from.Minute(), to.Hour()*60 + to.Minute(), nil
}

// isWithinHours reports whether t is within the hours of the rule.
func (r *replyRule) isWithinHours(t time.Time) bool {
	m := t.Hour()*60 + t.Minute()
	switch {
	case r.Start == r.End:
		return true
	case r.Start < r.End:
		return m >= r.Start && m < r.End
	}
	return m >= r.Start || m < r.End
}

func (r *replyRule) withoutSeen() replyRule {
	out := *r
	out.Seen = nil
	return out
}

// describeRule reports the rule and what it did.
func (r *replyRule) describeRule(now time.Time) string {
	var b strings.Builder
	who := "everyone who writes"
	switch {
	case len(r.People) > 0:
		who = strings.Join(r.People, ", ")
	case r.Contacts:
		who = "people in the address book"
	}
	state := "The automatic replies are on"
	if !r.Enabled {
		state = "The automatic replies are off"
	}
	fmt.Fprintf(&b, "%s, for %s, from %s until %s, at most %s.", state, who, dateparse.Format(r.From.In(now.Location()), now), dateparse.Format(r.Until.In(now.Location()), now), textnorm.CountNoun(r.Limit, "reply", "replies"))
	if r.Start != r.End {
		fmt.Fprintf(&b, " Hours: %02d:%02d-%02d:%02d.", r.Start/60, r.Start%60, r.End/60, r.End%60)
	}
	if !r.Enabled && r.Why != "" {
		fmt.Fprintf(&b, " They ended because %s.", r.Why)
	}
	fmt.Fprintf(&b, "\nText: %s\nAnswered: %d", textnorm.Ellipsize(r.Message, 300), len(r.Answered))
	for i, a := range r.Answered {
		if i == 20 {
			fmt.Fprintf(&b, "\n(%d more)", len(r.Answered)-20)
			break
		}
		fmt.Fprintf(&b, "\n- %s, %s: %s", a.To, dateparse.Format(a.At.In(now.Location()), now), textnorm.Ellipsize(a.Subject, 100))
		if a.State != replySent {
			fmt.Fprintf(&b, " (%s)", a.State)
		}
	}
	for _, reason := range skipReasons {
		if n := r.Skipped[reason]; n > 0 {
			fmt.Fprintf(&b, "\nNot answered: %d (%s)", n, reason)
		}
	}
	return b.String()
}
