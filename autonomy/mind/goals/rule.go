package goals

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"hob/platform/provenance"
	"hob/platform/text/textnorm"
)

// Facts gives rules read access to stored data and to firings of watchers and schedules.
type Facts interface {
	Tasks(ctx context.Context) ([]Task, error)
	// Fired finds a watcher, schedule or reminder by words and returns its last firing. ok is false
	// if none matches.
	Fired(ctx context.Context, words string) (f Firing, ok bool, err error)
	// Known finds a fact that contains all the words.
	Known(ctx context.Context, words string) (f Fact, ok bool, err error)
	// Understands reports whether the built-in brain could execute the text.
	Understands(words string) bool
}

// Task is a task of the user.
type Task struct {
	ID, Title     string
	Done, Overdue bool
	Source        provenance.Source
}

// Firing is the last firing of a watcher or a schedule.
type Firing struct {
	ID, Title string
	At        time.Time
	Source    provenance.Source
}

// Fact is a remembered fact.
type Fact struct {
	ID, Text string
	Source   provenance.Source
}

// rule is the rule of a goal that needs no model: while a condition is true, run an action, until
// another condition is true.
type rule struct {
	when  string // "" means that the condition is always true
	do    string
	until string
}

var rulePatterns = sync.OnceValue(func() (f struct{ rule, always *regexp.Regexp }) {
	f.rule = regexp.MustCompile(`(?is)^(?:when|whenever|if|as soon as|once|every time|each time)\s+(.+?)(?:\s*,\s*(?:then\s+)?|\s+then\s+)(.+?)(?:[,;]?\s+until\s+(.+?))?[.!]*$`)
	f.always = regexp.MustCompile(`(?is)^(.+?)(?:[,;]?\s+until\s+(.+?))?[.!]*$`)
	return f
})

// ruleOf parses a description as a rule.
func ruleOf(description string) rule {
	text := strings.Join(strings.Fields(description), " ")
	if m := rulePatterns().rule.FindStringSubmatch(text); m != nil {
		return rule{when: m[1], do: m[2], until: m[3]}
	}
	m := rulePatterns().always.FindStringSubmatch(text)
	if m == nil {
		return rule{do: text}
	}
	return rule{do: m[1], until: m[2]}
}

// isNotifyOnly reports whether the action only notifies the user.
func isNotifyOnly(do string) bool {
	do = strings.TrimSuffix(strings.TrimPrefix(strings.ToLower(do), "please "), ".")
	for _, head := range []string{"tell me", "let me know", "notify me", "alert me", "warn me", "inform me", "say so", "remind me"} {
		if do == head || do == head+" about it" || do == head+" of it" || do == head+" which" || do == head+" about them" {
			return true
		}
	}
	return false
}

// conditionResult is the result of evaluating a condition.
type conditionResult struct {
	yes  bool
	seen string            // identifies the state, so that the rule acts on it only once
	what string            // the state as text
	from provenance.Source // provenance of the text quoted in the result
	next time.Time
}

// DecideByRule decides about a goal by its rule, without a model.
func DecideByRule(ctx context.Context, goal Goal, facts Facts, now time.Time) (Decision, error) {
	r := ruleOf(goal.Description)
	sure := Decision{Confidence: 1, Risk: RiskRead, Source: provenance.Hob}
	var at time.Time
	for _, end := range []string{r.until, strings.TrimPrefix(strings.TrimSuffix(goal.Success, "."), "when ")} {
		h, ok, err := evalCondition(ctx, end, goal, facts, now)
		if err != nil {
			return Decision{}, err
		}
		if ok && h.yes {
			sure.Verdict, sure.Reason, sure.Source = Complete, h.what, h.from
			return sure, nil
		}
		if h.next.After(now) {
			at = h.next
		}
	}
	sure.Next = at
	if at.IsZero() || at.After(now.Add(goal.EveryDuration())) {
		sure.Next = time.Time{}
	}
	h, ok, err := evalCondition(ctx, r.when, goal, facts, now)
	if err != nil {
		return Decision{}, err
	}
	sure.Source = cmp.Or(h.from, provenance.Hob)
	tell := isNotifyOnly(r.do)
	if r.when != "" && !ok || !tell && !facts.Understands(r.do) || tell && r.when == "" {
		return unsupportedDecision(goal, r, ok || r.when == "", sure), nil
	}
	switch {
	case r.when == "":
		sure.Verdict, sure.Reason, sure.Action = DoIt, "the rule applies at each review", r.do
	case !h.yes:
		sure.Verdict, sure.Reason = Defer, "the condition does not hold: "+r.when
		if sure.Next.IsZero() && h.next.After(now) && h.next.Before(now.Add(goal.EveryDuration())) {
			sure.Next = h.next
		}
	case h.seen == goal.Seen:
		sure.Verdict, sure.Reason, sure.Seen = Defer, "already done for this state: "+h.what, h.seen
	case tell:
		sure.Verdict, sure.Reason, sure.Seen = DoIt, h.what, h.seen
		sure.Told = fmt.Sprintf("About the goal %q: %s.", goal.Name(), h.what)
	default:
		sure.Verdict, sure.Reason, sure.Seen, sure.Action = DoIt, h.what, h.seen, r.do
	}
	return sure, nil
}

// unable is the value of Seen after the user was told that the goal needs a model.
const unable = "told"

// unsupportedDecision returns the decision for a goal that needs a model. The user is told only
// once.
func unsupportedDecision(goal Goal, r rule, whenOK bool, d Decision) Decision {
	part := "I do not know how to do " + strconv.Quote(textnorm.Ellipsize(r.do, 120))
	if !whenOK {
		part = "I cannot check whether " + strconv.Quote(textnorm.Ellipsize(r.when, 120))
	}
	d.Verdict, d.Reason, d.Confidence = Defer, "without a model "+part, 1
	d.Seen = unable
	if goal.Seen != unable {
		d.Told = fmt.Sprintf("I will keep the goal %q, but I can work on it only with a language model: without one, %s. Without a model I can follow rules such as \"when a task is overdue then tell me, until Friday\".", goal.Name(), part)
	}
	return d
}

// condition is one form of text that rules can evaluate.
type condition struct {
	form *regexp.Regexp
	look func(ctx context.Context, m []string, l *ruleContext) (conditionResult, error)
}

// ruleContext contains the inputs of a condition.
type ruleContext struct {
	goal  Goal
	facts Facts
	now   time.Time
}

var conditions = sync.OnceValue(func() []condition {
	c := func(form string, look func(ctx context.Context, m []string, l *ruleContext) (conditionResult, error)) condition {
		return condition{regexp.MustCompile(`(?is)^` + form + `$`), look}
	}
	return []condition{
		c(`(?:a|any|some|one of my|one|the|my|something|anything)?\s*(?:tasks?)?\s*(?:is|are|becomes?|gets?|goes) (overdue|late)`, anyOverdue),
		c(`(?:there (?:is|are) |i have )?(?:(more than|over|at least|fewer than|less than) )?(\d+|no|any|one|an?|all)( or more)?(?: of)?(?: my| the)? (open |overdue |unfinished )?tasks?(?: (?:is|are) (open|overdue|left|done|finished|unfinished))?(?: left)?`, evalTaskCount),
		c(`(?:the |my )?task (.+?) (?:is|gets?|becomes?) (done|finished|completed|complete|open|overdue|late)`, evalTaskState),
		c(`(?:the |my )?(?:watcher|watch|schedule|reminder)(?: on| of| for| in| called| named)? (.+?) (?:fires|fired|has fired|runs|ran|has run|goes off|went off)`, evalFired),
		c(`(?:something|a file|a new file|anything|any file) (?:new )?(?:arrives|changes|appears|happens|is there|comes|has changed|has happened) (?:in|at|to) (.+)`, evalFired),
		c(`(?:you know|you remember|you learn|you have learned|i told you|i tell you|i have told you|i say|i said|it is known|there is a fact)(?: that| about)? (.+)`, evalKnown),
		c(`(?:it is |it's )?(?:after|past) (.+)`, evalTime),
		c(`(?:it is |it's )?(.+)`, evalTime),
	}
})

// evalCondition evaluates a condition. ok is false if the text is not understood.
func evalCondition(ctx context.Context, words string, goal Goal, facts Facts, now time.Time) (h conditionResult, ok bool, err error) {
	words = strings.Trim(strings.TrimSpace(words), `."`)
	if words == "" {
		return conditionResult{}, false, nil
	}
	l := &ruleContext{goal: goal, facts: facts, now: now}
	for _, c := range conditions() {
		m := c.form.FindStringSubmatch(words)
		if m == nil {
			continue
		}
		h, err := c.look(ctx, m, l)
		if err == errNotThis { //nolint:errorlint // internal to this file and never wrapped
			continue
		}
		h.from = cmp.Or(h.from, provenance.Hob)
		return h, err == nil, err
	}
	return conditionResult{}, false, nil
}

// HasRule reports whether a goal can be pursued without a model.
func HasRule(ctx context.Context, goal Goal, facts Facts, now time.Time) bool {
	d, err := DecideByRule(ctx, goal, facts, now)
	return err != nil || d.Seen != unable
}
