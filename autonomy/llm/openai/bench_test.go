package openai

import (
	"testing"

	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
)

func BenchmarkTurn(b *testing.B) {
	llmtest.BenchmarkTurn(b, func(s *llmtest.Server) (llm.Model, error) {
		return New(Options{BaseURL: s.URL, Model: "m", HTTP: s.Client()})
	})
}
