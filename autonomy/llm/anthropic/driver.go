package anthropic

import (
	"cmp"

	"hob/autonomy/llm"
)

// Kind is the value of kind in a [providers.NAME] section.
const Kind = "anthropic"

// Driver creates models of the kind "anthropic".
type Driver struct{}

// Describe implements llm.Driver.
func (Driver) Describe() llm.Description {
	return llm.Description{
		Kind: Kind, BaseURL: DefaultBaseURL,
		Services: []llm.Service{{Name: Kind, Title: "Anthropic, with an API key", Env: []string{"ANTHROPIC_API_KEY"}}},
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
