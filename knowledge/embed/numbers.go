package embed

import (
	"encoding/binary"
	"math"
)

// unit brings a vector to the length 1, and returns nil for one that has none
// or holds what is no number.
func unit(v []float32) []float32 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil
	}
	by := 1 / math.Sqrt(sum)
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(float64(x) * by)
	}
	return out
}

// pack is the stored form: little-endian 32-bit floats, as vec_distance_cosine
// takes them.
func pack(v []float32) []byte {
	b := make([]byte, 4*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(x))
	}
	return b
}

// words is how many 64-bit words hold one bit of each number.
func words(dims int) int { return (dims + 63) / 64 }

// signs is one bit of each number of a stored vector: whether it is above 0.
func signs(packed []byte) []byte {
	dims := len(packed) / 4
	out := make([]byte, 8*words(dims))
	for i := range dims {
		if x := math.Float32frombits(binary.LittleEndian.Uint32(packed[4*i:])); x > 0 {
			out[i/8] |= 1 << (i % 8)
		}
	}
	return out
}
