package chatdbtest

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"unicode/utf16"
)

// writer collects objects.
type writer struct {
	objects [][]byte
}

// Plist encodes a binary property list of bool, int, float64, []byte, string,
// []any and map[string]any. Other types are encoded as null.
func Plist(v any) []byte {
	w := &writer{}
	top := w.addObject(v)
	b := []byte("bplist00")
	var table []byte
	for _, o := range w.objects {
		table = binary.BigEndian.AppendUint32(table, uint32(len(b))) //nolint:gosec // small
		b = append(b, o...)
	}
	at := len(b)
	b = append(append(b, table...), 0, 0, 0, 0, 0, 0, 4, 2)
	for _, n := range []int{len(w.objects), top, at} {
		b = binary.BigEndian.AppendUint64(b, uint64(n)) //nolint:gosec // small
	}
	return b
}

// addObject adds an object and returns its number.
func (w *writer) addObject(v any) int {
	i := len(w.objects)
	w.objects = append(w.objects, nil)
	var b []byte
	switch v := v.(type) {
	case bool:
		b = []byte{8}
		if v {
			b = []byte{9}
		}
	case int:
		b = binary.BigEndian.AppendUint64([]byte{0x13}, uint64(v)) //nolint:gosec // its bits
	case float64:
		b = binary.BigEndian.AppendUint64([]byte{0x23}, math.Float64bits(v))
	case []byte:
		b = append(objectMarker(4, len(v)), v...)
	case string:
		units := utf16.Encode([]rune(v))
		b = objectMarker(6, len(units))
		for _, u := range units {
			b = binary.BigEndian.AppendUint16(b, u)
		}
	case []any:
		b = objectMarker(0xa, len(v))
		for _, x := range v {
			b = binary.BigEndian.AppendUint16(b, uint16(w.addObject(x))) //nolint:gosec // small
		}
	case map[string]any:
		b = objectMarker(0xd, len(v))
		keys := slices.Sorted(maps.Keys(v))
		for _, k := range keys {
			b = binary.BigEndian.AppendUint16(b, uint16(w.addObject(k))) //nolint:gosec // small
		}
		for _, k := range keys {
			b = binary.BigEndian.AppendUint16(b, uint16(w.addObject(v[k]))) //nolint:gosec // small
		}
	default:
		b = []byte{0}
	}
	w.objects[i] = b
	return i
}

func objectMarker(kind byte, n int) []byte {
	if n < 15 {
		return []byte{kind<<4 | byte(n)}
	}
	return binary.BigEndian.AppendUint32([]byte{kind<<4 | 15, 0x12}, uint32(n)) //nolint:gosec // small
}

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
