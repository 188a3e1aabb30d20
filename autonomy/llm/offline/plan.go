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
	chat                              // is answered without tools
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
type question struct {
	text     string
	complete func(answer string) (wish string, ok bool)
}

// plan is the result for one message: calls, and text to add after their results.
type plan struct {
	outcome  requestOutcome
	intent   *intent
	calls    []call
	then     []call    // calls that follow one by one if all calls before them succeeded
	say      string    // the answer if there are no calls, otherwise a remark after the results
	question *question // set if outcome is ask
	joined   bool      // whether the calls are the parts of one sentence, which must not be split again
	answered bool      // whether the message answered the open question
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
	return plan{outcome: ask, question: &question{text, complete}}, true
}

// noPlan declines the sentence, so that the next best reading is tried.
func noPlan() (plan, bool) { return plan{}, false }
