package dateparse

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// describeLines describes a schedule of several cron lines.
func describeLines(cron string) string {
	var lines [][]string
	for _, line := range strings.Split(cron, ";") {
		lines = append(lines, strings.Fields(line))
	}
	if s, ok := describeTimes(lines); ok {
		return s
	}
	var words []string
	for _, line := range lines {
		words = append(words, DescribeEvery(Every{Cron: strings.Join(line, " ")}))
	}
	return strings.Join(words, "; ")
}

// describeTimes describes lines that differ only in their times of day.
func describeTimes(lines [][]string) (string, bool) {
	var times []int
	for _, f := range lines {
		if len(f) != 5 || !slices.Equal(f[2:], lines[0][2:]) {
			return "", false
		}
		minute, err := strconv.Atoi(f[0])
		hours, ok := plainList(f[1])
		if err != nil || !ok || len(hours) == 0 {
			return "", false
		}
		for _, h := range hours {
			times = append(times, h*60+minute)
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	f := lines[0]
	if s, ok := describeSteps(times); ok && f[2] == "*" && f[3] == "*" {
		days, ok := cronDays(f[4])
		switch {
		case f[4] == "*":
			return s, true
		case ok:
			return s + " on " + pluralDays(days), true
		}
	}
	var words []string
	for _, t := range times {
		words = append(words, fmt.Sprintf("%02d:%02d", t/60, t%60))
	}
	return describeDays(f, joinWithAnd(words))
}

// describeSteps describes evenly spaced times of day: "every 90 minutes between
// 09:00 and 17:00".
func describeSteps(times []int) (string, bool) {
	if len(times) < 4 || times[0]%60 != 0 {
		return "", false
	}
	step := times[1] - times[0]
	for i := 2; i < len(times); i++ {
		if times[i]-times[i-1] != step {
			return "", false
		}
	}
	end := (times[len(times)-1] + 59) / 60
	if times[len(times)-1]+step <= end*60 || end > 23 {
		return "", false
	}
	return fmt.Sprintf("every %s between %02d:00 and %02d:00", countUnits(step, "minute"), times[0]/60, end), true
}

// describeNth describes the nth weekdays and the last day of months.
func describeNth(f []string, clock string) (string, bool) {
	months, ok := plainList(f[3])
	if !ok {
		return "", false
	}
	day := ""
	nths, isNth := nthField(f[4])
	switch {
	case f[2] == "L" && f[4] == "*":
		day = "last day"
	case isNth && f[2] == "*":
		var counts []string
		for _, n := range nths {
			if n.wd != nths[0].wd {
				return "", false
			}
			counts = append(counts, nthWord(n.n))
		}
		day = joinWithAnd(counts) + " " + time.Weekday(nths[0].wd).String()
	default:
		return "", false
	}
	of := "each month"
	if len(months) > 0 {
		of += " in " + monthList(months)
	}
	return "on the " + day + " of " + of + " at " + clock, true
}

func nthWord(n int) string {
	if n < 1 {
		return "last"
	}
	return []string{"first", "second", "third", "fourth", "fifth"}[n-1]
}
