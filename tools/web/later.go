package web

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retryAdvice describes the time in a Retry-After header (RFC 9110, section 10.2.3).
func retryAdvice(h http.Header, now time.Time) string {
	s := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.ParseUint(s, 10, 31); err == nil && n > 0 {
		return fmt.Sprintf("try again in %s", time.Duration(n)*time.Second)
	}
	if t, err := http.ParseTime(s); err == nil && t.After(now) {
		return fmt.Sprintf("try again in %s", t.Sub(now).Round(time.Second))
	}
	return "try again later"
}
