package goals

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Verdict is the kind of a Decision.
type Verdict string

// Values of Verdict.
const (
	DoIt        Verdict = "act"
	Defer       Verdict = "defer"
	Investigate Verdict = "investigate"
	Complete    Verdict = "complete"
	Abandon     Verdict = "abandon"
)

// Risk is the worst effect of an action.
type Risk string

// Values of Risk, in ascending order.
const (
	RiskRead    Risk = "read"
	RiskWrite   Risk = "write"
	RiskSend    Risk = "send"
	RiskDestroy Risk = "destroy"
)

// RiskOf returns the risk of a call with the given effects. Unknown effects have the highest risk.
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

// Thresholds holds, for each risk, the confidence that is required to act without approval.
type Thresholds struct{ Read, Write, Send, Destroy float64 }

// withDefaults returns the thresholds with zero values replaced by the defaults.
func (b Thresholds) withDefaults() Thresholds {
	if b == (Thresholds{}) {
		return Thresholds{Read: 0.3, Write: 0.5, Send: 0.7, Destroy: 0.9}
	}
	return b
}

// Of returns the threshold for a risk. An unknown risk has the highest threshold.
func (b Thresholds) Of(r Risk) float64 {
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

// Decision is the result of a review: what Hob does about the goal.
type Decision struct {
	Verdict    Verdict `json:"decision"`
	Confidence float64 `json:"confidence"` // from 0 to 1
	Reason     string  `json:"reason"`
	// Action describes in plain words what to do or to investigate.
	Action string `json:"action,omitempty"`
	// Risk is the risk that the decider claims. Each call is rated by its actual effects.
	Risk Risk `json:"risk,omitempty"`
	// Next is the time of the next review. If it is zero, the goal's interval applies.
	Next time.Time `json:"next_review,omitzero"`

	// Told is text that is sent to the user immediately, without any other action.
	Told string `json:"told,omitempty"`
	// Seen is the state that the rule evaluated; see Goal. Source is the provenance of the text
	// that Seen quotes.
	Seen   string            `json:"seen,omitempty"`
	Source provenance.Source `json:"-"`
}

// modelAnswer is a model's decision in JSON form.
type modelAnswer struct {
	Decision   *Verdict `json:"decision"`
	Confidence *float64 `json:"confidence"`
	Reason     *string  `json:"reason"`
	Action     string   `json:"action"`
	Risk       Risk     `json:"risk"`
	Next       string   `json:"next_review"`
}

// Limits for the strings in a decision, in characters, and for the time until the next review.
const (
	maxReason = 500
	maxAction = 4000
	furthest  = 92 * 24 * time.Hour
)

// Parse parses a model's decision, which is one JSON object of the requested form, alone or in a
// code fence. If Parse fails, callers defer the goal; the error describes the mistake.
func Parse(text string, now time.Time) (Decision, error) {
	var a modelAnswer
	dec := json.NewDecoder(strings.NewReader(stripFence(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil {
		return Decision{}, fmt.Errorf("the answer is not the one requested JSON object: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Decision{}, errors.New("the answer contains more than the one requested JSON object")
	}
	if a.Decision == nil || a.Confidence == nil || a.Reason == nil {
		return Decision{}, errors.New(`the answer lacks one of "decision", "confidence" and "reason"`)
	}
	d := Decision{
		Verdict: *a.Decision, Confidence: *a.Confidence, Reason: textnorm.Ellipsize(cleanText(*a.Reason), maxReason), Action: cleanText(a.Action), Risk: a.Risk,
	}
	switch d.Verdict {
	case DoIt, Investigate:
		if d.Action == "" {
			return Decision{}, fmt.Errorf("%q requires \"action\"", d.Verdict)
		}
		if len(d.Action) > maxAction {
			return Decision{}, fmt.Errorf("\"action\" is longer than %d characters", maxAction)
		}
	case Defer, Complete, Abandon:
		d.Action = ""
	default:
		return Decision{}, fmt.Errorf("%q is not a decision", textnorm.Ellipsize(string(d.Verdict), 40))
	}
	switch d.Risk {
	case RiskRead, RiskWrite, RiskSend, RiskDestroy, "":
	default:
		return Decision{}, fmt.Errorf("unknown risk level %q", textnorm.Ellipsize(string(d.Risk), 40))
	}
	if !(d.Confidence >= 0 && d.Confidence <= 1) {
		return Decision{}, fmt.Errorf("a confidence of %v is not between 0 and 1", d.Confidence)
	}
	var err error
	d.Next, err = parseNext(a.Next, now)
	return d, err
}

// stripFence removes a ``` code fence.
func stripFence(text string) string {
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

// parseNext parses the time of the next review, given as a time or a duration.
func parseNext(s string, now time.Time) (time.Time, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		d, derr := time.ParseDuration(s)
		if derr != nil {
			return time.Time{}, fmt.Errorf("\"next_review\" is %q, which is neither a time (RFC 3339) nor a duration such as \"6h\"", textnorm.Ellipsize(s, 40))
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
