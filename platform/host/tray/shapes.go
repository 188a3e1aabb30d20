package tray

import "math"

// shape is a set of points of a 32 x 32 picture, with y pointing down.
type shape func(x, y float64) bool

func discShape(cx, cy, r float64) shape {
	return func(x, y float64) bool { return math.Hypot(x-cx, y-cy) <= r }
}

// roundedRect returns a rectangle with rounded corners.
func roundedRect(x0, y0, x1, y1, r float64) shape {
	return func(x, y float64) bool {
		dx := max(x0+r-x, x-(x1-r), 0)
		dy := max(y0+r-y, y-(y1-r), 0)
		return math.Hypot(dx, dy) <= r
	}
}

type point struct{ x, y float64 }

// polygonShape returns the area within its corners.
func polygonShape(p ...point) shape {
	return func(x, y float64) bool {
		in := false
		for i, j := 0, len(p)-1; i < len(p); j, i = i, i+1 {
			if (p[i].y > y) != (p[j].y > y) && x < (p[j].x-p[i].x)*(y-p[i].y)/(p[j].y-p[i].y)+p[i].x {
				in = !in
			}
		}
		return in
	}
}

// strokeShape returns the points within w of a line through p.
func strokeShape(w float64, p ...point) shape {
	return func(x, y float64) bool {
		for i := 1; i < len(p); i++ {
			if segmentDistance(p[i-1], p[i], x, y) <= w {
				return true
			}
		}
		return false
	}
}

func segmentDistance(a, b point, x, y float64) float64 {
	dx, dy := b.x-a.x, b.y-a.y
	t := 0.0
	if l := dx*dx + dy*dy; l > 0 {
		t = min(1, max(0, ((x-a.x)*dx+(y-a.y)*dy)/l))
	}
	return math.Hypot(x-a.x-t*dx, y-a.y-t*dy)
}

// bezierPoints approximates a cubic Bézier curve by points.
func bezierPoints(from, a, b, to point) (out []point) {
	const steps = 12
	for i := range steps {
		t := float64(i+1) / steps
		u := 1 - t
		out = append(out, point{
			u*u*u*from.x + 3*u*u*t*a.x + 3*u*t*t*b.x + t*t*t*to.x,
			u*u*u*from.y + 3*u*u*t*a.y + 3*u*t*t*b.y + t*t*t*to.y,
		})
	}
	return out
}

// arcPoints returns points of a circle from one angle to another, in degrees clockwise from the right.
func arcPoints(cx, cy, r, from, to float64) (out []point) {
	const steps = 16
	for i := range steps + 1 {
		a := (from + (to-from)*float64(i)/steps) * math.Pi / 180
		out = append(out, point{cx + r*math.Cos(a), cy + r*math.Sin(a)})
	}
	return out
}

func unionOf(of ...shape) shape {
	return func(x, y float64) bool {
		for _, s := range of {
			if s(x, y) {
				return true
			}
		}
		return false
	}
}

func subtractShape(s, hole shape) shape {
	return func(x, y float64) bool { return s(x, y) && !hole(x, y) }
}

// scaledShape returns a shape scaled by k about a point.
func scaledShape(s shape, k, cx, cy float64) shape {
	return func(x, y float64) bool { return s(cx+(x-cx)/k, cy+(y-cy)/k) }
}

// flameShape returns Hob's logo, as in assets/web/icon.svg.
func flameShape() shape {
	p := bezierPoints(point{16, 5}, point{17, 10}, point{22, 11}, point{22, 17})
	p = append(p, arcPoints(16, 17, 6, 0, 180)...)
	p = append(p, bezierPoints(point{10, 17}, point{10, 14}, point{12, 13}, point{12, 10})...)
	p = append(p, bezierPoints(point{12, 10}, point{14, 11}, point{15, 12}, point{15, 14})...)
	p = append(p, bezierPoints(point{15, 14}, point{16, 12}, point{17, 9}, point{16, 5})...)
	return polygonShape(p...)
}

func hearthShape() shape { return strokeShape(1.4, point{8, 26.4}, point{24, 26.4}) }

func dotsShape() shape {
	return unionOf(discShape(9, 16, 2.7), discShape(16, 16, 2.7), discShape(23, 16, 2.7))
}

func barsShape() shape {
	return unionOf(roundedRect(9.6, 8.5, 14, 23.5, 1.2), roundedRect(18, 8.5, 22.4, 23.5, 1.2))
}

// questionMarkShape returns a "?" centered at (16, 13.5).
func questionMarkShape() shape {
	hook := arcPoints(16, 10.2, 3.9, 185, 395)
	hook = append(hook, point{16, 14.6}, point{16, 15.8})
	return unionOf(strokeShape(1.6, hook...), discShape(16, 20.2, 1.9))
}

func bubbleShape() shape {
	return unionOf(roundedRect(1.5, 2.5, 30.5, 25, 7), polygonShape(point{7, 22}, point{7, 31}, point{17, 23}))
}

func triangleShape() shape {
	return stroke2(3.2, point{16, 5}, point{28.3, 26.6}, point{3.7, 26.6})
}

// stroke2 returns a polygon with rounded corners.
func stroke2(w float64, p ...point) shape {
	return unionOf(polygonShape(p...), strokeShape(w, append(append([]point{}, p...), p[0])...))
}

func exclamationShape() shape {
	return unionOf(strokeShape(1.7, point{16, 10.5}, point{16, 18}), discShape(16, 23, 2))
}
