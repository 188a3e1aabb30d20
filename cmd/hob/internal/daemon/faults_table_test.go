package daemon

import (
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"

	"hob/autonomy/llm/llmtest"
)

const faultsHead = `# When a model API misbehaves

Each line is played through the whole program over each API (OpenAI, Anthropic, Gemini), streamed and in one piece where the
fault exists there; the last column is what the owner then reads. After each of them the conversation goes on, no key shows,
nothing is said twice, and a tool with effects ran at most once. This page is made by the test that plays them.

| # | what the API does | what Hob does | what the owner reads |
|---|---|---|---|
`

// faults is the table.
func faults() []fault {
	return slicesConcat(statusFaults(), lineFaults(), answerFaults(), callFaults())
}

func statusFaults() []fault {
	body := func(code int, text string) llmtest.Answer { return llmtest.Answer{Status: code, Body: text} }
	header := func(a llmtest.Answer, name, value string) llmtest.Answer {
		a.Header = map[string]string{name: value}
		return a
	}
	return []fault{
		{name: "400: the request is refused", answers: oneAnswer(statusAnswer(400)), does: "gives up at once", sees: "(?i)sorry.*400.*; ", calls: 1},
		{name: "401: the key is wrong", answers: oneAnswer(statusAnswer(401)), does: "gives up at once", sees: "(?i)sorry.*API key.*hob setup", calls: 1},
		{name: "401 that repeats the key", answers: oneAnswer(body(401, `{"error":{"type":"authentication_error","message":"invalid key `+llmtest.Key+`"}}`)), does: "gives up at once, takes the key out of the message", sees: `(?i)sorry.*\[redacted\].*hob setup`, calls: 1},
		{name: "402: no credit", answers: oneAnswer(statusAnswer(402)), does: "gives up at once", sees: "(?i)sorry.*add credit", calls: 1},
		{name: "403: the key may not do that", answers: oneAnswer(statusAnswer(403)), does: "gives up at once", sees: "(?i)sorry.*API key", calls: 1},
		{name: "404: no such model", answers: oneAnswer(body(404, `{"error":{"type":"not_found_error","message":"no model scripted"}}`)), does: "gives up at once", sees: "(?i)sorry.*no model scripted.*model's name", calls: 1},
		{name: "408: the server waited too long", answers: oneAnswer(statusAnswer(408)), does: "tries again", sees: well, calls: 2},
		{name: "413: the conversation is too long", answers: oneAnswer(statusAnswer(413)), does: "shortens the conversation once if it can (here it has one message)", sees: "(?i)sorry.*(/new|new conversation)", calls: 1},
		{name: "400 that means: the conversation is too long", answers: oneAnswer(body(400, `{"error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`)), does: "the same", sees: "(?i)sorry.*(/new|new conversation)", calls: 1},
		{name: "422: a field is wrong", answers: oneAnswer(body(422, `{"detail":[{"loc":["body","messages"],"msg":"Field required"}]}`)), does: "gives up at once", sees: "(?i)sorry.*body.messages: Field required", calls: 1},
		{name: "429 with Retry-After", answers: oneAnswer(header(statusAnswer(429), "Retry-After", "7")), does: "waits as long as asked, tries again", sees: well, calls: 2},
		{name: "429 without Retry-After", answers: oneAnswer(statusAnswer(429)), does: "waits a little, tries again", sees: well, calls: 2},
		{name: "429 for an hour", answers: oneAnswer(header(statusAnswer(429), "Retry-After", "3600")), does: "gives up at once, because that is longer than anyone waits", sees: "(?i)sorry.*429", calls: 1},
		{name: "429 that means: the money is used up", answers: oneAnswer(body(429, `{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}`)), does: "gives up at once", sees: "(?i)sorry.*add credit", calls: 1},
		{name: "500 once", answers: oneAnswer(statusAnswer(500)), does: "tries again", sees: well, calls: 2},
		{name: "500 with JSON of another kind", answers: everyTry(body(500, `{"trace":{"id":7},"ok":false}`)), does: "tries three times", sees: "(?i)sorry.*500.*; ", calls: 3},
		{name: "502 with a web page", answers: everyTry(body(502, "<html><title>Bad gateway</title></html>")), does: "tries three times", sees: "(?i)sorry.*502.*; ", calls: 3},
		{name: "503 twice", answers: answersOf(statusAnswer(503), statusAnswer(503)), does: "tries three times", sees: well, calls: 3},
		{name: "529: overloaded, for good", answers: everyTry(statusAnswer(529)), does: "tries three times", sees: "(?i)sorry.*529.*; ", calls: 3},
		{name: "a redirect", answers: oneAnswer(header(statusAnswer(307), "Location", "http://elsewhere.example/")), does: "does not follow: the key would go along", sees: "(?i)sorry.*redirects.*base_url", calls: 1},
	}
}

// lineFaults are about the connection and the bytes on it.
func lineFaults() []fault {
	page := llmtest.Answer{Fault: llmtest.HTML}
	return []fault{
		{name: "there is no such name", down: &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "model.example", Server: "10.0.0.1:53", IsNotFound: true}}, does: "tries three times", sees: "(?i)sorry.*cannot resolve the name .*no such host.*; ", calls: 0},
		{name: "nothing listens there", down: &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, does: "tries three times", sees: "(?i)sorry.*cannot connect.*; ", calls: 0},
		{name: "the connection breaks before a word", answers: oneAnswer(faulty(greeting(), llmtest.Reset, 0)), does: "tries again", sees: well, calls: 2},
		{name: "the connection breaks in the middle of words", answers: oneAnswer(faulty(greeting(), llmtest.Reset, 1)), does: "shows what came; does not try again", sees: "(?is)^Good morn … .cut off.\nsorry.*(connection|ended before).*; ", calls: 1, only: "streamed"},
		{name: "the connection breaks in the middle of the answer, in one piece", answers: oneAnswer(faulty(greeting(), llmtest.Reset, 1)), does: "tries again", sees: well, calls: 2, only: "whole"},
		{name: "the answer ends in the middle of words", answers: oneAnswer(faulty(greeting(), llmtest.EOF, 1)), does: "shows what came; does not try again", sees: "(?is)^Good morn … .cut off.\nsorry.*ended before the answer did.*; ", calls: 1, only: "streamed"},
		{name: "half of a JSON object", answers: oneAnswer(faulty(greeting(), llmtest.HalfJSON, 0)), does: "tries again", sees: well, calls: 2},
		{name: "bytes that are nothing", answers: oneAnswer(llmtest.Answer{Status: 200, Body: "}{ this is not JSON \xff\x00"}), does: "tries again", sees: well, calls: 2},
		{name: "JSON of something else", answers: oneAnswer(llmtest.Answer{Status: 200, Body: `{"hello":"world"}`}), does: "gives up at once", sees: "(?i)sorry.*base_url", calls: 1},
		{name: "a web page", answers: oneAnswer(page), does: "gives up at once", sees: "(?i)sorry.*web page.*base_url", calls: 1},
		{name: "status 200 and nothing else", answers: oneAnswer(llmtest.Answer{Fault: llmtest.NoBody}), does: "tries again", sees: well, calls: 2},
		{name: "no end marker", answers: oneAnswer(faulty(llmtest.Answer{Text: well}, llmtest.NoDone, 0)), does: "takes the answer", sees: well, calls: 1},
		{name: "an error in the stream before a word", answers: oneAnswer(faulty(greeting(), llmtest.StreamError, 0)), does: "tries again", sees: well, calls: 2, only: "streamed"},
		{name: "an error in the stream after words", answers: oneAnswer(faulty(greeting(), llmtest.StreamError, 1)), does: "shows what came; does not try again", sees: "(?is)^Good morn … .cut off.\nsorry.*overloaded.*; ", calls: 1, only: "streamed"},
		{name: "ten minutes of silence before a word", answers: oneAnswer(faulty(greeting(), llmtest.Stall, 0)), does: "gives up after two minutes (ten when it does not stream)", sees: "(?i)sorry.*(nothing|silent).*; ", calls: 1},
		{name: "silence in the middle of words", answers: oneAnswer(faulty(greeting(), llmtest.Stall, 1)), does: "gives up after two minutes, shows what came", sees: "(?is)^Good morn … .cut off.\nsorry.*(nothing|silent).*; ", calls: 1, only: "streamed"},
		{name: "pings for ever", answers: oneAnswer(faulty(greeting(), llmtest.Pings, 1)), does: "gives up after two minutes without a word, shows what came", sees: "(?is)^Good morn … .cut off.\nsorry.*(nothing|silent).*; ", calls: 1, only: "streamed"},
		{name: "a line without end", answers: oneAnswer(llmtest.Answer{Status: 200, Body: "data: " + strings.Repeat("x", 9<<20)}), does: "gives up at once", sees: "(?i)sorry.*size.*; ", calls: 1},
		{name: "a million characters at once", answers: oneAnswer(llmtest.Answer{Text: strings.Repeat("hob ", 250_000), Pieces: 1}), does: "takes the answer", sees: "^(hob ?)+$", calls: 1},
		{name: "compressed, although nobody asked for it", answers: rawAnswer(map[string]string{"Content-Encoding": "gzip"}, gzipped), does: "unpacks it", sees: well, calls: 1},
		{name: "compressed in a way that Hob does not know", answers: rawAnswer(map[string]string{"Content-Encoding": "br"}, gzipped), does: "gives up at once", sees: "(?i)sorry.*compressed.*; ", calls: 1},
		{name: "the wrong content type", answers: rawAnswer(map[string]string{"Content-Type": "text/html"}, func(s string) string { return s }), does: "looks at the bytes, not at their name", sees: well, calls: 1},
		{name: "a stream, when one piece was asked for, and the other way round", answers: func(p playWay) []llmtest.Answer {
			return []llmtest.Answer{{Status: http.StatusOK, Body: llmtest.Render(p.api, p.whole, llmtest.Answer{Text: well})}}
		}, does: "takes the answer", sees: well, calls: 1},
		{name: "bytes that are not UTF-8", answers: rawAnswer(nil, func(s string) string { return strings.Replace(s, "is well", "is \xff\xfewell", 1) }), does: "replaces them", sees: "^All is \uFFFD+well.$", calls: 1},
	}
}

// answerFaults are about what a model says.
func answerFaults() []fault {
	return []fault{
		{name: "an empty answer, once", answers: oneAnswer(llmtest.Answer{}), does: "asks again", sees: well, calls: 2},
		{name: "empty answers", answers: answersOf(llmtest.Answer{}, llmtest.Answer{}), does: "asks again once, then says so", sees: "(?i)empty answer.*choose another model", calls: 2},
		{name: "nothing but thoughts", answers: answersOf(llmtest.Answer{Reasoning: "hm"}, llmtest.Answer{Reasoning: "hm"}), does: "asks again once, then says so", sees: "(?i)empty answer", calls: 2},
		{name: "a refusal in words", answers: oneAnswer(llmtest.Answer{Text: "I cannot help with that.", Stop: "refusal"}), does: "shows the words", sees: "I cannot help with that", calls: 1},
		{name: "a refusal without words", answers: oneAnswer(llmtest.Answer{Stop: "refusal"}), does: "says so", sees: "(?i)refused.*other words", calls: 1},
		{name: "the prompt is blocked (Gemini)", answers: oneAnswer(llmtest.Answer{Status: 200, Body: `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`}), does: "says so", sees: "(?i)refused.*other words", calls: 1, only: "gemini"},
		{name: "a call that the model garbled itself (Gemini)", answers: oneAnswer(llmtest.Answer{Stop: "MALFORMED_FUNCTION_CALL"}), does: "tries again", sees: well, calls: 2, only: "gemini"},
		{name: "an unknown finish reason", answers: oneAnswer(llmtest.Answer{Text: well, Stop: "moon_phase"}), does: "takes the answer", sees: well, calls: 1},
		{name: "the token limit in the middle of words", answers: oneAnswer(llmtest.Answer{Text: "Once upon a", Stop: "length"}), does: "shows what there is", sees: "^Once upon a", calls: 1},
		{name: "an answer without token counts", answers: oneAnswer(faulty(llmtest.Answer{Text: well}, llmtest.NoUsage, 0)), does: "takes the answer, estimates the tokens", sees: well, calls: 1},
	}
}

// callFaults are about calls of tools.
func callFaults() []fault {
	two := llmtest.Answer{Calls: []llmtest.Call{
		{ID: "c1", Name: "create_task", Args: `{"title":"tea"}`}, {ID: "c2", Name: "create_task", Args: `{"title":"coffee"}`},
	}}
	done := llmtest.Answer{Text: "I added it."}
	noted := llmtest.Answer{Text: "That did not work."}
	named := func(name, args string) llmtest.Answer {
		return llmtest.Answer{Calls: []llmtest.Call{{Name: name, Args: args}}}
	}
	return []fault{
		{name: "two calls with the same id", answers: answersOf(faulty(two, llmtest.SameIDs, 0), done), does: "gives them ids of its own, runs both once", sees: "I added it", calls: 2, tasks: 2},
		{name: "calls without ids", answers: answersOf(faulty(two, llmtest.NoIDs, 0), done), does: "gives them ids of its own, runs both once", sees: "I added it", calls: 2, tasks: 2},
		{name: "a call with the finish reason of an answer", answers: answersOf(llmtest.Answer{Calls: addsTask().Calls, Stop: "stop"}, done), does: "runs it once", sees: "I added it", calls: 2, tasks: 1},
		{name: "the finish reason of a call without one", answers: oneAnswer(llmtest.Answer{Text: well, Stop: "tool_calls"}), does: "takes the answer", sees: well, calls: 1},
		{name: "arguments that are cut off", answers: answersOf(faulty(addsTask(), llmtest.CutArgs, 0), noted), does: "does not run the call, tells the model", sees: "That did not work", calls: 2},
		{name: "arguments that are no JSON", answers: answersOf(named("create_task", "please add tea"), noted), does: "does not run the call, tells the model", sees: "That did not work", calls: 2},
		{name: "arguments of the wrong kind", answers: answersOf(named("create_task", `{"title":["tea"]}`), noted), does: "does not run the call, tells the model", sees: "That did not work", calls: 2},
		{name: "a tool that does not exist", answers: answersOf(named("make_coffee", `{}`), noted), does: "tells the model", sees: "That did not work", calls: 2},
		{name: "the connection breaks in the middle of a call", answers: answersOf(faulty(addsTask(), llmtest.Reset, 1), addsTask(), done), does: "does not run the call, tries again, runs it once", sees: "I added it", calls: 3, tasks: 1},
		{name: "the connection breaks after a call ran", answers: answersOf(addsTask(), faulty(greeting(), llmtest.Reset, 0), done), does: "tries again, does not run the call again", sees: "I added it", calls: 3, tasks: 1},
		{name: "500s after a call ran", answers: answersOf(addsTask(), statusAnswer(500), statusAnswer(500), statusAnswer(500)), does: "tries three times, says that it failed; the call stays done", sees: "(?i)sorry.*500", calls: 4, tasks: 1},
	}
}

func slicesConcat(lists ...[]fault) []fault {
	var out []fault
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}
