package llm_test

import (
	"strings"
	"testing"
	"time"

	"hob/autonomy/llm"
)

func TestParseErrorBody(t *testing.T) {
	for _, c := range []struct{ body, code, message string }{
		{`{"error":{"message":"m","type":"t","code":"c"}}`, "c t", "m"},
		{`{"error":{"message":"m","type":"t","code":null}}`, "t", "m"},
		{`{"type":"error","error":{"message":"m","type":"t"}}`, "t", "m"},
		{`{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"boom"}}}`, "502", "Provider returned error: boom"},
		{`{"error":{"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"message\":\"boom\"}}"}}}`, "", "Provider returned error: boom"},
		{`{"error":"plain"}`, "", "plain"},
		{`{"object":"error","message":"m","type":"BadRequestError","code":400}`, "400", "m"},
		{`{"detail":"Not Found"}`, "", "Not Found"},
		{`{"detail":[{"loc":["body","x",0],"msg":"Field required"}]}`, "", "body.x.0: Field required"},
		{`[{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}]`, "400 INVALID_ARGUMENT", "m"},
		{`{"error":{"code":400,"message":"m","details":[{"reason":"API_KEY_INVALID"}]}}`, "400 API_KEY_INVALID", "m"},
		{`{"error":{"message":"{\"message\":\"inner\"}"}}`, "", "inner"},
		{`{"error":{}}`, "", ""},
		{`{}`, "", ""},
		{`plain text`, "", "plain text"},
		{`<html>`, "", ""},
		{``, "", ""},
		{`[]`, "", ""},
		{`{"error":`, "", ""},
		{`[1] is not valid`, "", "[1] is not valid"},
	} {
		if e := llm.ParseErrorBody([]byte(c.body)); e.Code != c.code || e.Message != c.message {
			t.Errorf("%s: got %q %q", c.body, e.Code, e.Message)
		}
	}
	e := llm.ParseErrorBody([]byte(`{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}`))
	if e.Retry != 34500*time.Millisecond {
		t.Errorf("Retry = %v", e.Retry)
	}
}

func FuzzParseErrorBody(f *testing.F) {
	for _, s := range []string{`{"error":{"message":[]}}`, `[[]]`, `{"error":5}`, `x`, strings.Repeat(`{"error":`, 9), `{"error":{"details":[{"retryDelay":"-1h"}]}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if e := llm.ParseErrorBody(in); e.Retry < 0 {
			t.Errorf("Retry = %v, want at least 0", e.Retry)
		}
	})
}
