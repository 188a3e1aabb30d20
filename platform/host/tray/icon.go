package tray

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
)

// State is the status that the icon shows.
type State string

// The states. Each has its own shape.
const (
	Idle     State = "idle"
	Thinking State = "thinking"
	NeedsYou State = "needs you"
	Paused   State = "paused"
	Failing  State = "error"
)

// Look is the style of the icon.
type Look string

// The styles of the icon: in color for all panels, or in a single color for light or dark panels.
const (
	Color Look = "colour"
	Light Look = "light" // a dark icon for light panels
	Dark  Look = "dark"  // a light icon for dark panels
)

// layer is a shape in a color.
type layer struct {
	shape shape
	c     color.NRGBA
}

func opaqueColor(v uint32) color.NRGBA {
	return color.NRGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 255}
}

// iconLayers returns the shapes of a color icon, from back to front.
func iconLayers(s State) []layer {
	white, cream := opaqueColor(0xffffff), opaqueColor(0xffe9c9)
	switch s {
	case Thinking:
		return []layer{{discShape(16, 16, 15), opaqueColor(0x2f6fb0)}, {dotsShape(), white}}
	case NeedsYou:
		return []layer{{bubbleShape(), opaqueColor(0xf2b01e)}, {questionMarkShape(), opaqueColor(0x3a2600)}}
	case Paused:
		return []layer{{discShape(16, 16, 15), opaqueColor(0x6f7680)}, {barsShape(), white}}
	case Failing:
		return []layer{{triangleShape(), opaqueColor(0xc62828)}, {exclamationShape(), white}}
	case Idle:
	}
	return []layer{{roundedRect(1, 1, 31, 31, 8), opaqueColor(0xb4532a)}, {scaledShape(unionOf(flameShape(), hearthShape()), 1.08, 16, 16), cream}}
}

// iconOutline returns the icon in one color. Upper layers are cut out of lower ones.
func iconOutline(s State) shape {
	ring := subtractShape(discShape(16, 16, 15), discShape(16, 16, 12.4))
	switch s {
	case Thinking:
		return unionOf(ring, scaledShape(dotsShape(), 0.88, 16, 16))
	case NeedsYou:
		return subtractShape(bubbleShape(), questionMarkShape())
	case Paused:
		return subtractShape(discShape(16, 16, 15), barsShape())
	case Failing:
		return subtractShape(triangleShape(), exclamationShape())
	case Idle:
	}
	return scaledShape(unionOf(flameShape(), hearthShape()), 1.3, 16, 16.6)
}

// DrawIcon draws the icon of a state.
func DrawIcon(s State, l Look, size int) *image.NRGBA {
	list := iconLayers(s)
	switch l {
	case Light:
		list = []layer{{iconOutline(s), opaqueColor(0x1f2328)}}
	case Dark:
		list = []layer{{iconOutline(s), opaqueColor(0xf4f4f4)}}
	case Color:
	}
	out := image.NewNRGBA(image.Rect(0, 0, size, size))
	for y := range size {
		for x := range size {
			out.SetNRGBA(x, y, samplePixel(list, x, y, size))
		}
	}
	return out
}

// fine is the number of samples per pixel in each direction.
const fine = 6

func samplePixel(list []layer, px, py, size int) color.NRGBA {
	var r, g, b, a float64
	for i := range fine * fine {
		x := (float64(px) + (float64(i%fine)+0.5)/fine) * 32 / float64(size)
		y := (float64(py) + (float64(i/fine)+0.5)/fine) * 32 / float64(size)
		for k := len(list) - 1; k >= 0; k-- {
			if !list[k].shape(x, y) {
				continue
			}
			c := list[k].c
			r, g, b, a = r+float64(c.R), g+float64(c.G), b+float64(c.B), a+1
			break
		}
	}
	if a == 0 {
		return color.NRGBA{}
	}
	return color.NRGBA{R: uint8(r / a), G: uint8(g / a), B: uint8(b / a), A: uint8(255*a/(fine*fine) + 0.5)}
}

// encodePNG encodes an icon for Linux and macOS.
func encodePNG(m image.Image) []byte { //nolint:unused // used on macOS
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil { // writes to a buffer cannot fail
		return nil
	}
	return b.Bytes()
}

// encodeICO encodes an icon for Windows with 32 bits per pixel, which every version of Windows can
// read.
func encodeICO(list ...*image.NRGBA) []byte {
	var dir, data bytes.Buffer
	put := func(b *bytes.Buffer, v ...any) {
		for _, x := range v {
			_ = binary.Write(b, binary.LittleEndian, x)
		}
	}
	put(&dir, uint16(0), uint16(1), uint16(len(list)))
	at := 6 + 16*len(list)
	for _, m := range list {
		n := m.Bounds().Dx()
		mask := (n + 31) / 32 * 4 * n
		size := 40 + 4*n*n + mask
		put(&dir, uint8(n%256), uint8(n%256), uint8(0), uint8(0), uint16(1), uint16(32), uint32(size), uint32(at))
		at += size
		put(&data, uint32(40), int32(n), int32(2*n), uint16(1), uint16(32), uint32(0), uint32(4*n*n+mask), int32(0), int32(0), uint32(0), uint32(0))
		for y := n - 1; y >= 0; y-- {
			for x := range n {
				c := m.NRGBAAt(x, y)
				data.Write([]byte{c.B, c.G, c.R, c.A})
			}
		}
		data.Write(make([]byte, mask))
	}
	return append(dir.Bytes(), data.Bytes()...)
}
