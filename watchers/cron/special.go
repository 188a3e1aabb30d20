package cron

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxLines limits the lines of one cron expression.
const maxLines = 24

// nth is a weekday of a month, such as the second Monday; n = -1 means the last one.
type nth struct {
	n   int
	day time.Weekday
}

// parseSpecial parses fields that the library does not support: "L" as the day of the month, and
// "1#2" and "5L" as the day of the week. It replaces these fields with plain fields and stores the
// conditions for fitsSpecial.
func parseSpecial(parts []string) (*fields, error) {
	f := &fields{}
	text := strings.Join(parts, " ")
	if strings.EqualFold(parts[2], "L") {
		f.lastDom, f.text, parts[2] = true, text, "28-31"
		if parts[4] != "*" && parts[4] != "?" {
			return nil, errors.New("the last day of the month cannot be combined with a weekday")
		}
		return f, nil
	}
	if !strings.ContainsAny(parts[4], "#Ll") {
		return f, nil
	}
	if parts[2] != "*" && parts[2] != "?" {
		return nil, errors.New("the nth weekday of the month cannot be combined with a day of month")
	}
	var days []string
	for _, p := range strings.Split(parts[4], ",") {
		n, ok := parseNth(p)
		if !ok {
			return nil, fmt.Errorf(`the weekday %q must look like "1#2" (the second Monday) or "5L" (the last Friday)`, p)
		}
		f.nths = append(f.nths, n)
		days = append(days, strconv.Itoa(int(n.day)))
	}
	f.text, parts[4] = text, strings.Join(days, ",")
	return f, nil
}

func parseNth(s string) (nth, bool) {
	day, count, ok := strings.Cut(s, "#")
	n := -1
	if ok {
		if len(count) != 1 || count[0] < '1' || count[0] > '5' {
			return nth{}, false
		}
		n = int(count[0] - '0')
	} else if day, ok = strings.CutSuffix(strings.ToUpper(s), "L"); !ok {
		return nth{}, false
	}
	if len(day) != 1 || day[0] < '0' || day[0] > '7' {
		return nth{}, false
	}
	return nth{n, time.Weekday((day[0] - '0') % 7)}, true
}

// fitsSpecial reports whether a day that matches the plain fields also meets the special
// conditions.
func (f *fields) fitsSpecial(t time.Time) bool {
	if f.lastDom {
		return t.AddDate(0, 0, 1).Day() == 1
	}
	for _, n := range f.nths {
		if t.Weekday() == n.day && (n.n > 0 && (t.Day()+6)/7 == n.n || n.n < 0 && t.AddDate(0, 0, 7).Month() != t.Month()) {
			return true
		}
	}
	return len(f.nths) == 0
}

// parseText parses one or more cron lines separated by ";".
func parseText(text string) ([]*fields, string, error) {
	if len(text) > maxText {
		return nil, "", fmt.Errorf("cron: the expression is longer than %d bytes", maxText)
	}
	parts := strings.Split(text, ";")
	if len(parts) > maxLines {
		return nil, "", fmt.Errorf("cron: the expression has more than %d lines", maxLines)
	}
	var lines []*fields
	var words []string
	for _, p := range parts {
		f, err := parseFields(p)
		if err != nil {
			return nil, "", err
		}
		lines = append(lines, f)
		words = append(words, f.text)
	}
	return lines, strings.Join(words, "; "), nil
}
