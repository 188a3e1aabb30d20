package dateparse

import "time"

func monthName(w string) (time.Month, bool) {
	switch w {
	case "january", "jan":
		return time.January, true
	case "february", "feb", "febr":
		return time.February, true
	case "march", "mar":
		return time.March, true
	case "april", "apr":
		return time.April, true
	case "may":
		return time.May, true
	case "june", "jun":
		return time.June, true
	case "july", "jul":
		return time.July, true
	case "august", "aug":
		return time.August, true
	case "september", "sep", "sept":
		return time.September, true
	case "october", "oct":
		return time.October, true
	case "november", "nov":
		return time.November, true
	case "december", "dec":
		return time.December, true
	}
	return 0, false
}

func weekdayName(w string) (time.Weekday, bool) {
	switch w {
	case "monday", "mon":
		return time.Monday, true
	case "tuesday", "tue", "tues":
		return time.Tuesday, true
	case "wednesday", "wed", "weds", "wednes":
		return time.Wednesday, true
	case "thursday", "thu", "thur", "thurs":
		return time.Thursday, true
	case "friday", "fri":
		return time.Friday, true
	case "saturday", "sat":
		return time.Saturday, true
	case "sunday", "sun":
		return time.Sunday, true
	}
	return 0, false
}

// weekdayPlural reads "mondays".
func weekdayPlural(w string) (time.Weekday, bool) {
	if len(w) < 7 || w[len(w)-1] != 's' {
		return 0, false
	}
	return weekdayName(w[:len(w)-1])
}

// isEverydayWord reports whether a name of a month or weekday is also an ordinary
// word, so that it does not identify a date by itself.
func isEverydayWord(w string) bool {
	switch w {
	case "may", "march", "mar", "sun", "sat", "wed", "mon", "fri", "tue", "thu", "jan", "dec", "sep", "jun", "jul",
		"apr", "feb", "nov", "oct", "august", "aug":
		return true
	}
	return false
}

// unit is a unit of time as used in everyday language.
type unit uint8

const (
	unitSecond unit = iota + 1
	unitMinute
	unitHour
	unitDay
	unitNight
	unitWorkday
	unitWeek
	unitWeekend
	unitFortnight
	unitMonth
	unitQuarter
	unitYear
	unitDecade
	unitCentury
)

func unitName(w string) (unit, bool) {
	switch w {
	case "second", "seconds", "sec", "secs":
		return unitSecond, true
	case "minute", "minutes", "min", "mins", "minut":
		return unitMinute, true
	case "hour", "hours", "hr", "hrs":
		return unitHour, true
	case "day", "days":
		return unitDay, true
	case "night", "nights":
		return unitNight, true
	case "weekday", "weekdays", "workday", "workdays":
		return unitWorkday, true
	case "week", "weeks", "wk", "wks":
		return unitWeek, true
	case "weekend", "weekends":
		return unitWeekend, true
	case "fortnight", "fortnights":
		return unitFortnight, true
	case "month", "months", "mth", "mths":
		return unitMonth, true
	case "quarter", "quarters", "qtr", "qtrs":
		return unitQuarter, true
	case "year", "years", "yr", "yrs":
		return unitYear, true
	case "decade", "decades":
		return unitDecade, true
	case "century", "centuries":
		return unitCentury, true
	}
	return 0, false
}

// unitLetter parses the one-letter units directly after a number: 3h.
func unitLetter(w string) (unit, bool) {
	switch w {
	case "s":
		return unitSecond, true
	case "m":
		return unitMinute, true
	case "h":
		return unitHour, true
	case "d":
		return unitDay, true
	case "w":
		return unitWeek, true
	case "y":
		return unitYear, true
	}
	return 0, false
}

// parseUnit reads a unit word at i, also "business day" and "calendar month".
func (p *parser) parseUnit(i int) (unit, int, bool) {
	if p.isWord(i, "business", "working", "work") && p.isWord(i+1, "day", "days") {
		return unitWorkday, i + 2, true
	}
	if p.isWord(i, "calendar", "full", "whole") {
		i++
	}
	u, ok := unitName(p.tokenText(i))
	return u, i + 1, ok
}

// grainOf returns the calendar unit of u, which is Day for units that consist of days.
func (u unit) grainOf() Grain {
	switch u {
	case unitSecond:
		return Second
	case unitMinute:
		return Minute
	case unitHour:
		return Hour
	case unitWeek, unitFortnight:
		return Week
	case unitMonth:
		return Month
	case unitQuarter:
		return Quarter
	case unitYear, unitDecade, unitCentury:
		return Year
	}
	return Day
}

// zoneName returns the zone of a common abbreviation. Abbreviations such as PST have a fixed
// offset.
func zoneName(w string) (*time.Location, bool) {
	hours := 0.0
	switch w {
	case "utc", "gmt", "wet":
	case "bst", "cet", "west":
		hours = 1
	case "cest", "eet":
		hours = 2
	case "eest", "msk":
		hours = 3
	case "ist":
		hours = 5.5
	case "sgt", "hkt":
		hours = 8
	case "jst", "kst":
		hours = 9
	case "aest":
		hours = 10
	case "aedt":
		hours = 11
	case "nzst":
		hours = 12
	case "edt":
		hours = -4
	case "est", "cdt":
		hours = -5
	case "cst", "mdt":
		hours = -6
	case "mst", "pdt":
		hours = -7
	case "pst", "akdt":
		hours = -8
	case "akst":
		hours = -9
	case "hst":
		hours = -10
	default:
		return nil, false
	}
	return time.FixedZone(w, int(hours*3600)), true
}
