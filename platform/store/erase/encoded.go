package erase

import (
	"encoding/base64"
	"encoding/hex"
)

// encodedRun is a part of a view that may be encoded data. It contains the decoded values of the
// characters and their positions.
type encodedRun struct {
	vals []byte
	at   []int
}

// encodedRuns returns the runs of encoding characters with the minimum length least. A run may span
// lines, because email wraps encoded data. An escaped line break appears as a space.
func encodedRuns(v decodedView, least int, value func(byte) int) []encodedRun {
	var out []encodedRun
	var r encodedRun
	line := 0
	flush := func() {
		if len(r.vals) >= least {
			out = append(out, r)
			r = encodedRun{}
		}
		r, line = encodedRun{r.vals[:0], r.at[:0]}, 0
	}
	for i, c := range v.text {
		n := value(c)
		switch {
		case n >= 0:
			r.vals, r.at = append(r.vals, byte(n)), append(r.at, i)
			line++
		case c == '\r' && line >= 60:
		case (c == '\n' || c == ' ' && v.at != nil) && line >= 60:
			line = 0
		case len(r.vals) > 0:
			flush()
		}
	}
	flush()
	return out
}

func base64Digit(c byte) int {
	switch {
	case c >= 'A' && c <= 'Z':
		return int(c - 'A')
	case c >= 'a' && c <= 'z':
		return int(c-'a') + 26
	case c >= '0' && c <= '9':
		return int(c-'0') + 52
	case c == '+', c == '-':
		return 62
	case c == '/', c == '_':
		return 63
	}
	return -1
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// base64 searches data that may be base64, in either alphabet and at every alignment. It replaces
// whole groups of four characters, so that the remaining data can still be decoded.
func (s *Scrubber) base64(v decodedView, depth int) []span {
	with := base64.StdEncoding.EncodeToString([]byte(Mark + " ")) // 12 bytes, which need no padding
	var out []span
	var plain []byte
	for _, r := range encodedRuns(v, max(s.least, coded)*4/3, base64Digit) {
		for shift := range 4 {
			vals, at := r.vals[min(shift, len(r.vals)):], r.at[min(shift, len(r.at)):]
			plain = bytesOf(vals, plain[:0])
			for _, f := range s.findSpans(plain, depth+1) {
				last := min(((f.to-1)/3+1)*4, len(vals))
				to := at[last-1] + 1
				for last == len(vals) && to < len(v.text) && v.text[to] == '=' {
					to++
				}
				out = append(out, span{originAt(v.at, at[f.from/3*4]), originAt(v.at, to), with})
			}
		}
	}
	return out
}

// bytesOf joins 6-bit values to bytes.
func bytesOf(vals, out []byte) []byte {
	for i := 1; i < len(vals); i++ {
		was, is := vals[i-1], vals[i]
		switch i % 4 {
		case 1:
			out = append(out, was<<2|is>>4)
		case 2:
			out = append(out, was<<4|is>>2)
		case 3:
			out = append(out, was<<6|is)
		}
	}
	return out
}

// findInHex searches data that may be hexadecimal.
func (s *Scrubber) findInHex(v decodedView, depth int) []span {
	with := hex.EncodeToString([]byte(Mark))
	var out []span
	var plain []byte
	for _, r := range encodedRuns(v, max(s.least, coded)*2, hexDigit) {
		for shift := range 2 {
			vals, at := r.vals[shift:], r.at[shift:]
			plain = plain[:0]
			for i := 1; i < len(vals); i += 2 {
				plain = append(plain, vals[i-1]<<4|vals[i])
			}
			for _, f := range s.findSpans(plain, depth+1) {
				out = append(out, span{originAt(v.at, at[f.from*2]), originAt(v.at, at[f.to*2-1]+1), with})
			}
		}
	}
	return out
}
