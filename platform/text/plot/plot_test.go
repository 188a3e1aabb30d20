package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

func testPictures() map[string]Picture {
	from := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	days := map[string]float64{"2026-11-02": 1, "2026-11-03": 2, "2026-11-04": 4, "2026-11-28": 3}
	return map[string]Picture{
		"bars":  Chart{Title: "Spending by month <b>", Labels: []string{"Jan", "Feb", "March & April"}, Series: []Series{{"food", []float64{10, 20.5, 0}}, {"rent", []float64{700, math.NaN(), -3}}}},
		"line":  Chart{Title: "Žalgiris žingsniai 日本", Line: true, Labels: []string{"1", "2", "3", "4"}, Series: []Series{{"steps", []float64{1000, 2500, math.NaN(), 1e6}}}},
		"month": Calendar{Title: "Reading", From: from, To: from.AddDate(0, 1, -1), Today: from.AddDate(0, 0, 28), Values: days},
		"year":  Calendar{Title: "Reading", From: from.AddDate(-1, 0, 0), To: from.AddDate(0, 1, -1), Values: days, Full: 4},
		"empty": Calendar{Title: "", From: from, To: from},
		"zero":  Chart{Labels: []string{""}, Series: []Series{{"", []float64{math.NaN()}}}},
	}
}

func TestPictures_AreWellFormed(t *testing.T) {
	for name, p := range testPictures() {
		t.Run(name, func(t *testing.T) {
			svg := SVG(p)
			elements := 0
			for dec := xml.NewDecoder(bytes.NewReader(svg)); ; {
				tok, err := dec.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("SVG: %v\n%s", err, svg)
				}
				if _, ok := tok.(xml.StartElement); ok {
					elements++
				}
			}
			if elements < 5 || bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
				t.Errorf("SVG with %d elements: %s", elements, svg)
			}
			data, err := PNG(p)
			if err != nil {
				t.Fatal(err)
			}
			img, err := png.Decode(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			d := addTitle(p)
			if b := img.Bounds(); b.Dx() != int(d.width*scale) || b.Dy() != int(d.height*scale) {
				t.Errorf("PNG is %v, want %g x %g", b, d.width*scale, d.height*scale)
			}
			if dir := os.Getenv("PLOT_DIR"); dir != "" { // to look at the pictures
				_ = os.WriteFile(dir+"/"+name+".png", data, 0o600)
				_ = os.WriteFile(dir+"/"+name+".svg", svg, 0o600)
			}
		})
	}
}

func TestCalendar_HasOneSquareForEachDay(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Vilnius")
	if err != nil {
		t.Fatal(err)
	}
	c := Calendar{Title: "Clock change", From: time.Date(2026, 10, 1, 0, 0, 0, 0, zone), To: time.Date(2026, 10, 31, 0, 0, 0, 0, zone), Values: map[string]float64{"2026-10-25": 1}}
	out := Inline(c)
	if n := strings.Count(out, "<rect "); n != 31 {
		t.Errorf("October has %d squares, want 31", n)
	}
	if strings.Count(out, `class="h4"`) != 1 || strings.Contains(out, "http") {
		t.Errorf("Inline = %s", out)
	}
}

func TestFont_HasEveryASCIILetter(t *testing.T) {
	if n := len(font()); n != '~'-' '+1 {
		t.Errorf("the font has %d letters, want %d", n, '~'-' '+1)
	}
	if got := plainLetters("Ž日"); len(got) != 2 || got[0] != 'Z'-' ' || got[1] != -1 {
		t.Errorf("plainLetters = %v, want Z and a box", got)
	}
}
