package gemini

import (
	"context"
	"testing"

	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
)

// BenchmarkTurn measures a call with a long conversation, over loopback.
func BenchmarkTurn(b *testing.B) {
	srv := llmtest.NewServer(b, llmtest.Options{Keep: 1}, llmtest.Answer{Times: -1, Text: "I will remind you.", Pieces: 20})
	m, err := New(Options{BaseURL: srv.URL, Model: "scripted", HTTP: srv.Client()})
	if err != nil {
		b.Fatal(err)
	}
	r := llm.Request{System: "You are Hob."}
	for range 40 {
		r.Messages = append(r.Messages, userMessage("what is the time?"), llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: "It is ten."}}})
	}
	r.Messages = append(r.Messages, userMessage("stretch in a minute"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := llm.Collect(m.Stream(context.Background(), r)); err != nil {
			b.Fatal(err)
		}
	}
}
