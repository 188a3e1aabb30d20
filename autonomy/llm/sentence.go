package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Sentence describes the failure and the remedy for users in one sentence. It never repeats
// JSON or a web page.
func (e *Error) Sentence() string {
	s := e.cause()
	if e.Kind == RateLimited && e.RetryAfter >= time.Second {
		s += fmt.Sprintf(", it asks to wait %s", e.RetryAfter.Round(time.Second))
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

// cause returns the first half of the sentence: the meaning of the kind, then the provider's
// message.
func (e *Error) cause() string {
	said := strings.TrimRight(e.Message, ". ")
	lead := map[ErrorKind]string{
		RateLimited:  "%s limits the request rate at the moment",
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
		return e.name() + ": " + said
	case lead == "":
		return said
	case said == "":
		return fmt.Sprintf(lead, e.name())
	}
	return fmt.Sprintf(lead, e.name()) + ": " + said
}

func (e *Error) name() string {
	if e.Provider == "" {
		return "the model"
	}
	return e.Provider
}

// Sentence describes an error of any type for users: the sentence of an *Error, otherwise the
// error unchanged.
func Sentence(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Sentence()
	}
	return err.Error()
}

// remedyOf returns what the user can do about an error of a kind.
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

// legible extracts the readable part of a foreign error message: the message within JSON, and
// nothing of a web page.
func legible(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "<") {
		return ""
	}
	i := strings.IndexAny(s, "{[")
	if i < 0 || !jsonish(s[i:]) {
		return s
	}
	before := strings.TrimRight(s[:i], " :-,=(\"'")
	var v any
	inner := ""
	if json.NewDecoder(strings.NewReader(s[i:])).Decode(&v) == nil {
		inner = strings.TrimSpace(within(v, 0))
	}
	switch {
	case inner == "":
		return before
	case before == "":
		return inner
	}
	return before + ": " + inner
}

// jsonish distinguishes JSON from words in brackets.
func jsonish(s string) bool {
	rest := strings.TrimSpace(s[1:])
	if s[0] == '[' {
		return strings.HasPrefix(rest, "{") || strings.HasPrefix(rest, "\"")
	}
	return strings.HasPrefix(rest, "\"") || strings.HasPrefix(rest, "}")
}

// within finds the text in the usual forms of an error.
func within(v any, depth int) string {
	if depth > 5 {
		return ""
	}
	switch x := v.(type) {
	case string:
		return legible(x)
	case []any:
		for _, e := range x {
			if s := within(e, depth+1); s != "" {
				return s
			}
		}
	case map[string]any:
		for _, k := range []string{"message", "error", "detail", "details", "msg", "reason", "title"} {
			if s := within(x[k], depth+1); s != "" {
				return s
			}
		}
	}
	return ""
}
