// Package bplist parses small binary property lists ("bplist00"), such as the
// column message_summary_info of the Messages database. The result is bounded for
// any input.
//
// The format is that of CFBinaryPList.c (opensource.apple.com, CF): a header,
// objects, a table of their offsets, and a trailer of 32 bytes with the position
// of the table.
package bplist

import (
	"encoding/binary"
	"errors"
	"math"
	"unicode/utf16"
)

// ErrFormat reports data that is not a binary property list or exceeds a limit.
var ErrFormat = errors.New("not a binary property list, or too large")

// UID is a reference to an object in an archive of NSKeyedArchiver.
type UID uint64

// Limits of the parser.
const (
	maxSize    = 4 << 20
	maxObjects = 100_000 // visited; an object counts at each reference to it
	maxDepth   = 32
	header     = "bplist00"
	trailer    = 32
)

type reader struct {
	b       []byte
	offsets []byte
	width   int // bytes of an offset
	ref     int // bytes of a reference
	left    int
}

// Parse returns the top object: nil, bool, int64, float64 (dates too, as seconds since
// 2001 in UTC), []byte, string, UID, []any or map[string]any.
func Parse(b []byte) (any, error) {
	if len(b) < len(header)+trailer || len(b) > maxSize || string(b[:len(header)]) != header {
		return nil, ErrFormat
	}
	t := b[len(b)-trailer:]
	r := reader{b: b[:len(b)-trailer], width: int(t[6]), ref: int(t[7]), left: maxObjects}
	n, top, at := binary.BigEndian.Uint64(t[8:]), binary.BigEndian.Uint64(t[16:]), binary.BigEndian.Uint64(t[24:])
	if r.width < 1 || r.width > 8 || r.ref < 1 || r.ref > 8 || at > uint64(len(r.b)) || n > (uint64(len(r.b))-at)/uint64(r.width) || top >= n {
		return nil, ErrFormat
	}
	r.offsets = r.b[at : at+n*uint64(r.width)]
	return r.readObject(top, 0)
}

// readUint reads a big-endian unsigned integer.
func readUint(b []byte) uint64 {
	var v uint64
	for _, c := range b {
		v = v<<8 | uint64(c)
	}
	return v
}

// readObject reads the object with index i.
func (r *reader) readObject(i uint64, depth int) (any, error) {
	if r.left--; r.left < 0 || depth > maxDepth || i >= uint64(len(r.offsets)/r.width) {
		return nil, ErrFormat
	}
	at := readUint(r.offsets[int(i)*r.width:][:r.width]) //nolint:gosec // bounded by the table's size
	if at >= uint64(len(r.b)) {
		return nil, ErrFormat
	}
	b := r.b[at:]
	mark, low := b[0]>>4, int(b[0]&15)
	switch mark {
	case 0:
		return readSimple(low)
	case 1, 2, 3:
		return readScalar(mark, low, b[1:])
	case 8:
		if low >= 8 || len(b) < 2+low {
			return nil, ErrFormat
		}
		return UID(readUint(b[1 : 2+low])), nil
	}
	n, rest, ok := readCount(low, b[1:])
	if !ok {
		return nil, ErrFormat
	}
	switch mark {
	case 4, 5, 6:
		return readString(mark, n, rest)
	case 0xa, 0xb, 0xc:
		return r.readArray(n, rest, depth)
	case 0xd:
		return r.readDict(n, rest, depth)
	}
	return nil, ErrFormat
}

func readSimple(low int) (any, error) {
	switch low {
	case 0:
		return nil, nil //nolint:nilnil // null is a value
	case 8, 9:
		return low == 9, nil
	}
	return nil, ErrFormat
}

// readScalar reads an integer, a real or a date.
func readScalar(mark byte, low int, b []byte) (any, error) {
	size := 1 << low
	if low > 4 || len(b) < size {
		return nil, ErrFormat
	}
	switch {
	case mark == 1 && low == 4: // a 128-bit integer, whose upper half contains only the sign
		return int64(readUint(b[8:16])), nil //nolint:gosec // its bits
	case mark == 1:
		return int64(readUint(b[:size])), nil //nolint:gosec // eight bytes are signed, fewer are not
	case low == 2 && mark == 2:
		return float64(math.Float32frombits(uint32(readUint(b[:4])))), nil //nolint:gosec // four bytes
	case low == 3:
		return math.Float64frombits(readUint(b[:8])), nil
	}
	return nil, ErrFormat
}

// readCount returns the number of elements, which is in the marker or in an integer that follows
// it.
func readCount(low int, b []byte) (int, []byte, bool) {
	if low != 15 {
		return low, b, true
	}
	if len(b) == 0 || b[0]>>4 != 1 || b[0]&15 > 3 {
		return 0, nil, false
	}
	size := 1 << (b[0] & 15)
	if len(b) < 1+size {
		return 0, nil, false
	}
	n := readUint(b[1 : 1+size])
	return int(min(n, maxSize)), b[1+size:], n < maxSize //nolint:gosec // bounded
}

// readString reads data, ASCII and UTF-16.
func readString(mark byte, n int, b []byte) (any, error) {
	if mark == 6 {
		n *= 2
	}
	if n > len(b) {
		return nil, ErrFormat
	}
	b = b[:n]
	switch mark {
	case 4:
		return append([]byte{}, b...), nil
	case 5:
		runes := make([]rune, n)
		for i, c := range b {
			runes[i] = rune(c)
		}
		return string(runes), nil
	}
	units := make([]uint16, n/2)
	for i := range units {
		units[i] = binary.BigEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units)), nil
}

func (r *reader) readArray(n int, b []byte, depth int) (any, error) {
	if n > len(b)/r.ref {
		return nil, ErrFormat
	}
	out := make([]any, 0, min(n, 64))
	for i := range n {
		v, err := r.readObject(readUint(b[i*r.ref:][:r.ref]), depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (r *reader) readDict(n int, b []byte, depth int) (any, error) {
	if n > len(b)/(2*r.ref) {
		return nil, ErrFormat
	}
	out := make(map[string]any, min(n, 64))
	for i := range n {
		k, err := r.readObject(readUint(b[i*r.ref:][:r.ref]), depth+1)
		if err != nil {
			return nil, err
		}
		key, ok := k.(string)
		if !ok {
			return nil, ErrFormat
		}
		if out[key], err = r.readObject(readUint(b[(n+i)*r.ref:][:r.ref]), depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}
