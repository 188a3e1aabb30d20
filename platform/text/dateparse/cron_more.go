package dateparse

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxLines limits the lines of one schedule.
const maxLines = 24

// checkLines validates several cron lines.
func checkLines(text string) (string, error) {
	parts := strings.Split(text, ";")
	if len(parts) > maxLines {
		return "", fmt.Errorf("more than %d cron lines", maxLines)
	}
	for i, p := range parts {
		line, err := checkCron(strings.TrimSpace(p))
		if err != nil {
			return "", err
		}
		parts[i] = line
	}
	return strings.Join(parts, "; "), nil
}

// parseSpecialField parses the forms of a field that are not lists of numbers: "L" as the day of
// month, "1#2" and "5L" as the day of week.
func parseSpecialField(field int, s string) (string, bool) {
	switch field {
	case 2:
		return "L", strings.EqualFold(s, "L")
	case 4:
		nths, ok := nthField(s)
		return writeNths(nths), ok
	}
	return "", false
}

// fitSpecials rejects the combination of a day of the month with an nth weekday, because cron runs
// if either of the two matches.
func fitSpecials(words []string) error {
	_, last := parseSpecialField(2, words[2])
	_, nth := parseSpecialField(4, words[4])
	if last && words[4] != "*" && words[4] != "?" || nth && words[2] != "*" && words[2] != "?" {
		return errors.New("the last day or the nth weekday of the month cannot be combined with other days")
	}
	return nil
}

// nthDay is a weekday of a month: the first Monday, or the last when n is -1.
type nthDay struct{ n, wd int }

// nthField parses "1#1,1#3" and "5L".
func nthField(s string) ([]nthDay, bool) {
	var out []nthDay
	for _, part := range strings.Split(s, ",") {
		day, count, isNth := strings.Cut(part, "#")
		n := -1
		if !isNth {
			var last bool
			if day, last = strings.CutSuffix(strings.ToUpper(part), "L"); !last {
				return nil, false
			}
		} else if n, isNth = parseBoundedInt(count, 1, 5); !isNth {
			return nil, false
		}
		wd, ok := parseBoundedInt(day, 0, 7)
		if d, named := weekdayName(strings.ToLower(day)); named && len(day) == 3 {
			wd, ok = int(d), true
		}
		if !ok {
			return nil, false
		}
		out = append(out, nthDay{n, wd % 7})
	}
	return out, true
}

func parseBoundedInt(s string, lo, hi int) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= lo && n <= hi && s[0] != '+' && s[0] != '-'
}

func writeNths(nths []nthDay) string {
	var out []string
	for _, n := range nths {
		if n.n < 0 {
			out = append(out, strconv.Itoa(n.wd)+"L")
			continue
		}
		out = append(out, fmt.Sprintf("%d#%d", n.wd, n.n))
	}
	return strings.Join(out, ",")
}
