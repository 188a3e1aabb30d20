package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image/png"

	"hob/platform/host/tray"
)

// writeIcons writes Hob's icon, as shown in the panel, in the sizes for desktops.
func (o *options) writeIcons() error {
	for _, size := range []int{48, 128, 256} {
		b, err := encodeIcon(size)
		if err != nil {
			return err
		}
		if err := o.writeOutput(b, "files", "icons", fmt.Sprintf("hob-%d.png", size)); err != nil {
			return err
		}
	}
	b, err := encodeICNS(16, 32, 64, 128, 256, 512)
	if err != nil {
		return err
	}
	return o.writeOutput(b, "files", "icons", "Hob.icns")
}

func encodeIcon(size int) ([]byte, error) {
	var b bytes.Buffer
	err := png.Encode(&b, tray.DrawIcon(tray.Idle, tray.Colour, size))
	return b.Bytes(), err
}

// encodeICNS encodes a macOS icon: pictures, each with a type for its size. Two types may have the
// same size, because one has twice the resolution.
func encodeICNS(sizes ...int) ([]byte, error) {
	words := map[int][]string{
		16: {"icp4"}, 32: {"icp5", "ic11"}, 64: {"ic12"}, 128: {"ic07"}, 256: {"ic08", "ic13"}, 512: {"ic09", "ic14"},
	}
	var body bytes.Buffer
	for _, size := range sizes {
		p, err := encodeIcon(size)
		if err != nil {
			return nil, err
		}
		for _, w := range words[size] {
			body.WriteString(w)
			_ = binary.Write(&body, binary.BigEndian, uint32(len(p)+8)) // a buffer takes everything
			body.Write(p)
		}
	}
	head := binary.BigEndian.AppendUint32([]byte("icns"), uint32(body.Len()+8))
	return append(head, body.Bytes()...), nil
}
