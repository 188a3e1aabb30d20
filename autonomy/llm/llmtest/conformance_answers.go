package llmtest

import (
	"bytes"
	"encoding/json"
	"strings"

	"hob/autonomy/llm"
)

// answerChecks returns the cases with well-formed answers and requests.
func answerChecks() []check {
	return []check{
		{"text", []Answer{{Text: "Good morning, Ådne. 你好", Pieces: 5}}, func(r *run) {
			res := r.askModel(helloRequest())
			r.requireOK(res)
			r.requireEqual("text", res.Text(), "Good morning, Ådne. 你好")
			r.requireEqual("stop", res.Stop, llm.EndTurn)
			if len(res.events) < 4 {
				r.t.Errorf("%d events: the text was not streamed in pieces", len(res.events))
			}
		}},
		{"request", []Answer{{Text: "ok"}}, checkRequest},
		{"usage", []Answer{{Text: "ok", Usage: llm.Usage{Input: 120, Output: 7, CacheRead: 90}}}, func(r *run) {
			res := r.askModel(helloRequest())
			r.requireOK(res)
			r.requireEqual("usage", res.Usage, llm.Usage{Input: 120, Output: 7, CacheRead: 90, Known: true})
		}},
		{"no usage", []Answer{{Text: "ok", Fault: NoUsage}}, func(r *run) {
			res := r.askModel(helloRequest())
			r.requireOK(res)
			r.requireEqual("usage", res.Usage, llm.Usage{})
		}},
		{"reasoning", []Answer{{Reasoning: "The owner greets me.", Signature: "sig", Text: "Hello."}}, func(r *run) {
			res := r.askModel(helloRequest())
			r.requireOK(res)
			if len(res.Parts) != 2 || res.Parts[0].Reasoning == nil || res.Parts[0].Reasoning.Text != "The owner greets me." {
				r.t.Errorf("parts %+v, want the reasoning and the text", res.Parts)
			}
			r.requireEqual("text", res.Text(), "Hello.")
		}},
		{"empty answer", []Answer{{}}, func(r *run) {
			res := r.askModel(helloRequest())
			r.requireOK(res)
			r.requireEqual("parts", len(res.Parts), 0)
			r.requireEqual("stop", res.Stop, llm.EndTurn)
		}},
		{"token limit", []Answer{{Text: "Once upon a", Stop: "length"}}, func(r *run) {
			res := r.askModel(helloRequest())
			r.requireOK(res)
			r.requireEqual("stop", res.Stop, llm.MaxTokens)
		}},
		{"refusal", []Answer{{Text: "I cannot", Stop: "refusal"}}, func(r *run) {
			res := r.askModel(helloRequest())
			r.requireOK(res)
			r.requireEqual("stop", res.Stop, llm.Refused)
		}},
		{"unknown stop reason", []Answer{{Text: "hi", Stop: "moon_phase"}}, func(r *run) {
			res := r.askModel(helloRequest())
			r.requireOK(res)
			r.requireEqual("stop", res.Stop, llm.EndTurn)
		}},
		{"huge delta", []Answer{{Text: strings.Repeat("hob ", 300_000), Pieces: 1}}, func(r *run) {
			res := r.askModel(helloRequest())
			r.requireOK(res)
			r.requireEqual("length", len(res.Text()), 1_200_000)
		}},
		{"oddities of the stream format", []Answer{{Text: "a, b, c", Calls: []Call{{Name: "add", Args: `{"a":1,"b":2}`}}, Fault: Odd}}, func(r *run) {
			res := r.askModel(helloRequest())
			r.requireOK(res)
			r.requireEqual("text", res.Text(), "a, b, c")
			r.requireEqual("calls", len(res.Calls()), 1)
		}},
		{"an answer that is not streamed", []Answer{{Reasoning: "hm", Text: "hi", Calls: []Call{{Name: "add", Args: `{"a":1}`}}, Fault: JSON}}, func(r *run) {
			res := r.askModel(helloRequest())
			r.requireOK(res)
			r.requireEqual("text", res.Text(), "hi")
			r.requireEqual("calls", len(res.Calls()), 1)
			r.requireEqual("stop", res.Stop, llm.ToolUse)
		}},
		{"byte-stable requests", []Answer{{Text: "ok"}, {Text: "ok"}}, checkPrefix},
	}
}

// checkRequest sends every kind of content and compares the request that the server received.
func checkRequest(r *run) {
	req := fullRequest()
	req.MaxTokens, req.NoTools = 77, true
	r.requireOK(r.askModel(req))
	got := r.srv.Last()
	r.requireEqual("system", got.System, req.System)
	r.requireEqual("max tokens", got.MaxTokens, 77)
	r.requireEqual("no tools", got.NoTools, true)
	r.requireEqual("streamed", got.Stream, true)
	r.requireEqual("tools", len(got.Tools), len(req.Tools))
	for i, t := range got.Tools {
		if !bytes.Equal(t.Schema, req.Tools[i].Schema) || t.Description != req.Tools[i].Description {
			r.t.Errorf("tool %d: %s %s, want it unchanged", i, t.Description, t.Schema)
		}
	}
	var results, calls, pictures []string
	for _, m := range got.Messages {
		for _, p := range m.Parts {
			switch {
			case p.Result != nil:
				results = append(results, p.Result.Name+"="+p.Result.Text)
			case p.Call != nil:
				calls = append(calls, p.Call.Name+string(p.Call.Args))
			case p.Image != nil:
				pictures = append(pictures, p.Image.MIME+" "+string(p.Image.Data))
			}
		}
	}
	r.requireEqual("calls", calls, []string{`add{"a":1,"b":2}`, `get_time{}`, `no_such_tool_{}`, `add{}`})
	r.requireEqual("pictures", pictures, []string{"image/png \x89PNG"})
	if len(results) != 4 || results[0] != "add=3" || !strings.Contains(results[3], "arguments were cut off") {
		r.t.Errorf("results %q", results)
	}
}

// fullRequest returns a conversation with every kind of part, ids from another provider, an
// invented tool and a truncated call.
func fullRequest() llm.Request {
	call := func(id, name, args string) llm.Part {
		return llm.Part{Call: &llm.ToolCall{ID: id, Name: name, Args: json.RawMessage(args)}}
	}
	answer := func(id, name, text string) llm.Part {
		return llm.Part{Result: &llm.ToolResult{ID: id, Name: name, Text: text}}
	}
	cut := llm.NewCall("c4", "add", `{"a":1,`, true)
	r := helloRequest()
	r.System = "You are Hob. <stable> & \"quoted\"\u2028"
	r.Messages = []llm.Message{
		{Role: llm.User, Parts: []llm.Part{{Text: "what is on this picture?"}, {Image: &llm.Image{MIME: "image/png", Data: []byte("\x89PNG")}}, {Text: "It is 10:00.", Context: true}}},
		{Role: llm.Assistant, Parts: []llm.Part{
			{Reasoning: &llm.Reasoning{Text: "unsigned"}},
			{Text: "I look."},
			call("functions.add:0", "add", `{"a":1,"b":2}`), call("c2", "get_time", ``), call("c3", "no such tool?"[:13], `{}`),
			{Call: &cut},
		}},
		{Role: llm.ToolRole, Parts: []llm.Part{
			answer("functions.add:0", "add", "3"), answer("c2", "get_time", "10:00"), answer("c3", "no such tool?", "there is no such tool"),
			{Result: &llm.ToolResult{ID: "c4", Name: "add", Text: "the arguments were cut off", Error: true}},
		}},
		{Role: llm.Assistant, Parts: []llm.Part{{Reasoning: &llm.Reasoning{Text: "signed", Signature: "s"}}, {Text: "A cat. \xff"}}},
		userMessage("thanks"),
	}
	r.Messages[1].Parts[4].Call.Name = "no_such_tool?"
	return r
}

// checkPrefix sends two requests and compares bytes: the second must start with the first.
func checkPrefix(r *run) {
	req := fullRequest()
	r.requireOK(r.askModel(req))
	first := cachedPart(r)
	req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: "You are welcome."}}}, userMessage("bye"))
	r.requireOK(r.askModel(req))
	second := cachedPart(r)
	if !strings.HasPrefix(second, strings.TrimSuffix(first, "]")) {
		r.t.Errorf("the first request is not a prefix of the second:\n%s\n%s", first, second)
	}
}

// cachedPart returns the part of the last request that providers cache.
func cachedPart(r *run) string {
	var fields struct {
		Tools, System, Messages     json.RawMessage
		SystemInstruction, Contents json.RawMessage
	}
	if err := json.Unmarshal(r.srv.Last().Body, &fields); err != nil {
		r.t.Fatal(err)
	}
	s := string(fields.Tools) + string(fields.System) + string(fields.SystemInstruction) + string(fields.Messages) + string(fields.Contents)
	return strings.ReplaceAll(s, `,"cache_control":{"type":"ephemeral"}`, "") // a cache mark, which is not content
}
