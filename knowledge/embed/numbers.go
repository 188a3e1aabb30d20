package embed

import (
	"encoding/binary"
	"math"
)

// normalizeVector scales a vector to length 1. It returns nil for a zero vector or one with NaN or infinite
// values.
func normalizeVector(v []float32) []float32 {
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

// packVector encodes a vector as little-endian 32-bit floats, the format of vec_distance_cosine.
func packVector(v []float32) []byte {
	b := make([]byte, 4*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(x))
	}
	return b
}

// signWordCount returns the number of 64-bit words for one bit per number.
func signWordCount(dims int) int { return (dims + 63) / 64 }

// signBits returns one bit for each number of a packed vector, which is set if the number is
// greater than 0.
func signBits(packed []byte) []byte {
	dims := len(packed) / 4
	out := make([]byte, 8*signWordCount(dims))
	for i := range dims {
		if x := math.Float32frombits(binary.LittleEndian.Uint32(packed[4*i:])); x > 0 {
			out[i/8] |= 1 << (i % 8)
		}
	}
	return out
}
