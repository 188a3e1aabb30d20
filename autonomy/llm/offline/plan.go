package offline

import (
	"encoding/json"
	"fmt"
)

// requestOutcome is the result of interpreting a request.
type requestOutcome uint8

const (
	act     requestOutcome = iota + 1 // calls tools
	ask                               // information is missing or ambiguous
	chat                              // a reply that needs no tool
	unknown                           // not understood, or not possible
)

// call is a tool call that has no id yet.
type call struct {
	name string
	args map[string]any
}

// encodeArgs encodes the arguments. Keys are sorted, so equal calls have equal bytes.
func (c call) encodeArgs() json.RawMessage {
	if c.args == nil {
		return json.RawMessage("{}")
	}
	b, err := json.Marshal(c.args)
	if err != nil { // arguments consist only of strings, numbers, lists and maps
		panic(fmt.Sprintf("offline: arguments of %s: %v", c.name, err))
	}
	return b
}

// question asks for missing information. complete combines the request with the user's answer.
// agree is the plan that "yes" executes. options are the numbered choices.
type question struct {
	text     string
	complete func(answer string) (wish string, ok bool)
	agree    *plan
	options  []option
	offer    *offer   // the reminder that the question offers
	lang     *grammar // the language of the question if it is not English
}

// option is one numbered choice of a question.
type option struct {
	line string
	plan plan
}

// plan is the result for one message: calls, and text to add after their results.
type plan struct {
	outcome requestOutcome
	intent  *intent
	calls   []call
	then    []call // calls to make one at a time if all calls before them succeeded
	// next plans the rest of the turn from the results of calls. These calls only read, and their
	// results are not shown.
	next      func(results []done) plan
	after     *plan     // what to plan when calls have returned; it reads first
	say       string    // the answer if there are no calls, otherwise text to add after the results
	question  *question // set if outcome is ask
	accounted bool      // whether every word has been accounted for
	joined    bool      // whether the calls are the parts of one sentence, which must not be split again
	answered  bool      // whether the message answered the open question
	looked    bool      // whether a lookup found the records of the calls
	lang      *grammar  // the language of the message if it is not English
	heard     string    // the message without a reason that the plan does not need; "" is all of it
	// keep selects the remembered facts that answer the question; nil selects all. none is the
	// answer if keep selects no fact; "" means that all data is searched.
	keep func(fact string) bool
	none string
	// pick selects the remembered facts and search results that answer the question; nil selects all.
	pick func(facts []string) []string
	// unanswered is the answer if pick or search selects nothing.
	unanswered string
	// search holds the words of a question that no intent matches. All data is searched for them
	// before Hob replies that it has no answer.
	search string
	// format converts the result of the only call to the answer; nil keeps it.
	format func(result string) string
}

func planCalls(calls ...call) (plan, bool) { return plan{outcome: act, calls: calls}, true }

func planCall(name string, args map[string]any) (plan, bool) {
	return planCalls(call{name, args})
}

func planReply(text string) (plan, bool) { return plan{outcome: chat, say: text}, true }

// planRefusal returns a plan that explains why an understood request is not possible.
func planRefusal(text string) (plan, bool) { return plan{outcome: unknown, say: text}, true }

// planQuestion returns a plan that asks a question. complete may be nil if only a new request can
// answer the question.
func planQuestion(text string, complete func(string) (string, bool)) (plan, bool) {
	return plan{outcome: ask, question: &question{text: text, complete: complete}}, true
}

// planLookup returns a plan that reads first. next plans the rest of the turn from the results.
func planLookup(next func(results []done) plan, calls ...call) (plan, bool) {
	return plan{outcome: act, calls: calls, next: next}, true
}

// planChoice returns a plan that asks which of several records is meant.
func planChoice(options []option) plan {
	lines := make([]item, len(options))
	for i, o := range options {
		lines[i].line = o.line
	}
	return plan{outcome: ask, question: &question{text: formatChoices(lines), options: options}}
}

// planConfirmation returns a plan that asks before it executes agreed.
func planConfirmation(text string, agreed plan) plan {
	return plan{outcome: ask, question: &question{text: text, agree: &agreed}}
}

// afterLookup returns the plan for the rest of the turn if the lookups in p have returned, and
// otherwise p. rest are the calls made after the lookups.
func (p plan) afterLookup(made []done) (next plan, rest []done) {
	for p.next != nil && len(made) >= len(p.calls) {
		n := len(p.calls)
		intent, answered := p.intent, p.answered
		p = p.next(made[:n:n])
		p.intent, p.answered, made = intent, answered, made[n:]
	}
	return p, made
}

// noPlan declines the sentence, so that the next best reading is tried.
func noPlan() (plan, bool) { return plan{}, false }
