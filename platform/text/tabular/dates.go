package tabular

import (
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode"

	"hob/platform/text/textnorm"
)

// Order is the order of day, month and year in numeric dates.
type Order string

// The orders. A date that begins with a year of four digits is always year, month, day, and one with
// points is always day, month, year.
const (
	DayFirst   Order = "dmy"
	MonthFirst Order = "mdy"
	YearFirst  Order = "ymd"
)

// Reasons why the order of a column of dates is unknown.
var (
	ErrAmbiguousDates = errors.New("the dates do not show whether the day or the month comes first")
	ErrMixedDates     = errors.New("some dates have the day first, and some the month")
)

// DetectOrder returns the order of a column of dates. If no date needs an order, it is DayFirst.
func DetectOrder(values []string) (Order, error) {
	day, month, unclear := false, false, false
	for _, v := range values {
		a, b, _, ok := splitDate(v)
		if !ok || isFixedOrder(v) {
			continue
		}
		switch {
		case a > 12:
			day = true
		case b > 12:
			month = true
		case a != b:
			unclear = true
		}
	}
	switch {
	case day && month:
		return "", ErrMixedDates
	case month:
		return MonthFirst, nil
	case unclear && !day:
		return "", ErrAmbiguousDates
	}
	return DayFirst, nil
}

// isFixedOrder reports whether a date shows its order.
func isFixedOrder(s string) bool {
	s = strings.TrimSpace(s)
	return len(s) > 4 && strings.Trim(s[:4], "0123456789") == "" || strings.Count(s, ".") >= 2
}

// splitDate returns the three numbers of a numeric date in the order in which they are written.
func splitDate(s string) (a, b, c int, ok bool) {
	s = dropTime(s)
	if len(s) == 8 && strings.Trim(s, "0123456789") == "" { // 20260131
		s = s[:4] + "-" + s[4:6] + "-" + s[6:]
	}
	parts := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("/.-' ", r) })
	if len(parts) != 3 {
		return 0, 0, 0, false
	}
	var n [3]int
	for i, p := range parts {
		v, err := strconv.Atoi(p)
		if err != nil || len(p) > 4 || v < 0 {
			return 0, 0, 0, false
		}
		n[i] = v
	}
	return n[0], n[1], n[2], true
}

// dropTime removes the time of day after a date.
func dropTime(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexByte(s, 'T'); i >= 8 {
		s = s[:i]
	}
	if i := strings.IndexByte(s, ':'); i > 0 {
		if j := strings.LastIndexAny(s[:i], " ,"); j > 0 {
			s = s[:j]
		}
	}
	return strings.TrimRight(strings.TrimSpace(s), ".,")
}

// ParseDay parses a date. It returns midnight in UTC.
func ParseDay(s string, order Order) (time.Time, bool) {
	a, b, c, ok := splitDate(s)
	if !ok {
		return parseNamedDay(s)
	}
	s = strings.TrimSpace(s)
	switch {
	case len(s) > 4 && strings.Trim(s[:4], "0123456789") == "", order == YearFirst && !isFixedOrder(s):
		return validDay(fullYear(a), b, c)
	case order == MonthFirst && !isFixedOrder(s):
		return validDay(fullYear(c), a, b)
	}
	return validDay(fullYear(c), b, a)
}

// fullYear completes a year of two digits.
func fullYear(y int) int {
	switch {
	case y < 70:
		return 2000 + y
	case y < 100:
		return 1900 + y
	}
	return y
}

func validDay(y, m, d int) (time.Time, bool) {
	t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	return t, y >= 1970 && y < 2200 && t.Year() == y && int(t.Month()) == m && t.Day() == d
}

// monthNames are the first letters of the months in the languages of common exports. The order within
// a string is that of the year.
var monthNames = []string{
	"jan feb mar apr may jun jul aug sep oct nov dec",
	"jan feb mrz apr mai jun jul aug sep okt nov dez",
	"janv fevr mars avr mai juin juil aout sept oct nov dec",
	"ene feb mar abr may jun jul ago sep oct nov dic",
	"gen feb mar apr mag giu lug ago set ott nov dic",
	"jan feb maa apr mei jun jul aug sep okt nov dec",
	"jan fev mar abr mai jun jul ago set out nov dez",
}

// parseNamedDay parses a date with the name of its month: "31 Jan 2026", "Jan 31, 2026".
func parseNamedDay(s string) (time.Time, bool) {
	words := strings.FieldsFunc(textnorm.Fold(dropTime(s)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	month := 0
	var numbers []int
	for _, w := range words {
		if n, err := strconv.Atoi(strings.TrimRight(w, "stndrh")); err == nil {
			numbers = append(numbers, n)
			continue
		}
		if m := monthByName(w); m > 0 && month == 0 {
			month = m
		} else if len(w) > 3 || month > 0 && m > 0 {
			return time.Time{}, false // "of", "de" and names of days may be there
		}
	}
	if month == 0 || len(numbers) != 2 {
		return time.Time{}, false
	}
	d, y := numbers[0], numbers[1]
	if d > 31 {
		d, y = y, d
	}
	return validDay(fullYear(y), month, d)
}

func monthByName(w string) int {
	for _, names := range monthNames {
		for i, name := range strings.Fields(names) {
			if strings.HasPrefix(w, name) {
				return i + 1
			}
		}
	}
	return 0
}
