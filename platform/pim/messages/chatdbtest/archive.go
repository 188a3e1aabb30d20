package chatdbtest

import (
	"encoding/binary"
	"unicode/utf16"
)

// Archive writes an archive as NSArchiver does for an attributed string without
// attributes.
func Archive(text string, mutable bool) []byte {
	b := []byte("\x04\x0bstreamtyped" + "\x81\xe8\x03\x84\x01@\x84\x84\x84")
	if mutable {
		b = append(b, "\x19NSMutableAttributedString\x00\x84\x84"...)
	}
	b = append(b, "\x12NSAttributedString\x00\x84\x84\x08NSObject\x00\x85\x92\x84\x84\x84"...)
	if mutable {
		b = append(b, "\x0fNSMutableString\x01\x84\x84\x08NSString\x01\x95\x84\x01+"...)
	} else {
		b = append(b, "\x08NSString\x01\x94\x84\x01+"...)
	}
	switch n := len(text); {
	case n < 0x80:
		b = append(b, byte(n))
	case n <= 0x7fff:
		b = binary.LittleEndian.AppendUint16(append(b, 0x81), uint16(n))
	default:
		b = binary.LittleEndian.AppendUint32(append(b, 0x82), uint32(n)) //nolint:gosec // no text is that long
	}
	b = append(append(b, text...), 0x86, 0x84, 2, 'i', 'I', 1)
	units := len(utf16.Encode([]rune(text)))
	if units < 0x80 {
		b = append(b, byte(units))
	} else {
		b = binary.LittleEndian.AppendUint32(append(b, 0x82), uint32(units)) //nolint:gosec // likewise
	}
	return append(b, "\x92\x84\x84\x84\x0cNSDictionary\x00\x94\x84\x01i\x01\x92\x84\x96\x96\x1d__kIMMessagePartAttributeName\x86\x92\x84\x84\x84\x08NSNumber\x00\x84\x84\x07NSValue\x00\x94\x84\x01*\x84\x99\x99\x00\x86\x86\x86"...)
}
