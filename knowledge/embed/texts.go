package embed

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"unicode/utf8"

	"hob/autonomy/llm"
	"hob/knowledge"
	"hob/platform/phrase"
)

// leastText is the shortest beginning of a text that is tried when the model
// takes no longer one, in bytes.
const leastText = 400

// text is what is embedded of a row, and its digest.
func (v *Vectors) text(d knowledge.Doc) (text string, hash []byte) {
	text = d.Text
	if d.Title != "" {
		text = d.Title + "\n" + d.Text
	}
	text = v.o.DocumentPrefix + phrase.First(text, v.o.Chars)
	h := sha256.Sum256([]byte(text))
	return text, h[:16]
}

// cut shortens to at most n bytes, not within a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// errDims is another number of numbers than those which are held have.
var errDims = errors.New("embed: the vector length of the model changed")

// embed fills in the vectors; dims is their length.
func (v *Vectors) embed(ctx context.Context, s state, w *work) (dims int, err error) {
	if len(w.texts) == 0 {
		return s.dims, nil
	}
	list, err := v.each(ctx, w.texts)
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
			return 0, v.another(dims, len(one))
		}
		if u := unit(one); u != nil {
			w.puts[i].v = pack(u)
		}
	}
	return dims, nil
}

// another says that what is held is of no use any more.
func (v *Vectors) another(had, has int) error {
	v.o.Log.Info("vector length of the model changed; vectors are rebuilt", "model", v.o.Model, "had", had, "has", has)
	return fmt.Errorf("%w from %[3]d to %[2]d; all vectors are rebuilt", errDims, has, had)
}

// each embeds texts. One that the model refuses, or finds too long, is found by
// halving; of that its beginning is taken, and nil when that is refused as well.
func (v *Vectors) each(ctx context.Context, texts []string) ([][]float32, error) {
	list, _, err := v.o.Embedder.Embed(ctx, texts)
	switch kind := llm.KindOf(err); {
	case err == nil && len(list) != len(texts):
		return nil, &llm.Error{Kind: llm.Garbled, Provider: v.o.Model, Message: fmt.Sprintf("the embedder returned %d vectors for %d texts", len(list), len(texts))}
	case err == nil:
		return list, nil
	case kind != llm.BadRequest && kind != llm.Overflow:
		return nil, err
	case len(texts) > 1:
		first, ferr := v.each(ctx, texts[:len(texts)/2])
		if ferr != nil {
			return nil, ferr
		}
		second, serr := v.each(ctx, texts[len(texts)/2:])
		return append(first, second...), serr
	}
	if _, _, plain := v.o.Embedder.Embed(ctx, []string{v.o.DocumentPrefix + "tea"}); plain != nil {
		return nil, err // it is not this text
	}
	if len(texts[0]) > leastText {
		return v.each(ctx, []string{cut(texts[0], len(texts[0])/2)})
	}
	return [][]float32{nil}, nil
}
