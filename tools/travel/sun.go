package travel

import (
	"math"
	"time"
)

// zenith angles of the Sun's center, in degrees. Sunrise includes refraction and the Sun's radius.
const (
	sunriseZenith = 90.833
	civilZenith   = 96
)

// sunEvents are the times of a day at a place. A zero time means that the event does not happen.
type sunEvents struct {
	dawn, rise, noon, set, dusk time.Time
	up                          bool // the Sun is up at noon
}

// sunOn computes the times of the Sun on the day of the date in its zone, with the equations of
// NOAA's solar calculator (https://gml.noaa.gov/grad/solcalc/solareqns.PDF and its spreadsheet,
// after Meeus, Astronomical Algorithms). Between 72 degrees south and north they are accurate to
// about a minute, and to some minutes nearer to the poles.
func sunOn(day time.Time, lat, lon float64) (s sunEvents) {
	midnight := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, time.UTC)
	at := func(minutes float64) time.Time {
		return midnight.Add(time.Duration(minutes * float64(time.Minute))).Round(time.Second).In(day.Location())
	}
	noon := 720 - 4*lon
	for range 2 {
		_, eq := sunPosition(midnight, noon)
		noon = 720 - 4*lon - eq
	}
	s.noon = at(noon)
	decl, _ := sunPosition(midnight, noon)
	s.up = math.Abs(lat-decl) < sunriseZenith
	find := func(zenith, sign float64) time.Time {
		minutes := noon
		for range 3 { // the position of the Sun changes until the event
			decl, eq := sunPosition(midnight, minutes)
			h, ok := hourAngle(lat, decl, zenith)
			if !ok {
				return time.Time{}
			}
			minutes = 720 - 4*lon - eq + sign*4*h
		}
		return at(minutes)
	}
	s.rise, s.set = find(sunriseZenith, -1), find(sunriseZenith, 1)
	s.dawn, s.dusk = find(civilZenith, -1), find(civilZenith, 1)
	return s
}

// sunPosition returns the declination of the Sun in degrees and the equation of time in minutes, at
// some minutes after midnight UTC.
func sunPosition(midnight time.Time, minutes float64) (decl, equation float64) {
	const rad = math.Pi / 180
	julian := float64(midnight.Unix())/86400 + 2440587.5 + minutes/1440
	t := (julian - 2451545) / 36525
	long := math.Mod(280.46646+t*(36000.76983+t*0.0003032), 360)
	anomaly := (357.52911 + t*(35999.05029-0.0001537*t)) * rad
	ecc := 0.016708634 - t*(0.000042037+0.0000001267*t)
	center := math.Sin(anomaly)*(1.914602-t*(0.004817+0.000014*t)) + math.Sin(2*anomaly)*(0.019993-0.000101*t) + math.Sin(3*anomaly)*0.000289
	omega := (125.04 - 1934.136*t) * rad
	apparent := (long + center - 0.00569 - 0.00478*math.Sin(omega)) * rad
	obliquity := (23 + (26+(21.448-t*(46.815+t*(0.00059-t*0.001813)))/60)/60 + 0.00256*math.Cos(omega)) * rad
	decl = math.Asin(math.Sin(obliquity)*math.Sin(apparent)) / rad
	y := math.Pow(math.Tan(obliquity/2), 2)
	l := 2 * long * rad
	equation = 4 / rad * (y*math.Sin(l) - 2*ecc*math.Sin(anomaly) + 4*ecc*y*math.Sin(anomaly)*math.Cos(l) - 0.5*y*y*math.Sin(2*l) - 1.25*ecc*ecc*math.Sin(2*anomaly))
	return decl, equation
}

// hourAngle returns the hour angle in degrees at which the Sun reaches a zenith angle. ok is false
// if it does not on that day.
func hourAngle(lat, decl, zenith float64) (h float64, ok bool) {
	const rad = math.Pi / 180
	c := math.Cos(zenith*rad)/(math.Cos(lat*rad)*math.Cos(decl*rad)) - math.Tan(lat*rad)*math.Tan(decl*rad)
	if math.IsNaN(c) || c < -1 || c > 1 {
		return 0, false
	}
	return math.Acos(c) / rad, true
}
