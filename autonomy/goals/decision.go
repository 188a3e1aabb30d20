package goals

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"hob/platform/phrase"
	"hob/platform/provenance"
	"hob/tools"
)

// Verdict is what a review says is to be done.
type Verdict string

// The verdicts.
const (
	DoIt        Verdict = "act"
	Defer       Verdict = "defer"
	Investigate Verdict = "investigate"
	Complete    Verdict = "complete"
	Abandon     Verdict = "abandon"
)

// Risk of an action: what it may cause at worst.
type Risk string

// The risks, the least first.
const (
	RiskRead    Risk = "read"
	RiskWrite   Risk = "write"
	RiskSend    Risk = "send"
	RiskDestroy Risk = "destroy"
)

// RiskOf is the risk of a call with these effects. What is not known is as bad as
// can be.
func RiskOf(e tools.Effects) Risk {
	const known = tools.Read | tools.Write | tools.Send | tools.Egress
	switch {
	case e == 0, e&^known != 0:
		return RiskDestroy
	case e&(tools.Send|tools.Egress) != 0:
		return RiskSend
	case e&tools.Write != 0:
		return RiskWrite
	}
	return RiskRead
}

// Bars are how sure one must be to do something of a risk without asking.
type Bars struct{ Read, Write, Send, Destroy float64 }

// filled has the defaults where nothing is set.
func (b Bars) filled() Bars {
	if b == (Bars{}) {
		return Bars{Read: 0.3, Write: 0.5, Send: 0.7, Destroy: 0.9}
	}
	return b
}

// Of is the bar of a risk; that of one that is not known is the highest.
func (b Bars) Of(r Risk) float64 {
	switch r {
	case RiskRead:
		return b.Read
	case RiskWrite:
		return b.Write
	case RiskSend:
		return b.Send
	}
	return max(b.Read, b.Write, b.Send, b.Destroy)
}

// Decision is what a review came to.
type Decision struct {
	Verdict    Verdict `json:"decision"`
	Confidence float64 `json:"confidence"` // 0 to 1
	Reason     string  `json:"reason"`
	// Action is what to do, in plain words: to act, or what to find out.
	Action string `json:"action,omitempty"`
	// Risk is the decider's own word; each call is measured by what it really
	// does.
	Risk Risk `json:"risk,omitempty"`
	// Next is when to look again; zero leaves it to the goal.
	Next time.Time `json:"next_review,omitzero"`

	// Told is what the owner is told at once, and nothing else is done.
	Told string `json:"told,omitempty"`
	// Seen is what a rule saw; see Goal. Source is that of the texts it quotes.
	Seen   string            `json:"seen,omitempty"`
	Source provenance.Source `json:"-"`
}

// answer is the form in which a model gives its decision.
type answer struct {
	Decision   *Verdict `json:"decision"`
	Confidence *float64 `json:"confidence"`
	Reason     *string  `json:"reason"`
	Action     string   `json:"action"`
	Risk       Risk     `json:"risk"`
	Next       string   `json:"next_review"`
}

// Bounds of a decision's texts, in characters, and of the time to the next review.
const (
	maxReason = 500
	maxAction = 4000
	furthest  = 92 * 24 * time.Hour
)

// Parse reads a model's decision: one JSON object of exactly the form that it was
// asked for, alone or in a fence. An error says what is wrong with it; whoever
// reads it defers.
func Parse(text string, now time.Time) (Decision, error) {
	var a answer
	dec := json.NewDecoder(strings.NewReader(unfenced(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil {
		return Decision{}, fmt.Errorf("the answer is not the one JSON object that was asked for: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Decision{}, errors.New("the answer holds more than the one JSON object that was asked for")
	}
	if a.Decision == nil || a.Confidence == nil || a.Reason == nil {
		return Decision{}, errors.New(`the answer lacks one of "decision", "confidence" and "reason"`)
	}
	d := Decision{
		Verdict: *a.Decision, Confidence: *a.Confidence, Reason: phrase.Cut(clean(*a.Reason), maxReason), Action: clean(a.Action), Risk: a.Risk,
	}
	switch d.Verdict {
	case DoIt, Investigate:
		if d.Action == "" {
			return Decision{}, fmt.Errorf("%q says nothing in \"action\"", d.Verdict)
		}
		if len(d.Action) > maxAction {
			return Decision{}, fmt.Errorf("\"action\" is longer than %d characters", maxAction)
		}
	case Defer, Complete, Abandon:
		d.Action = ""
	default:
		return Decision{}, fmt.Errorf("%q is no decision", phrase.Cut(string(d.Verdict), 40))
	}
	switch d.Risk {
	case RiskRead, RiskWrite, RiskSend, RiskDestroy, "":
	default:
		return Decision{}, fmt.Errorf("%q is no risk", phrase.Cut(string(d.Risk), 40))
	}
	if !(d.Confidence >= 0 && d.Confidence <= 1) {
		return Decision{}, fmt.Errorf("a confidence of %v does not lie between 0 and 1", d.Confidence)
	}
	var err error
	d.Next, err = nextOf(a.Next, now)
	return d, err
}

// unfenced takes a ``` fence off.
func unfenced(text string) string {
	s := strings.TrimSpace(text)
	inner, ok := strings.CutPrefix(s, "```")
	if !ok {
		return s
	}
	inner, ok = strings.CutSuffix(inner, "```")
	if !ok {
		return s
	}
	return strings.TrimPrefix(strings.TrimPrefix(inner, "json"), "JSON")
}

// nextOf reads when to look again: a moment or a length of time.
func nextOf(s string, now time.Time) (time.Time, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		d, derr := time.ParseDuration(s)
		if derr != nil {
			return time.Time{}, fmt.Errorf("\"next_review\" is %q, and neither a time (RFC 3339) nor a duration such as \"6h\"", phrase.Cut(s, 40))
		}
		at = now.Add(d)
	}
	switch {
	case at.Before(now.Add(MinEvery)):
		at = now.Add(MinEvery)
	case at.After(now.Add(furthest)):
		at = now.Add(furthest)
	}
	return at, nil
}
