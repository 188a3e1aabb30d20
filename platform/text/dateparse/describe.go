package dateparse

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// DescribeEvery describes a recurrence: "every weekday at 08:30", "on day 1 of
// each month at 09:00", "every 90 minutes". ParseEvery parses the result. Cron
// lines without a description are quoted: cron "5 4 * * 1-3/2".
func DescribeEvery(e Every) string { return describeRule(e) + describeExcept(e.Except) }

func describeRule(e Every) string {
	if e.Cron == "" {
		return describeInterval(e)
	}
	if strings.Contains(e.Cron, ";") {
		return describeLines(e.Cron)
	}
	f := strings.Fields(e.Cron)
	if len(f) == 5 {
		if s, ok := describeCron(f); ok {
			return s
		}
	}
	return fmt.Sprintf("cron %q", e.Cron)
}

func describeInterval(e Every) string {
	n := e.Interval
	if n <= 0 {
		return "never"
	}
	const oneDay = 24 * time.Hour
	clock := ""
	if !e.Anchor.IsZero() {
		clock = e.Anchor.Format(" at 15:04")
	}
	switch {
	case n == 2*oneDay:
		return "every other day" + clock
	case n%(7*oneDay) == 0 && !e.Anchor.IsZero():
		return "every " + countUnits(int(n/(7*oneDay)), "week") + " on " + e.Anchor.Weekday().String() + clock
	case n%oneDay == 0:
		return "every " + countUnits(int(n/oneDay), "day") + clock
	case n%time.Hour == 0:
		return "every " + countUnits(int(n/time.Hour), "hour")
	case n%time.Minute == 0:
		return "every " + countUnits(int(n/time.Minute), "minute")
	}
	return "every " + countUnits(int(n/time.Second), "second")
}

// countUnits returns "2 weeks", or "week" for 1.
func countUnits(n int, unit string) string {
	if n == 1 {
		return unit
	}
	return strconv.Itoa(n) + " " + unit + "s"
}

// describeCron describes common cron lines.
func describeCron(f []string) (string, bool) {
	if s, ok := describeShort(f); ok {
		return s, true
	}
	clock, ok := cronTimes(f[0], f[1])
	if !ok {
		return "", false
	}
	return describeDays(f, clock)
}

// describeDays describes the days of a cron line; clock is the described time.
func describeDays(f []string, clock string) (string, bool) {
	if s, ok := describeNth(f, clock); ok {
		return s, true
	}
	doms, okD := plainList(f[2])
	months, okM := plainList(f[3])
	if !okD || !okM || f[2] != "*" && f[4] != "*" {
		return "", false
	}
	days, okW := cronDays(f[4])
	if !okW {
		return "", false
	}
	switch {
	case f[2] == "*" && f[3] == "*":
		return "every " + days + " at " + clock, true
	case f[2] == "*":
		return "every " + days + " at " + clock + " in " + monthList(months), true
	case f[3] == "*":
		return "on " + domWords(doms) + " of each month at " + clock, true
	case len(doms) == 1 && len(months) == 1:
		return fmt.Sprintf("every %d %s at %s", doms[0], time.Month(months[0]), clock), true
	}
	return "on " + domWords(doms) + " of each month in " + monthList(months) + " at " + clock, true
}

// describeShort describes a recurrence that repeats within a day.
func describeShort(f []string) (string, bool) {
	if f[2] != "*" || f[3] != "*" {
		return "", false
	}
	on := ""
	if f[4] != "*" {
		days, ok := cronDays(f[4])
		if !ok {
			return "", false
		}
		on = " on " + pluralDays(days)
	}
	hours, hstep := stepOf(f[1])
	mins, mstep := stepOf(f[0])
	window, ok := hourWindow(hours, mins == "*")
	if !ok {
		return "", false
	}
	switch m, err := strconv.Atoi(f[0]); {
	case mins == "*" && hstep == 1 && (60%mstep == 0 || window+on == ""): // "*/7" starts again in each hour
		return "every " + countUnits(mstep, "minute") + window + on, true
	case err == nil && m == 0 && (hours == "*" || window != ""):
		return "every " + countUnits(hstep, "hour") + window + on, true
	case err == nil && hstep == 1 && (hours == "*" || window != ""):
		return fmt.Sprintf("every hour at %d past%s%s", m, window, on), true
	}
	return "", false
}

func stepOf(s string) (string, int) {
	body, step, ok := strings.Cut(s, "/")
	if !ok {
		return s, 1
	}
	n, err := strconv.Atoi(step)
	if err != nil || n < 1 {
		return s, 1
	}
	return body, n
}

// hourWindow describes a range of hours; minutes extend it to the end of the last
// hour.
func hourWindow(s string, minutes bool) (string, bool) {
	if s == "*" {
		return "", true
	}
	from, to, ok := strings.Cut(s, "-")
	a, errA := strconv.Atoi(from)
	b, errB := strconv.Atoi(to)
	if !ok || errA != nil || errB != nil {
		return "", false
	}
	if minutes {
		b++
	}
	return fmt.Sprintf(" between %02d:00 and %02d:00", a, b), true
}

func cronTimes(minute, hour string) (string, bool) {
	m, err := strconv.Atoi(minute)
	hours, ok := plainList(hour)
	if err != nil || !ok || len(hours) == 0 {
		return "", false
	}
	var out []string
	for _, h := range hours {
		out = append(out, fmt.Sprintf("%02d:%02d", h, m))
	}
	return joinWithAnd(out), true
}

// plainList reads a field that is a list of numbers; "*" is the empty list.
func plainList(s string) ([]int, bool) {
	if s == "*" {
		return nil, true
	}
	var out []int
	for _, w := range strings.Split(s, ",") {
		n, err := strconv.Atoi(w)
		if err != nil {
			return nil, false
		}
		out = append(out, n)
	}
	return out, true
}

func cronDays(s string) (string, bool) {
	switch s {
	case "*":
		return "day", true
	case "1-5":
		return "weekday", true
	case "0,6", "6,0":
		return "weekend", true
	}
	days, ok := plainList(s)
	if !ok {
		return "", false
	}
	var out []string
	for _, d := range days {
		if d < 0 || d > 7 {
			return "", false
		}
		out = append(out, time.Weekday(d%7).String())
	}
	return joinWithAnd(out), true
}

func domWords(doms []int) string {
	var out []string
	for _, d := range doms {
		out = append(out, strconv.Itoa(d))
	}
	if len(out) == 1 {
		return "day " + out[0]
	}
	return "days " + joinWithAnd(out)
}

func monthList(months []int) string {
	var out []string
	for _, m := range months {
		out = append(out, time.Month(m).String())
	}
	return joinWithAnd(out)
}

func joinWithAnd(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

func pluralDays(days string) string {
	return strings.NewReplacer("day", "days", "weekend", "weekends").Replace(days)
}

// Format formats an instant for people, relative to now and in now's zone: "today
// at 17:00", "tomorrow at 09:00", "Tue 24 Nov at 17:00", "Tue 24 Nov 2026 at
// 17:00" in another year.
func Format(t, now time.Time) string {
	t = t.In(now.Location())
	return FormatDay(t, now) + t.Format(" at 15:04")
}

// FormatDay formats the day of an instant: "today", "yesterday", "Tue 24 Nov".
func FormatDay(t, now time.Time) string {
	t = t.In(now.Location())
	switch dayOf(t) - dayOf(now) {
	case 0:
		return "today"
	case 1:
		return "tomorrow"
	case -1:
		return "yesterday"
	}
	if t.Year() == now.Year() {
		return t.Format("Mon 2 Jan")
	}
	return t.Format("Mon 2 Jan 2006")
}

// FormatRelative formats an instant for lists, in now's zone: "5 min ago", "in 3 h", "tomorrow
// 09:00", "Tue 24 Nov, 17:00", "24 Nov 2025, 17:00" in another year.
func FormatRelative(t, now time.Time) string {
	t = t.In(now.Location())
	d := t.Sub(now)
	ahead := d > 0
	d = d.Abs()
	unit := ""
	switch {
	case d < time.Minute && ahead:
		return "in less than 1 min"
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		unit = strconv.Itoa(int(d.Minutes())) + " min"
	case d < 12*time.Hour && dayOf(t) == dayOf(now):
		unit = strconv.Itoa(int(d.Hours())) + " h"
	default:
		return FormatShort(t, now)
	}
	if ahead {
		return "in " + unit
	}
	return unit + " ago"
}

// FormatShort formats an instant for lists, in now's zone. Today it has only the time of day.
func FormatShort(t, now time.Time) string {
	t = t.In(now.Location())
	switch dayOf(t) - dayOf(now) {
	case 0:
		return t.Format("15:04")
	case 1:
		return "tomorrow " + t.Format("15:04")
	case -1:
		return "yesterday " + t.Format("15:04")
	}
	if t.Year() == now.Year() {
		return t.Format("Mon 2 Jan, 15:04")
	}
	return t.Format("2 Jan 2006, 15:04")
}

// ParseFormatted parses the result of Format or FormatDay with the same now. The bool results report
// whether s has a time of day, and whether s has that form.
func ParseFormatted(s string, now time.Time) (t time.Time, clock, ok bool) {
	day, hour, clock := strings.Cut(strings.TrimSpace(s), " at ")
	year, month, date := now.Date()
	t = time.Date(year, month, date, 0, 0, 0, 0, now.Location())
	switch strings.ToLower(day) {
	case "today":
	case "tomorrow":
		t = t.AddDate(0, 0, 1)
	case "yesterday":
		t = t.AddDate(0, 0, -1)
	default:
		var err error
		if t, err = time.ParseInLocation("Mon 2 Jan 2006", day, now.Location()); err != nil {
			if t, err = time.ParseInLocation("Mon 2 Jan 2006", day+" "+strconv.Itoa(year), now.Location()); err != nil {
				return time.Time{}, false, false
			}
		}
		if !strings.HasPrefix(day, t.Format("Mon ")) {
			return time.Time{}, false, false
		}
	}
	if !clock {
		return t, false, true
	}
	h, err := time.Parse("15:04", hour)
	if err != nil {
		return time.Time{}, false, false
	}
	return time.Date(t.Year(), t.Month(), t.Day(), h.Hour(), h.Minute(), 0, 0, now.Location()), true, true
}
