package document

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html/charset"
)

func brokenf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrBroken, fmt.Errorf(format, args...))
}

// decodeHTML follows the page's own word about its encoding.
func decodeHTML(b []byte) string {
	enc, name, certain := charset.DetermineEncoding(b[:min(len(b), 1024)], "")
	if name != "utf-8" && certain {
		if out, err := enc.NewDecoder().Bytes(b); err == nil {
			return tidy(string(out))
		}
	}
	s, ok := decode(b)
	if !ok {
		s = string(b)
	}
	return tidy(s)
}

// csv reads a table; the separator is the one that cuts its first lines into
// equally many fields.
func (p *parser) csv(_ string, data []byte) (*Document, error) {
	s, err := decoded(data)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(strings.NewReader(s))
	r.Comma, r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = separator(s), -1, true, true
	d := &Document{}
	t := &table{}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, brokenf("%w", err)
		}
		if len(t.rows) >= p.limits.Entries {
			d.Cut = true
			break
		}
		t.row(row)
	}
	d.Sections = t.sections("", nil)
	return d, p.ctx.Err()
}

func separator(s string) rune {
	best, most := ',', 0
	for _, c := range []rune{',', ';', '\t', '|'} {
		n, least := 0, -1
		for l := range strings.Lines(s[:min(len(s), 8192)]) {
			if k := strings.Count(l, string(c)); strings.TrimSpace(l) != "" && (least < 0 || k < least) {
				least = k
			}
			if n++; n == 5 {
				break
			}
		}
		if least > most {
			best, most = c, least
		}
	}
	return best
}

// table gathers rows; the first with words in it is its header.
type table struct {
	header string
	rows   []string
}

func (t *table) row(cells []string) {
	l := joined(cells)
	switch {
	case l == "":
	case t.header == "" && len(t.rows) == 0 && !slices.ContainsFunc(cells, numeric):
		t.header = l
	default:
		t.rows = append(t.rows, l)
	}
}

// joined writes cells on one line.
func joined(cells []string) string {
	out := make([]string, len(cells))
	last := -1
	for i, c := range cells {
		if out[i] = strings.Join(strings.Fields(c), " "); out[i] != "" {
			last = i
		}
	}
	return strings.Join(out[:last+1], " | ")
}

func numeric(s string) bool {
	s = strings.TrimSpace(s)
	return s != "" && strings.Trim(s, "0123456789.,-+%€$£ ") == ""
}

func (t *table) sections(place string, heading []string) []Section {
	if t.header == "" && len(t.rows) == 0 {
		return nil
	}
	if len(t.rows) == 0 {
		return []Section{{Place: place, Heading: heading, Text: t.header}}
	}
	return []Section{{Place: place, Heading: heading, Header: t.header, Rows: t.rows}}
}

// maxJSON bounds how deep JSON is looked into.
const maxJSON = 40

// json reads a list of objects as rows, and anything else as lines of names and
// values.
func (p *parser) json(_ string, data []byte) (*Document, error) {
	s, err := decoded(data)
	if err != nil {
		return nil, err
	}
	var v any
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, brokenf("%w", err)
	}
	d := &Document{}
	rows, ok := v.([]any)
	if !ok {
		var text []string
		p.flat(&text, "", v, 0)
		d.Sections = []Section{{Text: strings.Join(text, "\n")}}
		return d, p.ctx.Err()
	}
	d.Sections, d.Cut = p.rows(rows)
	return d, p.ctx.Err()
}

// jsonl reads one value a line; lines that are none are left out.
func (p *parser) jsonl(_ string, data []byte) (*Document, error) {
	s, err := decoded(data)
	if err != nil {
		return nil, err
	}
	var rows []any
	for l := range strings.Lines(s) {
		var v any
		dec := json.NewDecoder(bytes.NewReader([]byte(l)))
		dec.UseNumber()
		if strings.TrimSpace(l) == "" || dec.Decode(&v) != nil {
			continue
		}
		rows = append(rows, v)
	}
	if len(rows) == 0 {
		return nil, brokenf("none of its lines is JSON")
	}
	d := &Document{}
	d.Sections, d.Cut = p.rows(rows)
	return d, p.ctx.Err()
}

func (p *parser) rows(rows []any) (out []Section, cut bool) {
	s := Section{}
	for i, r := range rows {
		if i >= p.limits.Entries {
			cut = true
			break
		}
		var parts []string
		p.flat(&parts, "", r, 0)
		if l := strings.Join(parts, "; "); l != "" {
			s.Rows = append(s.Rows, l)
		}
	}
	return []Section{s}, cut
}

// flat writes "name.name: value" for each value.
func (p *parser) flat(out *[]string, name string, v any, depth int) {
	if depth > maxJSON || len(*out) >= p.limits.Entries {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			p.flat(out, strings.TrimPrefix(name+"."+k, "."), v[k], depth+1)
		}
	case []any:
		for _, x := range v {
			p.flat(out, name, x, depth+1)
		}
	case nil:
	default:
		text := strings.TrimSpace(fmt.Sprint(v))
		if text == "" {
			return
		}
		if name != "" {
			text = name + ": " + text
		}
		*out = append(*out, text)
	}
}
