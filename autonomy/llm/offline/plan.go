package offline

import (
	"encoding/json"
	"fmt"
)

// outcome says what became of a wish.
type outcome uint8

const (
	act     outcome = iota + 1 // calls
	ask                        // something is missing or unclear
	chat                       // answered without tools
	unknown                    // not understood, or not possible
)

// call is a tool call before it has an id.
type call struct {
	name string
	args map[string]any
}

// json encodes the arguments; keys are in order, so equal calls are equal
// bytes.
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

// question asks for what is missing. complete makes the whole wish out of the
// owner's answer to it.
type question struct {
	text     string
	complete func(answer string) (wish string, ok bool)
}

// plan is what one message comes to: calls, then words after their results.
type plan struct {
	outcome  outcome
	intent   *intent
	calls    []call
	say      string    // the answer without tools, or a remark after the results
	question *question // set when outcome is ask
}

func acting(calls ...call) (plan, bool) { return plan{outcome: act, calls: calls}, true }

func calling(name string, args map[string]any) (plan, bool) {
	return acting(call{name, args})
}

func saying(text string) (plan, bool) { return plan{outcome: chat, say: text}, true }

// refusing says why a wish that was understood cannot be met.
func refusing(text string) (plan, bool) { return plan{outcome: unknown, say: text}, true }

// asking asks; complete may be nil when only a new sentence helps.
func asking(text string, complete func(string) (string, bool)) (plan, bool) {
	return plan{outcome: ask, question: &question{text, complete}}, true
}

// not gives the sentence to the next best reading.
func not() (plan, bool) { return plan{}, false }
