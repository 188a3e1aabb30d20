package ics

import (
	"strings"
)

// Limits of lines and nesting.
const (
	maxParams = 2 << 10  // bytes before a line's value, because the parser is slow for long parameters
	maxValue  = 64 << 10 // bytes of a value
	maxDepth  = 8
)

// normalizeLines unfolds lines, drops invalid lines and too deeply nested components, and balances
// BEGIN and END. whole is true if nothing was dropped, cut or added.
func normalizeLines(data []byte) (text string, whole bool) {
	text = strings.NewReplacer("\r\n ", "", "\r\n\t", "", "\n ", "", "\n\t", "", "\x00", "").Replace(strings.TrimPrefix(string(data), "\ufeff"))
	var b strings.Builder
	var open []string
	deep, ended := 0, false
	whole = true
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if ended {
			whole = whole && strings.TrimSpace(line) == ""
			continue
		}
		at := valueAt(line)
		if at <= 0 || at > maxParams {
			whole = whole && strings.TrimSpace(line) == ""
			continue
		}
		name, value := strings.ToUpper(line[:at]), strings.TrimSpace(line[at+1:])
		switch {
		case name == "BEGIN" && (deep > 0 || len(open) == maxDepth):
			deep++
			whole = false
			continue
		case name == "BEGIN":
			open = append(open, strings.ToUpper(value))
		case name == "END" && deep > 0:
			deep--
			continue
		case name == "END":
			if len(open) == 0 || open[len(open)-1] != strings.ToUpper(value) {
				whole = false
				continue
			}
			open = open[:len(open)-1]
		case deep > 0 || len(open) == 0 || !goodParams(line[:at]):
			whole = false
			continue
		}
		if len(line) > at+maxValue {
			line, whole = strings.ToValidUTF8(line[:at+maxValue], ""), false
		}
		b.WriteString(line + "\r\n")
		if name == "END" && len(open) == 0 {
			ended = true
		}
	}
	for len(open) > 0 {
		whole = false
		b.WriteString("END:" + open[len(open)-1] + "\r\n")
		open = open[:len(open)-1]
	}
	return b.String(), whole
}

// valueAt returns the index of the colon that precedes a line's value, or -1 if there is none.
func valueAt(line string) int {
	quoted := false
	for i := range len(line) {
		switch line[i] {
		case '"':
			quoted = !quoted
		case ':':
			if !quoted {
				return i
			}
		}
		if i > maxParams {
			break
		}
	}
	return -1
}

// goodParams reports whether the parser can parse a line's name and parameters.
func goodParams(s string) bool {
	name, rest, more := cutOutside(s, ';')
	if name == "" || strings.ContainsAny(name, "\" ,=:") {
		return false
	}
	for more {
		var p string
		p, rest, more = cutOutside(rest, ';')
		key, value, ok := strings.Cut(p, "=")
		if !ok || key == "" || strings.Contains(key, `"`) || strings.Count(value, `"`)%2 != 0 {
			return false
		}
		for again := true; again; {
			var v string
			v, value, again = cutOutside(value, ',')
			if strings.Contains(v, `"`) && (len(v) < 2 || v[0] != '"' || v[len(v)-1] != '"' || strings.Contains(v[1:len(v)-1], `"`)) {
				return false
			}
		}
	}
	return true
}

// cutOutside cuts s at the first c that is not inside quotes.
func cutOutside(s string, c byte) (before, after string, found bool) {
	quoted := false
	for i := range len(s) {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == c && !quoted:
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}
