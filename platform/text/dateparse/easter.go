package dateparse

// easterSunday returns Easter Sunday of the western churches: the anonymous Gregorian
// computus (Nature, 20 April 1876; also Meeus, Astronomical Algorithms, ch. 8).
func easterSunday(y int) day {
	a, b, c := y%19, y/100, y%100
	d, e := b/4, b%4
	f := (b + 8) / 25
	g := (b - f + 1) / 3
	h := (19*a + b - d - g + 15) % 30
	i, k := c/4, c%4
	l := (32 + 2*e + 2*i - h - k) % 7
	m := (a + 11*h + 22*l) / 451
	n := h + l - 7*m + 114
	return newDay(y, 3, 1) + day(n/31-3)*31 + day(n%31)
}

// orthodoxEaster returns Easter Sunday of the eastern churches: the Julian computus
// (Meeus, ch. 8), moved to the Gregorian calendar.
func orthodoxEaster(y int) day {
	a, b, c := y%4, y%7, y%19
	d := (19*c + 15) % 30
	e := (2*a + 4*b - d + 34) % 7
	n := d + e + 114
	julian := newDay(y, 3, 1) + day(n/31-3)*31 + day(n%31)
	return julian + day(y/100-y/400-2)
}

// hebrewEpoch is the day before 1 Tishri of year 1.
const hebrewEpoch = -2092590

// hebrewNewYear returns 1 Tishri of a Hebrew year (Reingold and Dershowitz, Calendrical
// Calculations, "Hebrew calendar").
func hebrewNewYear(y int) day {
	d := hebrewElapsed(y)
	delay := 0
	switch before, after := hebrewElapsed(y-1), hebrewElapsed(y+1); {
	case after-d == 356:
		delay = 2
	case d-before == 382:
		delay = 1
	}
	return day(hebrewEpoch + d + delay)
}

func hebrewElapsed(y int) int {
	months := (235*y - 234) / 19
	parts := 12084 + 13753*months
	d := 29*months + parts/25920
	if 3*(d+1)%7 < 3 {
		d++
	}
	return d
}

func hebrewLeap(y int) bool { return (7*y+1)%19 < 7 }

// hebrewMonth returns the position of a month in the civil year that begins with Tishri. Adar is
// the second Adar of a leap year.
func hebrewMonth(name string, y int) int {
	leap := 0
	if hebrewLeap(y) {
		leap = 1
	}
	switch name {
	case "tishri":
		return 1
	case "heshvan":
		return 2
	case "kislev":
		return 3
	case "tevet":
		return 4
	case "shevat":
		return 5
	case "adar":
		return 6 + leap
	case "nisan":
		return 7 + leap
	case "iyar":
		return 8 + leap
	case "sivan":
		return 9 + leap
	case "tammuz":
		return 10 + leap
	case "av":
		return 11 + leap
	case "elul":
		return 12 + leap
	}
	return 0
}

// hebrewIn lists day d of a Hebrew month inside a year of the common calendar.
func hebrewIn(year int, month string, d int) []day {
	var out []day
	for y := year + 3760; y <= year+3761; y++ {
		got := hebrewDay(y, month, d)
		if inYear(got, year) {
			out = append(out, got)
		}
	}
	return out
}

func hebrewDay(y int, month string, d int) day {
	start, length := hebrewNewYear(y), int(hebrewNewYear(y+1)-hebrewNewYear(y))
	got := start
	last := hebrewMonth(month, y)
	for m := 1; m < last; m++ {
		got += day(hebrewMonthDays(y, m, length))
	}
	return got + day(d-1)
}

func hebrewMonthDays(y, m, length int) int {
	if hebrewLeap(y) && m > 6 {
		m-- // Adar II counts as Adar
		if m == 6 {
			return 29
		}
	} else if hebrewLeap(y) && m == 6 {
		return 30
	}
	switch m {
	case 2:
		if length%10 == 5 {
			return 30
		}
		return 29
	case 3:
		if length%10 == 3 {
			return 29
		}
		return 30
	case 1, 5, 7, 9, 11:
		return 30
	}
	return 29
}
