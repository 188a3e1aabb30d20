package offline

import (
	"encoding/json"
	"fmt"
)

// requestOutcome is the result of a request.
type requestOutcome uint8

const (
	act     requestOutcome = iota + 1 // calls
	ask                               // information is missing or ambiguous
	chat                              // answered without tools
	unknown                           // not understood, or not possible
)

// call is a tool call before it has an id.
type call struct {
	name string
	args map[string]any
}

// encodeArgs encodes the arguments; keys are sorted, so equal calls are equal bytes.
func (c call) encodeArgs() json.RawMessage {
	if c.args == nil {
		return json.RawMessage("{}")
	}
	b, err := json.Marshal(c.args)
	if err != nil { // arguments are strings, numbers, lists and maps of these
		panic(fmt.Sprintf("offline: arguments of %s: %v", c.name, err))
	}
	return b
}

// question asks for missing information. complete combines the request with the user's answer.
type question struct {
	text     string
	complete func(answer string) (wish string, ok bool)
}

// plan is the result for one message: calls, then a text after their results.
type plan struct {
	outcome  requestOutcome
	intent   *intent
	calls    []call
	say      string    // the answer without tools, or a remark after the results
	question *question // set if outcome is ask
}

func planCalls(calls ...call) (plan, bool) { return plan{outcome: act, calls: calls}, true }

func planCall(name string, args map[string]any) (plan, bool) {
	return planCalls(call{name, args})
}

func planReply(text string) (plan, bool) { return plan{outcome: chat, say: text}, true }

// planRefusal explains why an understood request is not possible.
func planRefusal(text string) (plan, bool) { return plan{outcome: unknown, say: text}, true }

// planQuestion asks a question; complete may be nil if only a new sentence helps.
func planQuestion(text string, complete func(string) (string, bool)) (plan, bool) {
	return plan{outcome: ask, question: &question{text, complete}}, true
}

// noPlan passes the sentence to the next best reading.
func noPlan() (plan, bool) { return plan{}, false }
