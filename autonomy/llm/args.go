package llm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// NewCall creates a complete call from the parts that a model streamed. Args is a JSON object,
// which is empty if raw is. The call is Truncated if cut is set (the answer ended early), the name
// is missing, or raw is not a JSON object. Args then holds raw as a JSON string.
func NewCall(id, name, raw string, cut bool) ToolCall {
	c := ToolCall{ID: id, Name: name}
	text := strings.TrimSpace(strings.ToValidUTF8(raw, "\uFFFD"))
	args, ok := parseObject(text)
	if ok && !cut && name != "" {
		c.Args = args
		return c
	}
	c.Truncated = true
	c.Args, _ = json.Marshal(text) // a string can always be encoded
	return c
}

// parseObject parses a JSON object. It also accepts an empty string, and an object that is encoded
// twice, as a JSON string, which some servers send.
func parseObject(text string) (json.RawMessage, bool) {
	switch {
	case text == "" || text == "null":
		return json.RawMessage("{}"), true
	case text[0] == '{' && json.Valid([]byte(text)):
		return json.RawMessage(text), true
	case text[0] == '"':
		var inner string
		if json.Unmarshal([]byte(text), &inner) == nil {
			inner = strings.TrimSpace(inner)
			if strings.HasPrefix(inner, "{") && json.Valid([]byte(inner)) {
				return json.RawMessage(inner), true
			}
		}
	}
	return nil, false
}

// WireArgs returns the arguments of an earlier call in the form that APIs expect, which is always
// one compact JSON object.
func (c ToolCall) WireArgs() json.RawMessage {
	args := bytes.TrimSpace(c.Args)
	if c.Truncated || len(args) == 0 || args[0] != '{' || !json.Valid(args) {
		return json.RawMessage("{}")
	}
	return args
}

// WireName converts a name, which a model may have invented, to a name that every API accepts
// (letters, digits, _ and -, at most 64 characters).
func WireName(name string) string {
	s := strings.Map(func(r rune) rune {
		if wireRune(r) {
			return r
		}
		return '_'
	}, name)
	if s == "" {
		return "unknown"
	}
	return s[:min(len(s), 64)]
}

// WireID converts another provider's id to an id that every API accepts. Equal ids give equal
// results.
func WireID(id string) string {
	if id != "" && len(id) <= 64 && strings.IndexFunc(id, func(r rune) bool { return !wireRune(r) }) < 0 {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:9])
}

func wireRune(r rune) bool {
	return r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}
