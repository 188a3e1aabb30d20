package llm

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Classify returns the kind of an error that a server reported. Providers use different statuses
// and codes, so Classify also checks the message. For example, an exhausted quota is a 429 at
// OpenAI, a 400 at Anthropic and a 402 at OpenRouter.
func Classify(status int, code, message string) ErrorKind {
	c, m := strings.ToLower(code), strings.ToLower(message)
	number, _, _ := strings.Cut(c, " ")
	if n, err := strconv.Atoi(number); err == nil && n >= 300 && (status == 0 || status == http.StatusOK) {
		status = n
	}
	switch {
	case status != http.StatusUnauthorized && status != http.StatusForbidden && isOverflow(c, m):
		return Overflow
	case containsAny(c, "api_key_invalid", "api_key_expired"): // a 400 at Google
		return Unauthorized
	case status == http.StatusPaymentRequired, containsAny(c, "insufficient_quota", "billing"),
		status != http.StatusTooManyRequests && containsAny(m, "credit balance", "insufficient credit",
			"insufficient balance", "insufficient_quota", "exceeded your current quota", "enable billing"):
		return Payment
	case status >= 300:
		return classifyStatus(status, c, m)
	}
	return classifyCode(c, m)
}

func isOverflow(code, message string) bool {
	return containsAny(code, "context_length_exceeded", "exceed_context_size", "request_too_large") ||
		containsAny(message, "context length", "context window", "context size", "context limit", "maximum context",
			"prompt is too long", "input is too long", "request too large", "too many input tokens", "n_ctx",
			"context the overflows", "exceeds the maximum number of tokens", "reduce the length of the messages")
}

func classifyStatus(status int, code, message string) ErrorKind {
	switch status {
	case http.StatusUnauthorized:
		return Unauthorized
	case http.StatusForbidden:
		if containsAny(code+" "+message, "moderation", "flagged") {
			return BadRequest
		}
		return Unauthorized
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone:
		return NotFound
	case http.StatusRequestEntityTooLarge:
		return Overflow
	case http.StatusTooManyRequests:
		return RateLimited
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return Unavailable
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return BadRequest
	}
	if status >= 500 {
		return Unavailable
	}
	return BadRequest
}

// classifyCode classifies errors inside a stream, which have no HTTP status.
func classifyCode(code, message string) ErrorKind {
	switch {
	case containsAny(code, "rate_limit", "resource_exhausted"):
		return RateLimited
	case containsAny(code, "authentication", "unauthenticated", "permission", "invalid_api_key"):
		return Unauthorized
	case containsAny(code, "not_found"):
		return NotFound
	case containsAny(code, "invalid_request", "bad_request", "content_filter", "invalid_argument", "failed_precondition"):
		return BadRequest
	case containsAny(message, "rate limit"):
		return RateLimited
	}
	return Unavailable
}

func containsAny(s string, subs ...string) bool {
	for _, sub := range subs {
		if strings.Contains(s, sub) {
			return true
		}
	}
	return false
}

// RetryAfter returns how long a server asks the client to wait: retry-after-ms, or Retry-After in
// seconds or as a date (RFC 9110 section 10.2.3). It returns 0 if there is no usable value.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return clampWait(ms / 1000)
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return clampWait(s)
	}
	if t, err := http.ParseTime(v); err == nil {
		return clampWait(t.Sub(now).Seconds())
	}
	return 0
}

func clampWait(seconds float64) time.Duration {
	const day = 24 * 60 * 60
	if !(seconds > 0) { // also true for NaN
		return 0
	}
	return time.Duration(min(seconds, day) * float64(time.Second))
}
