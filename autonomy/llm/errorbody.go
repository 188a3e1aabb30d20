package llm

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

// ErrorBody is the content of an error response.
type ErrorBody struct {
	// Code holds the machine-readable fields (code, type, status and reasons), separated by spaces.
	Code    string
	Message string        // text for display, never JSON; "" if missing
	Retry   time.Duration // wait requested by the body (google.rpc.RetryInfo); 0 means none
}

// ParseErrorBody parses the various forms of an error:
//
//	{"error":{"message":"...","type":"...","code":"..."}}     OpenAI, Anthropic, most others
//	{"error":{"message":"...","metadata":{"raw":"..."}}}      OpenRouter, for the provider behind it
//	{"error":{"message":"...","status":"...","details":[]}}   Google (https://google.aip.dev/193)
//	{"error":"..."}                                          Ollama, LM Studio
//	{"object":"error","message":"...","code":400}             vLLM
//	{"detail":"..."} or {"detail":[{"msg":"...","loc":[]}]}    FastAPI
//	[{"error":{...}}]                                        Google, if a stream was requested
func ParseErrorBody(body []byte) ErrorBody { return parseError(string(body), 5) }

// ParseErrorObject parses the object under "error".
func ParseErrorObject(raw json.RawMessage) ErrorBody { return parseErrorObject(raw, 5) }

// parseError parses nested errors up to the given depth.
func parseError(text string, depth int) ErrorBody {
	text = strings.TrimSpace(text)
	if depth == 0 || text == "" || text[0] == '<' {
		return ErrorBody{} // a web page adds no information to the status
	}
	switch text[0] {
	case '[':
		var list []json.RawMessage
		if json.Unmarshal([]byte(text), &list) != nil {
			return ErrorBody{Message: text}
		}
		return firstError(list, depth)
	case '{':
	default:
		return ErrorBody{Message: text}
	}
	var top struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Msg     json.RawMessage `json:"msg"`
		Loc     json.RawMessage `json:"loc"` // FastAPI: the field to which Msg refers
		Detail  json.RawMessage `json:"detail"`
		Code    json.RawMessage `json:"code"`
		Type    json.RawMessage `json:"type"`
	}
	if json.Unmarshal([]byte(text), &top) != nil {
		return ErrorBody{} // truncated JSON is not shown to users
	}
	if len(top.Error) > 0 && top.Error[0] == '{' {
		return parseErrorObject(top.Error, depth)
	}
	e := ErrorBody{Code: joinUnique(top.Code)}
	if e.Code == "" {
		e.Code = joinUnique(top.Type)
	}
	for _, raw := range []json.RawMessage{top.Error, top.Message, top.Detail, top.Msg} {
		if s := parseError(JSONText(raw), depth-1).Message; s != "" {
			e.Message = s
			break
		}
	}
	if where := fieldPath(top.Loc); where != "" && e.Message != "" {
		e.Message = where + ": " + e.Message
	}
	return e
}

// fieldPath joins the steps of a field path, for example body.stream_options.
func fieldPath(raw json.RawMessage) string {
	var steps []json.RawMessage
	if json.Unmarshal(raw, &steps) != nil {
		return ""
	}
	var out []string
	for _, s := range steps {
		out = append(out, JSONText(s))
	}
	return strings.Join(out, ".")
}

// firstError returns the first nonempty error in a list.
func firstError(list []json.RawMessage, depth int) ErrorBody {
	for _, raw := range list[:min(len(list), 8)] {
		if e := parseError(JSONText(raw), depth-1); e.Message != "" {
			return e
		}
	}
	return ErrorBody{}
}

func parseErrorObject(raw json.RawMessage, depth int) ErrorBody {
	var e struct {
		Message  json.RawMessage `json:"message"`
		Type     json.RawMessage `json:"type"`
		Code     json.RawMessage `json:"code"`
		Status   json.RawMessage `json:"status"`
		Metadata struct {
			Raw json.RawMessage `json:"raw"`
		} `json:"metadata"`
		Details []struct {
			Reason     json.RawMessage `json:"reason"`
			RetryDelay json.RawMessage `json:"retryDelay"`
		} `json:"details"`
	}
	_ = json.Unmarshal(raw, &e) // keep the fields that could be decoded
	out := ErrorBody{Message: parseError(JSONText(e.Message), depth-1).Message}
	if behind := parseError(JSONText(e.Metadata.Raw), depth-1).Message; behind != "" {
		out.Message = strings.TrimPrefix(out.Message+": "+behind, ": ")
	}
	said := []json.RawMessage{e.Code, e.Type, e.Status}
	for _, d := range e.Details {
		said = append(said, d.Reason)
		if wait, err := time.ParseDuration(JSONText(d.RetryDelay)); err == nil {
			out.Retry = clampWait(wait.Seconds())
		}
	}
	out.Code = joinUnique(said...)
	return out
}

// joinUnique joins the nonempty values without duplicates.
func joinUnique(list ...json.RawMessage) string {
	var out []string
	for _, raw := range list {
		if s := JSONText(raw); s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return strings.Join(out, " ")
}

// JSONText returns the value of a JSON string, other JSON unchanged, or "" for null.
func JSONText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}

// isTruncatedJSON reports whether err means that the JSON input ended too early.
func isTruncatedJSON(err error) bool {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	return syntax && strings.Contains(err.Error(), "unexpected end")
}
