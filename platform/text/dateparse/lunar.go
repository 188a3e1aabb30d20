package dateparse

import "time"

// chineseIn returns day d of a month in the Chinese year that begins in year y. A month begins with
// the new moon in Beijing, and the winter solstice is in the eleventh month. If there are 13 months
// between two solstices, the first month without a principal term is the leap month (GB/T
// 33661-2017).
func chineseIn(y, month, d int) []day {
	beijing := observerPlace{zone: 8 * time.Hour}
	solstice := func(y int) day {
		s, _ := beijing.dayAt(sunAt(270, beijing.instantAt(newDay(y, 12, 21), 12)))
		return s
	}
	// starts contains the first days of the months, beginning with the eleventh month of the
	// previous year
	first := beijing.monthStart(solstice(y - 1))
	last := beijing.monthStart(solstice(y))
	starts := []day{first}
	for s := first; s < last; {
		s = beijing.monthStart(s + 34)
		starts = append(starts, s)
	}
	leap := len(starts) == 14
	n := 11
	for i, s := range starts {
		if i > 0 {
			isLeap := leap && i+1 < len(starts) && beijing.solarTerm(s) == beijing.solarTerm(starts[i+1])
			if isLeap {
				leap = false
				continue
			}
			n = n%12 + 1
		}
		if n == month && (i > 1 || month < 11) {
			return []day{s + day(d-1)}
		}
	}
	return nil
}

// monthStart returns the day of the last new moon on or before day d.
func (p observerPlace) monthStart(d day) day {
	s, _ := p.dayAt(newMoonBefore(p.instantAt(d, 24)))
	return s
}

// solarTerm returns the index of the zodiac sign in which the Sun is when day d begins.
func (p observerPlace) solarTerm(d day) int { return int(sunLongitude(p.instantAt(d, 0)) / 30) }

// islamicIn lists day d of an Islamic month inside year y of the common calendar, by the rule of
// the Umm al-Qura calendar. A month begins on the day after an evening in Mecca on which the
// conjunction was before sunset and the Moon sets after the Sun. Until 1998 it began on the day
// after the conjunction in universal time (R. H. van Gent, The Umm al-Qura Calendar of Saudi
// Arabia). In countries that observe the crescent, dates can differ by a day.
func islamicIn(y, month, d int) []day {
	var out []day
	for n := (y-622)*12*33/32/12 - 1; n <= (y-622)*33/32+3; n++ {
		got := islamicMonth(12*(n-1)+month-1) + day(d-1)
		if inYear(got, y) {
			out = append(out, got)
		}
	}
	return out
}

// islamicMonth returns the first day of the month with that number, counted from
// Muharram of year 1.
func islamicMonth(n int) day {
	mecca := observerPlace{lat: 21.4225, lon: 39.8262, zone: 3 * time.Hour}
	guess := day(-492148) + day(float64(n)*synodicMonth+0.5) // 16 July 622, Julian
	conj := newMoonBefore(mecca.instantAt(guess+10, 12))
	if utc, _ := (observerPlace{}).dayAt(conj); utc < newDay(1999, 4, 1) {
		return utc + 1
	}
	d, _ := mecca.dayAt(conj)
	for ; ; d++ {
		_, sunset := mecca.sunHours(d)
		if t := mecca.instantAt(d, sunset); conj < t && mecca.moonAltitude(t) > -0.27 {
			return d + 1
		}
	}
}

// lahiriAyanamsa returns the ayanamsa of the Indian national calendar, which is the difference
// between its zodiac and the tropical one, in degrees.
func lahiriAyanamsa(t instant) float64 { return 23.85306 + 1.39697*float64(t)/36525 }

func siderealSun(t instant) float64 { return normalizeAngle(sunLongitude(t) - lahiriAyanamsa(t)) }

// sankrantiDay returns the day of year y on which the Sun reaches a sidereal longitude. With
// bySunset it returns the next day if the Sun reaches the longitude after sunset.
func sankrantiDay(y int, longitude float64, bySunset bool) day {
	ujjain := indiaPlace()
	t := ujjain.instantAt(newDay(y, 1, 14), 12)
	if longitude < 270 {
		t = ujjain.instantAt(newDay(y, 4, 14), 12) + instant(longitude/360*365.25)
	}
	for range 6 {
		t += instant((normalizeAngle(longitude-siderealSun(t)+180) - 180) / 360 * 365.2564)
	}
	d, h := ujjain.dayAt(t)
	if _, sunset := ujjain.sunHours(d); bySunset && h > sunset {
		d++
	}
	return d
}

// indiaPlace returns Ujjain, the meridian of Indian calendars, with Indian time.
func indiaPlace() observerPlace {
	return observerPlace{lat: 23.18, lon: 75.77, zone: 5*time.Hour + 30*time.Minute}
}

// hinduWhen is the time of day at which the prevailing tithi is determined.
type hinduWhen uint8

const (
	atSunrise hinduWhen = iota
	atForenoon
	atNoon
	atAfternoon
	atDusk // the last day on which the tithi prevails shortly before sunset
	atSunset
	atNight
	atMidnight
)

func hinduHour(w string) (hinduWhen, bool) {
	switch w {
	case "sunrise":
		return atSunrise, true
	case "forenoon":
		return atForenoon, true
	case "noon":
		return atNoon, true
	case "afternoon":
		return atAfternoon, true
	case "dusk":
		return atDusk, true
	case "sunset":
		return atSunset, true
	case "night":
		return atNight, true
	case "midnight":
		return atMidnight, true
	}
	return 0, false
}

// hinduIn returns the day in year y on which a tithi (1 to 15 waxing, 16 to 30 waning) of a lunar
// month prevails at the deciding time. Months end with the new moon, and Chaitra is month 1. Leap
// months are skipped.
func hinduIn(y, month, tithi int, when hinduWhen) []day {
	ujjain := indiaPlace()
	for n := newMoonBefore(ujjain.instantAt(newDay(y-1, 12, 1), 0)); ; {
		next := newMoonAfter(n + 1)
		sign, after := int(siderealSun(n)/30), int(siderealSun(next)/30)
		if sign != after && (sign+1)%12+1 == month {
			if d := ujjain.tithiDay(n, tithi, when); inYear(d, y) {
				return []day{d}
			}
		}
		if d, _ := ujjain.dayAt(n); d > newDay(y+1, 1, 1) {
			return nil
		}
		n = next
	}
}

// tithiDay returns the day after the new moon n on which the tithi prevails. A tithi that never
// prevails belongs to the day on which it begins.
func (p observerPlace) tithiDay(n instant, tithi int, when hinduWhen) day {
	first, _ := p.dayAt(n + instant(float64(tithi-1)/30*synodicMonth) - 2)
	for d := first; d < first+5; d++ {
		switch t := int(moonElongation(p.decisiveInstant(d, when))/12) + 1; {
		case t == tithi:
			if when == atDusk && int(moonElongation(p.decisiveInstant(d+1, when))/12)+1 == tithi {
				return d + 1
			}
			return d
		case t == tithi%30+1 && d > first:
			return d - 1
		}
	}
	return first + 2
}

func (p observerPlace) decisiveInstant(d day, when hinduWhen) instant {
	sunrise, sunset := p.sunHours(d)
	switch when {
	case atForenoon:
		return p.instantAt(d, sunrise+(sunset-sunrise)/4)
	case atNoon:
		return p.instantAt(d, (sunrise+sunset)/2)
	case atAfternoon:
		return p.instantAt(d, sunrise+(sunset-sunrise)*0.7)
	case atDusk:
		return p.instantAt(d, sunrise+(sunset-sunrise)*0.875)
	case atSunset:
		return p.instantAt(d, sunset+0.5)
	case atNight:
		return p.instantAt(d, 20.5)
	case atMidnight:
		return p.instantAt(d, 24.2)
	}
	return p.instantAt(d, sunrise)
}
