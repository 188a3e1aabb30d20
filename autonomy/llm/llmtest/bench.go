package llmtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"hob/autonomy/llm"
)

// BenchmarkTurn measures one call of a long conversation with 20 tools over a socket, including the
// server. newModel returns a model of the tested package that uses the server.
func BenchmarkTurn(b *testing.B, newModel func(*Server) (llm.Model, error)) {
	b.Helper()
	m, err := newModel(NewServer(b, Options{Keep: 1}, Answer{Times: -1, Text: strings.Repeat("word ", 50), Pieces: 50}))
	if err != nil {
		b.Fatal(err)
	}
	r := longConversation()
	for b.Loop() {
		if _, err := llm.Collect(m.Stream(b.Context(), r)); err != nil {
			b.Fatal(err)
		}
	}
}

func longConversation() llm.Request {
	r := llm.Request{System: strings.Repeat("You are Hob. ", 300)}
	for i := range 20 {
		r.Tools = append(r.Tools, llm.Tool{Name: fmt.Sprintf("tool_%d", i), Description: "Does something useful.", Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)})
	}
	for range 30 {
		r.Messages = append(r.Messages,
			llm.Message{Role: llm.User, Parts: []llm.Part{{Text: strings.Repeat("hello ", 20)}}},
			llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: strings.Repeat("answer ", 40)}}})
	}
	r.Messages = append(r.Messages, llm.Message{Role: llm.User, Parts: []llm.Part{{Text: "and now?"}}})
	return r
}
