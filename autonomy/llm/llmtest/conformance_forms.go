package llmtest

import (
	"bytes"
	"context"
	"encoding/json"

	"hob/autonomy/llm"
)

// formChecks returns the cases with answers other than text: structured JSON, images, vectors.
func formChecks() []check {
	cat := llm.Image{MIME: "image/png", Data: []byte("\x89PNG cat")}
	return []check{
		{"structured answer", structuredScript(), checkForm},
		{"free text has no schema", []Answer{{Text: "ok"}}, func(r *run) {
			r.requireOK(r.askModel(helloRequest()))
			if f := r.srv.Last().Format; f != nil {
				r.t.Errorf("the schema %s was sent although the request has no format", f)
			}
		}},
		{"a picture as an answer", []Answer{{Text: "A cat:", Images: []llm.Image{cat}}, {Text: "ok"}}, func(r *run) {
			res := r.askModel(helloRequest())
			r.requireOK(res)
			r.requireEqual("text", res.Text(), "A cat:")
			if r.srv.Last().API == Anthropic {
				return // Anthropic's models generate no pictures
			}
			r.requireEqual("pictures", res.Images(), []llm.Image{cat})
		}},
		{"a picture in the history", []Answer{{Text: "ok"}}, func(r *run) {
			req := helloRequest()
			req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Image: &cat}}}, userMessage("thanks"))
			r.requireOK(r.askModel(req))
			if n := len(r.srv.Last().Messages); n != 3 {
				r.t.Errorf("%d messages, want the one with the picture among 3", n)
			}
		}},
		{"vectors", nil, checkVectors},
	}
}

func structuredScript() []Answer { return []Answer{{Text: `{"mood":"good"}`}} }

func checkForm(r *run) {
	req := helloRequest()
	req.Tools = nil
	req.Format = &llm.Format{Name: "mood", Schema: json.RawMessage(`{"type":"object","properties":{"mood":{"type":"string"}},"required":["mood"]}`)}
	res := r.askModel(req)
	r.requireOK(res)
	r.requireEqual("text", res.Text(), `{"mood":"good"}`)
	r.requireEqual("calls", len(res.Calls()), 0)
	r.requireEqual("stop", res.Stop, llm.EndTurn)
	asked := bytes.Contains(r.srv.Last().Format, []byte(`"mood"`))
	if asked != r.m.Info().Structured {
		r.t.Errorf("the last request has the schema %s, info says structured: %v", r.srv.Last().Format, r.m.Info().Structured)
	}
}

func checkVectors(r *run) {
	e, ok := r.m.(llm.Embedder)
	if !ok {
		return // some APIs have no embeddings
	}
	texts := []string{"tea", "coffee", "tea"}
	v, _, err := e.Embed(context.Background(), texts)
	if err != nil {
		r.t.Fatal(err)
	}
	r.requireEqual("vectors", v, [][]float32{Vector("tea"), Vector("coffee"), Vector("tea")})
}
