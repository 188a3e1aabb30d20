package offline

import (
	"encoding/json"
	"fmt"
)

// outcome is the result of a request.
type outcome uint8

const (
	act     outcome = iota + 1 // calls
	ask                        // information is missing or ambiguous
	chat                       // answered without tools
	unknown                    // not understood, or not possible
)

// call is a tool call before it has an id.
type call struct {
	name string
	args map[string]any
}

// json encodes the arguments; keys are sorted, so equal calls are equal bytes.
func (c call) json() json.RawMessage {
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
	outcome  outcome
	intent   *intent
	calls    []call
	say      string    // the answer without tools, or a remark after the results
	question *question // set if outcome is ask
}

func acting(calls ...call) (plan, bool) { return plan{outcome: act, calls: calls}, true }

func calling(name string, args map[string]any) (plan, bool) {
	return acting(call{name, args})
}

func saying(text string) (plan, bool) { return plan{outcome: chat, say: text}, true }

// refusing explains why an understood request is not possible.
func refusing(text string) (plan, bool) { return plan{outcome: unknown, say: text}, true }

// asking asks a question; complete may be nil if only a new sentence helps.
func asking(text string, complete func(string) (string, bool)) (plan, bool) {
	return plan{outcome: ask, question: &question{text, complete}}, true
}

// not passes the sentence to the next best reading.
func not() (plan, bool) { return plan{}, false }
