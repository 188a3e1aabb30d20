package embed

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"unicode/utf8"

	"hob/autonomy/llm"
	"hob/knowledge"
	"hob/platform/text/textnorm"
)

// leastText is the length, in bytes, of the shortest prefix of a text that is tried with a model
// that rejects longer input.
const leastText = 400

// embeddingText returns the text to embed for a row, and its digest.
func (v *Vectors) embeddingText(d knowledge.Doc) (text string, hash []byte) {
	text = d.Text
	if d.Title != "" {
		text = d.Title + "\n" + d.Text
	}
	text = v.o.DocumentPrefix + textnorm.TruncateRunes(text, v.o.Chars)
	h := sha256.Sum256([]byte(text))
	return text, h[:16]
}

// truncateBytes truncates s to at most n bytes at a character boundary.
func truncateBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// errDims is returned if new vectors differ in length from the stored vectors.
var errDims = errors.New("embed: the vector length of the model changed")

// computeVectors fills in the vectors. dims is their length.
func (v *Vectors) computeVectors(ctx context.Context, s syncState, w *batchWork) (dims int, err error) {
	if len(w.texts) == 0 {
		return s.dims, nil
	}
	list, err := v.embedEach(ctx, w.texts)
	if err != nil {
		return 0, err
	}
	dims = s.dims
	for i, one := range list {
		if one == nil {
			v.o.Log.Warn("the model refused a text; it has no vector", "row", w.puts[i].n)
			continue
		}
		if dims == 0 {
			dims = len(one)
		}
		if len(one) != dims {
			return 0, v.modelChangedError(dims, len(one))
		}
		if u := normalizeVector(one); u != nil {
			w.puts[i].v = packVector(u)
		}
	}
	return dims, nil
}

// modelChangedError returns the error for a changed vector length, which makes the stored vectors
// useless.
func (v *Vectors) modelChangedError(had, has int) error {
	v.o.Log.Info("vector length of the model changed; vectors are rebuilt", "model", v.o.Model, "had", had, "has", has)
	return fmt.Errorf("%w from %[3]d to %[2]d; all vectors are rebuilt", errDims, has, had)
}

// embedEach embeds texts. If the model rejects a call, it bisects the batch to find the rejected
// text and retries with the start of that text. If the model rejects the start, too, the vector of
// the text is nil.
func (v *Vectors) embedEach(ctx context.Context, texts []string) ([][]float32, error) {
	list, _, err := v.o.Embedder.Embed(ctx, texts)
	switch kind := llm.KindOf(err); {
	case err == nil && len(list) != len(texts):
		return nil, &llm.Error{Kind: llm.Garbled, Provider: v.o.Model, Message: fmt.Sprintf("the embedder returned %d vectors for %d texts", len(list), len(texts))}
	case err == nil:
		return list, nil
	case kind != llm.BadRequest && kind != llm.Overflow:
		return nil, err
	case len(texts) > 1:
		first, ferr := v.embedEach(ctx, texts[:len(texts)/2])
		if ferr != nil {
			return nil, ferr
		}
		second, serr := v.embedEach(ctx, texts[len(texts)/2:])
		return append(first, second...), serr
	}
	if _, _, plain := v.o.Embedder.Embed(ctx, []string{v.o.DocumentPrefix + "tea"}); plain != nil {
		return nil, err // the cause of the error is not this text
	}
	if len(texts[0]) > leastText {
		return v.embedEach(ctx, []string{truncateBytes(texts[0], len(texts[0])/2)})
	}
	return [][]float32{nil}, nil
}
