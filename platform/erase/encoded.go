package erase

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"unicode/utf16"
	"unicode/utf8"
)

// run is a part of a text that may be encoded: its signs and their places.
type run struct {
	signs []byte
	at    []int
}

// runs cuts a text into parts of signs, of at least so many. Long lines are
// taken together, as mail breaks them.
func runs(b []byte, least int, is func(byte) bool) []run {
	var out []run
	var r run
	line := 0
	flush := func() {
		if len(r.signs) >= least {
			out = append(out, r)
		}
		r, line = run{}, 0
	}
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case is(c):
			r.signs, r.at = append(r.signs, c), append(r.at, i)
			line++
		case c == '\r' && line >= 60:
		case c == '\n' && line >= 60:
			line = 0
		case len(r.signs) > 0:
			flush()
		}
	}
	flush()
	return out
}

func sextet(c byte) int {
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

// base64 looks into what may be base64 of either alphabet, wherever it begins.
// What is replaced are whole groups of four, so that the rest stays what it is.
func (s *Scrubber) base64(b []byte, depth int) []span {
	with := base64.StdEncoding.EncodeToString([]byte(Mark + " ")) // 12 bytes: no padding
	var out []span
	for _, r := range runs(b, max(s.least, coded)*4/3, func(c byte) bool { return sextet(c) >= 0 }) {
		for shift := range 4 {
			signs, at := r.signs[min(shift, len(r.signs)):], r.at[min(shift, len(r.signs)):]
			plain := make([]byte, 0, len(signs)*3/4)
			for i, c := range signs {
				v := sextet(c)
				prev := 0
				if i > 0 {
					prev = sextet(signs[i-1])
				}
				switch i % 4 {
				case 1:
					plain = append(plain, byte(prev<<2|v>>4))
				case 2:
					plain = append(plain, byte(prev<<4|v>>2))
				case 3:
					plain = append(plain, byte(prev<<6|v))
				}
			}
			for _, f := range s.find(plain, depth+1) {
				last := min(((f.to-1)/3+1)*4, len(signs))
				to := at[last-1] + 1
				if last == len(signs) {
					for to < len(b) && b[to] == '=' {
						to++
					}
				}
				out = append(out, span{at[f.from/3*4], to, with})
			}
		}
	}
	return out
}

// hex looks into what may be hexadecimal.
func (s *Scrubber) hex(b []byte, depth int) []span {
	with := hex.EncodeToString([]byte(Mark))
	var out []span
	isHex := func(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }
	for _, r := range runs(b, max(s.least, coded)*2, isHex) {
		for shift := range 2 {
			signs, at := r.signs[shift:], r.at[shift:]
			plain := make([]byte, len(signs)/2)
			_, _ = hex.Decode(plain, signs[:len(plain)*2])
			for _, f := range s.find(plain, depth+1) {
				out = append(out, span{at[f.from*2], at[f.to*2-1] + 1, with})
			}
		}
	}
	return out
}

// wide looks for UTF-16 of either byte order.
func (s *Scrubber) wide(b []byte) []span {
	marked := bytes.HasPrefix(b, []byte{0xff, 0xfe}) || bytes.HasPrefix(b, []byte{0xfe, 0xff})
	if !marked && bytes.IndexByte(b, 0) < 0 && utf8.Valid(b) {
		return nil
	}
	var out []span
	for shift := range 2 {
		for _, big := range []bool{false, true} {
			v := narrow(b[min(shift, len(b)):], shift, big)
			for _, f := range s.in(v, 0) {
				f.with = widen(Mark, big)
				out = append(out, f)
			}
		}
	}
	return out
}

func unit(b []byte, big bool) uint16 {
	if big {
		return uint16(b[0])<<8 | uint16(b[1])
	}
	return uint16(b[1])<<8 | uint16(b[0])
}

// narrow is the view of UTF-16 as UTF-8.
func narrow(b []byte, shift int, big bool) view {
	v := view{text: make([]byte, 0, len(b)/2), at: make([]int, 0, len(b)/2+1)}
	i := 0
	for ; i+1 < len(b); i += 2 {
		r, at := rune(unit(b[i:], big)), i
		if utf16.IsSurrogate(r) && i+3 < len(b) {
			if d := utf16.DecodeRune(r, rune(unit(b[i+2:], big))); d != utf8.RuneError {
				r, i = d, i+2
			}
		}
		v.text = utf8.AppendRune(v.text, r)
		for len(v.at) < len(v.text) {
			v.at = append(v.at, at+shift)
		}
	}
	v.at = append(v.at, i+shift)
	return v
}

func widen(s string, big bool) string {
	var out []byte
	for _, u := range utf16.Encode([]rune(s)) {
		if big {
			out = append(out, byte(u>>8), byte(u))
		} else {
			out = append(out, byte(u), byte(u>>8))
		}
	}
	return string(out)
}
