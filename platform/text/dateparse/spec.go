package dateparse

import "time"

// field identifies one constraint of a spec.
type field uint16

const (
	fSpan    field = 1 << iota // a known range of days: "tomorrow", "next week"
	fYear                      // 2027
	fMonth                     // March; a quarter or half is a run of months
	fDom                       // the 15th
	fWeekday                   // Tuesday
	fFeast                     // Christmas
	fNth                       // an nth day: "the second Monday of ..."
	fClock                     // 17:30
	fPart                      // a part of the day: "in the morning"
	fZone                      // GMT
	fInstant                   // a point in time: "in 20 minutes"
	fPick                      // use one day to represent the span: "end of March"
)

const fDate = fSpan | fYear | fMonth | fDom | fWeekday | fFeast | fNth

// spec contains the constraints of a time. Pieces add constraints, which are then resolved relative
// to now.
type spec struct {
	set    field
	span   daySpan
	grain  Grain // grain of span or of a run of months
	year   int
	month  time.Month
	months int // length of the run that begins with month
	dom    int
	wd     time.Weekday
	feast  *holiday
	nth    nth
	clock  clockTime
	part   dayPart
	zone   *time.Location
	at     time.Time
	pick   day
	inYear int       // the year of "in 2 years", for "March in 2 years"
	keep   bool      // the time is relative to now, so its time of day is kept
	loose  bool      // an hour without further information, accepted only next to a day or after "at"
	weak   bool      // ordinary words, accepted only together with other evidence
	run    *Period   // the period itself if it is not a calendar unit
	either []spec    // the possible dates of an ambiguous date
	order  dateOrder // order of day and month in a numeric date
	own    bool      // the end of a range whose day is named first
}

// nth is "the second Monday", "the last two weeks", "the third last day".
type nth struct {
	n     int // counted from the end if negative
	count int // number of units
	unit  unit
	wd    time.Weekday
	byDay bool // the unit is the weekday wd
}

// mergeSpecs combines the constraints of two pieces. It fails if both contain the same constraint,
// unless one span contains the other.
func mergeSpecs(a, b spec) (spec, bool) {
	a, b = yearOnly(a, b), yearOnly(b, a)
	common := a.set & b.set
	if common&^fSpan != 0 || a.either != nil && b.set&(fDate&^fWeekday) != 0 || b.either != nil && a.set&(fDate&^fWeekday) != 0 {
		return a, false
	}
	if a.set&fInstant != 0 && b.set&^fSpan != 0 || b.set&fInstant != 0 && a.set&^fSpan != 0 {
		return a, false
	}
	if common&fSpan != 0 {
		switch {
		case a.span.containsSpan(b.span):
		case b.span.containsSpan(a.span):
			b.span, b.grain, b.keep = a.span, a.grain, a.keep
		default:
			return a, false
		}
	}
	if (a.set|b.set)&(fMonth|fSpan) == fMonth|fSpan && a.set&fSpan != 0 && a.keep {
		a, b = b, a
	}
	return overlaySpec(a, b), true
}

// yearOnly makes "in 2 years" mean that whole year if a month or a holiday accompanies it.
func yearOnly(a, b spec) spec {
	if a.inYear != 0 && a.set == fSpan && b.set&(fMonth|fFeast) != 0 && b.set&(fYear|fSpan) == 0 {
		return yearSpec(a.inYear)
	}
	return a
}

// overlaySpec returns a with all constraints of b.
func overlaySpec(a, b spec) spec {
	if b.set&fSpan != 0 {
		a.span, a.keep = b.span, b.keep
	}
	if b.set&(fSpan|fMonth) != 0 && (a.set&(fSpan|fMonth) == 0 || b.grain < a.grain || b.set&a.set&fSpan != 0) {
		a.grain = b.grain
	}
	if b.set&fYear != 0 {
		a.year = b.year
	}
	if b.set&fMonth != 0 {
		a.month, a.months = b.month, b.months
	}
	if b.set&fDom != 0 {
		a.dom = b.dom
	}
	if b.set&fWeekday != 0 {
		a.wd = b.wd
	}
	if b.set&fFeast != 0 {
		a.feast = b.feast
	}
	if b.set&fNth != 0 {
		a.nth = b.nth
	}
	if b.set&fClock != 0 {
		a.clock = b.clock
	}
	if b.set&fPart != 0 {
		a.part = b.part
	}
	if b.set&fZone != 0 {
		a.zone = b.zone
	}
	if b.set&fInstant != 0 {
		a.at = b.at
		a.grain = b.grain
	}
	if b.set&fPick != 0 {
		a.pick = b.pick
	}
	if b.run != nil {
		a.run = b.run
	}
	if b.either != nil {
		a.either = b.either
	}
	if b.order != orderUnknown {
		a.order = b.order
	}
	a.set |= b.set
	a.loose = a.loose || b.loose
	a.weak = a.weak && b.weak
	return a
}

func daySpec(d day) spec { return spec{set: fSpan, span: daySpan{d, d + 1}, grain: Day} }

func spanSpec(s daySpan, g Grain) spec { return spec{set: fSpan, span: s, grain: g} }

func monthSpec(m time.Month) spec { return spec{set: fMonth, month: m, months: 1, grain: Month} }

func domSpec(d int) spec { return spec{set: fDom, dom: d} }

func yearSpec(y int) spec { return spec{set: fYear, year: y} }
