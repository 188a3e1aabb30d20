// Package llmtest replaces language models in tests. It contains
//
//   - Server, a model server on loopback that speaks the Anthropic Messages and
//     the OpenAI Chat Completions wire formats, streamed and not, answers from a
//     script and misbehaves on demand (Fault);
//   - Scripted, the same script as an llm.Model inside the process, for tests of
//     the engine that need no HTTP;
//   - Conformance, the suite that every wire driver runs.
//
// A script is a list of Answers, from Go or from a txtar scenario (ParseScript):
//
//	srv := llmtest.NewServer(t, llmtest.Options{},
//		llmtest.Answer{Match: "stretch", Calls: []llmtest.Call{{Name: "create_reminder", Args: `{"text":"stretch"}`}}},
//		llmtest.Answer{Match: "stretch", Text: "I will remind you."},
//	)
//	// point base_url of a provider at srv.URL; afterwards check srv.Requests()
//
// For a request, the first unused answer with a matching Match (and Result) is used; if none
// matches, answers without conditions are used in order. When the script is exhausted,
// Options.Reply and Options.Otherwise are tried, and finally the request is refused with
// status 400 and the text "the script has no answer". The server has no state except the
// script, so the process under test may be killed at any time. For crash tests use
// Options.Reply, which receives the whole conversation, instead of a list that is used up.
//
// Only tests and benchmarks import it.
package llmtest
