package browser

import (
	"strings"
	"testing"
)

// TestStart_WithoutABrowser checks redacted results, because a page controls the content of its password fields.
func TestStart_WithoutABrowser(t *testing.T) {
	many := make([]string, 100)
	for i := range many {
		many[i] = "e"
	}
	for name, tc := range map[string]struct {
		text    string
		secrets []string
		want    string
	}{
		"none":                            {"undefined", []string{""}, "undefined"},
		"letters of the replacement":      {"undefined", many, "und[secret]fin[secret]d"},
		"the longer one first":            {"abcd abc", []string{"abc", "abcd", "abc"}, "[secret] [secret]"},
		"in JSON":                         {`{"pw":"a<b\"c"} a<b"c`, []string{`a<b"c`}, `{"pw":"[secret]"} [secret]`},
		"result is at most maxValue long": {strings.Repeat("e", maxValue), many, strings.Repeat("[secret]", maxValue/8)},
	} {
		if got := redactSecrets(tc.text, tc.secrets); got != tc.want {
			t.Errorf("%s: %.100q, want %.100q", name, got, tc.want)
		}
	}
}
