package embed

// Packed is the stored form of a vector.
func Packed(v []float32) []byte { return pack(unit(v)) }
