package dateparse

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// cronField contains the range and the names of one field of a cron line.
type cronField struct {
	name     string
	min, max int
}

func cronFields() [5]cronField {
	return [5]cronField{
		{"minute", 0, 59}, {"hour", 0, 23}, {"day of month", 1, 31}, {"month", 1, 12}, {"day of week", 0, 7},
	}
}

func cronError(line string, err error) error {
	return fmt.Errorf("%q: %w: invalid cron line: %w; a cron line is \"minute hour day-of-month month day-of-week\", such as \"30 8 * * 1-5\"",
		truncateRunes(line, 80), ErrNotUnderstood, err)
}

// looksLikeCron reports whether s is meant to be a cron line, valid or not: it begins with "@", or
// consists of four to seven words, of which the first three contain only digits and the symbols of
// cron.
func looksLikeCron(s string) bool {
	if strings.HasPrefix(s, "@") {
		return true
	}
	s, _, _ = strings.Cut(s, ";")
	f := strings.Fields(s)
	if len(f) < 4 || len(f) > 7 {
		return false
	}
	for _, w := range f[:3] {
		if strings.Trim(w, "0123456789*/,-?L") != "" {
			return false
		}
	}
	return true
}

// checkCron validates a cron line and returns it in the form that every cron parser supports:
// Sunday is 0, names are numbers, "?" is "*".
//
// Several lines separated by ";" form one schedule with the times of all lines. "L" as the day of
// the month is the last day. "1#2" as the day of the week is the second Monday of the month, and
// "5L" the last Friday.
func checkCron(line string) (string, error) {
	if strings.Contains(line, ";") {
		return checkLines(line)
	}
	switch strings.ToLower(line) {
	case "@hourly":
		line = "0 * * * *"
	case "@daily", "@midnight":
		line = "0 0 * * *"
	case "@weekly":
		line = "0 0 * * 0"
	case "@monthly":
		line = "0 0 1 * *"
	case "@yearly", "@annually":
		line = "0 0 1 1 *"
	}
	words := strings.Fields(line)
	if len(words) != 5 {
		return "", fmt.Errorf("%d fields instead of 5", len(words))
	}
	var sets [5][]int
	if err := fitSpecials(words); err != nil {
		return "", err
	}
	for i, f := range cronFields() {
		if s, ok := parseSpecialField(i, words[i]); ok {
			words[i], sets[i] = s, []int{1}
			continue
		}
		out, set, err := f.checkField(words[i])
		if err != nil {
			return "", err
		}
		words[i], sets[i] = out, set
	}
	if words[2] != "*" && words[4] == "*" && !everFires(sets[2], sets[3]) {
		return "", errors.New("the day of month does not exist in the given months")
	}
	return strings.Join(words, " "), nil
}

// everFires reports whether one of the days exists in one of the months.
func everFires(doms, months []int) bool {
	for _, m := range months {
		longest := []int{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[m-1]
		if slices.Min(doms) <= longest {
			return true
		}
	}
	return false
}

// checkField validates one field and lists the values it selects.
func (f cronField) checkField(s string) (string, []int, error) {
	var parts []string
	var set []int
	for _, part := range strings.Split(s, ",") {
		lo, hi, step, err := f.parsePart(part)
		if err != nil {
			return "", nil, fmt.Errorf("%s %q: %w", f.name, s, err)
		}
		for n := lo; n <= hi; n += step {
			set = append(set, n)
		}
		if p := f.formatPart(part, lo, hi, step); !slices.Contains(parts, p) { // "0,0" is described once
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ","), set, nil
}

// parsePart reads "*", "5", "1-5", "*/15", "1-31/2", "MON-FRI".
func (f cronField) parsePart(s string) (lo, hi, step int, err error) {
	body, stepText, stepped := strings.Cut(s, "/")
	step = 1
	if stepped {
		if step, err = strconv.Atoi(stepText); err != nil || step < 1 || step > f.max {
			return 0, 0, 0, fmt.Errorf("step %q is not between 1 and %d", stepText, f.max)
		}
	}
	top := f.max
	if f.max == 7 {
		top = 6
	}
	if body == "*" || body == "?" {
		return f.min, top, step, nil
	}
	from, to, ranged := strings.Cut(body, "-")
	if lo, err = f.parseValue(from); err != nil {
		return 0, 0, 0, err
	}
	hi = lo
	if ranged {
		if hi, err = f.parseValue(to); err != nil {
			return 0, 0, 0, err
		}
	} else if stepped {
		hi = top
	}
	if hi < lo {
		return 0, 0, 0, fmt.Errorf("the range %d-%d ends before it starts", lo, hi)
	}
	return lo, hi, step, nil
}

func (f cronField) parseValue(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		w := strings.ToLower(s)
		if m, ok := monthName(w); ok && f.max == 12 && len(w) == 3 {
			return int(m), nil
		}
		if d, ok := weekdayName(w); ok && f.max == 7 && len(w) == 3 {
			return int(d), nil
		}
		return 0, fmt.Errorf("%q is not a number", truncateRunes(s, 20))
	}
	if n < f.min || n > f.max || s[0] == '+' || s[0] == '-' {
		return 0, fmt.Errorf("%s is not between %d and %d", s, f.min, f.max)
	}
	return n, nil
}

// formatPart formats a part in its simplest form. 7 (Sunday) becomes 0.
func (f cronField) formatPart(s string, lo, hi, step int) string {
	suffix := ""
	if step > 1 {
		suffix = "/" + strconv.Itoa(step)
	}
	switch {
	case s[0] == '*' || s[0] == '?':
		return "*" + suffix
	case f.max == 7 && hi == 7 && lo == 7:
		return "0"
	case f.max == 7 && hi == 7:
		var ns []int
		for n := lo; n <= hi; n += step {
			ns = append(ns, n%7)
		}
		return joinInts(ns)
	case lo == hi:
		return strconv.Itoa(lo)
	}
	return fmt.Sprintf("%d-%d%s", lo, hi, suffix)
}
