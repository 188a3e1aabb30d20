package app

import (
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"

	"hob/autonomy/llm/llmtest"
)

const faultsHead = `# When a model API misbehaves

TestFaults injects each fault into each API (OpenAI, Anthropic, Gemini), streamed and not streamed where the fault can occur. The
last column is the reply that you read. After each fault, the conversation continues, no API key is visible, no text is repeated, and a
tool with effects ran at most once. The test generates this page.

| # | what the API does | what Hob does | what you read |
|---|---|---|---|
`

// allFaults returns all tested faults.
func allFaults() []fault {
	return slicesConcat(statusFaults(), lineFaults(), answerFaults(), callFaults())
}

func statusFaults() []fault {
	body := func(code int, text string) llmtest.Answer { return llmtest.Answer{Status: code, Body: text} }
	header := func(a llmtest.Answer, name, value string) llmtest.Answer {
		a.Header = map[string]string{name: value}
		return a
	}
	return []fault{
		{name: "400: the request is refused", answers: oneAnswer(statusAnswer(400)), does: "fails without a retry", sees: "(?i)sorry.*400.*; ", calls: 1},
		{name: "401: the key is wrong", answers: oneAnswer(statusAnswer(401)), does: "fails without a retry", sees: "(?i)sorry.*API key.*hob setup", calls: 1},
		{name: "401 that repeats the key", answers: oneAnswer(body(401, `{"error":{"type":"authentication_error","message":"invalid key `+llmtest.Key+`"}}`)), does: "fails without a retry, redacts the key", sees: `(?i)sorry.*\[redacted\].*hob setup`, calls: 1},
		{name: "402: no credit", answers: oneAnswer(statusAnswer(402)), does: "fails without a retry", sees: "(?i)sorry.*add credit", calls: 1},
		{name: "403: the key may not do that", answers: oneAnswer(statusAnswer(403)), does: "fails without a retry", sees: "(?i)sorry.*API key", calls: 1},
		{name: "404: no such model", answers: oneAnswer(body(404, `{"error":{"type":"not_found_error","message":"no model scripted"}}`)), does: "fails without a retry", sees: "(?i)sorry.*no model scripted.*model's name", calls: 1},
		{name: "408: the server waited too long", answers: oneAnswer(statusAnswer(408)), does: "retries", sees: well, calls: 2},
		{name: "413: the conversation is too long", answers: oneAnswer(statusAnswer(413)), does: "shortens the conversation once if it can (here it has one message)", sees: "(?i)sorry.*(/new|new conversation)", calls: 1},
		{name: "400 that means: the conversation is too long", answers: oneAnswer(body(400, `{"error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`)), does: "shortens the conversation once if it can (here it has one message)", sees: "(?i)sorry.*(/new|new conversation)", calls: 1},
		{name: "422: a field is wrong", answers: oneAnswer(body(422, `{"detail":[{"loc":["body","messages"],"msg":"Field required"}]}`)), does: "fails without a retry", sees: "(?i)sorry.*body.messages: Field required", calls: 1},
		{name: "429 with Retry-After", answers: oneAnswer(header(statusAnswer(429), "Retry-After", "7")), does: "waits as long as asked, retries", sees: well, calls: 2},
		{name: "429 without Retry-After", answers: oneAnswer(statusAnswer(429)), does: "waits briefly, retries", sees: well, calls: 2},
		{name: "429 for an hour", answers: oneAnswer(header(statusAnswer(429), "Retry-After", "3600")), does: "the built-in brain answers: the wait is too long", sees: standsIn("429"), calls: 1},
		{name: "429: quota used up", answers: oneAnswer(body(429, `{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}`)), does: "fails without a retry", sees: "(?i)sorry.*add credit", calls: 1},
		{name: "500 once", answers: oneAnswer(statusAnswer(500)), does: "retries", sees: well, calls: 2},
		{name: "500 with unexpected JSON", answers: everyTry(body(500, `{"trace":{"id":7},"ok":false}`)), does: "tries three times, then the built-in brain answers", sees: standsIn("500"), calls: 3},
		{name: "502 with a web page", answers: everyTry(body(502, "<html><title>Bad gateway</title></html>")), does: "tries three times, then the built-in brain answers", sees: standsIn("502"), calls: 3},
		{name: "503 twice", answers: answersOf(statusAnswer(503), statusAnswer(503)), does: "tries three times", sees: well, calls: 3},
		{name: "529: overloaded, every time", answers: everyTry(statusAnswer(529)), does: "tries three times, then the built-in brain answers", sees: standsIn("529"), calls: 3},
		{name: "a redirect", answers: oneAnswer(header(statusAnswer(307), "Location", "http://elsewhere.example/")), does: "does not follow it, because it would send the key to another host", sees: "(?i)sorry.*redirects.*base_url", calls: 1},
	}
}

// lineFaults returns faults of the connection and of the bytes on it.
func lineFaults() []fault {
	page := llmtest.Answer{Fault: llmtest.HTML}
	return []fault{
		{name: "unknown host name", down: &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "model.example", Server: "10.0.0.1:53", IsNotFound: true}}, does: "tries three times, then the built-in brain answers", sees: standsIn("cannot resolve the name .*no such host"), calls: 0},
		{name: "connection refused", down: &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, does: "tries three times, then the built-in brain answers", sees: standsIn("cannot connect"), calls: 0},
		{name: "connection reset before any text", answers: oneAnswer(answerWithFault(greetingAnswer(), llmtest.Reset, 0)), does: "retries", sees: well, calls: 2},
		{name: "connection reset in the middle of the text", answers: oneAnswer(answerWithFault(greetingAnswer(), llmtest.Reset, 1)), does: "shows the partial text; no retry", sees: "(?is)^Good morn … .cut off.\nsorry.*(connection|ended before).*; ", calls: 1, only: "streamed"},
		{name: "connection reset in the middle of an unstreamed answer", answers: oneAnswer(answerWithFault(greetingAnswer(), llmtest.Reset, 1)), does: "retries", sees: well, calls: 2, only: "whole"},
		{name: "the stream ends in the middle of the text", answers: oneAnswer(answerWithFault(greetingAnswer(), llmtest.EOF, 1)), does: "shows the partial text; no retry", sees: "(?is)^Good morn … .cut off.\nsorry.*ended before the answer did.*; ", calls: 1, only: "streamed"},
		{name: "half of a JSON object", answers: oneAnswer(answerWithFault(greetingAnswer(), llmtest.HalfJSON, 0)), does: "retries", sees: well, calls: 2},
		{name: "invalid bytes", answers: oneAnswer(llmtest.Answer{Status: 200, Body: "}{ this is not JSON \xff\x00"}), does: "retries", sees: well, calls: 2},
		{name: "unrelated JSON", answers: oneAnswer(llmtest.Answer{Status: 200, Body: `{"hello":"world"}`}), does: "fails without a retry", sees: "(?i)sorry.*base_url", calls: 1},
		{name: "a web page", answers: oneAnswer(page), does: "fails without a retry", sees: "(?i)sorry.*web page.*base_url", calls: 1},
		{name: "status 200 with an empty body", answers: oneAnswer(llmtest.Answer{Fault: llmtest.NoBody}), does: "retries", sees: well, calls: 2},
		{name: "no end marker", answers: oneAnswer(answerWithFault(llmtest.Answer{Text: well}, llmtest.NoDone, 0)), does: "accepts the answer", sees: well, calls: 1},
		{name: "an error in the stream before any text", answers: oneAnswer(answerWithFault(greetingAnswer(), llmtest.StreamError, 0)), does: "retries", sees: well, calls: 2, only: "streamed"},
		{name: "an error in the stream after some text", answers: oneAnswer(answerWithFault(greetingAnswer(), llmtest.StreamError, 1)), does: "shows the partial text; no retry", sees: "(?is)^Good morn … .cut off.\nsorry.*overloaded.*; ", calls: 1, only: "streamed"},
		{name: "ten minutes without data before any text", answers: oneAnswer(answerWithFault(greetingAnswer(), llmtest.Stall, 0)), does: "times out after two minutes (ten if not streaming), then the built-in brain answers", sees: standsIn("(nothing|silent)"), calls: 1},
		{name: "no more data in the middle of the text", answers: oneAnswer(answerWithFault(greetingAnswer(), llmtest.Stall, 1)), does: "times out after two minutes, shows the partial text", sees: "(?is)^Good morn … .cut off.\nsorry.*(nothing|silent).*; ", calls: 1, only: "streamed"},
		{name: "endless pings", answers: oneAnswer(answerWithFault(greetingAnswer(), llmtest.Pings, 1)), does: "times out after two minutes without text, shows the partial text", sees: "(?is)^Good morn … .cut off.\nsorry.*(nothing|silent).*; ", calls: 1, only: "streamed"},
		{name: "a line without end", answers: oneAnswer(llmtest.Answer{Status: 200, Body: "data: " + strings.Repeat("x", 9<<20)}), does: "fails without a retry", sees: "(?i)sorry.*size.*; ", calls: 1},
		{name: "a million characters in one piece", answers: oneAnswer(llmtest.Answer{Text: strings.Repeat("hob ", 250_000), Pieces: 1}), does: "accepts the answer", sees: "^(hob ?)+$", calls: 1},
		{name: "compressed without being requested", answers: rawAnswer(map[string]string{"Content-Encoding": "gzip"}, gzipText), does: "decompresses it", sees: well, calls: 1},
		{name: "unknown compression", answers: rawAnswer(map[string]string{"Content-Encoding": "br"}, gzipText), does: "fails without a retry", sees: "(?i)sorry.*compressed.*; ", calls: 1},
		{name: "the wrong content type", answers: rawAnswer(map[string]string{"Content-Type": "text/html"}, func(s string) string { return s }), does: "detects the format from the content", sees: well, calls: 1},
		{name: "a stream when Hob expects one piece, and the reverse", answers: func(p playWay) []llmtest.Answer {
			return []llmtest.Answer{{Status: http.StatusOK, Body: llmtest.Render(p.api, p.whole, llmtest.Answer{Text: well})}}
		}, does: "accepts the answer", sees: well, calls: 1},
		{name: "text that is not UTF-8", answers: rawAnswer(nil, func(s string) string { return strings.Replace(s, "is well", "is \xff\xfewell", 1) }), does: "replaces the invalid bytes", sees: "^All is \uFFFD+well.$", calls: 1},
	}
}

// answerFaults returns faults in the content of an answer.
func answerFaults() []fault {
	return []fault{
		{name: "an empty answer, once", answers: oneAnswer(llmtest.Answer{}), does: "asks again", sees: well, calls: 2},
		{name: "empty answers", answers: answersOf(llmtest.Answer{}, llmtest.Answer{}), does: "asks again once, then reports it", sees: "(?i)empty answer.*choose another model", calls: 2},
		{name: "only reasoning, no answer", answers: answersOf(llmtest.Answer{Reasoning: "hm"}, llmtest.Answer{Reasoning: "hm"}), does: "asks again once, then reports it", sees: "(?i)empty answer", calls: 2},
		{name: "a refusal with text", answers: oneAnswer(llmtest.Answer{Text: "I cannot help with that.", Stop: "refusal"}), does: "shows the text", sees: "I cannot help with that", calls: 1},
		{name: "a refusal without text", answers: oneAnswer(llmtest.Answer{Stop: "refusal"}), does: "reports the refusal", sees: "(?i)refused.*rephrase", calls: 1},
		{name: "the prompt is blocked (Gemini)", answers: oneAnswer(llmtest.Answer{Status: 200, Body: `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`}), does: "reports the refusal", sees: "(?i)refused.*rephrase", calls: 1, only: "gemini"},
		{name: "a malformed call (Gemini)", answers: oneAnswer(llmtest.Answer{Stop: "MALFORMED_FUNCTION_CALL"}), does: "retries", sees: well, calls: 2, only: "gemini"},
		{name: "an unknown finish reason", answers: oneAnswer(llmtest.Answer{Text: well, Stop: "moon_phase"}), does: "accepts the answer", sees: well, calls: 1},
		{name: "the token limit in the middle of the text", answers: oneAnswer(llmtest.Answer{Text: "Once upon a", Stop: "length"}), does: "shows the partial text", sees: "^Once upon a", calls: 1},
		{name: "an answer without token counts", answers: oneAnswer(answerWithFault(llmtest.Answer{Text: well}, llmtest.NoUsage, 0)), does: "accepts the answer, estimates the tokens", sees: well, calls: 1},
	}
}

// callFaults returns faults in tool calls.
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
		{name: "two calls with the same id", answers: answersOf(answerWithFault(two, llmtest.SameIDs, 0), done), does: "assigns new ids, runs both once", sees: "I added it", calls: 2, tasks: 2},
		{name: "calls without ids", answers: answersOf(answerWithFault(two, llmtest.NoIDs, 0), done), does: "assigns new ids, runs both once", sees: "I added it", calls: 2, tasks: 2},
		{name: "a tool call with the finish reason of an answer", answers: answersOf(llmtest.Answer{Calls: addsTask().Calls, Stop: "stop"}, done), does: "runs it once", sees: "I added it", calls: 2, tasks: 1},
		{name: "the finish reason of a tool call without a tool call", answers: oneAnswer(llmtest.Answer{Text: well, Stop: "tool_calls"}), does: "accepts the answer", sees: well, calls: 1},
		{name: "truncated arguments", answers: answersOf(answerWithFault(addsTask(), llmtest.CutArgs, 0), noted), does: "does not run the call, reports the error to the model", sees: "That did not work", calls: 2},
		{name: "arguments that are not JSON", answers: answersOf(named("create_task", "please add tea"), noted), does: "does not run the call, reports the error to the model", sees: "That did not work", calls: 2},
		{name: "arguments of the wrong type", answers: answersOf(named("create_task", `{"title":["tea"]}`), noted), does: "does not run the call, reports the error to the model", sees: "That did not work", calls: 2},
		{name: "a tool that does not exist", answers: answersOf(named("make_coffee", `{}`), noted), does: "reports the error to the model", sees: "That did not work", calls: 2},
		{name: "connection reset in the middle of a call", answers: answersOf(answerWithFault(addsTask(), llmtest.Reset, 1), addsTask(), done), does: "does not run the call, tries again, runs it once", sees: "I added it", calls: 3, tasks: 1},
		{name: "connection reset after a call ran", answers: answersOf(addsTask(), answerWithFault(greetingAnswer(), llmtest.Reset, 0), done), does: "tries again, does not run the call again", sees: "I added it", calls: 3, tasks: 1},
		{name: "500s after a call ran", answers: answersOf(addsTask(), statusAnswer(500), statusAnswer(500), statusAnswer(500)), does: "tries three times, then reports what ran; the call is neither repeated nor undone", sees: `(?s)^I could not finish this. Only these steps ran:
- create_task: .*tea.*\(My built-in brain answered, because .*500.*\)$`, calls: 4, tasks: 1},
	}
}

// standsIn returns a pattern for an answer of the built-in brain that explains the cause.
func standsIn(cause string) string {
	return `(?is)^Hello! I am Hob.*\n\n\(My built-in brain answered, because .*` + cause + `.*\)$`
}

func slicesConcat(lists ...[]fault) []fault {
	var out []fault
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}
