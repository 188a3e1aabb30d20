package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"hob/platform/text/readability"
)

// Limits of JSON: the depth up to which values are converted, the maximum depth, and the maximum
// length of a value's name.
const (
	maxJSON     = 40
	deepestJSON = 10_000
	maxNames    = 200
)

// parseJSON converts a list to rows, and other values to lines with names and values. It streams
// the input, because the decoded value needs several times the memory of the file.
func (p *parser) parseJSON(_ string, data []byte) (*Document, error) {
	s, err := decodeOrError(data)
	if err != nil {
		return nil, err
	}
	v := p.newValues(s)
	first, err := v.dec.Token()
	if err != nil {
		return nil, newBrokenError("%w", err)
	}
	d := &Document{}
	if first != json.Delim('[') {
		err := v.readValueFrom(first, "", 0)
		if err != nil && !errors.Is(err, errFull) {
			return nil, v.wrapError(err)
		}
		d.Sections, d.Cut = []Section{{Text: strings.Join(v.takeLines(), "\n")}}, v.cut
		return d, p.ctx.Err()
	}
	var rows []string
	for v.dec.More() {
		if len(rows) >= p.limits.Entries {
			v.cut = true
			break
		}
		err := v.readValue("", 1)
		if l := strings.Join(v.takeLines(), "; "); l != "" && (err == nil || errors.Is(err, errFull)) {
			rows = append(rows, l)
		}
		if errors.Is(err, errFull) {
			break
		}
		if err != nil {
			return nil, v.wrapError(err)
		}
	}
	if !v.cut {
		if _, err := v.dec.Token(); err != nil {
			return nil, newBrokenError("%w", err)
		}
	}
	d.Sections, d.Cut = []Section{{Rows: rows}}, v.cut
	return d, p.ctx.Err()
}

// parseJSONL reads one value per line and skips invalid lines.
func (p *parser) parseJSONL(_ string, data []byte) (*Document, error) {
	s, err := decodeOrError(data)
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
		v := p.newValues(l)
		v.left = left
		if err := v.readValue("", 0); err != nil && !errors.Is(err, errFull) {
			continue
		}
		any, left, d.Cut = true, v.left, d.Cut || v.cut
		if row := strings.Join(v.takeLines(), "; "); row != "" {
			section.Rows = append(section.Rows, row)
		}
	}
	if !any {
		return nil, newBrokenError("no line is valid JSON")
	}
	d.Sections = []Section{section}
	return d, nil
}

// jsonFlattener converts JSON to one line "name.name: value" per value.
type jsonFlattener struct {
	p    *parser
	dec  *json.Decoder
	out  []string
	left int // remaining bytes of text
	cut  bool
}

// errFull means that the maximum length of the text was reached.
var errFull = errors.New("enough")

func (p *parser) newValues(s string) *jsonFlattener {
	v := &jsonFlattener{p: p, dec: json.NewDecoder(strings.NewReader(s)), left: p.limits.Text}
	v.dec.UseNumber()
	return v
}

// takeLines returns the lines read since the last call.
func (v *jsonFlattener) takeLines() []string {
	out := v.out
	v.out = nil
	return out
}

func (v *jsonFlattener) wrapError(err error) error {
	if v.p.ctx.Err() != nil {
		return v.p.ctx.Err()
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return newBrokenError("%w", err)
}

func (v *jsonFlattener) readValue(name string, depth int) error {
	tok, err := v.dec.Token()
	if err != nil {
		return err
	}
	return v.readValueFrom(tok, name, depth)
}

// readValueFrom reads the value that begins with tok.
func (v *jsonFlattener) readValueFrom(tok json.Token, name string, depth int) error {
	if depth > deepestJSON {
		return fmt.Errorf("values are nested deeper than %d levels", deepestJSON)
	}
	d, ok := tok.(json.Delim)
	if !ok {
		return v.addScalar(tok, name, depth)
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
			key, _ := tok.(string) // the decoder guarantees that a key is a string
			inner = readability.CutRunes(strings.TrimPrefix(name+"."+readability.CutRunes(key, maxNames), "."), maxNames)
		}
		if err := v.readValue(inner, depth+1); err != nil {
			return err
		}
	}
	_, err := v.dec.Token()
	return err
}

func (v *jsonFlattener) addScalar(tok json.Token, name string, depth int) error {
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
