package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// UserMessage describes the failure and the remedy in one sentence for users. It never contains
// JSON or a web page.
func (e *Error) UserMessage() string {
	s := e.Cause()
	if e.Kind == RateLimited && e.RetryAfter >= time.Second {
		s += fmt.Sprintf(", and asks Hob to wait %s", e.RetryAfter.Round(time.Second))
	}
	remedy := e.Remedy
	if remedy == "" && !e.Whole {
		remedy = remedyOf(e.Kind, e.Provider, false)
	}
	if remedy != "" {
		s += "; " + remedy
	}
	return strings.TrimRight(s, ". ") + "."
}

// Cause returns the first half of UserMessage, without the remedy: the meaning of the kind, then
// the provider's message.
func (e *Error) Cause() string {
	said := strings.TrimRight(e.Message, ". ")
	lead := map[ErrorKind]string{
		RateLimited:  "%s is limiting the request rate",
		Unavailable:  "%s reports a temporary error",
		Network:      "%s cannot be reached",
		Stalled:      "%s stopped sending data",
		Unauthorized: "%s rejected the key",
		Payment:      "%s requires a payment first",
		NotFound:     "%s does not know the model or the address",
		BadRequest:   "%s refused the request",
		Overflow:     "the conversation is longer than %s can read",
		Garbled:      "%s sent an answer that cannot be parsed",
	}[e.Kind]
	switch {
	case e.Whole:
		return e.displayName() + ": " + said
	case lead == "":
		return said
	case said == "":
		return fmt.Sprintf(lead, e.displayName())
	}
	return fmt.Sprintf(lead, e.displayName()) + ": " + said
}

func (e *Error) displayName() string {
	if e.Provider == "" {
		return "the model"
	}
	return e.Provider
}

// DescribeError describes an error for users: it returns the user message of an *Error, and the
// text of any other error.
func DescribeError(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.UserMessage()
	}
	return err.Error()
}

// remedyOf returns the remedy for errors of a kind.
func remedyOf(k ErrorKind, provider string, local bool) string {
	section := "[providers." + provider + "]"
	switch k {
	case RateLimited, Unavailable:
		return "wait a little, or set a fallback model: hob config set agent.fallback '[\"provider/model\"]'"
	case Network, Stalled:
		if local {
			return "start the local model server, or correct base_url of " + section
		}
		return "check the internet connection and base_url of " + section
	case Unauthorized:
		return "check the API key of " + section + ": hob setup"
	case Payment:
		return "add credit at the provider, or choose another model: hob config set agent.model \"provider/model\""
	case NotFound:
		return "check the model's name and base_url of " + section + ": hob provider test"
	case BadRequest:
		return "rephrase the message, or choose another model: hob config set agent.model \"provider/model\""
	case Overflow:
		return "shorten the message, or start a new conversation: /new"
	case Garbled:
		return "try again; if the error persists, check that base_url of " + section + " is the address of a model API, or choose another model"
	case Budget:
		return "raise the cap: hob config set budget.daily_usd"
	case Interrupted:
		return "ask again"
	}
	return ""
}

// legibleText extracts the readable part of an error message that another program sent: the message
// inside JSON, and nothing from a web page.
func legibleText(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "<") {
		return ""
	}
	i := strings.IndexAny(s, "{[")
	if i < 0 || !looksLikeJSON(s[i:]) {
		return s
	}
	before := strings.TrimRight(s[:i], " :-,=(\"'")
	var v any
	inner := ""
	if json.NewDecoder(strings.NewReader(s[i:])).Decode(&v) == nil {
		inner = strings.TrimSpace(findMessage(v, 0))
	}
	switch {
	case inner == "":
		return before
	case before == "":
		return inner
	}
	return before + ": " + inner
}

// looksLikeJSON reports whether s is JSON and not words in brackets.
func looksLikeJSON(s string) bool {
	rest := strings.TrimSpace(s[1:])
	if s[0] == '[' {
		return strings.HasPrefix(rest, "{") || strings.HasPrefix(rest, "\"")
	}
	return strings.HasPrefix(rest, "\"") || strings.HasPrefix(rest, "}")
}

// findMessage finds the text in the usual forms of an error object.
func findMessage(v any, depth int) string {
	if depth > 5 {
		return ""
	}
	switch x := v.(type) {
	case string:
		return legibleText(x)
	case []any:
		for _, e := range x {
			if s := findMessage(e, depth+1); s != "" {
				return s
			}
		}
	case map[string]any:
		for _, k := range []string{"message", "error", "detail", "details", "msg", "reason", "title"} {
			if s := findMessage(x[k], depth+1); s != "" {
				return s
			}
		}
	}
	return ""
}
