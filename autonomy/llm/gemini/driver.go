package gemini

import (
	"cmp"

	"hob/autonomy/llm"
)

// Kind is the value of kind in a [providers.NAME] section.
const Kind = "gemini"

// Driver creates models of the kind "gemini".
type Driver struct{}

// Describe implements llm.Driver.
func (Driver) Describe() llm.Description {
	return llm.Description{
		Kind: Kind, BaseURL: DefaultBaseURL,
		Services:  []llm.Service{{Name: Kind, Title: "Google Gemini, with an API key", Env: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}}},
		Embedding: func(string) string { return DefaultEmbedding },
	}
}

// New implements llm.Driver.
func (Driver) New(o llm.ModelOptions) (llm.Model, error) {
	o.Model = cmp.Or(o.Model, DefaultModel)
	m, err := New(o)
	if err != nil { // a nil *Model would not be a nil llm.Model
		return nil, err
	}
	return m, nil
}
