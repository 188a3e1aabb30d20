// Package llmtest stands in for language models in tests. It holds
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
//	// point base_url of a provider at srv.URL; afterwards look at srv.Requests()
//
// For a request, the first unused answer whose Match (and Result) fits is
// taken; answers with neither are taken in order when nothing fits. When the
// script has run out, Options.Reply and Options.Otherwise are asked, and at last
// the request is refused with status 400 and the words "the script has no
// answer". The server keeps no state but the script, so the process under test
// may be killed at any time; for crash tests use Options.Reply, which sees the
// whole conversation, rather than a list that is used up.
//
// It is imported by tests and benchmarks only.
package llmtest
