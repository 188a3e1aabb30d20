// Package plot draws bar charts, line charts and calendars of days as SVG and as PNG. It does not
// choose data and writes no files; the tools for money, habits and the canvas call it.
package plot

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Limits of a chart. More bars would be too narrow to see, and each series has a color.
const (
	MaxSeries = 6
	MaxLabels = 120
)

// Series is a row of bars or a line. Missing values are NaN.
type Series struct {
	Name   string
	Values []float64 // as many as the chart has labels
}

// Chart is a bar chart or a line chart. It has at least one label and one series.
type Chart struct {
	Title  string
	Line   bool // lines instead of bars
	Labels []string
	Series []Series
}

// Calendar shows a value for each day from From to To, both included, with a column for each week
// and darker squares for larger values.
type Calendar struct {
	Title    string
	From, To time.Time
	Today    time.Time          // later days are shown as open
	Values   map[string]float64 // keyed by YYYY-MM-DD; a missing day is empty
	Full     float64            // the value of the darkest square; 0 means the largest value
}

// Picture is a Chart or a Calendar.
type Picture interface {
	layoutShapes() drawing
	describePicture() string
}

// drawing is a list of shapes in the units of the SVG picture.
type drawing struct {
	width, height float64
	shapes        []shape
}

type shapeKind int

const (
	rectangle shapeKind = iota
	polyline            // open line through points
	dot
	text
)

type shape struct {
	kind       shapeKind
	class      string
	x, y, w, h float64 // of a dot, w is the radius
	points     [][2]float64
	text       string
	anchor     string // of a text: start, middle or end
}

func (d *drawing) addShape(s shape) { d.shapes = append(d.shapes, s) }

// The size of a chart.
const (
	chartWidth  = 480.0
	chartHeight = 230.0
	chartLeft   = 48.0 // space for the numbers of the axis
	chartTop    = 12.0
	chartBottom = 34.0 // space for the labels
	maxTicks    = 6    // labels below the axis
)

func (c Chart) layoutShapes() drawing {
	d := drawing{width: chartWidth, height: chartHeight}
	low, high, step := c.axisRange()
	y := func(v float64) float64 {
		return chartTop + (high-v)/(high-low)*(chartHeight-chartTop-chartBottom)
	}
	for v := low; v <= high+step/2; v += step {
		d.addShape(shape{kind: polyline, class: "grid", points: [][2]float64{{chartLeft, y(v)}, {chartWidth, y(v)}}})
		d.addShape(shape{kind: text, class: "axis", x: chartLeft - 6, y: y(v) + 4, text: FormatNumber(v), anchor: "end"})
	}
	slot := (chartWidth - chartLeft) / float64(len(c.Labels))
	every := (len(c.Labels) + maxTicks - 1) / maxTicks
	for i, l := range c.Labels {
		if i%every == 0 {
			d.addShape(shape{kind: text, class: "axis", x: chartLeft + slot*(float64(i)+0.5), y: chartHeight - 12, text: shortLabel(l, slot*float64(every)), anchor: "middle"})
		}
	}
	for n, s := range c.Series {
		if c.Line {
			d.addLine(s, n, slot, y)
		} else {
			d.addBars(s, n, len(c.Series), slot, y)
		}
	}
	return d
}

// shortLabel shortens a label to a width in the units of the picture.
func shortLabel(s string, width float64) string {
	most := max(int(width/7), 3)
	if r := []rune(strings.TrimSpace(s)); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

func (d *drawing) addBars(s Series, n, count int, slot float64, y func(float64) float64) {
	width := slot * 0.8 / float64(count)
	for i, v := range s.Values {
		if math.IsNaN(v) {
			continue
		}
		top, foot := min(y(v), y(0)), max(y(v), y(0))
		d.addShape(shape{kind: rectangle, class: seriesClass(n), x: chartLeft + slot*(float64(i)+0.1) + width*float64(n), y: top, w: max(width-1, 0.5), h: max(foot-top, 0.5)})
	}
}

// addLine draws a line with a gap where a value is missing. A value between two gaps is a dot.
func (d *drawing) addLine(s Series, n int, slot float64, y func(float64) float64) {
	var line [][2]float64
	end := func() {
		if len(line) > 1 {
			d.addShape(shape{kind: polyline, class: "line " + seriesClass(n), points: line})
		}
		line = nil
	}
	for i, v := range s.Values {
		if math.IsNaN(v) {
			end()
			continue
		}
		x := chartLeft + slot*(float64(i)+0.5)
		line = append(line, [2]float64{x, y(v)})
		d.addShape(shape{kind: dot, class: seriesClass(n), x: x, y: y(v), w: 2.5})
	}
	end()
}

func seriesClass(n int) string { return "s" + strconv.Itoa(n) }

// axisRange returns the ends of the value axis and the distance between its ticks. The axis includes
// zero.
func (c Chart) axisRange() (low, high, step float64) {
	for _, s := range c.Series {
		for _, v := range s.Values {
			if !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	if low == high {
		high = low + 1
	}
	raw := (high - low) / 4
	step = math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5, 10} {
		if step*m >= raw {
			step *= m
			break
		}
	}
	return math.Floor(low/step) * step, math.Ceil(high/step) * step, step
}

// describePicture returns the text that replaces the picture for people who cannot see it.
func (c Chart) describePicture() string {
	name := "Bar chart"
	if c.Line {
		name = "Line chart"
	}
	var names []string
	for _, s := range c.Series {
		names = append(names, s.Name)
	}
	return fmt.Sprintf("%s: %s. %s of %d rows, from %s to %s.", name, c.Title, strings.Join(names, ", "), len(c.Labels), c.Labels[0], c.Labels[len(c.Labels)-1])
}

// FormatNumber writes a number with at most four decimals.
func FormatNumber(f float64) string {
	return strconv.FormatFloat(math.Round(f*1e4)/1e4+0, 'f', -1, 64) // + 0 turns -0 into 0
}

// The size of a calendar.
const (
	calendarLeft = 36.0 // space for the names of the days
	calendarTop  = 22.0 // space for the names of the months
	smallSquare  = 12.0
	largeSquare  = 26.0 // with the number of the day in it
	fewWeeks     = 15
	maxWeeks     = 106
	heatLevels   = 4
)

func (c Calendar) layoutShapes() drawing {
	from, to := dayNumber(c.From), dayNumber(c.To)
	start := from - (int(c.From.Weekday())+6)%7 // the Monday of the first week
	to = min(to, start+maxWeeks*7-1)
	weeks := (to-start)/7 + 1
	square := smallSquare
	if weeks <= fewWeeks {
		square = largeSquare
	}
	cell := square + 3
	d := drawing{width: max(calendarLeft+cell*float64(weeks)+8, 300), height: calendarTop + cell*7 + 8}
	for i, name := range []string{"Mon", "", "Wed", "", "Fri", "", "Sun"} {
		d.addShape(shape{kind: text, class: "axis", x: calendarLeft - 6, y: calendarTop + cell*float64(i) + square/2 + 4, text: name, anchor: "end"})
	}
	full := c.Full
	if full <= 0 {
		for _, v := range c.Values {
			full = max(full, v)
		}
	}
	for n := from; n <= to; n++ {
		day := c.From.AddDate(0, 0, n-from)
		x, y := calendarLeft+cell*float64((n-start)/7), calendarTop+cell*float64((n-start)%7)
		if day.Day() == 1 && (n-start)%7 < 7 || n == from && day.Day() <= 20 {
			d.addShape(shape{kind: text, class: "axis", x: x, y: calendarTop - 7, text: day.Format("Jan"), anchor: "start"})
		}
		level := c.heatLevel(day, full)
		d.addShape(shape{kind: rectangle, class: level, x: x, y: y, w: square, h: square})
		if square == largeSquare {
			d.addShape(shape{kind: text, class: "on" + level, x: x + square/2, y: y + square/2 + 4, text: strconv.Itoa(day.Day()), anchor: "middle"})
		}
	}
	return d
}

// heatLevel returns the class of a day's square.
func (c Calendar) heatLevel(day time.Time, full float64) string {
	v := c.Values[day.Format(time.DateOnly)]
	switch {
	case v > 0 && full > 0:
		return "h" + strconv.Itoa(max(1, min(heatLevels, int(math.Ceil(v/full*heatLevels-1e-9)))))
	case !c.Today.IsZero() && dayNumber(day) > dayNumber(c.Today):
		return "open"
	}
	return "h0"
}

// dayNumber numbers the days of the calendar without gaps, also where the clock changes.
func dayNumber(t time.Time) int {
	return int(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC).Unix() / 86400)
}

func (c Calendar) describePicture() string {
	n := 0
	for day := c.From; dayNumber(day) <= dayNumber(c.To); day = day.AddDate(0, 0, 1) {
		if c.Values[day.Format(time.DateOnly)] > 0 {
			n++
		}
	}
	return fmt.Sprintf("Calendar: %s. %d days with a value, from %s to %s.", c.Title, n, c.From.Format("2 Jan 2006"), c.To.Format("2 Jan 2006"))
}
