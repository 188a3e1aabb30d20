package setup

import (
	"context"
	"errors"
	"strings"

	"hob/autonomy/config"
)

// Kind determines how a question is answered.
type Kind string

// The kinds of questions.
const (
	Text    Kind = "text"
	Secret  Kind = "secret" // never shown, and stored only in a secret store
	Choice  Kind = "choice"
	Several Kind = "several" // several values, separated by commas
	YesNo   Kind = "yesno"   // the answer is "true" or "false"
)

// Option is one of the possible answers to a question.
type Option struct {
	Value string `json:"value"`
	Title string `json:"title"`
}

// Question is one question. It does not depend on how it is presented: in a terminal, on a page, or
// in an answers file.
type Question struct {
	Key     string   `json:"key"` // unique within the setup
	Kind    Kind     `json:"kind"`
	Title   string   `json:"title"`
	About   string   `json:"about,omitempty"`
	Options []Option `json:"options,omitempty"`
	// Other allows a typed answer that is not an option.
	Other   bool   `json:"other,omitempty"`
	Default string `json:"default,omitempty"`
	// Check, if set, validates an answer immediately.
	Check func(string) error `json:"-"`
}

// Verify validates an answer before it is accepted.
func (q Question) Verify(answer string) error {
	if q.Kind == Choice && !q.Other && !q.hasOption(answer) {
		return errors.New(unknownAnswer(answer, q.optionValues()))
	}
	if q.Kind == Several {
		for _, v := range Items(answer) {
			if !q.hasOption(v) {
				return errors.New(unknownAnswer(v, q.optionValues()))
			}
		}
	}
	if q.Check != nil {
		return q.Check(answer)
	}
	return nil
}

func (q Question) hasOption(value string) bool {
	for _, o := range q.Options {
		if o.Value == value {
			return true
		}
	}
	return false
}

func (q Question) optionValues() (out []string) {
	for _, o := range q.Options {
		out = append(out, o.Value)
	}
	return out
}

// unknownAnswer returns an error message that suggests the closest valid answer.
func unknownAnswer(answer string, known []string) string {
	if near := config.SuggestName(answer, known); near != "" {
		return quoteText(answer) + " is not a valid answer; did you mean " + quoteText(near) + "?"
	}
	return quoteText(answer) + " is not a valid answer; choose from " + strings.Join(known, ", ")
}

func quoteText(s string) string { return `"` + s + `"` }

// Items returns the values in an answer to a question of kind Several.
func Items(answer string) (out []string) {
	for s := range strings.SplitSeq(answer, ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// Answers holds the answers in a step so far, by question key.
type Answers map[string]string

func (a Answers) isGiven(key string) bool {
	_, ok := a[key]
	return ok
}

// untested is the answer that keeps values although they failed the test.
const untested = "untested"

// Page is a set of questions that are asked together.
type Page struct {
	Step      string     `json:"step"`
	Title     string     `json:"title"`
	About     string     `json:"about,omitempty"`
	Number    int        `json:"number,omitempty"` // number of the step, starting at 1; 0 outside a sequence
	Of        int        `json:"of,omitempty"`
	Questions []Question `json:"questions"`
}

// Step is one part of the setup. It does not depend on the user interface. Its result depends only
// on the answers, so a client that uses several requests needs to store only the answers.
type Step struct {
	Name  string // as used in `hob setup NAME`
	Title string
	About string
	// Keys lists the keys of all questions in the step. An answers file completes the step if it
	// contains the first key.
	Keys []string
	// Extra is true for a step that setup runs only if it is named, so that a complete setup asks at
	// most 8 questions: the model with a key and a cap, channels, mail, quiet hours and autostart.
	Extra bool
	// Shown reports whether the step applies on this system. If it is nil, the step always applies.
	Shown func(ctx context.Context, o Options) bool
	// Next returns the next questions for the given answers, or none if the step is complete. It
	// may call servers. It returns a *Problem for rejected answers.
	Next func(ctx context.Context, o Options, a Answers) ([]Question, error)
	// Apply tests the answers and returns the result. It does not change anything.
	Apply func(ctx context.Context, o Options, a Answers) (StepResult, error)
}

// StoredSecret is a secret and the name under which it is stored.
type StoredSecret struct{ Name, Value string }

// StepResult holds the changes for a step's answers, in order of execution.
type StepResult struct {
	Secrets []StoredSecret
	Values  []config.Value
	Said    []string                        // messages for the user
	Then    func(ctx context.Context) error // effects outside the configuration
}

// Problem reports which answers failed and must be asked again.
type Problem struct {
	Keys []string
	// Keep is true if the user may keep the answers anyway, because they may work later.
	Keep bool
	Err  error
	// Offer is an answer that may solve the problem, or nil.
	Offer *Offer
}

// Offer is an answer that setup proposes after a problem. The other answers stay.
type Offer struct{ Title, Key, Value string }

func (p *Problem) Error() string { return p.Err.Error() }

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Err }

func newProblem(err error, keep bool, keys ...string) error {
	return &Problem{Keys: keys, Keep: keep, Err: err}
}

// Steps returns all steps in order. To add one, add a line.
func Steps() []Step {
	return []Step{
		brainStep(),
		aboutYouStep(),
		channelStep(),
		accountStep(),
		searchStep(),
		foldersStep(),
		quietStep(),
		templateStep(),
		featuresStep(),
		autostartStep(),
		permissionsStep(),
	}
}

// Names returns the names of the steps.
func Names() (out []string) {
	for _, s := range Steps() {
		out = append(out, s.Name)
	}
	return out
}
