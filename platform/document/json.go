package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"hob/platform/readable"
)

// Bounds of JSON: how deep it is looked into, how deep it may be at all, and how
// long the name of a value is.
const (
	maxJSON     = 40
	deepestJSON = 10_000
	maxNames    = 200
)

// json reads a list as rows and other values as lines of names and values. It
// streams the input, because the decoded value takes many times the memory of the
// file.
func (p *parser) json(_ string, data []byte) (*Document, error) {
	s, err := decoded(data)
	if err != nil {
		return nil, err
	}
	v := p.values(s)
	first, err := v.dec.Token()
	if err != nil {
		return nil, brokenf("%w", err)
	}
	d := &Document{}
	if first != json.Delim('[') {
		err := v.rest(first, "", 0)
		if err != nil && !errors.Is(err, errFull) {
			return nil, v.broken(err)
		}
		d.Sections, d.Cut = []Section{{Text: strings.Join(v.take(), "\n")}}, v.cut
		return d, p.ctx.Err()
	}
	var rows []string
	for v.dec.More() {
		if len(rows) >= p.limits.Entries {
			v.cut = true
			break
		}
		err := v.value("", 1)
		if l := strings.Join(v.take(), "; "); l != "" && (err == nil || errors.Is(err, errFull)) {
			rows = append(rows, l)
		}
		if errors.Is(err, errFull) {
			break
		}
		if err != nil {
			return nil, v.broken(err)
		}
	}
	if !v.cut {
		if _, err := v.dec.Token(); err != nil {
			return nil, brokenf("%w", err)
		}
	}
	d.Sections, d.Cut = []Section{{Rows: rows}}, v.cut
	return d, p.ctx.Err()
}

// jsonl reads one value per line and skips invalid lines.
func (p *parser) jsonl(_ string, data []byte) (*Document, error) {
	s, err := decoded(data)
	if err != nil {
		return nil, err
	}
	d, section, left, any := &Document{}, Section{}, p.limits.Text, false
	for l := range strings.Lines(s) {
		if strings.TrimSpace(l) == "" {
			continue
		}
		if err := p.ctx.Err(); err != nil {
			return nil, err
		}
		if len(section.Rows) >= p.limits.Entries || left <= 0 {
			d.Cut = true
			break
		}
		v := p.values(l)
		v.left = left
		if err := v.value("", 0); err != nil && !errors.Is(err, errFull) {
			continue
		}
		any, left, d.Cut = true, v.left, d.Cut || v.cut
		if row := strings.Join(v.take(), "; "); row != "" {
			section.Rows = append(section.Rows, row)
		}
	}
	if !any {
		return nil, brokenf("no line is valid JSON")
	}
	d.Sections = []Section{section}
	return d, nil
}

// values reads "name.name: value" for each value.
type values struct {
	p    *parser
	dec  *json.Decoder
	out  []string
	left int // bytes of text that may still come
	cut  bool
}

// errFull reports that the text limit is reached.
var errFull = errors.New("enough")

func (p *parser) values(s string) *values {
	v := &values{p: p, dec: json.NewDecoder(strings.NewReader(s)), left: p.limits.Text}
	v.dec.UseNumber()
	return v
}

// take returns what has been read since the last time.
func (v *values) take() []string {
	out := v.out
	v.out = nil
	return out
}

func (v *values) broken(err error) error {
	if v.p.ctx.Err() != nil {
		return v.p.ctx.Err()
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return brokenf("%w", err)
}

func (v *values) value(name string, depth int) error {
	tok, err := v.dec.Token()
	if err != nil {
		return err
	}
	return v.rest(tok, name, depth)
}

// rest reads the value that begins with tok.
func (v *values) rest(tok json.Token, name string, depth int) error {
	if depth > deepestJSON {
		return fmt.Errorf("values are nested deeper than %d", deepestJSON)
	}
	d, ok := tok.(json.Delim)
	if !ok {
		return v.add(tok, name, depth)
	}
	if err := v.p.ctx.Err(); err != nil {
		return err
	}
	for v.dec.More() {
		inner := name
		if d == '{' {
			tok, err := v.dec.Token()
			if err != nil {
				return err
			}
			key, _ := tok.(string) // the decoder guarantees a string here
			inner = readable.CutRunes(strings.TrimPrefix(name+"."+readable.CutRunes(key, maxNames), "."), maxNames)
		}
		if err := v.value(inner, depth+1); err != nil {
			return err
		}
	}
	_, err := v.dec.Token()
	return err
}

func (v *values) add(tok json.Token, name string, depth int) error {
	if tok == nil || depth > maxJSON {
		return nil
	}
	text := strings.TrimSpace(fmt.Sprint(tok))
	if text == "" {
		return nil
	}
	if name != "" {
		text = name + ": " + text
	}
	if len(v.out) >= v.p.limits.Entries || len(text) > v.left {
		v.cut = true
		if text = strings.ToValidUTF8(text[:max(min(len(text), v.left), 0)], ""); text != "" && len(v.out) < v.p.limits.Entries {
			v.out = append(v.out, text)
		}
		return errFull
	}
	v.left -= len(text)
	v.out = append(v.out, text)
	return nil
}
