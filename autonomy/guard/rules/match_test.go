package rules_test

import "regexp"

func matchesPattern(pattern, text string) bool {
	return regexp.MustCompile("(?s)" + pattern).MatchString(text)
}
