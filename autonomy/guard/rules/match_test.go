package rules_test

import "regexp"

func matches(pattern, text string) bool {
	return regexp.MustCompile("(?s)" + pattern).MatchString(text)
}
