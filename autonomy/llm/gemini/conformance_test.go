package gemini

import (
	"testing"

	"go.uber.org/goleak"

	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	llmtest.Conformance(t, func(t *testing.T, at llmtest.Target) llm.Model {
		m, err := New(Options{BaseURL: at.URL, APIKey: at.Key, Model: "scripted", HTTP: at.HTTP})
		if err != nil {
			t.Fatal(err)
		}
		return m
	})
}
