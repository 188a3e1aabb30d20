package plot

import (
	"bytes"
	_ "embed" // the letters
	"fmt"
	"html"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"hob/platform/text/visible"
)

// palette maps the classes of shapes to colors. Classes are resolved in a page by its style sheet.
var palette = map[string]color.RGBA{
	"back": {255, 255, 255, 255}, "text": {34, 40, 49, 255}, "axis": {90, 98, 110, 255}, "grid": {221, 225, 230, 255},
	"s0": {47, 111, 208, 255}, "s1": {217, 119, 6, 255}, "s2": {22, 143, 101, 255}, "s3": {176, 58, 119, 255}, "s4": {109, 74, 199, 255}, "s5": {98, 109, 126, 255},
	"h0": {235, 238, 242, 255}, "h1": {190, 227, 200, 255}, "h2": {120, 195, 145, 255}, "h3": {48, 151, 91, 255}, "h4": {18, 103, 58, 255}, "open": {248, 249, 251, 255},
	"onh0": {120, 128, 140, 255}, "onh1": {34, 40, 49, 255}, "onh2": {34, 40, 49, 255}, "onh3": {255, 255, 255, 255}, "onh4": {255, 255, 255, 255}, "onopen": {185, 191, 200, 255},
}

func escapeText(s string) string { return html.EscapeString(visible.Text(s)) }

// Inline returns the picture as an svg element for a page, without colors: the page's style sheet
// defines the classes grid, axis, line, s0 to s5, h0 to h4 and open.
func Inline(p Picture) string {
	d := p.layoutShapes()
	return fmt.Sprintf(`<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, d.width, d.height, escapeText(p.describePicture())) + d.writeMarkup() + "</svg>"
}

// SVG returns the picture as a file.
func SVG(p Picture) []byte {
	d := addTitle(p)
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" font-family="system-ui, sans-serif" font-size="12">`+"\n<title>%s</title>\n<style>", d.width, d.height, d.width, d.height, escapeText(p.describePicture()))
	for _, class := range sortedClasses() {
		c := palette[class]
		value := fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
		if class == "grid" {
			fmt.Fprintf(&b, ".grid{stroke:%s;fill:none}", value)
			continue
		}
		fmt.Fprintf(&b, ".%s{fill:%s}", class, value)
		if strings.HasPrefix(class, "s") {
			fmt.Fprintf(&b, ".line.%s{fill:none;stroke:%s;stroke-width:2}", class, value)
		}
	}
	fmt.Fprintf(&b, "</style>\n"+`<rect class="back" width="%g" height="%g"/>`+"\n%s\n</svg>\n", d.width, d.height, d.writeMarkup())
	return b.Bytes()
}

func sortedClasses() []string {
	var out []string
	for class := range palette {
		out = append(out, class)
	}
	slices.Sort(out)
	return out
}

const (
	titleHeight  = 28.0
	legendHeight = 20.0
)

// addTitle returns the drawing with its title and legend.
func addTitle(p Picture) drawing {
	d := p.layoutShapes()
	for i := range d.shapes {
		s := &d.shapes[i]
		s.y += titleHeight
		for n := range s.points {
			s.points[n][1] += titleHeight
		}
	}
	d.height += titleHeight
	switch p := p.(type) {
	case Calendar:
		d.addShape(shape{kind: text, class: "text", x: 8, y: 18, text: shortLabel(p.Title, d.width), anchor: "start"})
	case Chart:
		d.addShape(shape{kind: text, class: "text", x: 8, y: 18, text: shortLabel(p.Title, d.width), anchor: "start"})
		if len(p.Series) > 1 {
			width := (d.width - chartLeft) / float64(len(p.Series))
			for n, s := range p.Series {
				x := chartLeft + width*float64(n)
				d.addShape(shape{kind: rectangle, class: seriesClass(n), x: x, y: d.height + 2, w: 9, h: 9})
				d.addShape(shape{kind: text, class: "axis", x: x + 13, y: d.height + 11, text: shortLabel(s.Name, width-14), anchor: "start"})
			}
			d.height += legendHeight
		}
	}
	return d
}

// writeMarkup returns the shapes as SVG elements.
func (d drawing) writeMarkup() string {
	var b strings.Builder
	for _, s := range d.shapes {
		switch s.kind {
		case rectangle:
			fmt.Fprintf(&b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, s.class, s.x, s.y, s.w, s.h)
		case dot:
			fmt.Fprintf(&b, `<circle class="%s" cx="%.1f" cy="%.1f" r="%g"/>`, s.class, s.x, s.y, s.w)
		case text:
			fmt.Fprintf(&b, `<text class="%s" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, s.class, s.x, s.y, s.anchor, escapeText(s.text))
		case polyline:
			path, command := "", "M"
			for _, p := range s.points {
				path += fmt.Sprintf("%s%.1f %.1f", command, p[0], p[1])
				command = "L"
			}
			fmt.Fprintf(&b, `<path class="%s" d="%s"/>`, s.class, path)
		}
	}
	return b.String()
}

// scale is the number of pixels per unit of the picture.
const scale = 2

// PNG returns the picture as a file. Letters that the built-in font does not have are shown without
// their accents, or as a box.
func PNG(p Picture) ([]byte, error) {
	d := addTitle(p)
	classes := sortedClasses()
	colors := color.Palette{palette["back"]}
	for _, class := range classes {
		colors = append(colors, palette[class])
	}
	c := canvas{image: image.NewPaletted(image.Rect(0, 0, int(d.width*scale), int(d.height*scale)), colors), classes: classes}
	for _, s := range d.shapes {
		c.drawShape(s)
	}
	var b bytes.Buffer
	err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, c.image)
	return b.Bytes(), err
}

type canvas struct {
	image   *image.Paletted
	classes []string
	color   uint8 // index of the color of the current shape
}

func (c *canvas) drawShape(s shape) {
	class := s.class[strings.LastIndexByte(s.class, ' ')+1:]
	c.color = uint8(slices.Index(c.classes, class) + 1)
	switch s.kind {
	case rectangle:
		c.fillRect(s.x*scale, s.y*scale, (s.x+s.w)*scale, (s.y+s.h)*scale)
	case dot:
		r := s.w * scale
		for dy := -r; dy <= r; dy++ {
			half := math.Sqrt(r*r - dy*dy)
			c.fillRect(s.x*scale-half, s.y*scale+dy, s.x*scale+half, s.y*scale+dy+1)
		}
	case polyline:
		width := 1.0
		if strings.HasPrefix(s.class, "line") {
			width = 2 * scale
		}
		for i := 1; i < len(s.points); i++ {
			c.strokeLine(s.points[i-1], s.points[i], width)
		}
	case text:
		c.writeText(s)
	}
}

// fillRect fills a rectangle of at least one pixel.
func (c *canvas) fillRect(x0, y0, x1, y1 float64) {
	left, top := int(math.Round(x0)), int(math.Round(y0))
	for y := top; y < max(int(math.Round(y1)), top+1); y++ {
		for x := left; x < max(int(math.Round(x1)), left+1); x++ {
			if image.Pt(x, y).In(c.image.Rect) {
				c.image.SetColorIndex(x, y, c.color)
			}
		}
	}
}

// strokeLine draws a line with a square brush.
func (c *canvas) strokeLine(from, to [2]float64, width float64) {
	dx, dy := (to[0]-from[0])*scale, (to[1]-from[1])*scale
	steps := max(math.Ceil(max(math.Abs(dx), math.Abs(dy))), 1)
	for i := 0.0; i <= steps; i++ {
		x, y := from[0]*scale+dx*i/steps, from[1]*scale+dy*i/steps
		c.fillRect(x-width/2, y-width/2, x+width/2, y+width/2)
	}
}

// The size of a letter in the font, in dots: 7 rows above the base line and 2 below it.
const (
	letterWidth  = 5
	letterHeight = 9
	aboveLine    = 7
	perRow       = 16 // letters side by side in the file
)

//go:embed font.txt
var fontFile string

// font contains the letters from the space to the tilde; each row of dots is a string.
var font = sync.OnceValue(func() [][letterHeight]string {
	var out [][letterHeight]string
	lines := strings.Split(strings.TrimSpace(fontFile), "\n")
	for top := 0; top+letterHeight <= len(lines); top += letterHeight {
		for n := range len(strings.Fields(lines[top])) {
			var l [letterHeight]string
			for row := range l {
				l[row] = lines[top+row][n*(letterWidth+1):][:letterWidth]
			}
			out = append(out, l)
		}
	}
	return out
})

// writeText draws a text with its base line at y.
func (c *canvas) writeText(s shape) {
	letters := plainLetters(s.text)
	width := float64(len(letters)*(letterWidth+1)-1) * scale
	x := s.x * scale
	switch s.anchor {
	case "middle":
		x -= width / 2
	case "end":
		x -= width
	}
	for _, r := range letters {
		for row := range letterHeight {
			for column := range letterWidth {
				set := r < 0 && row < aboveLine && (row == 0 || row == aboveLine-1 || column == 0 || column == letterWidth-1) // a box
				if r >= 0 {
					set = font()[r][row][column] == '#'
				}
				if set {
					left, top := x+float64(column*scale), (s.y-aboveLine)*scale+float64(row*scale)
					c.fillRect(left, top, left+scale, top+scale)
				}
			}
		}
		x += (letterWidth + 1) * scale
	}
}

// plainLetters returns the indexes of a text's letters in the font, and -1 for a letter that the
// font does not have.
func plainLetters(s string) (out []int) {
	s = strings.NewReplacer("…", "...", "–", "-", "—", "-", "×", "x", "ß", "ss", "ł", "l", "Ł", "L", "ø", "o", "Ø", "O", "æ", "ae", "Æ", "AE", "đ", "d").Replace(visible.Text(s))
	for _, r := range norm.NFKD.String(s) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r >= ' ' && r <= '~':
			out = append(out, int(r-' '))
		default:
			out = append(out, -1)
		}
	}
	return out
}
