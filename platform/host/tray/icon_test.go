package tray

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/draw"
	"image/png"
	"os"
	"testing"
)

// coverageDifference returns the share of pixels whose coverage differs, ignoring color.
func coverageDifference(a, b *image.NRGBA) float64 {
	n := 0
	for i := 3; i < len(a.Pix); i += 4 {
		if (a.Pix[i] > 127) != (b.Pix[i] > 127) {
			n++
		}
	}
	return float64(n) / float64(len(a.Pix)/4)
}

// TestIcons_DifferInShape checks that the states' icons differ in shape, not only in color, at the size of
// a panel.
func TestIcons_DifferInShape(t *testing.T) {
	for _, l := range []Look{Light, Dark} {
		for i, a := range States() {
			for _, b := range States()[i+1:] {
				if d := coverageDifference(DrawIcon(a, l, 22), DrawIcon(b, l, 22)); d < 0.08 {
					t.Errorf("%s: %s and %s differ in %.0f %% of the picture", l, a, b, 100*d)
				}
			}
		}
	}
}

func TestICO(t *testing.T) {
	b := encodeICO(DrawIcon(Idle, Color, 16), DrawIcon(Idle, Color, 32))
	if binary.LittleEndian.Uint16(b[4:]) != 2 {
		t.Fatal("the icon does not contain two pictures")
	}
	end := 6 + 32
	for i := range 2 {
		e := b[6+16*i:]
		if at := int(binary.LittleEndian.Uint32(e[12:])); at != end {
			t.Errorf("picture %d starts at %d, want %d", i, at, end)
		}
		end += int(binary.LittleEndian.Uint32(e[8:]))
	}
	if end != len(b) {
		t.Errorf("%d bytes, the header declares %d", len(b), end)
	}
}

// TestIcons_DrawSheet writes all icons on a light and on a dark background to the file named by
// HOB_TRAY_SHEET, for the picture in docs/tray.md.
func TestIcons_DrawSheet(t *testing.T) {
	path := os.Getenv("HOB_TRAY_SHEET")
	if path == "" {
		t.Skip("HOB_TRAY_SHEET is not set")
	}
	const cell = 56
	sheet := image.NewNRGBA(image.Rect(0, 0, cell*2*len(States()), cell*3))
	rows := [][2]Look{{Color, Color}, {Light, Dark}}
	draw.Draw(sheet, sheet.Bounds(), image.NewUniform(opaqueColor(0xf2f2f2)), image.Point{}, draw.Src)
	draw.Draw(sheet, image.Rect(cell*len(States()), 0, sheet.Bounds().Dx(), cell*3), image.NewUniform(opaqueColor(0x2b2b2b)), image.Point{}, draw.Src)
	for i, s := range States() {
		for half := range 2 {
			x := (i + half*len(States())) * cell
			for row, l := range rows {
				drawOver(sheet, DrawIcon(s, l[half], 32), x+12, row*cell+12)
			}
			drawOver(sheet, DrawIcon(s, rows[0][half], 16), x+6, 2*cell+20)
			drawOver(sheet, DrawIcon(s, rows[1][half], 22), x+30, 2*cell+17)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, sheet); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func drawOver(on *image.NRGBA, m image.Image, x, y int) {
	draw.Draw(on, m.Bounds().Add(image.Pt(x, y)), m, image.Point{}, draw.Over)
}

// States returns all states.
func States() []State { return []State{Idle, Thinking, NeedsYou, Paused, Failing} }
