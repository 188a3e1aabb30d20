package dateparse

import (
	"math"
	"time"
)

// This file computes the positions of the Sun and the Moon for calendars that depend on them, after
// Jean Meeus, Astronomical Algorithms (2nd ed. 1998), chapters 25 and 47, without terms below
// 0.0005 degrees. Between 1900 and 2100 the position of the Sun is accurate to 0.01 degrees and the
// time of a new moon to a few minutes.

// instant counts days from J2000.0 (1 January 2000, 12:00) in universal time.
type instant float64

// observerPlace is the location for which a calendar is computed.
type observerPlace struct {
	lat, lon float64       // degrees, north and east
	zone     time.Duration // offset from universal time, positive to the east
}

const j2000 = day(10957) // 1 January 2000

// instantAt returns hour h of day d according to the clock of the place.
func (p observerPlace) instantAt(d day, h float64) instant {
	return instant(float64(d-j2000) - 0.5 + h/24 - p.zone.Hours()/24)
}

// dayAt returns the day and the hour at the place at instant t.
func (p observerPlace) dayAt(t instant) (day, float64) {
	x := float64(t) + 0.5 + p.zone.Hours()/24
	whole := math.Floor(x)
	return j2000 + day(whole), (x - whole) * 24
}

// julianCenturies returns dynamical time in Julian centuries. The difference to
// universal time is the polynomial of Espenak and Meeus (NASA/TP-2006-214141),
// simplified.
func (t instant) julianCenturies() float64 {
	y := float64(t) / 365.25
	seconds := 63.86 + 0.3345*y - 0.060374*y*y/10
	switch {
	case y < -20:
		seconds = 45.45 + 1.067*(y+25) - (y+25)*(y+25)/260
	case y > 5:
		seconds = 62.92 + 0.32217*y + 0.005589*y*y
	}
	return (float64(t) + seconds/86400) / 36525
}

func sinDeg(x float64) float64 { return math.Sin(x * math.Pi / 180) }
func cosDeg(x float64) float64 { return math.Cos(x * math.Pi / 180) }

// normalizeAngle maps an angle to the range [0, 360).
func normalizeAngle(x float64) float64 {
	x = math.Mod(x, 360)
	if x < 0 {
		x += 360
	}
	return x
}

// sunLongitude returns the apparent longitude of the Sun in degrees.
func sunLongitude(t instant) float64 {
	c := t.julianCenturies()
	m := 357.52911 + 35999.05029*c - 0.0001537*c*c
	center := (1.914602-0.004817*c)*sinDeg(m) + (0.019993-0.000101*c)*sinDeg(2*m) + 0.000289*sinDeg(3*m)
	return normalizeAngle(280.46646 + 36000.76983*c + 0.0003032*c*c + center - 0.00569 - 0.00478*sinDeg(125.04-1934.136*c))
}

// lunarTerm is a line of Meeus' table 47.A: multiples of the arguments D, M, M'
// and F, and the amplitude in millionths of a degree.
type lunarTerm struct {
	d, m, a, f int8
	amp        float64
}

func lunarTerms() []lunarTerm {
	return []lunarTerm{
		{0, 0, 1, 0, 6288774},
		{2, 0, -1, 0, 1274027},
		{2, 0, 0, 0, 658314},
		{0, 0, 2, 0, 213618},
		{0, 1, 0, 0, -185116},
		{0, 0, 0, 2, -114332},
		{2, 0, -2, 0, 58793},
		{2, -1, -1, 0, 57066},
		{2, 0, 1, 0, 53322},
		{2, -1, 0, 0, 45758},
		{0, 1, -1, 0, -40923},
		{1, 0, 0, 0, -34720},
		{0, 1, 1, 0, -30383},
		{2, 0, 0, -2, 15327},
		{0, 0, 1, 2, -12528},
		{0, 0, 1, -2, 10980},
		{4, 0, -1, 0, 10675},
		{0, 0, 3, 0, 10034},
		{4, 0, -2, 0, 8548},
		{2, 1, -1, 0, -7888},
		{2, 1, 0, 0, -6766},
		{1, 0, -1, 0, -5163},
		{1, 1, 0, 0, 4987},
		{2, -1, 1, 0, 4036},
		{2, 0, 2, 0, 3994},
		{4, 0, 0, 0, 3861},
		{2, 0, -3, 0, 3665},
		{0, 1, -2, 0, -2689},
		{2, 0, -1, 2, -2602},
		{2, -1, -2, 0, 2390},
		{1, 0, 1, 0, -2348},
		{2, -2, 0, 0, 2236},
		{0, 1, 2, 0, -2120},
		{0, 2, 0, 0, -2069},
		{2, -2, -1, 0, 2048},
		{2, 0, 1, -2, -1773},
		{2, 0, 0, 2, -1595},
		{4, -1, -1, 0, 1215},
		{0, 0, 2, 2, -1110},
		{3, 0, -1, 0, -892},
		{2, 1, 1, 0, -810},
		{4, -1, -2, 0, 759},
		{0, 2, -1, 0, -713},
		{2, 2, -1, 0, -700},
		{2, 1, -2, 0, 691},
		{2, -1, 0, -2, 596},
		{4, 0, 1, 0, 549},
		{0, 0, 4, 0, 537},
		{4, -1, 0, 0, 520},
	}
}

// moonPosition returns the apparent longitude and the latitude of the Moon in degrees.
func moonPosition(t instant) (float64, float64) {
	c := t.julianCenturies()
	l := 218.3164477 + 481267.88123421*c - 0.0015786*c*c
	d := 297.8501921 + 445267.1114034*c - 0.0018819*c*c
	m := 357.5291092 + 35999.0502909*c - 0.0001536*c*c
	a := 134.9633964 + 477198.8675055*c + 0.0087414*c*c
	f := 93.2720950 + 483202.0175233*c - 0.0036539*c*c
	e := 1 - 0.002516*c
	sum := 3958*sinDeg(119.75+131.849*c) + 1962*sinDeg(l-f) + 318*sinDeg(53.09+479264.290*c)
	for _, t := range lunarTerms() {
		amp := t.amp * math.Pow(e, math.Abs(float64(t.m)))
		sum += amp * sinDeg(float64(t.d)*d+float64(t.m)*m+float64(t.a)*a+float64(t.f)*f)
	}
	lat := 5.128122*sinDeg(f) + 0.280602*sinDeg(a+f) + 0.277693*sinDeg(a-f) + 0.173237*sinDeg(2*d-f) +
		0.055413*sinDeg(2*d-a+f) + 0.046271*sinDeg(2*d-a-f) + 0.032573*sinDeg(2*d+f) + 0.017198*sinDeg(2*a+f)
	return normalizeAngle(l + sum/1e6 - 0.00478*sinDeg(125.04-1934.136*c)), lat
}

// moonElongation returns by how many degrees the Moon is ahead of the Sun, in [0, 360).
func moonElongation(t instant) float64 {
	l, _ := moonPosition(t)
	return normalizeAngle(l - sunLongitude(t))
}

const synodicMonth = 29.530588861

// newMoonBefore returns the last new moon at or before t.
func newMoonBefore(t instant) instant {
	n := t - instant(moonElongation(t)/360*synodicMonth)
	for range 5 {
		off := moonElongation(n)
		if off > 180 {
			off -= 360
		}
		n -= instant(off / 360 * synodicMonth)
	}
	if n > t {
		return newMoonBefore(t - 5)
	}
	return n
}

func newMoonAfter(t instant) instant { return newMoonBefore(newMoonBefore(t) + 35) }

// sunAt returns the instant, close to near, at which the Sun reaches a longitude.
func sunAt(longitude float64, near instant) instant {
	t := near
	for range 6 {
		off := normalizeAngle(longitude - sunLongitude(t) + 180)
		t += instant((off - 180) / 360 * 365.2422)
	}
	return t
}

const obliquity = 23.4367

// sunHours returns the times of sunrise and sunset on a day at the place, in hours.
func (p observerPlace) sunHours(d day) (float64, float64) {
	noon := p.instantAt(d, 12)
	l := sunLongitude(noon)
	decl := math.Asin(sinDeg(obliquity)*sinDeg(l)) * 180 / math.Pi
	c := noon.julianCenturies()
	ra := math.Atan2(cosDeg(obliquity)*sinDeg(l), cosDeg(l)) * 180 / math.Pi
	equation := normalizeAngle(280.46646+36000.76983*c-0.0057183-ra+180) - 180 // equation of time in degrees
	transit := 12 + p.zone.Hours() - p.lon/15 - equation/15
	cosH := (sinDeg(-0.833) - sinDeg(p.lat)*sinDeg(decl)) / (cosDeg(p.lat) * cosDeg(decl))
	half := math.Acos(max(-1, min(1, cosH))) * 180 / math.Pi / 15
	return transit - half, transit + half
}

// moonAltitude returns the altitude of the Moon above the horizon, seen from the surface at the
// place, in degrees.
func (p observerPlace) moonAltitude(t instant) float64 {
	l, b := moonPosition(t)
	ra := math.Atan2(sinDeg(l)*cosDeg(obliquity)-math.Tan(b*math.Pi/180)*sinDeg(obliquity), cosDeg(l)) * 180 / math.Pi
	decl := math.Asin(sinDeg(b)*cosDeg(obliquity) + cosDeg(b)*sinDeg(obliquity)*sinDeg(l))
	sidereal := 280.46061837 + 360.98564736629*float64(t) + p.lon
	h := (sidereal - ra) * math.Pi / 180
	lat := p.lat * math.Pi / 180
	alt := math.Asin(math.Sin(lat)*math.Sin(decl) + math.Cos(lat)*math.Cos(decl)*math.Cos(h))
	return alt*180/math.Pi - 0.95*math.Cos(alt) // parallax
}
