package llm

// EmbedBatches embeds texts in sequential calls of at most size texts each.
func EmbedBatches(texts []string, size int, embed func([]string) ([][]float32, Usage, error)) ([][]float32, Usage, error) {
	var out [][]float32
	var total Usage
	for len(texts) > 0 {
		n := min(size, len(texts))
		v, u, err := embed(texts[:n])
		if err != nil {
			return nil, total, err
		}
		out, total, texts = append(out, v...), total.Add(u), texts[n:]
	}
	return out, total, nil
}

// CheckVectors validates a server's vectors: one per text, all of the same length.
func (w Endpoint) CheckVectors(vectors [][]float32, texts int) *Error {
	if len(vectors) != texts {
		return w.Errorf(Garbled, "the server sent %d vectors for %d texts", len(vectors), texts)
	}
	for _, v := range vectors {
		if len(v) == 0 || len(v) != len(vectors[0]) {
			return w.Errorf(Garbled, "the server sent vectors of different lengths")
		}
	}
	return nil
}
