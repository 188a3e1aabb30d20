package alexa

import (
	"encoding/json"
	"slices"
	"strings"
)

// The intents of the skill. Free text arrives in a slot of the type AMAZON.SearchQuery, which needs
// a carrier word and must be the only slot in its phrase. Therefore each common first word has a
// separate intent, and the driver restores the word from the name of the intent.
const (
	answerIntent = "AnswerIntent"
	codeIntent   = "CodeIntent"
	askIntent    = "AskIntent"
	suffix       = "Intent"
)

// invocationWords returns the common first words of messages.
func invocationWords() []string {
	return []string{
		"what", "when", "where", "who", "why", "how", "which", "is", "are", "do", "does", "did", "can", "could", "will", "would", "should", "have",
		"remind", "remember", "forget", "add", "tell", "show", "find", "read", "write", "send", "make", "set", "move", "delete", "book", "order", "check", "summarize", "translate", "I", "my", "the",
	}
}

// carrierWord returns the carrier word of an intent. ours reports whether the skill defines the
// intent.
func carrierWord(intent string) (word string, ours bool) {
	if intent == askIntent || intent == codeIntent {
		return "", true
	}
	i := slices.IndexFunc(invocationWords(), func(w string) bool { return nameOf(w) == intent })
	if i < 0 {
		return "", false
	}
	return invocationWords()[i], true
}

// nameOf returns the intent for a carrier word.
func nameOf(word string) string {
	return "Word" + strings.ToUpper(word[:1]) + strings.ToLower(word[1:]) + suffix
}

type intent struct {
	Name    string      `json:"name"`
	Slots   []typedSlot `json:"slots,omitempty"`
	Samples []string    `json:"samples"`
}

type typedSlot struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// manifest returns the skill's interaction model with the invocation name "my " plus Hob's name.
func manifest(called string) string {
	b, err := Model("my " + strings.ToLower(called))
	if err != nil {
		return "" // strings can always be encoded
	}
	return string(b) + "\n"
}

// Model returns the skill's interaction model for the owner to paste into Amazon's console
// (JSON Editor), with the given invocation name.
func Model(invocation string) ([]byte, error) {
	free := []typedSlot{{slot, "AMAZON.SearchQuery"}}
	list := []intent{
		{Name: "AMAZON.CancelIntent", Samples: []string{}},
		{Name: "AMAZON.HelpIntent", Samples: []string{}},
		{Name: "AMAZON.StopIntent", Samples: []string{}},
		{Name: "AMAZON.NavigateHomeIntent", Samples: []string{}},
		{Name: "AMAZON.FallbackIntent", Samples: []string{}},
		{Name: "AMAZON.YesIntent", Samples: []string{}},
		{Name: "AMAZON.NoIntent", Samples: []string{}},
		{Name: answerIntent, Samples: []string{"what is the answer", "what's the answer", "the answer", "are you done", "go on"}},
		{Name: codeIntent, Slots: free, Samples: []string{"the code is {text}", "my code is {text}", "pair {text}"}},
		{Name: askIntent, Slots: free, Samples: []string{"ask {text}", "to {text}", "say {text}", "please {text}", "that {text}"}},
	}
	for _, w := range invocationWords() {
		list = append(list, intent{nameOf(w), free, []string{w + " {text}"}})
	}
	type language struct {
		Invocation string   `json:"invocationName"`
		Intents    []intent `json:"intents"`
		Types      []string `json:"types"`
	}
	return json.MarshalIndent(map[string]any{"interactionModel": map[string]any{"languageModel": language{invocation, list, []string{}}}}, "", "  ")
}
